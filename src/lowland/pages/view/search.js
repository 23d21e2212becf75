// Search for rows by number, id, or text.

export function searchRows(table, text, most) {
  const wanted = text.trim().toLowerCase(),
    rows = [];
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
function hitsOf(table, wanted) {
  const tests = [];
  if (table.ids) tests.push((row) => String(table.ids[row]).toLowerCase().includes(wanted));
  for (const column of table.columns) {
    if (!column.loaded) continue;
    if (column.kind === "text") tests.push((row) => (column.values[row] ?? "").toLowerCase().includes(wanted));
    else if (column.kind === "category") {
      const found = new Set(
        [...column.levels.keys()].filter((code) => column.levels[code].toLowerCase().includes(wanted)),
      );
      if (found.size) tests.push((row) => found.has(column.values[row]));
    }
  }
  return (row) => tests.some((test) => test(row));
}
