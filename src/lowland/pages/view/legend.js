// The legend: classes with counts to show and hide, or a color bar.

import { nameOfMissing } from "./colorings.js";
import { MISSING, LOOKS } from "./colors.js";
import { BETTER, brief, contextOf, count, el, some } from "./elements.js";
import { NEIGHBOR_LOOKS } from "./neighbors.js";
import { outline, rimColor } from "./stamps.js";

const MOST_LISTED = 300; // classes that are listed at once; the search finds the others
const SEARCHED = 12; // classes from which there is a search

/** @type {(view: View) => HTMLElement} */
export function createLegend(view) {
  const node = el("section", { class: "lowland-view-part lv-legend", "aria-label": "Legend" });
  const draw = () => {
    const { coloring } = view,
      parts =
        coloring.type === "classes"
          ? classParts(view, coloring)
          : coloring.type === "scale"
            ? scaleParts(view, coloring)
            : [];
    node.replaceChildren(...parts, ...neighborParts(view));
    node.hidden = !node.childNodes.length;
  };
  for (const event of ["colors", "theme", "neighbors"]) view.on(event, draw);
  view.on("classes", () => markPressed(view, node));
  view.on("filter", () => markCounts(view, node));
  view.addPart(node);
  draw();
  return node;
}

/** @type {(view: View, coloring: ScaleColoring) => HTMLElement[]} */
function scaleParts(view, coloring) {
  const { palette, theme } = view,
    bar = el("canvas", {
      width: 255,
      height: 1,
      class: "lv-scale",
      role: "img",
      "aria-label": "Color scale from low to high",
    }),
    context = contextOf(bar),
    rank = el("input", { type: "checkbox", onchange: () => view.colorBy({ ...coloring.spec, byRank: rank.checked }) });
  rank.checked = Boolean(coloring.spec.byRank);
  for (let i = 0; i < 255; i++) {
    context.fillStyle = palette.colors[i];
    context.fillRect(i, 0, 1, 1);
  }
  const missing = el("span", { class: "lv-swatch" });
  missing.style.background = theme.missing;
  return [
    el("h4", null, coloring.name),
    el(
      "div",
      { class: "lv-bar" },
      bar,
      el(
        "div",
        { class: "lv-ends" },
        el("span", null, coloring.ends[0]),
        coloring.spec.byRank && el("span", null, `median ${coloring.format(coloring.middle ?? NaN)}`),
        el("span", null, coloring.ends[1]),
      ),
    ),
    el(
      "label",
      { class: "lv-check", title: "Color by rank instead of value, so that outliers do not use up the scale" },
      rank,
      "By rank",
    ),
    coloring.better && el("p", { class: "lv-note" }, BETTER[coloring.better][1]),
    coloring.missing && el("p", { class: "lv-note" }, missing, " missing value"),
  ].filter(Boolean);
}

/** @type {(view: View, coloring: ClassColoring) => HTMLElement[]} */
function classParts(view, coloring) {
  const { levels, counts } = coloring,
    list = el("div", { class: "lv-classes", role: "group", "aria-label": coloring.name }),
    codes = [...levels.keys()];
  if (counts[levels.length]) codes.push(levels.length);
  const fill = (text) => {
    const wanted = text.trim().toLowerCase(),
      found = codes.filter((code) => !wanted || nameOf(coloring, code).toLowerCase().includes(wanted));
    list.replaceChildren(...found.slice(0, MOST_LISTED).map((code) => classButton(view, coloring, code)));
    markCounts(view, list);
    if (found.length > MOST_LISTED)
      list.append(
        el(
          "p",
          { class: "lv-note" },
          `and ${some(found.length - MOST_LISTED, "more class", "more classes")}. Search to find them.`,
        ),
      );
    if (!found.length) list.append(el("p", { class: "lv-note" }, "No class has this name."));
  };
  fill("");
  const search =
    codes.length >= SEARCHED &&
    el("input", {
      type: "search",
      placeholder: `Search ${count(codes.length)} classes`,
      "aria-label": "Search classes",
      oninput: () => search && fill(search.value),
    });
  const all = el(
    "button",
    { type: "button", class: "lv-quiet lv-all", onclick: () => view.hideClasses(new Set()) },
    "Show all",
  );
  all.hidden = !view.hiddenClasses.size;
  return [
    el("h4", null, coloring.name, all),
    search,
    list,
    levels.length > LOOKS &&
      el(
        "p",
        { class: "lv-note" },
        `${count(levels.length)} classes share ${LOOKS} markers. Click one to see only its rows.`,
      ),
  ].filter(Boolean);
}

