// Controls of a view: coloring, tools, points, axes and layout.

import { colorChoices, sameSpec } from "./colorings.js";
import { choose, el, field, unseen } from "./elements.js";
import { icon } from "./icons.js";

const TOOLS = [
  ["look", "Look", "Drag to move the map, or in three dimensions to turn it. Hold Shift to select with a box."],
  ["box", "Box", "Drag a box to select rows"],
  ["lasso", "Lasso", "Draw around rows to select them"],
  ["brush", "Brush", "Paint over rows to select them"],
];
const MOST_COLUMNS_LISTED = 400;

/** @type {(view: View) => HTMLElement} */
export function createToolbar(view) {
  const node = el("div", {
    class: "lowland-view-part lv-toolbar",
    role: "group",
    "aria-label": "Controls of the maps",
  });
  const colors = el("span", { class: "lv-slot" }),
    axes = el("span", { class: "lv-slot" }),
    layout = el("span", { class: "lv-slot" });
  const drawColors = whenChanged(
    () => [
      colorChoices(view.table, view.maps).map(({ text, spec }) => [text, spec]),
      view.coloring.spec.kind,
      view.coloring.name,
    ],
    () => colors.replaceChildren(colorField(view)),
  );
  const drawAxes = whenChanged(
    () => [mostComponents(view), view.settings.axes, view.panels.some((panel) => panel.solid)],
    () => axes.replaceChildren(...axisFields(view)),
  );
  const drawLayout = whenChanged(
    () => [view.maps.length > 1, view.layout.mode],
    () => layout.replaceChildren(...layoutFields(view)),
  );
  const rare = [
    sizeField(view),
    checkField(view, "names", "Names", "Write the names of the classes on the maps. Zoom in to see more names"),
    checkField(view, "density", "Density", "Show how many points lie where, for crowded maps"),
    axes,
    checkField(view, "linked", "Link zoom", "Zoom and move all maps together"),
    layout,
  ];
  node.append(colors, toolField(view), viewMenu(rare));
  view.on("colors", drawColors);
  view.on("axes", drawAxes);
  view.on("layout", drawLayout);
  view.on("maps", () => {
    drawColors();
    drawAxes();
    drawLayout();
  });
  drawColors();
  drawAxes();
  drawLayout();
  view.addPart(node);
  return node;
}

// What is seldom changed, behind one button. It closes with Escape, and with a click elsewhere.
/** @type {(parts: Child[]) => HTMLElement} */
function viewMenu(parts) {
  const node = el("details", { class: "lv-view-menu" }, el("summary", null, "View"), el("div", null, parts));
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !node.open) return;
    event.stopPropagation();
    node.open = false;
    node.querySelector("summary")?.focus();
  });
  node.addEventListener("toggle", () => {
    const close = (event) => {
      if (node.contains(event.target)) return;
      node.open = false;
      removeEventListener("pointerdown", close);
    };
    if (node.open) addEventListener("pointerdown", close);
  });
  return node;
}

// Draw again only if something changed: a list that is open stays open while maps are computed.
/** @type {(saying: () => unknown, draw: () => void) => () => void} */
function whenChanged(saying, draw) {
  let last = "";
  return () => {
    const said = JSON.stringify(saying());
    if (said === last) return;
    last = said;
    draw();
  };
}

/** @type {(view: View) => HTMLElement} */
function colorField(view) {
  const { spec } = view.coloring,
    choices = colorChoices(view.table, view.maps).slice(0, MOST_COLUMNS_LISTED);
  if (!choices.some((choice) => sameSpec(choice.spec, spec)))
    choices.push({ text: view.coloring.name || "Other", group: null, spec });
  const at = choices.findIndex((choice) => sameSpec(choice.spec, spec));
  return field(
    "Color by",
    choose(
      choices.map(({ text, group }, i) => ({ value: String(i), text, group })),
      String(at),
      (value) => view.colorBy({ ...choices[Number(value)].spec, byRank: spec.byRank }),
    ),
  );
}

/** @type {(view: View) => HTMLElement} */
function toolField(view) {
  const name = `lv-tool-${view.number}`,
    radios = new Map();
  const node = el(
    "div",
    { class: "lv-field", role: "radiogroup", "aria-label": "Pointer tool" },
    el("span", null, "Tool"),
    el(
      "div",
      { class: "lv-tools" },
      TOOLS.map(([key, text, title]) => {
        const radio = el("input", { type: "radio", name, value: key, onchange: () => view.set({ tool: key }) });
        radios.set(key, radio);
        return el("label", { title }, radio, icon(key), unseen(text));
      }),
    ),
  );
  const mark = () => {
    for (const [key, radio] of radios) radio.checked = key === view.settings.tool;
  };
  view.on("settings", mark);
  mark();
  return node;
}

/** @type {(view: View) => HTMLElement} */
function sizeField(view) {
  const range = el("input", {
    type: "range",
    min: -2,
    max: 3,
    step: 0.5,
    oninput: () => view.set({ size: 1.4 ** Number(range.value) }),
  });
  const mark = () => {
    range.value = String(Math.round((2 * Math.log(view.settings.size)) / Math.log(1.4)) / 2);
  };
  view.on("settings", mark);
  mark();
  return field("Point size", range);
}

/** @type {(view: View, key: "names" | "density" | "linked" | "equal", text: string, title: string) => HTMLElement} */
function checkField(view, key, text, title) {
  const box = el("input", { type: "checkbox", onchange: () => view.set({ [key]: box.checked }) });
  const mark = () => {
    box.checked = view.isOn(key);
  };
  for (const event of ["settings", "colors"]) view.on(event, mark);
  mark();
  return el("label", { class: "lv-check", title }, box, text);
}

/** @type {(view: View) => number} */
const mostComponents = (view) => Math.max(0, ...view.maps.map((map) => (map.coordinates ? map.components : 0)));

/** @type {(view: View) => HTMLElement[]} */
function axisFields(view) {
  const most = mostComponents(view),
    names = Array.from({ length: most }, (_, i) => ({ value: String(i), text: String(i + 1) })),
    { axes } = view.settings,
    solid = view.panels.some((panel) => panel.solid),
    chosen = most < 3 ? [] : solid ? ["x", "y", "z"] : ["x", "y"];
  return [
    ...chosen.map((key) =>
      field(
        `${key} axis`,
        choose(names, String(axes[key]), (value) =>
          view.set({ axes: { ...view.settings.axes, [key]: Number(value) } }),
        ),
      ),
    ),
    checkField(
      view,
      "equal",
      "Equal scales",
      "One unit has the same length on both axes, so that distances are not distorted",
    ),
  ];
}

/** @type {(view: View) => HTMLElement[]} */
function layoutFields(view) {
  if (view.maps.length < 2) return [];
  const options = [
    { value: "grid", text: "grid" },
    { value: "focus", text: "one large" },
    { value: "single", text: "one alone" },
  ];
  return [
    field(
      "Layout",
      choose(options, view.layout.mode, (mode) => view.arrange({ mode, key: view.layout.key ?? view.panels[0]?.key })),
    ),
  ];
}
