// The table of trials and measures, sortable by any column, with the best values marked.

const scoresTable = { by: null, down: false, hidden: new Set() };
const SEEN =
  "† computed with the labels to which the method was fitted, so the value is optimistic. It is never marked as best and is sorted last.";
const dagger = () => [el("span", { "aria-hidden": "true" }, "†"), unseen(" (the method was fitted to these labels)")];
const FROM_DISK = "* From the cache: time and memory are those of the original fit.";

function columnsOfScores() {
  const done = trials.filter((trial) => trial.status === "done");
  const columns = measureNames.map((name) => {
    const { better } = aScore(name);
    const values = done.map((trial) => trial.scores[name]?.value).filter((v) => v !== null && v !== undefined);
    const digits = Math.max(...values.map(Math.abs), 0) >= 100 ? 1 : 3;
    return {
      name,
      better,
      about: study.meanings[name],
      digits,
      ...byMeasure(name),
      cell: (trial) => scoreCell(trial.scores[name], digits),
    };
  });
  columns.push({ name: "dimensions", better: null, value: (t) => t.components, cell: (t) => [number(t.components)] });
  columns.push({
    name: "time",
    better: "lower",
    about: "Time of the fit, including the coordinates of all rows.",
    value: (t) => t.seconds,
    cell: (t) => [
      duration(t.seconds),
      t.cached && unseen(" (from the cache)"),
      t.cached && el("span", { "aria-hidden": "true" }, " *"),
    ],
  });
  columns.push({
    name: "memory",
    better: "lower",
    about: "Peak memory above the level before the fit.",
    value: (t) => t.memory,
    cell: (t) => [bytes(t.memory)],
  });
  for (const column of columns) column.best = bestOf(column, done);
  return columns;
}

function bestOf(column, done) {
  if (!column.better) return null;
  const proven = done.filter((trial) => !column.seen?.(trial));
  const values = proven.map(column.value).filter((v) => v !== null);
  if (values.length < 2 || values.every((value) => value === values[0])) return null;
  return column.better === "higher" ? Math.max(...values) : Math.min(...values);
}

function scoreCell(said, digits) {
  if (!said) return ["–"];
  const interval = said.low !== null && said.high !== null;
  return [
    score(said.value, digits),
    said.labels_seen && dagger(),
    interval && el("small", null, `${score(said.low, digits)} to ${score(said.high, digits)}`),
  ];
}

function cellOf(trial, column) {
  const value = column.seen?.(trial) ? null : column.value(trial);
  const best = value !== null && value === column.best,
    near = !best && value !== null && column.best !== null && trial.scores[column.name]?.near;
  const sign = best
    ? [el("span", { class: "sign", "aria-hidden": "true" }, "★"), unseen("best: ")]
    : near
      ? [el("span", { class: "sign", "aria-hidden": "true" }, "≈"), unseen("not significantly different from the best: ")]
      : [];
  return el("td", { class: best ? "best" : near ? "near" : null }, sign, column.cell(trial));
}

function sortScores(columns, by) {
  const column = columns.find((c) => c.name === by);
  if (scoresTable.by === by) scoresTable.down = !scoresTable.down;
  else Object.assign(scoresTable, { by, down: column ? column.better === "higher" : false }); // the best first
  drawScores(columns);
}

function inOrder(list, column, down) {
  return [...list].sort((a, b) => {
    const [u, v] = column ? [column.value(a), column.value(b)] : [a.name.toLowerCase(), b.name.toLowerCase()];
    if (u === null || v === null) return (u === null) - (v === null); // missing values are last in both directions
    const [s, t] = [a, b].map((trial) => Boolean(column?.seen?.(trial)));
    if (s !== t) return s - t; // and before them optimistic values
    return (u < v ? -1 : u > v ? 1 : 0) * (down ? -1 : 1);
  });
}

// A heading that sorts by its column, or by the names of the trials.
function heading(column, columns) {
  const key = column?.name ?? "trial",
    sorted = scoresTable.by === key;
  const order = !sorted ? "none" : scoresTable.down ? "descending" : "ascending";
  const sort = () => {
    sortScores(columns, key);
    find("scores").querySelector("th[aria-sort$=cending] button")?.focus();
  };
  return el(
    "th",
    { scope: "col", "aria-sort": order },
    el(
      "button",
      { type: "button", title: column?.about, onclick: sort },
      column?.name ?? "Trial",
      column?.better && [
        el("span", { class: "way", "aria-hidden": "true" }, ` ${WAY[column.better][0]}`),
        unseen(`, ${WAY[column.better][1]}`),
      ],
      el("span", { class: "sorted", "aria-hidden": "true" }, { none: "", descending: "▼", ascending: "▲" }[order]),
    ),
  );
}

function nameOf(trial) {
  const warned = trial.warnings.length;
  return el(
    "th",
    { scope: "row" },
    trial.Z ? el("a", { href: `#panel-${trial.index}` }, parted(trial.name)) : parted(trial.name),
    " ",
    isAdvised(trial) && el("span", { class: "chip chosen" }, "recommended"),
    trial.status !== "done" && el("span", { class: "chip" }, trial.status),
    warned > 0 && el("a", { class: "chip warned", href: `#trial-${trial.index}` }, some(warned, "warning")),
  );
}

