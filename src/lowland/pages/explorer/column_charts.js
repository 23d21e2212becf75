// A small chart of each column that edits the filter: a histogram with a range, or bars of the most frequent levels.
// The chosen rows (selected, or else those that pass the filter) are drawn over all rows.

import { count, dateText, el, number, some, svg } from "../view/elements.js";
import { applyConditions } from "./filter.js";
import { replace } from "./elements.js";
import { DAY } from "./words.js";

/** @typedef {{ element: HTMLElement, draw: () => Promise<void> }} Chart */

const BINS = 30;
const MOST_BARS = 6; // levels with a bar of their own
const STEPS = 100; // of a range, about
const FAINT = 0.1; // rows that are fewer than this fraction of all are drawn larger

const RANGE_OPS = { low: [">=", ">"], high: ["<=", "<"] };
/** @type {(conditions: Condition[], name: string, ops: string[]) => Condition[]} */
const without = (conditions, name, ops) =>
  conditions.filter((each) => each.column !== name || !ops.includes(each.op ?? ""));

// A function that returns the chart of a column by its number, or null; it is drawn when it is seen.
/** @type {(app: App) => (index: number) => HTMLElement | null} */
export function columnCharts(app) {
  const { store } = app;
  let charts = new Map(); // Column -> chart
  const inSight = new Set(); // elements
  const redraw = () => charts.forEach((chart) => inSight.has(chart.element) && chart.draw());
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) inSight.add(target);
      else inSight.delete(target);
      if (isIntersecting) [...charts.values()].find(({ element }) => element === target)?.draw();
    }
  });
  store.on("filter", redraw);
  store.on("selection", redraw);
  return (index) => {
    const known = app.stage.table?.columns ?? [];
    const column = known[index];
    const about = store.table?.columns[index];
    if (!column || !about || column.kind === "text" || ["constant", "missing"].includes(about.kind)) return null;
    if (!charts.has(column)) {
      charts = new Map([...charts].filter(([each]) => known.includes(each))); // of this table
      const chart = (column.kind === "category" ? barChart : histogram)(app, column, about);
      charts.set(column, chart);
      watcher.observe(chart.element);
    }
    return charts.get(column).element;
  };
}

// Draws a chart; the values of its column are loaded first.
/** @type {(app: App, column: Column, prepare: (values: ArrayLike<number>) => void, show: () => void) => () => Promise<void>} */
function drawing(app, column, prepare, show) {
  /** @type {Promise<void> | null} */
  let loading = null;
  return async () => {
    if (app.store.table?.status === "reading") return; // drawn when it has been read
    try {
      await (loading ??= column.ready().then((values) => prepare(/** @type {ArrayLike<number>} */ (values))));
    } catch {
      loading = null; // tried again when it is seen again; another part of the page reports a lost connection
      return;
    }
    if (app.stage.table?.columns.includes(column)) show();
  };
}

// How many of the chosen rows have each code, all of them without a mask.
/** @type {(codes: ArrayLike<number>, size: number, mask: ArrayLike<number> | null) => Uint32Array<ArrayBuffer>} */
function countsOf(codes, size, mask) {
  const counts = new Uint32Array(size + 1); // the last: missing
  for (let row = 0; row < codes.length; row++) if (!mask || mask[row]) counts[Math.min(codes[row], size)]++;
  return counts;
}
/** @type {(store: Store) => ArrayLike<number> | null} */
const chosenRows = ({ selected, selection, shown }) => (selected ? selection : shown);
const enlarged = (some, all) => {
  const [most, top] = [Math.max(...some), Math.max(...all, 1)];
  return most > 0 && most < FAINT * top ? (0.8 * top) / most : 1;
};

// --- numbers and dates

