// Linked maps inside a notebook. Data arrives once, as binary traits of the widget's model; the selection and the
// coloring go both ways. anywidget calls renderWidget for each place where the widget is shown.

import { count, el, some } from "../view/elements.js";
import { MapData, Table } from "../view/model.js";
import { createView } from "../view/view.js";

/** @type {Record<string, any>} */
const TRAIT_ARRAYS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
const THEME_ATTRIBUTES = ["class", "style", "theme", "data-jp-theme-light", "data-vscode-theme-kind"];
const NIGHT_BELOW = 0.35; // luminance of the page behind the widget

/** @type {(context: { model: WidgetModel, el: HTMLElement }) => () => void} */
export function renderWidget({ model, el: place }) {
  const root = el("div", { class: "lowland-notebook" }),
    height = model.get("_height");
  if (height) root.style.height = `${height}px`;
  root.dataset.lmSuppressShortcuts = "true"; // keys belong to the maps, not to the notebook
  root.addEventListener("keydown", (event) => event.stopPropagation());
  place.append(root);
  const { label, ids, n, name, columns, rowNumbers } = model.get("_table"),
    table = new Table({ n, name, ids, label, columns: columns.map(withArrays), rowNumbers: traitArray(rowNumbers) }),
    maps = model.get("_maps").map((map) => new MapData({ ...withArrays(map), n: map.coordinates ? n : null })),
    view = createView(root, {
      table,
      maps,
      fit: height ? "fill" : "flow",
      wheel: "ctrl",
      tool: "lasso",
      theme: themeAround(place),
      coloring: withArrays(model.get("_coloring")),
    }),
    stops = [
      showSelected(root, view),
      linkSelection(model, view),
      linkColoring(model, view),
      followTheme(place, view),
      freeTooltip(root, view),
    ];
  return () => {
    for (const stop of stops) stop();
    view.close();
    root.remove();
  };
}

// Arrays as the notebook sends them: their bytes may begin anywhere in a larger buffer.
/** @type {(given: Trait | null) => any} */
function traitArray(given) {
  if (!given) return null;
  const { data, type } = given;
  return new TRAIT_ARRAYS[type](data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength));
}

/** @type {(fields: Record<string, any>) => any} */
function withArrays(fields) {
  const made = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value?.data && value.type in TRAIT_ARRAYS) made[name] = traitArray(value);
    else if (name === "trust")
      made.trust = Object.fromEntries(Object.entries(value).map(([measure, each]) => [measure, withArrays(each)]));
    else made[name] = value;
  }
  return made;
}

/** @type {(model: WidgetModel, name: string, listener: () => void) => () => void} */
function follow(model, name, listener) {
  model.on(`change:${name}`, listener);
  return () => model.off(`change:${name}`, listener);
}

// A line below the maps: how many rows are selected, and where they are in Python.
/** @type {(root: HTMLElement, view: View) => () => void} */
function showSelected(root, view) {
  const node = el("p", { class: "lv-note" }),
    tell = () => {
      const many = view.selectedCount;
      node.textContent = many
        ? `${count(many)} of ${some(view.table.n, "row")} selected. In Python: selection has their numbers, selected the rows.`
        : "No rows selected. Draw around points to select them in all maps. Shift adds, Alt removes, Escape clears.";
    };
  root.append(node);
  tell();
  return view.on("select", tell);
}

// --- selection: one bit per row, least significant first

/** @type {(model: WidgetModel, view: View) => () => void} */
function linkSelection(model, view) {
  const receive = () => {
    const bits = model.get("selection");
    if (!bits || sameBytes(bits, selectedBits(view))) return;
    view.select(Uint8Array.from({ length: view.table.n }, (_, row) => (bits.getUint8(row >> 3) >> (row & 7)) & 1));
  };
  receive();
  const unlisten = view.on("select", ({ live }) => {
      if (live) return; // still dragging
      const bits = selectedBits(view);
      if (sameBytes(bits, model.get("selection"))) return;
      model.set("selection", bits);
      model.save_changes();
    }),
    unfollow = follow(model, "selection", receive);
  return () => {
    unlisten();
    unfollow();
  };
}

/** @type {(view: View) => DataView} */
function selectedBits(view) {
  const mask = view.selection,
    bits = new Uint8Array(Math.ceil(mask.length / 8));
  for (let row = 0; row < mask.length; row++) if (mask[row]) bits[row >> 3] |= 1 << (row & 7);
  return new DataView(bits.buffer);
}

/** @type {(a: DataView | null, b: DataView | null) => boolean} */
function sameBytes(a, b) {
  if (!a || !b || a.byteLength !== b.byteLength) return false;
  for (let i = 0; i < a.byteLength; i++) if (a.getUint8(i) !== b.getUint8(i)) return false;
  return true;
}

// --- coloring

/** @type {(model: WidgetModel, view: View) => () => void} */
function linkColoring(model, view) {
  let received = model.get("_coloring"); // values to color by stay as they came
  const unlisten = view.on("colors", (spec) => {
      if (spec.kind === "values" || sameColoring(spec, received)) return;
      const { kind, column, measure, map } = spec;
      received = JSON.parse(JSON.stringify({ kind, column, measure, map }));
      model.set("_coloring", received);
      model.save_changes();
    }),
    unfollow = follow(model, "_coloring", () => {
      const asked = model.get("_coloring");
      if (asked === received) return;
      received = asked;
      view.colorBy(withArrays(asked));
    });
  return () => {
    unlisten();
    unfollow();
  };
}

/** @type {(a: ColoringSpec, b: ColoringSpec) => boolean} */
const sameColoring = (a, b) => a.kind === b.kind && a.column === b.column && a.measure === b.measure && a.map === b.map;

// --- the notebook around the widget

// Light or dark as the page behind the widget, whatever the system prefers: notebooks have themes of their own.
/** @type {(place: HTMLElement) => "dark" | "light" | "auto"} */
function themeAround(place) {
  /** @type {Element | null} */
  let node = place;
  while (node) {
    const [red, green, blue, opacity = 1] = (getComputedStyle(node).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (opacity > 0.5 && blue !== undefined)
      return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255 < NIGHT_BELOW ? "dark" : "light";
    const root = node.getRootNode();
    node = node.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  }
  return "auto";
}

/** @type {(place: HTMLElement, view: View) => () => void} */
function followTheme(place, view) {
  let waiting = 0;
  const look = () => {
      const theme = themeAround(place);
      if (theme !== view.themeChoice) view.setTheme(theme);
    },
    observer = new MutationObserver(() => {
      clearTimeout(waiting);
      waiting = setTimeout(look, 200); // style sheets are loaded after the attributes change
    });
  for (const node of [document.documentElement, document.body])
    observer.observe(node, { attributes: true, attributeFilter: THEME_ATTRIBUTES });
  const started = requestAnimationFrame(look); // the widget may not be in the page yet
  return () => {
    observer.disconnect();
    clearTimeout(waiting);
    cancelAnimationFrame(started);
  };
}

// The tooltip is placed on the screen. A notebook that moves its cells by transforms would shift it: it goes to the body.
/** @type {(root: HTMLElement, view: View) => () => void} */
function freeTooltip(root, view) {
  const { node } = view.tip,
    started = requestAnimationFrame(() => {
      if (root.getRootNode() !== document) return; // the style is in a shadow tree: stay there
      node.classList.add("lowland-view-part");
      view.addPart(node);
      document.body.append(node);
    });
  return () => {
    cancelAnimationFrame(started);
    node.remove();
  };
}
