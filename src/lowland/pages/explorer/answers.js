// Questions about a map, which the server's workers answer: is it real, and are the groups that are shown separate?

import { classColor, lookOf } from "../view/colors.js";
import { count, duration, el, number, some } from "../view/elements.js";
import { arrowsOf, contoursOf } from "../view/overlay.js";
import { base64Of, maskText } from "../view/saving.js";
import { deleteAt, getFloats, getJson, postJson } from "./api.js";
import { button, choice, facts, glyph, replace } from "./elements.js";
import { attempt, notice } from "./notices.js";
import { asPercent } from "./words.js";

const CLASS_NAMES = ["reliable", "uncertain", "unreliable"];
/** @type {Record<string, string>} */
const POINT_VALUES = { class: "Reliability", p: "p-value", stability: "Stability", region: "Dense regions" };
const MOST_GROUPS = 100; // classes that are tested
const SHOWN_COLUMNS = 8;
const LEAST_SELECTED = 25; // rows of a region
const VERDICTS = { separate: "check", "not separate": "close", undecided: "help" };

/** @type {(map: MapRecord | undefined, question?: string) => boolean} */
export const isAnswered = (map, question = "reliability") => map?.answers?.[question]?.status === "done";
/** @type {(store: Store, coloring: PageColoring) => string} */
export const answerWords = (store, { map = "", value = "class" }) =>
  `${POINT_VALUES[value] ?? value}: ${store.mapName(map)}`;

// What the view colors by: a value of every row, or classes.
/** @type {(store: Store, coloring: PageColoring) => Promise<ColoringSpec>} */
export async function answerColoring(store, { map = "", value = "class" }) {
  const values = await getFloats(`/maps/${map}/answers/reliability/${value}`);
  const name = answerWords(store, { kind: "answer", map, value });
  if (value !== "class" && value !== "region")
    return { kind: "values", name, values, low: 0, high: value === "p" || value === "stability" ? 1 : undefined };
  const most = values.reduce((high, code) => (code > high ? code : high), -1) + 1;
  const levels = value === "class" ? CLASS_NAMES : Array.from({ length: most }, (_, code) => `cluster ${code}`);
  const codes = Uint16Array.from(values, (code) => (Number.isNaN(code) ? levels.length : code));
  return { kind: "values", name, values: codes, levels, groups: value === "region" };
}

