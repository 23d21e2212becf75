// The selected rows: count, classes, list, and ids or row numbers to copy.

const MOST_LISTED = 200;

function selectionBox() {
  const said = el("span", { id: "selected", class: "selected" });
  const numbers = el(
    "button",
    { type: "button", onclick: () => copy(selectedRows().map(idOf).join(", "), numbers) },
    table.ids ? "Copy ids" : "Copy row numbers",
  );
  const clear = el("button", { type: "button", onclick: clearSelection }, "Clear");
  const list = el("div", { class: "scroll listed", tabindex: "0", role: "region", "aria-label": "Selected rows" });
  const more = el("details", null, el("summary", null, "List rows"), list);
  const box = el("div", { class: "selection" }, said, numbers, clear, more, el("span", { id: "found", class: "note" }));
  let waitingToSay = 0;
  const draw = () => {
    const none = state.selected === 0;
    box.classList.toggle("idle", none); // their space is reserved: nothing may move during a drag
    said.textContent = none
      ? "No rows selected. Drag over a panel to select; hold Shift to add, Alt to remove."
      : `${some(state.selected, "row")} selected${classesOfSelection()}`;
    if (more.open && !none) listRows(list);
    clearTimeout(waitingToSay);
    if (!none) waitingToSay = setTimeout(() => say(said.textContent), 400);
  };
  more.addEventListener("toggle", draw);
  on("rows", draw);
  draw();
  return box;
}

function classesOfSelection() {
  if (!table.label || !table.label.classes) return ".";
  const { classes } = table.label,
    codes = array(table.label),
    counts = new Uint32Array(classes.length + 1);
  for (let i = 0; i < M; i++) if (state.flags[i] & SELECTED) counts[Math.min(codes[i], classes.length)]++;
  const most = Array.from(counts, (many, code) => [classes[code] ?? "no label", many])
    .filter(([, many]) => many)
    .sort((a, b) => b[1] - a[1]);
  const first = most
    .slice(0, 4)
    .map(([name, many]) => `${name.length > 40 ? `${name.slice(0, 40)}…` : name} ${count(many)}`);
  return `: ${first.join(", ")}${most.length > 4 ? `, ${some(most.length - 4, "other class", "other classes")}` : ""}.`;
}

function listRows(into) {
  const rows = selectedRows(MOST_LISTED),
    columns = table.kept.slice(0, MOST_COLUMNS);
  const head = [
    nameOfIds,
    ...(table.label ? [table.label.name] : []),
    ...table.carried.map((c) => c.name),
    ...columns.map((c) => c.name),
  ];
  const cells = (row) => [
    idOf(row),
    ...(table.label ? [labelOf(row)] : []),
    ...table.carried.map((c) => textOf(c, row, "–")),
    ...columns.map((c) => number(valueOf(c, row), 4)),
  ];
  into.replaceChildren(
    tableOf(
      null,
      head,
      rows.map((row) =>
        el(
          "tr",
          { onpointerenter: () => pointAt(row), onpointerleave: () => pointAt(-1) },
          cells(row).map((c) => el("td", null, c)),
        ),
      ),
    ),
    state.selected > rows.length ? el("p", { class: "note" }, `The first ${MOST_LISTED} are listed; the button copies all.`) : "",
  );
}
