// Search for rows, and filter them by conditions on columns.

import { count, el, some } from "../view/elements.js";
import { maskOf, maskText } from "../view/saving.js";
import { getJson, postJson, valuesOf } from "./api.js";
import { button, choice, glyph, popover, replace, symbolButton } from "./elements.js";
import { attempt } from "./notices.js";
import { picker } from "./picker.js";
import { debounced } from "./store.js";
import { cellText } from "./words.js";

/** @type {[string, string][]} */
const NUMBER_OPS = [
  [">", ">"],
  [">=", "≥"],
  ["<", "<"],
  ["<=", "≤"],
  ["=", "="],
  ["!=", "≠"],
  ["missing", "is missing"],
  ["present", "is present"],
];
/** @type {[string, string][]} */
const TEXT_OPS = [
  ["=", "is"],
  ["!=", "is not"],
  ["in", "is one of"],
  ["contains", "contains"],
  ["missing", "is missing"],
  ["present", "is present"],
];
/** @type {(column: ColumnRecord | undefined) => [string, string][]} */
const opsOf = (column) => (["number", "integer", "date"].includes(column?.kind ?? "") ? NUMBER_OPS : TEXT_OPS);
const SEPARATOR = " | "; // of the values of "is one of"
/** @type {(op: string | undefined) => boolean} */
const bare = (op) => op === "missing" || op === "present";

/** @type {(condition: Condition) => string} */
export const conditionText = ({ column, op, value }) => {
  if (column === null) return String(value);
  const words = Object.fromEntries([...TEXT_OPS, ...NUMBER_OPS])[op ?? ""];
  return `${column} ${words}${bare(op) ? "" : ` ${[value].flat().join(", ")}`}`;
};

// Ask the server which rows pass, and show only those; an answer that a later question has overtaken is left out.
let applied = 0;
/** @type {(app: App, conditions: Condition[]) => Promise<void>} */
export async function applyConditions(app, conditions) {
  const { store, stage } = app;
  const asking = ++applied;
  const asked = conditions
    .filter((each) => each.column !== null && (bare(each.op) || String(each.value).trim() !== ""))
    .map((each) => (each.op === "in" ? { ...each, value: valuesIn(each.value) } : each));
  const kept = conditions.filter((each) => each.column === null);
  const table = /** @type {TableRecord} */ (store.table);
  const { view } = stage;
  /** @type {Uint8Array | null} */
  let mask = null;
  if (asked.length) {
    const index = (name) => table.columns.findIndex((column) => column.name === name);
    const sent = asked.map(({ column, op, value }) => ({
      column: index(column),
      op,
      value: bare(op) ? null : Array.isArray(value) ? value : String(value).trim(),
    }));
    const reply = await attempt(() => postJson(`/tables/${store.tableId}/filter`, { conditions: sent }));
    if (!reply || asking !== applied || view !== stage.view) return;
    mask = maskOf(reply.mask, table.rows);
  }
  for (const { rows } of kept) {
    const only = maskOf(rows ?? "", table.rows);
    mask = mask?.map((shown, row) => shown & only[row]) ?? only;
  }
  stage.view?.filter(mask);
  store.set("filter", { conditions: [...asked, ...kept], shown: mask });
}

/** @type {(value: string | string[]) => string[]} */
const valuesIn = (value) => (Array.isArray(value) ? value : value.split(SEPARATOR.trim()).map((each) => each.trim()));

// Show only the selected rows, as a condition of its own.
/** @type {(app: App) => void} */
export function keepSelected(app) {
  const { store } = app;
  const condition = { column: null, value: `${count(store.selected)} chosen rows`, rows: maskText(store.selection) };
  applyConditions(app, [...store.conditions.filter((each) => each.column !== null), condition]);
}

/** @type {(app: App) => HTMLElement} */
export function filterButton(app) {
  const { store } = app;
  const anchor = button("Filter", {
    symbol: "filter",
    title: "Show only rows that meet conditions",
    "aria-haspopup": "dialog",
    "aria-expanded": "false",
  });
  anchor.addEventListener("click", () => openFilter(app, anchor));
  store.on("filter", () => anchor.classList.toggle("on", store.conditions.length > 0));
  return anchor;
}

