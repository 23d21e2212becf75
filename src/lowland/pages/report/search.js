// Search: rows by number, id, or the values of columns.

/** @type {(x: number) => number} */
const nearTo = (x) => 1e-6 * Math.max(1e-30, Math.abs(x)); // values are in single precision

// A condition on numbers from text: 5.1, = 5.1, > 5, <= 3, 2..4. Null if the text is none.
/** @type {(text: string) => ((value: number) => boolean) | null} */
export function conditionOf(text) {
  const range = /^(\S+?)\s*\.\.\s*(\S+)$/.exec(text),
    compared = /^(<=|>=|<|>|=)?\s*(\S+)$/.exec(text);
  if (range) {
    const [low, high] = [Number(range[1]), Number(range[2])];
    return Number.isNaN(low + high) ? null : (v) => v >= low - nearTo(low) && v <= high + nearTo(high);
  }
  if (!compared || Number.isNaN(Number(compared[2]))) return null;
  const x = Number(compared[2]),
    near = nearTo(x);
  return {
    "<": (v) => v < x - near,
    ">": (v) => v > x + near,
    "<=": (v) => v <= x + near,
    ">=": (v) => v >= x - near,
    "=": (v) => Math.abs(v - x) <= near,
  }[compared[1] ?? "="];
}

// Texts that contain the wanted text; if some are equal to it, only those.
/** @type {(texts: string[], wanted: string) => (text: string) => boolean} */
function textTest(texts, wanted) {
  const low = wanted.toLowerCase();
  return texts.some((text) => text.toLowerCase() === low)
    ? (text) => text.toLowerCase() === low
    : (text) => text.toLowerCase().includes(low);
}

// The test of one column: a function of the row, or null if the text does not apply.
/** @type {(column: Column, wanted: string) => RowTest | null} */
function columnTest(column, wanted) {
  const { values } = column;
  if (!values) return null;
  if (column.kind === "category") {
    const levels = column.levels ?? [],
      hit = levels.map(textTest(levels, wanted));
    return (row) => hit[Number(values[row])] === true;
  }
  if (column.kind === "text") {
    const texts = Array.from(/** @type {Texts} */ (values), (text) => text ?? ""),
      test = textTest(texts, wanted);
    return (row) => test(texts[row]);
  }
  const test = conditionOf(wanted);
  return test && ((row) => test(Number(values[row])));
}

/** @type {(column: Column) => boolean} */
const isText = (column) => column.kind === "category" || column.kind === "text";

// The places to search: anything, the number or the id of a row, or one column.
/** @type {(table: Table) => Option[]} */
export const placesToSearch = (table) => [
  { value: "any", text: table.ids ? "ids, labels and texts" : "row numbers, labels and texts" },
  { value: "row", text: "row number" },
  ...(table.ids ? [{ value: "id", text: "id" }] : []),
  ...table.columns.map((column, j) => ({ value: String(j), text: column.name, group: "Columns" })),
];

// The rows that a text finds in a place, as a mask and their count.
/** @type {(table: Table, wanted: string, place: string) => { mask: Uint8Array, count: number }} */
export function rowsFound(table, wanted, place) {
  const text = wanted.trim(),
    mask = new Uint8Array(table.n);
  const byRow = /^\d+$/.test(text) ? (row) => (table.rowNumbers ? table.rowNumbers[row] : row) === Number(text) : null;
  const ids = table.ids?.map(String),
    idTest = ids && textTest(ids, text),
    byId = idTest && ((/** @type {number} */ row) => idTest(ids[row]));
  /** @type {Record<string, () => (RowTest | null | undefined)[]>} */
  const tests = {
    any: () => [byId ?? byRow, ...table.columns.filter(isText).map((column) => columnTest(column, text))],
    row: () => [byRow],
    id: () => [byId],
  };
  const used = text ? (tests[place] ?? (() => [columnTest(table.columns[Number(place)], text)]))().filter(Boolean) : [];
  let count = 0;
  for (let row = 0; row < table.n; row++) if (used.some((test) => test(row))) count += mask[row] = 1;
  return { mask, count };
}
