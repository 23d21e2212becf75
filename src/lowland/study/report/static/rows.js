// The description of a row, and the tooltip that shows it.

const MOST_COLUMNS = 8;

// Id or number, label, columns that were kept, per-row measures in a trial, and values of a row.
function linesOfRow(row, trial) {
  const lines = [["", table.ids ? idOf(row) : `Row ${rowNumber(row)}`]];
  if (table.label) lines.push([table.label.name, labelOf(row)]);
  for (const column of table.carried) lines.push([column.name, textOf(column, row, "–")]);
  for (const measure of study.measures) {
    if (trial && trial.per_row[measure.name]) lines.push([measure.name, `≈ ${number(trustOf(trial, measure, row))}`]);
  }
  const first = table.kept.filter((column) => column.name === state.choice.name);
  const rest = table.kept.filter((column) => column.name !== state.choice.name);
  for (const column of [...first, ...rest].slice(0, MOST_COLUMNS))
    lines.push([column.name, number(valueOf(column, row), 4)]);
  if (table.kept.length > MOST_COLUMNS)
    lines.push(["", `and ${some(table.kept.length - MOST_COLUMNS, "more column")}`]);
  return lines;
}

const tipOfRow = (row, trial) =>
  el(
    "table",
    null,
    linesOfRow(row, trial).map(([name, value], i) =>
      name
        ? el("tr", null, el("th", null, name), el("td", null, value))
        : el("tr", { class: i ? "more" : "first" }, el("td", { colspan: 2 }, value)),
    ),
  );

function showTip(content, x = 0, y = 0) {
  const tip = find("tip");
  tip.hidden = !content;
  if (!content) return;
  tip.replaceChildren(content);
  const { offsetWidth: width, offsetHeight: height } = tip,
    room = document.documentElement.clientWidth;
  const left = x + 16 + width > room ? Math.max(4, x - 16 - width) : x + 16;
  tip.style.left = `${Math.min(left, Math.max(4, room - width - 4))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - height - 4))}px`;
}
