// The search box: a text, where to search, the rows that were found.

import { choose, el, some } from "../view/elements.js";
import { showRow } from "./near.js";
import { placesToSearch, rowsFound } from "./search.js";
import { say } from "./words.js";

const MOST_FOUND = 8; // rows that are listed

/** @type {(view: View, table: Table) => HTMLElement} */
export function rowFinder(view, table) {
  let place = "any",
    found = rowsFound(table, "", place),
    waiting = 0;
  const input = el("input", {
    type: "search",
    placeholder: table.ids ? "id or text" : "number or text",
    "aria-label": "Find rows",
  });
  const where = choose(placesToSearch(table), place, (value) => {
    place = value;
    input.placeholder =
      /^\d+$/.test(value) && table.columns[Number(value)].kind === "number" ? "5, > 5 or 2..4" : "text";
    search();
  });
  where.setAttribute("aria-label", "Where to search");
  const said = el("p", { id: "found", class: "note" }),
    list = el("ul", { class: "found" });
  const select = el(
    "button",
    { type: "button", hidden: true, onclick: () => view.select(found.mask, "new") },
    "Select them",
  );

  // A row of the list: pointing at it shows it in every map, a click selects it.
  /** @type {(row: number) => HTMLElement} */
  const item = (row) =>
    el(
      "li",
      null,
      el(
        "button",
        {
          type: "button",
          onpointerenter: () => showRow(view, row),
          onpointerleave: () => showRow(view, null),
          onfocus: () => showRow(view, row),
          onblur: () => showRow(view, null),
          onclick: () => view.selectRows([row]),
        },
        [table.titleOf(row), ...table.columns.slice(0, 2).map((column) => column.textOf(row) ?? "–")].join(" · "),
      ),
    );

  function search() {
    found = rowsFound(table, input.value, place);
    const rows = /** @type {number[]} */ ([]);
    for (let row = 0; row < table.n && rows.length < MOST_FOUND; row++) if (found.mask[row]) rows.push(row);
    const none = input.value.trim() === "";
    said.textContent = none ? "" : found.count ? `${some(found.count, "row")} found.` : "No row was found.";
    select.hidden = found.count < 2;
    list.replaceChildren(...rows.map(item));
    showRow(view, found.count === 1 ? rows[0] : null);
    if (!none) say(said.textContent);
  }

  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 150);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(waiting);
    search();
    if (found.count) view.select(found.mask, "new");
  });
  return el(
    "div",
    { class: "search" },
    el("h3", null, "Find rows"),
    el("div", { class: "search-fields" }, input, where),
    el("div", { class: "buttons" }, said, select),
    list,
  );
}
