// The selected rows: count, classes, images, a list, and files to save.

import { contrastBars, contrastOf } from "../view/contrast.js";
import { brief, el, offer, some, tableOf } from "../view/elements.js";
import { showRow } from "./near.js";
import { copyText, say } from "./words.js";

const LISTED_ROWS = 200;
const LISTED_COLUMNS = 8;
const MOST_IMAGES = 60;

// The classes of the selected rows, the largest first.
/** @type {(mask: Mask, label: Column | null) => string} */
function classesOf(mask, label) {
  if (!label || label.kind !== "category") return "";
  const { numbers: codes } = label,
    levels = label.levels ?? [],
    counts = new Uint32Array(levels.length + 1);
  for (let i = 0; i < mask.length; i++) if (mask[i]) counts[Math.min(codes[i], levels.length)]++;
  const most = Array.from(counts, (many, code) => ({ name: levels[code] ?? "no label", many }))
    .filter(({ many }) => many)
    .sort((a, b) => b.many - a.many);
  const first = most.slice(0, 6).map(({ name, many }) => `${brief(name, 40)} (${some(many, "row")})`);
  return `, by ${label.name}: ${first.join(", ")}${most.length > 6 ? `, ${some(most.length - 6, "other class", "other classes")}` : ""}`;
}

/** @type {(view: View, table: Table) => (HTMLElement | string)[]} */
function listOf(view, table) {
  const rows = view.selectedRows(LISTED_ROWS),
    columns = table.columns.slice(0, LISTED_COLUMNS);
  return [
    tableOf(
      null,
      [table.ids ? "id" : "row", ...columns.map((column) => column.name)],
      rows.map((row) =>
        el(
          "tr",
          { onpointerenter: () => showRow(view, row), onpointerleave: () => showRow(view, null) },
          el("td", null, table.ids ? table.ids[row] : table.numberOf(row)),
          columns.map((column) => el("td", null, column.textOf(row) ?? "–")),
        ),
      ),
    ),
    view.selectedCount > rows.length
      ? el("p", { class: "note" }, `The first ${LISTED_ROWS} are listed. The file has all.`)
      : "",
  ];
}

/** @type {(view: View, table: Table) => HTMLElement[]} */
const imagesOf = (view, table) =>
  view.selectedRows(MOST_IMAGES).map((row) =>
    el("img", {
      src: table.thumbnail?.(row),
      alt: table.titleOf(row),
      title: table.titleOf(row),
      onpointerenter: () => showRow(view, row),
      onpointerleave: () => showRow(view, null),
    }),
  );

/** @type {(view: View, table: Table) => HTMLElement} */
export function selectionBox(view, table) {
  const said = el("p", { id: "selected", class: "selected" });
  const named = table.ids ? "ids" : "row numbers";
  const nameOf = (row) => (table.ids ? table.ids[row] : table.numberOf(row));
  const save = el(
    "button",
    {
      type: "button",
      onclick: () => offer(new Blob([view.csv()], { type: "text/csv" }), "selection.csv"),
    },
    "Save CSV",
  );
  const copied = el(
    "button",
    { type: "button", onclick: () => copyText(view.selectedRows().map(nameOf).join(", "), copied) },
    `Copy ${named}`,
  );
  const clear = el("button", { type: "button", onclick: () => view.clearSelection() }, "Clear");
  const list = el("div", { class: "scroll listed", tabindex: "0", role: "region", "aria-label": "Selected rows" });
  const more = el("details", null, el("summary", null, "List rows"), list);
  const images = el("div", { class: "images" });
  const effects = el("div", { class: "contrast" });
  const apart = el("details", { open: true }, el("summary", null, "What sets them apart"), effects);
  const box = el(
    "div",
    { class: "selection" },
    said,
    el("div", { class: "buttons" }, save, copied, clear),
    images,
    apart,
    more,
  );
  let waitingToSay = 0,
    waitingToCompare = 0;
  // Once the selection has been still for a moment.
  const compare = () => {
    const many = view.selectedCount;
    if (!apart.open || many === 0 || many === table.n) return;
    effects.replaceChildren(
      ...contrastBars(contrastOf(table, view.selection), table.columns, (column) =>
        view.colorBy({ kind: "column", column }),
      ),
    );
  };
  apart.addEventListener("toggle", compare);
  const draw = () => {
    const mask = view.selection,
      none = view.selectedCount === 0;
    box.classList.toggle("idle", none);
    for (const button of [save, copied, clear]) button.disabled = none;
    said.textContent = none
      ? "No rows selected. Drag over a map to select. Hold Shift to add, Alt to remove."
      : `${some(view.selectedCount, "row")} selected${classesOf(mask, table.labelColumn)}.`;
    images.replaceChildren(...(table.thumbnail && !none ? imagesOf(view, table) : []));
    list.replaceChildren(...(more.open && !none ? listOf(view, table) : []));
    apart.hidden = none || view.selectedCount === table.n;
    clearTimeout(waitingToCompare);
    waitingToCompare = setTimeout(compare, 150);
    showRow(view, null);
    clearTimeout(waitingToSay);
    if (!none) waitingToSay = setTimeout(() => say(said.textContent), 400);
  };
  more.addEventListener("toggle", draw);
  view.on("select", draw);
  draw();
  return box;
}