/** @type {(app: App, column: Column, about: ColumnRecord) => Chart} */
function histogram(app, column, { name, kind }) {
  const { store } = app;
  const whole = kind === "integer";
  const bars = svg("svg", { viewBox: `0 0 ${BINS} 1`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const words = el("small", { class: "range-words" });
  const shades = [el("div", { class: "range-shade" }), el("div", { class: "range-shade" })];
  const handles = { low: el("div", { class: "range-end" }), high: el("div", { class: "range-end" }) };
  const plot = el("div", { class: "histogram" }, bars, shades, handles.low, handles.high);
  const element = el("div", { class: "column-chart", role: "group", "aria-label": `Values of ${name}` }, plot, words);
  /** @type {{ low: number | null, high: number | null }} */
  const range = { low: null, high: null }; // values; null: no limit
  let ends = [0, 1]; // the smallest and the largest value
  let domain = ends; // what is drawn: a unit of half its width more on both sides
  let unit = 0; // 1 for integers, a day for dates
  let step = 1;
  let bins = BINS;
  let codes = new Uint8Array(0); // the bin of each row
  let all = new Uint32Array(0); // how many rows are in each bin
  /** @type {"low" | "high" | "range" | "new" | null} */
  let held = null; // what is dragged

  const format = (value) => (column.kind === "date" ? dateText(value) : number(value, 5));
  const rounded = (value) => Number((Math.round(value / step) * step).toPrecision(12));
  const fraction = (end) => {
    const value = range[end] === null ? null : range[end] + (end === "low" ? -unit / 2 : unit / 2);
    return value === null ? Number(end === "high") : (value - domain[0]) / (domain[1] - domain[0]);
  };

  /** @type {(values: ArrayLike<number>) => void} */
  function prepare(values) {
    let [low, high] = [Infinity, -Infinity];
    for (let row = 0; row < values.length; row++) {
      if (values[row] < low) low = values[row];
      if (values[row] > high) high = values[row];
    }
    const size = high - low;
    ends = [low, high];
    unit = whole ? 1 : column.kind === "date" && size > 20 * DAY ? DAY : 0;
    step = 10 ** Math.floor(Math.log10(size / STEPS || 1));
    step *= [1, 2, 5, 10].find((each) => size / (each * step) <= STEPS) ?? 1;
    if (column.kind === "date") step = unit || 60000;
    if (unit) {
      // as many whole values or days in each bin
      step = Math.ceil(size / STEPS / unit) * unit || unit;
      const width = Math.ceil((size / unit + 1) / BINS) * unit;
      bins = Math.ceil((size + unit) / width);
      domain = [low - unit / 2, low - unit / 2 + bins * width];
    } else domain = ends;
    const scale = bins / (domain[1] - domain[0] || 1);
    codes = Uint8Array.from(values, (value) =>
      value === value ? Math.min(bins - 1, Math.floor((value - domain[0]) * scale)) : 255,
    );
    all = countsOf(codes, bins, null);
    bars.setAttribute("viewBox", `0 0 ${bins} 1`);
    for (const [end, handle] of Object.entries(handles))
      for (const [key, value] of Object.entries({
        role: "slider",
        tabindex: "0",
        "aria-label": `${end === "low" ? "From" : "To"}, ${name}`,
        "aria-valuemin": String(low),
        "aria-valuemax": String(high),
      }))
        handle.setAttribute(key, value);
  }

  function read() {
    const limits = (end) =>
      store.conditions
        .filter((each) => each.column === name && RANGE_OPS[end].includes(each.op))
        .map(({ value }) =>
          column.kind === "date" ? Date.parse(`${value}Z`) || Date.parse(String(value)) : Number(value),
        )
        .filter(Number.isFinite);
    const [low, high] = [limits("low"), limits("high")];
    Object.assign(range, { low: low.length ? Math.max(...low) : null, high: high.length ? Math.min(...high) : null });
  }

  function show() {
    if (!held && !sending) read();
    const mask = chosenRows(store);
    const some = mask ? countsOf(codes, bins, mask) : all;
    const top = Math.max(...all.subarray(0, bins), 1);
    const larger = mask ? enlarged(some.subarray(0, bins), all.subarray(0, bins)) : 1;
    const path = (counts, factor) =>
      Array.from({ length: bins }, (_, i) => {
        const high = counts[i] && Math.max(0.03, Math.min(1, (factor * counts[i]) / top));
        return `M${i + 0.06} 1v${-high}h0.88v${high}z`;
      }).join("");
    replace(
      bars,
      svg("path", { d: path(all, 1), class: "of-all" }),
      svg("path", { d: path(some, larger), class: store.selected ? "of-some selected" : "of-some" }),
    );
    place();
    const [from, to] = [range.low, range.high].map((value) => value !== null && format(value));
    words.textContent = [
      from && to ? `${from} to ${to}` : from ? `from ${from}` : to && `up to ${to}`,
      larger > 1 && `chosen rows drawn ${number(larger, 2)} times as high`,
    ]
      .filter(Boolean)
      .join(", ");
  }

  function place() {
    const [low, high] = [fraction("low"), fraction("high")].map((at) => 100 * Math.max(0, Math.min(1, at)));
    handles.low.style.left = `${low}%`;
    handles.high.style.left = `${high}%`;
    shades[0].style.width = `${low}%`;
    shades[1].style.width = `${100 - high}%`;
    plot.classList.toggle("limited", range.low !== null || range.high !== null);
    for (const [end, handle] of Object.entries(handles)) {
      const value = range[end] ?? ends[Number(end === "high")];
      handle.setAttribute("aria-valuenow", value);
      handle.setAttribute("aria-valuetext", format(value));
    }
  }

  // One question at a time; the last one counts.
  let sending = false;
  let again = false;
  async function send() {
    place();
    again = sending;
    if (sending) return;
    sending = true;
    do {
      again = false;
      const text = (value) =>
        column.kind === "date" ? new Date(value).toISOString().slice(0, step < DAY ? 16 : 10) : value;
      const wanted = Object.entries(RANGE_OPS)
        .filter(([end]) => range[end] !== null)
        .map(([end, [op]]) => ({ column: name, op, value: String(text(range[end])) }));
      const others = without(store.conditions, name, Object.values(RANGE_OPS).flat());
      await applyConditions(app, [...others, ...wanted]);
    } while (again);
    sending = false;
    draw();
  }

  // A limit, or null beyond the values. Half a step of tolerance: they are single precision.
  const limited = (end, value) =>
    (end === "low" ? value <= ends[0] + step / 2 : value >= ends[1] - step / 2) ? null : value;

  // Limit a range by two fractions of the width; the whole width is no limit.
  function limit(low, high) {
    const value = (at, shift) => rounded(domain[0] + at * (domain[1] - domain[0]) + shift);
    Object.assign(range, { low: limited("low", value(low, unit / 2)), high: limited("high", value(high, -unit / 2)) });
    if (range.low !== null && range.high !== null && range.low > range.high)
      range[held === "low" ? "low" : "high"] = held === "low" ? range.high : range.low;
    send();
  }

  const at = (event) => {
    const box = plot.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  plot.addEventListener("pointerdown", (event) => {
    if (!codes.length || event.button !== 0) return;
    const here = at(event);
    const [low, high] = [fraction("low"), fraction("high")];
    const isLimited = plot.classList.contains("limited");
    const inside = isLimited && here > low && here < high;
    const end = event.target === handles.low ? "low" : event.target === handles.high ? "high" : null;
    held = end ?? (inside ? "range" : "new");
    if (end) handles[end].focus();
    plot.setPointerCapture(event.pointerId);
    let moved = false;
    const move = (next) => {
      const to = at(next);
      if (Math.abs(to - here) < 0.01 && !moved) return;
      moved = true;
      if (held === "low") limit(Math.min(to, fraction("high")), fraction("high"));
      else if (held === "high") limit(fraction("low"), Math.max(to, fraction("low")));
      else if (held === "new") limit(Math.min(here, to), Math.max(here, to));
      else {
        const by = Math.max(-low, Math.min(1 - high, to - here));
        limit(low + by, high + by);
      }
    };
    const end_ = () => {
      plot.removeEventListener("pointermove", move);
      if (!moved && !end && isLimited) limit(0, 1); // a click shows all again
      held = null;
    };
    plot.addEventListener("pointermove", move);
    plot.addEventListener("pointerup", end_, { once: true });
    plot.addEventListener("pointercancel", end_, { once: true });
    event.preventDefault();
  });
  for (const [end, handle] of Object.entries(handles))
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      const [low, high] = ends;
      const to =
        { Home: low, End: high }[event.key] ??
        (by ? rounded((range[end] ?? (end === "low" ? low : high)) + by * step) : null);
      if (to === null) return;
      event.preventDefault();
      event.stopPropagation(); // the arrows move maps, too
      range[end] = limited(end, to);
      if (range.low !== null && range.high !== null && range.low > range.high)
        range[end] = range[end === "low" ? "high" : "low"];
      send();
    });

  const draw = drawing(app, column, prepare, show);
  return { element, draw };
}

// --- categories

const LEVEL_OPS = ["=", "in", "missing"];

/** @type {(app: App, column: Column, about: ColumnRecord) => Chart} */
function barChart(app, column, { name }) {
  const { store } = app;
  const list = el("div", { class: "level-bars" });
  const element = el("div", { class: "column-chart", role: "group", "aria-label": `Values of ${name}` }, list);
  /** @type {ArrayLike<number>} */
  let codes = []; // of the levels, by row
  /** @type {string[]} */
  let levels = [];
  let all = new Uint32Array(0); // how many rows have each level
  /** @type {number[]} */
  let order = []; // codes, the most frequent first

  /** @type {(values: ArrayLike<number>) => void} */
  function prepare(values) {
    codes = values;
    levels = column.levels ?? [];
    all = countsOf(codes, levels.length, null);
    order = [...levels.keys()].sort((a, b) => all[b] - all[a] || a - b);
  }

  // The codes that pass the filter; null: all. The code of missing values is the number of levels.
  const passing = () => {
    const found = store.conditions.filter((each) => each.column === name && LEVEL_OPS.includes(each.op ?? ""));
    if (!found.length) return null;
    return new Set(
      found.flatMap(({ op, value }) =>
        op === "missing" ? [levels.length] : [value].flat().map((level) => levels.indexOf(String(level))),
      ),
    );
  };

  function press(code) {
    const before = passing() ?? new Set();
    const after = new Set(code === levels.length || before.has(levels.length) ? [] : before);
    if (before.has(code)) after.delete(code);
    else after.add(code);
    after.delete(-1); // what was typed and is no level
    const wanted = [...after].sort((a, b) => a - b).map((each) => levels[each]);
    const condition = after.has(levels.length)
      ? { column: name, op: "missing", value: "" }
      : { column: name, op: wanted.length > 1 ? "in" : "=", value: wanted.length > 1 ? wanted : wanted[0] };
    const others = without(store.conditions, name, LEVEL_OPS);
    applyConditions(app, after.size ? [...others, condition] : others);
  }

  function show() {
    const mask = chosenRows(store);
    const some_ = mask ? countsOf(codes, levels.length, mask) : all;
    const larger = mask ? enlarged(some_, all) : 1;
    const top = Math.max(...all, 1);
    const kept = passing();
    const shown = order.filter((code, i) => i < MOST_BARS || kept?.has(code));
    if (all[levels.length]) shown.push(levels.length);
    const focused = list.contains(document.activeElement) ? document.activeElement?.getAttribute("data-code") : null;
    const width = (value) => `${Math.max(value ? 0.6 : 0, Math.min(100, (100 * value) / top))}%`;
    replace(
      list,
      shown.map((code) => {
        const text = levels[code] ?? "missing";
        const bars = [
          el("span", { class: "of-all" }),
          el("span", { class: store.selected ? "of-some selected" : "of-some" }),
        ];
        bars[0].style.width = width(all[code]);
        bars[1].style.width = width(larger * some_[code]);
        return el(
          "button",
          {
            type: "button",
            class: kept && !kept.has(code) ? "level-bar off" : "level-bar",
            "data-code": String(code),
            "aria-pressed": String(Boolean(kept?.has(code))),
            title: `${text}: ${count(some_[code])} of ${some(all[code], "row")}. Click to show only these, click others to add them.`,
            onclick: () => press(code),
          },
          el("span", { class: "level-name" }, text),
          el("span", { class: "level-room" }, bars),
          el("span", { class: "level-count" }, count(some_[code])),
        );
      }),
      order.length > shown.length &&
        el("small", null, `${some(order.length - MOST_BARS, "more level")}: find them with Filter.`),
      larger > 1 && el("small", null, `Chosen rows are drawn ${number(larger, 2)} times as long.`),
    );
    /** @type {HTMLElement | null} */ (focused && list.querySelector(`[data-code="${focused}"]`))?.focus();
  }

  const draw = drawing(app, column, prepare, show);
  return { element, draw };
}
