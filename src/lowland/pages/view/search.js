// Search for rows by number, id, or text.

/** @type {(table: Table, text: string, most: number) => { rows: number[], total: number }} */
export function searchRows(table, text, most) {
  const wanted = text.trim().toLowerCase(),
    rows = /** @type {number[]} */ ([]);
  let total = 0;
  if (!wanted) return { rows, total };
  const first = /^\d+$/.test(wanted) ? table.rowOf(Number(wanted)) : -1;
  const hit = hitsOf(table, wanted);
  if (first >= 0) {
    rows.push(first);
    total++;
  }
  for (let row = 0; row < table.n; row++) {
    if (row === first || !hit(row)) continue;
    total++;
    if (rows.length < most) rows.push(row);
  }
  return { rows, total };
}

// Whether the id, a category or a text of a row contains the wanted text.
/** @type {(table: Table, wanted: string) => (row: number) => boolean} */
function hitsOf(table, wanted) {
  const { ids } = table,
    tests = /** @type {((row: number) => boolean)[]} */ ([]);
  if (ids) tests.push((row) => String(ids[row]).toLowerCase().includes(wanted));
  for (const { kind, values, levels } of table.columns) {
    if (!values) continue;
    if (kind === "text")
      tests.push((row) =>
        String(values[row] ?? "")
          .toLowerCase()
          .includes(wanted),
      );
    else if (kind === "category" && levels) {
      const found = new Set([...levels.keys()].filter((code) => levels[code].toLowerCase().includes(wanted)));
      if (found.size) tests.push((row) => found.has(Number(values[row])));
    }
  }
  return (row) => tests.some((test) => test(row));
}
