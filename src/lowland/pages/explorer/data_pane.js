// The left pane's first tab: the table, its findings, its columns, how it is read and scaled.

import { el, some } from "../view/elements.js";
import { abandon, deleteAt, getJson, patchJson, valuesOf } from "./api.js";
import { columnList } from "./columns.js";
import { button, choice, labeled, glyph, replace } from "./elements.js";
import { createGrid } from "./grid.js";
import { askText, askYes, attempt, openDialog } from "./notices.js";
import { openData } from "./open.js";

/** @type {[string, string][]} */
const SCALES = [
  ["auto", "Automatic"],
  ["standard", "Standardized"],
  ["none", "As they are"],
];
/** @type {Record<string, string>} */
const SCALE_NOTES = {
  auto: "Standardized if the standard deviations differ more than tenfold, or if some features are not numbers.",
  standard: "Mean 0 and standard deviation 1 in every column.",
  none: "Columns with a large variance dominate the maps.",
};
/** @type {(table: TableRecord) => string} */
const scaleNote = ({ scale = "auto", scaled, has_images }) => {
  if (scale === "auto" && has_images) return "Pixels share one unit, so they stay as they are.";
  if (scale === "auto" && scaled === "tf-idf") return "These are counts, so they are weighted by TF-IDF.";
  return SCALE_NOTES[scale];
};
/** @type {[string, string][]} */
const REPLACEMENTS = [
  ["median", "median of the column"],
  ["mean", "mean of the column"],
  ["knn", "mean of the nearest rows"],
  ["em", "probabilistic PCA"],
];
const MOST_OPEN = 8; // findings that are in sight at once
/** @type {(column: ColumnRecord) => boolean} */
export const isNumeric = (column) =>
  ["number", "integer"].includes(column.kind) || (column.kind === "constant" && Number.isFinite(column.min));

// The shapes that rows of so many pixels may have: squares, and common ones of other kinds.
/** @type {Record<number, number[]>} */
const IMAGE_SHAPES = { 560: [28, 20], 3072: [32, 32, 3], 10304: [112, 92], 12288: [64, 64, 3] };
const NUMERIC = ["number", "integer", "boolean", "constant"];
/** @type {(table: TableRecord) => number[] | null} */
function imageShape(table) {
  const pixels = table.columns.filter(
    (column) => NUMERIC.includes(column.kind) && ["feature", "drop", "keep"].includes(column.role),
  );
  const side = Math.round(Math.sqrt(pixels.length));
  if (pixels.some((column) => Number(column.min) < 0 || column.missing)) return null;
  return IMAGE_SHAPES[pixels.length] ?? (side >= 4 && side * side === pixels.length ? [side, side] : null);
}