/** @param {App} app */
export function answersBox(app) {
  const { store } = app;
  const element = el("section", { class: "answers" });
  const pending = new Set(); // keys of answers that are drawn when they come
  const overlayOf = (map) => app.stage.mapData(map.id)?.overlay ?? {};
  const known = new Map(); // "map run question" -> the answer
  let seen = "";

  const keyOf = (map, question) => `${map.id} ${map.run} ${question}`;
  const ask = (map, question, json) => {
    pending.add(keyOf(map, question));
    return attempt(() => postJson(`/maps/${map.id}/answers/${question}`, json));
  };

  // The answer, once it is there; it is drawn when it comes.
  function answerTo(map, question) {
    const key = keyOf(map, question);
    if (!known.has(key)) {
      known.set(key, null);
      attempt(async () => {
        const found = await getJson(`/maps/${map.id}/answers/${question}`);
        known.set(key, found);
        const isNew = pending.delete(key); // asked here just now
        if (isNew && question === "reliability") app.colorBy({ kind: "answer", map: map.id, value: "class" });
        if (isNew && question === "axes") draw(map, { arrows: arrowsOf(found, map.components) });
        if (isNew && question === "surface") draw(map, { contours: contoursOf(found, map.components) });
        seen = "";
        fill();
      });
    }
    return known.get(key);
  }

  // Its state while it is being answered, or why it was not.
  function underWay(map, question) {
    const { status, stage, fraction, seconds_left: left, error } = map.answers[question];
    if (status !== "queued" && status !== "running")
      return el("p", { class: "state-line failed" }, error || "It was not answered. Ask again.");
    const words = [stage ?? (status === "queued" ? "Waiting for its turn" : "Starting")];
    if (Number.isFinite(left) && left !== null) words.push(`${duration(left)} left`);
    return [
      el("p", { class: "state-line" }, words.join(", ")),
      el("progress", Number.isFinite(fraction) && fraction !== null ? { max: 1, value: fraction } : {}),
      button("Cancel", {
        symbol: "stop",
        kind: "small",
        onclick: () => attempt(() => deleteAt(`/maps/${map.id}/answers/${question}`)),
      }),
    ];
  }

  function reliabilityParts(map) {
    const asked = map.answers?.reliability;
    const test = (words) => button(words, { kind: "small", onclick: () => ask(map, "reliability") });
    if (!asked)
      return [
        el(
          "p",
          { class: "note" },
          "Compares every point with maps of noise, makes the map again from parts of the rows, and tests its clusters.",
        ),
        test("Test it"),
      ];
    if (asked.status !== "done")
      return [underWay(map, "reliability"), !["queued", "running"].includes(asked.status) && test("Test it again")];
    const found = answerTo(map, "reliability");
    if (!found) return el("p", { class: "note" }, "The answer is being read.");
    return [
      fractionBar(found),
      el("p", { class: "summary" }, found.summary),
      el(
        "div",
        { class: "row" },
        Object.entries(POINT_VALUES)
          .filter(([value]) => value !== "region" || found.regions > 0)
          .map(([value, text]) =>
            button(text, {
              kind: "small",
              title: "Color the points by this",
              onclick: () => app.colorBy({ kind: "answer", map: map.id, value }),
            }),
          ),
      ),
      el("h4", null, "Dense regions of the map"),
      found.clusters.length
        ? verdictList(found.clusters)
        : el(
            "p",
            { class: "note" },
            "The map has no clusters to test: it has fewer than two dense regions of 20 points.",
          ),
    ];
  }

  // The clusters or classes that the colors show now.
  function groupParts(map) {
    const { coloring } = app.stage.view ?? {};
    const own = store.coloring.kind === "answer" && store.coloring.value === "class";
    const isShown = coloring?.type === "classes" && coloring.levels.length > 1 && !own;
    const asked = map.answers?.groups;
    const found = isAnswered(map, "groups") && answerTo(map, "groups");
    return [
      (asked || isShown) && el("h4", null, asked?.of ? `Groups: ${asked.of}` : "Groups"),
      asked && asked.status !== "done" && underWay(map, "groups"),
      found &&
        (found.clusters.length
          ? verdictList(found.clusters)
          : el("p", { class: "note" }, "Fewer than two of these groups have 20 rows, so they cannot be tested.")),
      isShown &&
        !["queued", "running"].includes(asked?.status) &&
        button(`Test ${coloring.name}`, {
          kind: "small",
          title: "Are the groups that the colors show separate in the data?",
          onclick: () => testGroups(map, coloring),
        }),
    ];
  }

  async function testGroups(map, { name, codes, levels }) {
    if (levels.length > MOST_GROUPS) {
      notice(`At most ${MOST_GROUPS} groups can be tested, and these are ${levels.length}.`);
      return;
    }
    const wide = Uint16Array.from(codes, (code) => Math.min(code, 65535));
    const json = { name: name.slice(0, 200), kind: "u2", codes: base64Of(new Uint8Array(wide.buffer)), levels };
    await ask(map, "groups", json);
  }

  // Which columns follow the axes, and where they are large.
  function axesParts(map) {
    const asked = map.answers?.axes;
    if (!asked)
      return [
        el("p", { class: "note" }, "Fits every column to the map: the direction in which it grows, with r² and p."),
        button("Fit the columns", { kind: "small", onclick: () => ask(map, "axes") }),
      ];
    if (asked.status !== "done") return underWay(map, "axes");
    const found = answerTo(map, "axes");
    if (!found) return null;
    const numeric = found.columns.filter((column) => column.direction);
    return [
      el("p", { class: "summary" }, found.summary),
      facts(
        found.columns
          .slice(0, SHOWN_COLUMNS)
          .map((column) => [column.name, `r² ${number(column.r2, 2)}, p ${number(column.p_value, 2)}`]),
      ),
      el(
        "div",
        { class: "row" },
        toggle("Arrows", overlayOf(map).arrows, (on) =>
          draw(map, { arrows: on ? arrowsOf(found, map.components) : null }),
        ),
        choice(
          [["", "Surface of…"], ...numeric.map((column) => [column.name, column.name])],
          isAnswered(map, "surface") || map.answers?.surface ? (map.answers.surface.of ?? "") : "",
          (name) => name && askSurface(map, name),
          { class: "small", "aria-label": "Surface of a column" },
        ),
      ),
      surfaceParts(map),
      regionParts(map),
      el(
        "p",
        { class: "note" },
        "The p-values are evidence only for columns that did not make the map: a map of noise follows its columns, too.",
      ),
    ];
  }

  const askSurface = (map, name) => {
    draw(map, { contours: null });
    return ask(map, "surface", { column: (store.table?.columns ?? []).findIndex((column) => column.name === name) });
  };

  function surfaceParts(map) {
    const asked = map.answers?.surface;
    if (asked && asked.status !== "done") return underWay(map, "surface");
    const found = asked && answerTo(map, "surface");
    if (!found) return null;
    return el(
      "div",
      { class: "row" },
      toggle("Contours", overlayOf(map).contours, (on) =>
        draw(map, { contours: on ? contoursOf(found, map.components) : null }),
      ),
      el("small", null, `${found.name}: r² ${number(found.r2, 2)}, p ${number(found.p_value, 2)}`),
    );
  }

  // How the map moves with the columns where the selected rows are.
  function regionParts(map) {
    const asked = map.answers?.region;
    const found = isAnswered(map, "region") && answerTo(map, "region");
    return [
      asked && asked.status !== "done" && underWay(map, "region"),
      found && [
        el("h4", null, `Local loadings of ${some(found.size, "row")}`),
        facts(
          found.drivers
            .slice(0, SHOWN_COLUMNS)
            .map(({ name, share, movement }) => [
              name,
              `${asPercent(share)}, moves by ${movement.map((value) => number(value, 2)).join(", ")}`,
            ]),
        ),
      ],
      store.selected >= LEAST_SELECTED &&
        !["queued", "running"].includes(asked?.status) &&
        button("Local loadings of the selection", {
          kind: "small",
          title: "How the map moves there when a column grows by its standard deviation",
          onclick: () => ask(map, "region", { mask: maskText(store.selection) }),
        }),
    ];
  }

  const draw = (map, fields) => {
    if (app.stage.mapData(map.id)) app.stage.view?.update(map.id, { overlay: { ...overlayOf(map), ...fields } });
    seen = "";
    fill();
  };

  function fill() {
    const map = store.maps.get(store.focus ?? "");
    const done = map?.status === "done";
    const now = done
      ? JSON.stringify([map.id, map.run, map.answers, map.outdated, store.coloring, store.selected])
      : "";
    if (now === seen) return;
    seen = now;
    for (const [question, { status }] of Object.entries(map?.answers ?? {}))
      if (status !== "done") known.delete(keyOf(map, question)); // it is asked again, here or elsewhere
    replace(
      element,
      done && [
        el("h3", null, "Is it real?"),
        map.outdated
          ? el("p", { class: "note" }, "The map is outdated. Update it to test it.")
          : [reliabilityParts(map), groupParts(map), el("h3", null, "What do the axes mean?"), axesParts(map)],
      ],
    );
  }
  for (const event of ["focus", "maps", "current", "coloring", "selection"]) store.on(event, fill);
  return element;
}