/** @type {(app: App, anchor: HTMLElement) => void} */
function openFilter(app, anchor) {
  const { store } = app;
  const { columns, rows: all } = /** @type {TableRecord} */ (store.table);
  const first = Math.max(
    0,
    columns.findIndex((column) => column.role === "feature"),
  );
  const rows = store.conditions.filter((each) => each.column !== null).map((each) => ({ ...each }));
  const own = store.conditions.filter((each) => each.column === null);
  const list = el("div", { class: "conditions" });
  const shown = el("span", { class: "note", role: "status" });
  const reply = () =>
    (shown.textContent = store.shown
      ? `${count(store.shown.reduce((sum, one) => sum + one, 0))} of ${some(all, "row")}`
      : "All rows are shown");
  const apply = debounced(async () => {
    await applyConditions(app, [...rows, ...own]);
    reply();
  }, 300);
  if (!rows.length) rows.push({ column: columns[first]?.name, op: opsOf(columns[first])[0][0], value: "" });

  const fill = () =>
    replace(
      list,
      rows.map((each, i) => {
        const column = columns.find((one) => one.name === each.column);
        const chosen = picker({
          name: "Column",
          text: each.column ?? "",
          groups: () => [
            { name: "", items: columns.map((one) => ({ key: one.name, text: one.name, note: one.kind })) },
          ],
          onpick: (name) => {
            Object.assign(each, { column: name, op: opsOf(columns.find((one) => one.name === name))[0][0], value: "" });
            openFilterAgain();
          },
        });
        const value = el("input", {
          type: "text",
          value: [each.value].flat().join(SEPARATOR),
          placeholder: each.op === "in" ? `one${SEPARATOR}another` : "value",
          "aria-label": "Value",
          list: levelList(app, column),
          oninput: () => ((each.value = value.value), apply()),
        });
        value.hidden = bare(each.op);
        return el(
          "div",
          { class: "condition" },
          chosen.element,
          choice(opsOf(column), each.op ?? "", (op) => ((each.op = op), (value.hidden = bare(op)), apply()), {
            "aria-label": "Condition",
          }),
          value,
          symbolButton("close", "Remove this condition", () => (rows.splice(i, 1), fill(), apply())),
        );
      }),
    );
  // The list of columns replaced this box: put the chosen column into the filter and open it again.
  const openFilterAgain = () => {
    store.conditions = [...rows, ...own];
    setTimeout(() => openFilter(app, anchor));
  };
  fill();
  reply();
  popover(
    anchor,
    el(
      "div",
      { class: "filter-box" },
      list,
      el(
        "div",
        { class: "row spread" },
        button("Add a condition", {
          symbol: "add",
          kind: "small",
          onclick: () => (
            rows.push({ column: columns[first].name, op: opsOf(columns[first])[0][0], value: "" }),
            fill()
          ),
        }),
        shown,
        button("Show all rows", { kind: "small", onclick: () => (rows.splice(0), own.splice(0), fill(), apply()) }),
      ),
    ),
    { kind: "filter" },
  );
}

// Levels of a category are offered while one types.
/** @type {(app: App, column: ColumnRecord | undefined) => string | null} */
function levelList(app, column) {
  const index = app.store.table?.columns.findIndex((each) => each === column) ?? -1;
  const known = app.stage.table?.columns[index];
  if (!known || known.kind !== "category") return null;
  const id = `levels-${app.store.tableId}-${index}`;
  if (!document.getElementById(id)) {
    const list = document.body.appendChild(el("datalist", { id }));
    known.ready().then(
      () =>
        replace(
          list,
          (known.levels ?? []).slice(0, 300).map((level) => el("option", { value: level })),
        ),
      () => list.remove(),
    );
  }
  return id;
}