/** @type {(app: App) => HTMLElement} */
export function dataPane(app) {
  const { store } = app;
  const summary = el("div", { class: "table-summary" });
  const findings = el("div", { class: "findings" });
  const columns = columnList(app);
  const images = el("div", { class: "images" });
  const scale = el("div");
  const heading = el("h3", null, "Columns");
  const pane = el("div", { class: "pane-body" }, summary, findings, images, scale, heading, columns.element);

  function fill() {
    const { table } = store;
    pane.hidden = !table;
    if (!table) return;
    const ready = table.status === "ready" || table.columns?.length > 0;
    replace(
      summary,
      el("div", { class: "row spread" }, el("h2", { title: table.source ?? table.name }, table.name), renameButton()),
      ready &&
        el(
          "p",
          { class: "note" },
          `${some(table.rows, "row")}, ${some(table.columns.length, "column")}${table.duplicates ? `, ${some(table.duplicates, "duplicate")}` : ""}`,
        ),
      parentLine(table),
      ["reading", "preparing"].includes(table.status) &&
        ready &&
        el("progress", { "aria-label": "The rows are being prepared" }),
      table.unprepared && el("p", { class: "warning" }, glyph("warning"), el("span", null, table.unprepared)),
      el(
        "div",
        { class: "row" },
        button("Rows", {
          symbol: "columns",
          kind: "small",
          title: "Look at the rows of the table",
          disabled: !ready,
          onclick: () => showRows(app),
        }),
        button("Reading", {
          kind: "small",
          title: "How the file is read: separator, decimal mark, encoding …",
          onclick: () => readingDialog(app),
        }),
        button("Open other data", { symbol: "folder", kind: "small", onclick: () => openData(app) }),
        button("Remove", { symbol: "trash", kind: "small", onclick: () => removeTable(app) }),
      ),
    );
    for (const part of [findings, images, scale, heading, columns.element]) part.hidden = !ready;
    if (!ready) return;
    const notes = [...table.notes, ...(table.findings ?? [])];
    const advice = table.suggestions.filter((text) => !(table.imputed && /: missing values \(/.test(text))); // its own line says it
    const many = (table.imputed ? 1 : 0) + notes.length + advice.length;
    replace(
      findings,
      many > 0 &&
        el(
          "details",
          { class: "found", open: many <= MOST_OPEN },
          el("summary", null, `${some(many, "finding")} in the data`),
          el(
            "ul",
            null,
            imputedLine(table),
            notes.map((text) => el("li", { class: "finding" }, glyph("info"), el("span", null, text))),
            advice.map((text) => el("li", { class: "finding advice" }, glyph("arrow"), el("span", null, text))),
          ),
        ),
    );
    const change = (changes) => attempt(() => patchJson(`/tables/${table.id}`, changes));
    const setShape = (shape) => change({ image_shape: shape });
    const shape = table.has_images ? table.image_shape : imageShape(table);
    replace(
      images,
      shape &&
        table.has_images &&
        el(
          "div",
          { class: "row spread" },
          el("span", { class: "note" }, `Each row is an image of ${shape[0]} × ${shape[1]} pixels.`),
          button("Not images", { kind: "small", onclick: () => setShape([]) }),
        ),
      shape &&
        !table.has_images &&
        button(`These are images, ${shape[0]} × ${shape[1]}`, {
          kind: "small",
          title: "Show each row as an image. Pixels are not standardized.",
          onclick: () => setShape(shape),
        }),
    );
    replace(
      scale,
      labeled(
        "Scale of the features",
        choice(SCALES, table.scale ?? "auto", (value) => change({ scale: value })),
        scaleNote(table),
      ),
    );
    columns.fill();
  }

  const renameButton = () =>
    button("", {
      symbol: "pen",
      kind: "symbol",
      title: "Rename this table",
      "aria-label": "Rename this table",
      onclick: async () => {
        const name = await askText("Rename the table", { value: store.table?.name });
        if (name) attempt(() => patchJson(`/tables/${store.tableId}`, { name }));
      },
    });

  // How many values were imputed, and a menu that changes by what.
  /** @type {(table: TableRecord) => HTMLElement | null} */
  const imputedLine = ({ id, imputed, impute }) => {
    if (!imputed) return null;
    const words = `${some(imputed.values, "missing value")} in ${some(imputed.columns, "column")}, replaced by `;
    const set = (value) => attempt(() => patchJson(`/tables/${id}`, { impute: value }));
    const menu = choice(REPLACEMENTS, impute ?? "median", set, { "aria-label": "What replaces missing values" });
    const why = el("p", { class: "note" }, "Maps need complete rows.");
    return el("li", { class: "finding imputed" }, glyph("info"), el("span", null, words, menu, why));
  };

  const parentLine = (table) => {
    const parent = table.parent && store.tables.get(table.parent);
    return (
      parent &&
      el(
        "p",
        { class: "note" },
        "A part of ",
        el("button", { type: "button", class: "link", onclick: () => app.showTable(parent) }, parent.name),
      )
    );
  };
  store.on("table", fill);
  store.on("current", fill);
  return pane;
}

/** @type {(app: App, ask?: boolean) => Promise<void>} */
async function removeTable(app, ask = true) {
  const table = /** @type {TableRecord} */ (app.store.table);
  const maps = app.store.mapList();
  const text = `${table.name}${maps.length ? ` and its ${some(maps.length, "map")}` : ""} will be removed from this session. The file itself stays where it is.`;
  if (ask && !(await askYes("Remove this table?", text, "Remove"))) return;
  app.dropTable(table.id); // first, so that nothing asks for it any more
  for (const path of [`/tables/${table.id}`, ...maps.map((map) => `/maps/${map.id}`)]) abandon(path);
  const removed = await attempt(async () => {
    await deleteAt(`/tables/${table.id}`);
    return true;
  });
  if (!removed) app.keepTable(table.id);
}

// The rows of the table in a large dialog.
/** @type {(app: App) => void} */
function showRows(app) {
  const table = /** @type {TableRecord} */ (app.store.table);
  const grid = createGrid({
    rows: table.rows,
    names: table.columns.map((column) => column.name),
    numeric: (c) => isNumeric(table.columns[c]),
    label: `Rows of ${table.name}`,
    fetchBlock: (from, count, columns) => rowsOf(table, from, count, columns),
    onrow: (row) => {
      box.close();
      app.showPoint(row);
    },
  });
  const box = openDialog(
    `${table.name}: ${some(table.rows, "row")}`,
    () => [grid.element, el("p", { class: "note" }, "Click a row to see it on the maps.")],
    { kind: "wide" },
  );
  grid.draw();
}

/** @type {(table: TableRecord, from: number, count: number, columns: number[]) => Promise<unknown[][]>} */
async function rowsOf(table, from, count, columns) {
  if (columns.length === table.columns.length)
    return (await getJson(`/tables/${table.id}/rows?start=${from}&count=${count}`)).rows;
  const rows = Array.from({ length: count }, (_, i) => from + i);
  return valuesOf(table.id, rows, columns);
}

/** @type {[name: string, words: string, choices: (string | [string, string])[]][]} */
const READING = [
  [
    "separator",
    "Separator",
    [
      ["", "Automatic"],
      [",", "Comma ,"],
      [";", "Semicolon ;"],
      ["\t", "Tab"],
      ["|", "Bar |"],
      [" ", "Space"],
    ],
  ],
  [
    "decimal",
    "Decimal mark",
    [
      ["", "Automatic"],
      [".", "Point 1.5"],
      [",", "Comma 1,5"],
    ],
  ],
  ["encoding", "Encoding", [["", "Automatic"], "utf-8", "latin-1", "cp1252", "utf-16", "shift_jis", "gb18030"]],
  [
    "header",
    "First line",
    [
      ["", "Automatic"],
      ["true", "Names of the columns"],
      ["false", "Values"],
    ],
  ],
];

// The options that concern a kind of file, by its ending.
/** @type {[RegExp, string[]][]} */
const CONCERNED = [
  [/\.(parquet|pq|arrow|feather|ipc|npy)$/i, []],
  [/\.(xlsx?|xlsm|ods)$/i, ["header", "missing", "sheet"]],
  [/\.(npz|h5ad)$/i, ["array"]],
  [/\.(csv|tsv|txt|dat|tab|data)(\.\w+)?$/i, ["separator", "decimal", "encoding", "header", "missing"]],
];
/** @type {(name: string) => string[] | null} */
const concerned = (name) => CONCERNED.find(([ending]) => ending.test(name))?.[1] ?? null;

// How to read the file, if it was not recognized.
/** @type {(app: App, done?: () => void) => HTMLElement} */
function readingForm(app, done) {
  const table = /** @type {TableRecord} */ (app.store.table);
  const options = concerned(table.source ?? table.name);
  const offers = (name) => options === null || options.includes(name);
  if (options?.length === 0) return el("p", { class: "note" }, "Files of this format need no options.");
  const given = { ...(table.read ?? {}) };
  const set = (name, value) => {
    if (value === "") delete given[name];
    else given[name] = value;
  };
  const text = (name, words, note) =>
    labeled(
      words,
      el("input", {
        type: "text",
        value: Array.isArray(given[name]) ? given[name].join(", ") : (given[name] ?? ""),
        oninput: (event) => set(name, event.target.value.trim()),
      }),
      note,
    );
  return el(
    "form",
    {
      class: "reading",
      onsubmit: async (event) => {
        event.preventDefault();
        const read = { ...given };
        if (typeof read.missing === "string") read.missing = read.missing.split(",").map((mark) => mark.trim());
        if (typeof read.header === "string") read.header = read.header === "true";
        const now = /** @type {TableRecord} */ (app.store.tables.get(table.id));
        app.store.tables.set(now.id, { ...now, status: "reading" }); // its columns cannot be asked for meanwhile
        abandon(`/tables/${now.id}/columns`);
        const changed = await attempt(() => patchJson(`/tables/${table.id}`, { read }));
        if (!changed) {
          app.store.tables.set(now.id, now);
          return;
        }
        done?.();
        app.showTable(changed);
      },
    },
    el(
      "div",
      { class: "fields" },
      READING.filter(([name]) => offers(name)).map(([name, words, choices]) =>
        labeled(
          words,
          choice(choices, given[name] === undefined ? "" : String(given[name]), (value) => set(name, value)),
        ),
      ),
      offers("missing") && text("missing", "Marks of missing values", "separated by commas, such as NA, ?, -999"),
      offers("sheet") && text("sheet", "Sheet", "of an Excel or OpenDocument file"),
      offers("array") && text("array", "Array", "of a .npz or .h5ad file"),
    ),
    el("div", { class: "actions" }, el("button", { type: "submit", class: "main" }, "Read again")),
  );
}

/** @type {(app: App) => void} */
function readingDialog(app) {
  openDialog("How the file is read", (close) => readingForm(app, close), { kind: "narrow" });
}

// In place of the maps: the table is being read, or could not be.
/** @type {(app: App) => HTMLElement} */
export function readingState(app) {
  const table = /** @type {TableRecord} */ (app.store.table);
  if (table.status === "failed") {
    return el(
      "div",
      { class: "empty failed" },
      el("h1", null, `${table.name} could not be read`),
      el("p", { class: "lead" }, table.error),
      concerned(table.source ?? table.name)?.length !== 0 && [el("h2", null, "Say how to read it"), readingForm(app)],
      el(
        "div",
        { class: "row center" },
        button("Open other data", { symbol: "folder", onclick: () => openData(app) }),
        button("Remove", { symbol: "trash", onclick: () => removeTable(app) }),
      ),
    );
  }
  const fraction = table.progress?.fraction;
  return el(
    "div",
    { class: "empty" },
    el("h1", null, `Reading ${table.name}`),
    el("progress", Number.isFinite(fraction) ? { max: 1, value: fraction } : {}),
    el(
      "p",
      { class: "note" },
      table.progress?.text ?? "Rows, kinds of columns and missing values are being looked at.",
    ),
    button("Cancel", { onclick: () => removeTable(app, false) }),
  );
}
