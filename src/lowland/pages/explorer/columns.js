// The columns of a table: kind, missing values, role, and what was found in them.

import { count, el, number, some } from "../view/elements.js";
import { patchJson } from "./api.js";
import { columnCharts } from "./column_charts.js";
import { actionMenu, button, glyph, replace } from "./elements.js";
import { attempt } from "./notices.js";

/** @type {Record<Role, string>} */
const ROLES = {
  feature: "Feature: the maps are computed from it",
  label: "Label: colors the points",
  id: "Name of the row",
  weight: "Weight of the row",
  keep: "Only shown",
  drop: "Ignored",
};
/** @type {Record<Role, string>} */
const SHORT = { feature: "feature", label: "label", id: "name", weight: "weight", keep: "shown", drop: "ignored" };
const LISTED = 150; // columns listed at once
/** @type {Record<string, string>} */
const SYMBOLS = {
  number: "#",
  integer: "#",
  boolean: "◐",
  category: "A",
  ordered: "A",
  date: "◷",
  text: "¶",
  id: "№",
  constant: "=",
  missing: "∅",
  drop: "×",
};

// What is typical of a column, in a few words.
/** @type {(column: ColumnRecord) => string} */
function columnFacts(column) {
  const parts = [];
  if (Number.isFinite(column.min) && Number.isFinite(column.max))
    parts.push(`${number(column.min, 4)} to ${number(column.max, 4)}`);
  else if (column.distinct)
    parts.push(
      ["id", "text", "date"].includes(column.kind)
        ? some(column.distinct, "different value")
        : some(column.distinct, "level"),
    );
  if (column.missing) parts.push(`${count(column.missing)} missing`);
  if (column.detail) parts.push(String(column.detail));
  if (column.unused && column.role === "keep") parts.push(`not used: ${column.unused}`);
  return parts.join(", ");
}

/** @type {(app: App, column: ColumnRecord, role: Role) => Promise<void>} */
async function setRole(app, column, role) {
  const table = /** @type {TableRecord} */ (app.store.table);
  /** @type {Record<string, Role>} */
  const roles = {};
  // A table has one label, one name and one weight: the former one is only shown from then on.
  if (["label", "id", "weight"].includes(role))
    for (const other of table.columns) if (other.role === role) roles[other.name] = "keep";
  roles[column.name] = role;
  await setRoles(app, roles);
}

/** @type {(app: App, roles: Record<string, Role>) => Promise<void>} */
async function setRoles(app, roles) {
  await attempt(() => patchJson(`/tables/${app.store.tableId}`, { roles })); // an event brings the changed table
}

/** @type {(app: App) => { element: HTMLElement, fill: () => void }} */
export function columnList(app) {
  const list = el("div", { class: "columns-list" });
  const chartOf = columnCharts(app);
  const search = el("input", {
    type: "search",
    placeholder: "Find a column",
    "aria-label": "Find a column",
    oninput: () => fill(),
  });
  const many = button("All…", { kind: "small", title: "Set the role of all columns found" });
  const head = el("div", { class: "row" }, search, many);
  /** @type {ColumnRecord[]} */
  let found = [];
  let of = ""; // the table that is searched
  many.addEventListener("click", () =>
    actionMenu(
      many,
      /** @type {Role[]} */ (["feature", "keep", "drop"]).map((role) => [
        `${some(found.length, "column")}: ${SHORT[role]}`,
        () => setRoles(app, Object.fromEntries(found.map((column) => [column.name, role]))),
      ]),
    ),
  );

  function fill() {
    const { table } = app.store;
    if (!table?.columns) return;
    if (of !== table.id) search.value = "";
    of = table.id;
    const words = search.value.trim().toLowerCase();
    found = table.columns.filter(
      (column) => !words || `${column.name} ${column.kind} ${SHORT[column.role]}`.toLowerCase().includes(words),
    );
    head.hidden = table.columns.length < 8;
    replace(
      list,
      found.slice(0, LISTED).map((column) => line(column)),
      found.length > LISTED &&
        el("p", { class: "note" }, `${count(found.length - LISTED)} more columns: find them by name.`),
      !found.length && el("p", { class: "note" }, "No column has this name."),
    );
  }

  function line(column) {
    const role = el(
      "button",
      {
        type: "button",
        class: `role ${column.role}`,
        "aria-haspopup": "menu",
        "aria-label": `Role of ${column.name}: ${SHORT[column.role]}`,
        title: ROLES[column.role],
      },
      SHORT[column.role] ?? column.role,
      glyph("down"),
    );
    role.addEventListener("click", () =>
      actionMenu(
        role,
        /** @type {[Role, string][]} */ (Object.entries(ROLES)).map(([key, text]) => [
          text,
          () => setRole(app, column, key),
          { checked: key === column.role },
        ]),
      ),
    );
    const facts = columnFacts(column);
    const prepared = app.store.table?.prepared?.[column.name];
    return el(
      "div",
      { class: `column-line ${column.role === "drop" ? "dropped" : ""}` },
      el("span", { class: "kind", title: column.kind, "aria-label": column.kind }, SYMBOLS[column.kind] ?? "?"),
      el(
        "span",
        { class: "column-name" },
        el("span", { title: column.name }, column.name),
        facts && el("small", { title: prepared ? `${facts}. In the maps: ${prepared}.` : facts }, facts),
        column.unused &&
          column.role === "keep" &&
          column.kind !== "text" &&
          button("Use it", { kind: "link", onclick: () => setRole(app, column, "feature") }),
      ),
      role,
      chartOf(app.store.table?.columns.indexOf(column) ?? -1),
    );
  }
  return { element: el("div", { class: "columns-box" }, head, list), fill };
}