// The conditions in force, each with a button that removes it.
/** @type {(app: App) => HTMLElement} */
export function filterChips(app) {
  const { store } = app;
  const box = el("div", { class: "chips", hidden: true });
  store.on("filter", () => {
    box.hidden = !store.conditions.length;
    const left = store.shown?.reduce((sum, one) => sum + one, 0) ?? store.table?.rows ?? 0;
    replace(
      box,
      el("span", { class: "note" }, `${count(left)} of ${some(store.table?.rows ?? 0, "row")} shown:`),
      store.conditions.map((each, i) =>
        el(
          "span",
          { class: "chip removable" },
          conditionText(each),
          symbolButton("close", "Remove this condition", () =>
            applyConditions(
              app,
              store.conditions.filter((_, at) => at !== i),
            ),
          ),
        ),
      ),
    );
  });
  return box;
}

/** @type {(app: App) => { element: HTMLElement, focus: () => void }} */
export function searchBox(app) {
  const { store } = app;
  const input = el("input", {
    type: "search",
    placeholder: "Search rows",
    "aria-label": "Search rows",
    autocomplete: "off",
    spellcheck: "false",
  });
  const list = el("div", { class: "results", hidden: true, role: "listbox", "aria-label": "Rows found" });
  const box = el("div", { class: "search" }, glyph("search"), input, list);
  let asked = 0;
  /** @type {{ rows: number[], total: number, mask?: string } | null} */
  let found = null;

  const hide = () => (list.hidden = true);
  const selectAll = () => {
    if (!found || !store.table) return;
    if (found.mask) app.stage.view?.select(maskOf(found.mask, store.table.rows), "new");
    else app.stage.view?.selectRows(found.rows);
    hide();
  };
  const look = debounced(async () => {
    const words = input.value.trim();
    const number = ++asked;
    found = null;
    if (!words) {
      hide();
      return;
    }
    const reply = await attempt(() => getJson(`/tables/${store.tableId}/search?q=${encodeURIComponent(words)}`));
    if (!reply || !store.table || number !== asked) return;
    found = reply;
    const columns = shownColumns(store.table);
    const first = reply.rows.slice(0, 30);
    const cells = first.length ? await valuesOf(store.tableId, first, columns).catch(() => []) : [];
    if (number !== asked) return;
    replace(
      list,
      el(
        "div",
        { class: "row spread" },
        el("span", { class: "note" }, reply.total ? `${some(reply.total, "row")} found` : "No row contains this."),
        reply.rows.length > 0 &&
          button(`Select ${reply.total === 1 ? "it" : `all ${count(reply.total)}`}`, {
            kind: "small",
            onclick: selectAll,
          }),
      ),
      first.map((row, i) =>
        el(
          "button",
          { type: "button", class: "result", role: "option", onclick: () => (hide(), app.showPoint(row)) },
          el("b", null, `Row ${row}`),
          el("span", null, (cells[i] ?? []).map(cellText).join(" · ")),
        ),
      ),
    );
    list.hidden = false;
  }, 200);
  input.addEventListener("input", look);
  input.addEventListener("focus", () => found && (list.hidden = false));
  box.addEventListener("focusout", (event) => box.contains(/** @type {Node | null} */ (event.relatedTarget)) || hide());
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !(list.hidden && input.value === "")) {
      event.stopPropagation();
      hide();
      input.focus();
    } else if (event.key === "Enter" && event.target === input && found?.rows.length) selectAll();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const all = [input, ...list.querySelectorAll(".result")];
      const next = all[all.findIndex((each) => each === document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
      if (next) {
        event.preventDefault();
        next.focus();
      }
    }
  });
  store.on("current", () => {
    input.value = "";
    hide();
  });
  return { element: box, focus: () => input.focus() };
}

// A few columns by which a person recognizes a row.
/** @type {(table: TableRecord, most?: number) => number[]} */
export function shownColumns(table, most = 4) {
  const rank = { id: 0, label: 1, keep: 2, feature: 3 };
  return table.columns
    .map((column, index) => [rank[column.role] ?? 9, index])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    .slice(0, most)
    .map(([, index]) => index);
}