/** @type {(text: string, isOn: unknown, onchange: (on: boolean) => void) => HTMLElement} */
function toggle(text, isOn, onchange) {
  const box = el("input", { type: "checkbox", onchange: () => onchange(box.checked) });
  box.checked = Boolean(isOn);
  return el("label", { class: "check" }, box, text);
}

/** @param {{ fractions: Record<string, number>, rows: number }} found */
function fractionBar({ fractions, rows }) {
  const named = CLASS_NAMES.map((name) => `${count(Math.round(rows * fractions[name]))} ${name}`);
  return el(
    "figure",
    { class: "fractions" },
    el(
      "div",
      { class: "fraction-bar", role: "img", "aria-label": named.join(", ") },
      CLASS_NAMES.map((name, code) => {
        const part = el("span", { title: named[code] });
        part.style.background = classColor(lookOf(CLASS_NAMES, code)); // as the points on the map
        part.style.flexGrow = String(fractions[name]);
        return part;
      }),
    ),
    el("figcaption", null, named.join(", ")),
  );
}

/** @param {ClusterRecord[]} clusters */
function verdictList(clusters) {
  return el(
    "ul",
    { class: "verdicts" },
    [...new Map(clusters.map((each) => [each.sentence, each])).values()].map((each) =>
      el(
        "li",
        { class: each.verdict.replace(" ", "-"), title: `Held-out separation ${number(each.separation, 2)}` },
        glyph(VERDICTS[each.verdict]),
        el("span", null, each.sentence),
      ),
    ),
  );
}
