// The maps, side by side, with their controls above, and legend, search and selection beside them.

import { reliabilitySpec } from "../view/colorings.js";
import { choose, count, el, field } from "../view/elements.js";
import { printedMaps } from "../view/printed.js";
import { createView } from "../view/view.js";
import { keyOf, mapsOfStudy, tableOfStudy } from "./convert.js";
import { drawnField } from "./drawn.js";
import { rowFinder } from "./finder.js";
import { highlighted, lookAt, onHighlight } from "./highlight.js";
import { SEEN } from "./scores.js";
import { selectionBox } from "./selection.js";
import { aScore, byMeasure, deciding, drawnTrials, inOrder, measureNames, study } from "./study.js";

// Whether a measure can sort the trials: not if it is the same for all.
/** @type {(name: string) => boolean} */
const distinguishesTrials = (name) => name === deciding || new Set(drawnTrials.map(byMeasure(name).value)).size > 1;

/** @type {(view: View) => HTMLElement} */
function orderField(view) {
  const options = [
    { value: "", text: "study order" },
    { value: "name", text: "name" },
    ...measureNames
      .filter(distinguishesTrials)
      .map((name) => ({ value: `measure ${name}`, text: name, group: "Best first" })),
    { value: "seconds", text: "fit time", group: "Best first" },
  ];
  const sort = (value) => {
    const name = value.startsWith("measure ") ? value.slice(8) : null;
    const key = { "": (t) => t.index, name: (t) => t.name.toLowerCase(), seconds: (t) => t.seconds }[value];
    const keys = inOrder(
      drawnTrials,
      name === null ? { value: key } : byMeasure(name),
      name !== null && aScore(name)?.better === "higher",
    ).map(keyOf);
    view.sort((a, b) => keys.indexOf(a.key) - keys.indexOf(b.key));
  };
  const node = field("Sort by", choose(options, deciding ? `measure ${deciding}` : "", sort));
  node.classList.add("order");
  return node;
}

/** @type {(view: View) => HTMLElement} */
function sizeOfMaps(view) {
  const options = ["small", "medium", "large"].map((size) => ({ value: size, text: size }));
  return field(
    "Map size",
    choose(options, view.layout.size, (size) => view.arrange({ size })),
  );
}

// Panels and the other sections highlight the same trial; links lead to panels.
/** @type {(view: View) => void} */
function linkPanels(view) {
  for (const trial of drawnTrials) {
    const { node } = view.shownPanel(keyOf(trial));
    node.id = keyOf(trial);
    node.addEventListener("pointerenter", () => lookAt(trial));
    node.addEventListener("pointerleave", () => lookAt(null));
    onHighlight(() => node.classList.toggle("lit", highlighted() === trial));
  }
}

// The label, else the reliability that was asked for, of the recommended map if it was tested.
/** @type {(table: Table, maps: MapData[]) => ColoringSpec | undefined} */
function firstColoring(table, maps) {
  const tested = maps.filter((map) => map.classes);
  if (table.labelColumn?.colors || !tested.length) return undefined;
  return reliabilitySpec(tested.find((map) => map.badge) ?? tested[0]);
}

/** @type {(section: HTMLElement) => boolean} */
export function mapsSection(section) {
  if (!drawnTrials.length) {
    section.append(el("p", null, "No trial produced coordinates to plot."));
    return true;
  }
  const { table } = study,
    shown = tableOfStudy(),
    maps = mapsOfStudy(),
    root = el("div", { class: "maps-view" }),
    toolbar = el("div", { class: "toolbar" }),
    legend = el("div", { class: "legend" }),
    side = el("aside", { class: "side", "aria-label": "Legend, search and selection" }, legend);
  const paper = el("div", { class: "lv-printed" });
  section.append(paper, toolbar, el("div", { class: "maps" }, root, side));
  const view = createView(root, {
    table: shown,
    maps,
    coloring: firstColoring(shown, maps),
    tool: "box",
    toolbar,
    legend,
  });
  view.setTheme("auto"); // also of the parts beside it
  view.toolbar?.append(...[orderField(view), drawnField(view)].filter((node) => node !== null));
  view.toolbar?.querySelector(".lv-view-menu > div")?.append(sizeOfMaps(view));
  side.append(rowFinder(view, shown), selectionBox(view, shown));
  linkPanels(view);
  // The target of a link must not be hidden behind the sticky controls.
  new ResizeObserver(() =>
    document.documentElement.style.setProperty("--controls", `${toolbar.offsetHeight}px`),
  ).observe(toolbar);
  const notes = [
    table.drawn < table.rows && `A sample of ${count(table.drawn)} of ${count(table.rows)} rows is shown.`,
    drawnTrials.some((trial) => Object.values(trial.scores).some((said, i) => i < 2 && said.labels_seen)) && SEEN,
  ];
  section.append(...notes.filter(Boolean).map((note) => el("p", { class: "note" }, note)));
  addEventListener("beforeprint", () => paper.replaceChildren(legend, printedMaps(view)));
  addEventListener("afterprint", () => {
    side.prepend(legend);
    paper.replaceChildren();
    view.print(false);
  });
  addEventListener("hashchange", () => {
    if (view.panelOf(location.hash.slice(1))?.node.hidden) view.open(null);
  });
  return true;
}