/** @type {(coloring: ClassColoring, code: number) => string} */
const nameOf = (coloring, code) => coloring.levels[code] ?? nameOfMissing(coloring);

/** @type {(view: View, coloring: ClassColoring, code: number) => HTMLButtonElement} */
function classButton(view, coloring, code) {
  const name = nameOf(coloring, code);
  return el(
    "button",
    {
      type: "button",
      class: "lv-class",
      "data-code": String(code),
      "aria-pressed": String(!view.hiddenClasses.has(code)),
      onclick: (event) => press(view, coloring, code, event),
    },
    sampleOf(view, code < coloring.levels.length ? code % LOOKS : MISSING),
    el("span", { class: "lv-name" }, brief(name, 40)),
    el("span", { class: "lv-count" }),
  );
}

// How many rows of each class the filter shows.
/** @type {(view: View, node: HTMLElement) => void} */
function markCounts({ coloring, filterMask }, node) {
  if (coloring.type !== "classes") return;
  const { levels } = coloring,
    counts = filterMask ? new Uint32Array(levels.length + 1) : coloring.counts;
  if (filterMask)
    for (let row = 0; row < filterMask.length; row++)
      if (filterMask[row]) counts[Math.min(coloring.codes[row], levels.length)]++;
  for (const button of node.querySelectorAll(".lv-class")) {
    const code = Number(button.dataset.code),
      many = counts[code] ?? 0;
    button.querySelector(".lv-count")?.replaceChildren(count(many));
    button.title = `${nameOf(coloring, code)}: ${some(many, "row")}. Click to show only this class, Shift-click to hide or show it, Alt-click to select its rows.`;
  }
}

/** @type {(view: View, coloring: ClassColoring, code: number, event: MouseEvent) => void} */
function press(view, coloring, code, event) {
  const { hiddenClasses } = view,
    all = coloring.levels.length + (coloring.counts[coloring.levels.length] ? 1 : 0);
  if (event.altKey) {
    const mask = Uint8Array.from(coloring.codes, (each) => (Math.min(each, coloring.levels.length) === code ? 1 : 0));
    view.select(mask, event.shiftKey ? "add" : "new");
    return;
  }
  let hidden = new Set(hiddenClasses);
  if (event.shiftKey || event.ctrlKey || event.metaKey) {
    if (!hidden.delete(code)) hidden.add(code);
  } else if (hidden.size === all - 1 && !hidden.has(code))
    hidden = new Set(); // only this one was shown
  else
    hidden = new Set(
      Array.from({ length: coloring.levels.length + 1 }, (_, each) => each).filter(
        (each) => each !== code && (each < coloring.levels.length || all > each),
      ),
    );
  view.hideClasses(hidden);
}

/** @type {(view: View, node: HTMLElement) => void} */
function markPressed(view, node) {
  for (const button of node.querySelectorAll(".lv-class"))
    button.setAttribute("aria-pressed", String(!view.hiddenClasses.has(Number(button.dataset.code))));
  const all = node.querySelector(".lv-all");
  if (all) all.hidden = !view.hiddenClasses.size;
}

/** @type {(view: View, shade: number) => HTMLCanvasElement} */
function sampleOf(view, shade) {
  const { palette, theme } = view;
  return drawnSample(palette.shape(shade), palette.colors[shade], theme);
}

/** @type {(shape: Shape, color: string, theme: Theme) => HTMLCanvasElement} */
function drawnSample(shape, color, theme) {
  const canvas = el("canvas", { width: 26, height: 26, class: "lv-sample", "aria-hidden": "true" }),
    context = contextOf(canvas);
  outline(context, shape, 13, 13, 8);
  context.fillStyle = color;
  context.fill();
  context.strokeStyle = rimColor(color, theme);
  context.lineWidth = 1.4;
  context.stroke();
  return canvas;
}

/** @type {(view: View) => HTMLElement[]} */
function neighborParts(view) {
  if (!view.shown?.neighbors) return [];
  return [
    el(
      "div",
      { class: "lv-near" },
      el("h4", null, `Neighbors of ${view.table.titleOf(view.shown.row)}`),
      el(
        "ul",
        { class: "lv-key" },
        [...NEIGHBOR_LOOKS]
          .reverse()
          .map(([name, shape, color, meaning]) =>
            el("li", null, drawnSample(shape, view.theme[color], view.theme), el("b", null, name), ` ${meaning}`),
          ),
      ),
    ),
  ];
}