function rowOf(trial, columns) {
  const point = { onpointerenter: () => lookAt(trial), onpointerleave: () => lookAt(null) };
  if (trial.status === "done")
    return el(
      "tr",
      point,
      nameOf(trial),
      columns.map((column) => cellOf(trial, column)),
    );
  const sentence = trial.error ?? "No reason was recorded.";
  return el(
    "tr",
    { class: "without" },
    nameOf(trial),
    el("td", { colspan: columns.length, class: "sentence" }, el("span", null, sentence)),
  );
}

function drawScores(columns) {
  const { by, down, hidden } = scoresTable,
    shown = columns.filter((column) => !hidden.has(column.name));
  const done = trials.filter((trial) => trial.status === "done"),
    others = trials.filter((trial) => trial.status !== "done");
  const ordered =
    by === null
      ? done
      : inOrder(
          done,
          columns.find((column) => column.name === by),
          down,
        );
  find("scores-table").replaceChildren(
    tableOf(
      { class: "scores" },
      [heading(null, columns), ...shown.map((column) => heading(column, columns))],
      [...ordered, ...others].map((trial) => rowOf(trial, shown)),
    ),
  );
  placeSentences();
}

// Sentences stay in view next to the names when the table is scrolled.
function placeSentences() {
  const region = find("scores-table"),
    names = region.querySelector("th").offsetWidth;
  region.style.setProperty("--names", `${names}px`);
  region.style.setProperty("--room", `${region.clientWidth - names}px`);
}

// Checkboxes for the columns. Values that are the same for all trials are in a sentence instead of a column.
function columnBoxes(columns) {
  const boxes = columns.map((column) =>
    el(
      "label",
      { class: "check" },
      el("input", {
        type: "checkbox",
        checked: !scoresTable.hidden.has(column.name),
        onchange: (event) => {
          if (event.target.checked) scoresTable.hidden.delete(column.name);
          else scoresTable.hidden.add(column.name);
          drawScores(columns);
        },
      }),
      column.name,
    ),
  );
  return el("details", null, el("summary", null, "Choose columns"), el("div", { class: "boxes" }, boxes));
}

function sameForAll(columns) {
  const done = trials.filter((trial) => trial.status === "done");
  return done.length < 3
    ? []
    : columns.filter((column) =>
        done.every((trial) => column.value(trial) !== null && column.value(trial) === column.value(done[0])),
      );
}

function scoresSection(section) {
  const columns = columnsOfScores(),
    same = sameForAll(columns),
    first = trials.find((trial) => trial.status === "done");
  scoresTable.hidden = new Set(same.map((column) => column.name));
  section.append(
    el("h2", { id: "scores-title" }, "Scores"),
    el("div", {
      class: "scroll",
      id: "scores-table",
      tabindex: "0",
      role: "region",
      "aria-label": "Scores of all trials",
    }),
    el(
      "p",
      { class: "note" },
      columns.some((column) => column.best !== null) &&
        "★ best in the column. ≈ not significantly different from the best. ",
      "↑ higher is better, ↓ lower is better. ",
      trials.some(({ scores }) => Object.values(scores).some((said) => said.low !== null)) &&
        "Ranges below values are 95% confidence intervals. ",
      el("span", { class: "screen" }, "Click a column heading to sort; hover over it for the definition."),
    ),
  );
  const note = (text) => section.append(el("p", { class: "note" }, text));
  if (measureNames.some((name) => trials.some((trial) => trial.scores[name]?.labels_seen))) note(SEEN);
  if (same.length)
    note(`Same for all trials: ${same.map((column) => `${column.name} ${number(column.value(first))}`).join(", ")}.`);
  if (trials.some((trial) => trial.cached)) note(FROM_DISK);
  if (deciding) sortScores(columns, deciding);
  else drawScores(columns);
  const more = el(
    "p",
    { class: "note screen", hidden: true },
    "Scroll the table sideways to see all columns.",
  );
  const region = find("scores-table");
  new ResizeObserver(() => {
    more.hidden = region.scrollWidth <= region.clientWidth + 1;
  }).observe(region);
  region.before(more);
  addEventListener("resize", placeSentences);
  section.append(columnBoxes(columns));
  if (measureNames.length)
    section.append(
      el(
        "details",
        null,
        el("summary", null, "Definitions of the measures"),
        el("p", { class: "note" }, `The neighborhood size is k = ${study.neighbors}, and n is the number of rows.`),
        el("dl", null, measureNames.map(meaningOf)),
      ),
    );
  return true;
}

function meaningOf(name) {
  const { better } = aScore(name);
  return [
    el("dt", null, name),
    el("dd", null, `${study.meanings[name]} `, el("span", { class: "note" }, `${WAY[better][0]} ${WAY[better][1]}.`)),
  ];
}
