// Search: rows by number, id, or the values of columns.

const nearTo = (x) => 1e-6 * Math.max(1e-30, Math.abs(x)); // values are in single precision

// A condition on numbers from text: 5.1, = 5.1, > 5, <= 3, 2..4. Null if the text is none.
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
function textTest(texts, wanted) {
  const low = wanted.toLowerCase();
  return texts.some((text) => text.toLowerCase() === low)
    ? (text) => text.toLowerCase() === low
    : (text) => text.toLowerCase().includes(low);
}

// The test of one column: a function of the row, or null if the text does not apply.
function columnTest(column, wanted) {
  const { values } = column;
  if (!values) return null;
  if (column.kind === "category") {
    const hit = column.levels.map(textTest(column.levels, wanted));
    return (row) => hit[values[row]] === true;
  }
  if (column.kind === "text") {
    const texts = Array.from(values, (text) => text ?? ""),
      test = textTest(texts, wanted);
    return (row) => test(texts[row]);
  }
  const test = conditionOf(wanted);
  return test && ((row) => test(values[row]));
}

const isText = (column) => column.kind === "category" || column.kind === "text";

// The places to search: anything, the number or the id of a row, or one column.
export const placesToSearch = (table) => [
  { value: "any", text: table.ids ? "ids, labels and texts" : "row numbers, labels and texts" },
  { value: "row", text: "row number" },
  ...(table.ids ? [{ value: "id", text: "id" }] : []),
  ...table.columns.map((column, j) => ({ value: String(j), text: column.name, group: "Columns" })),
];

// The rows that a text finds in a place, as a mask and their count.
export function rowsFound(table, wanted, place) {
  const text = wanted.trim(),
    mask = new Uint8Array(table.n);
  const byRow = /^\d+$/.test(text) ? (row) => (table.rowNumbers ? table.rowNumbers[row] : row) === Number(text) : null;
  const idTest = table.ids && textTest(table.ids, text),
    byId = idTest && ((row) => idTest(table.ids[row]));
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
