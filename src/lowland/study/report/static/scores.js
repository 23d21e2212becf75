// The table of trials and measures: sorted by any column, the best of each marked.

const scoresTable = { by: null, down: false };

function columnsOfScores() {
  const done = trials.filter((trial) => trial.status === "done");
  const columns = measureNames.map((name) => {
    const { better, about } = aScore(name);
    const values = done.map((trial) => trial.scores[name]?.value).filter((v) => v !== null && v !== undefined);
    const digits = Math.max(...values.map(Math.abs), 0) >= 100 ? 1 : 3;
    return {
      name,
      better,
      about,
      digits,
      value: (trial) => trial.scores[name]?.value ?? null,
      cell: (trial) => scoreCell(trial.scores[name], digits),
    };
  });
  columns.push({ name: "dimensions", better: null, value: (t) => t.components, cell: (t) => [number(t.components)] });
  columns.push({
    name: "time",
    better: "lower",
    about: "Time of the fit.",
    value: (t) => t.seconds,
    cell: (t) => [
      duration(t.seconds),
      t.cached && unseen(" (from disk)"),
      t.cached && el("span", { "aria-hidden": "true" }, " *"),
    ],
  });
  columns.push({
    name: "memory",
    better: "lower",
    about: "Memory at its peak, beyond what was there before.",
    value: (t) => t.memory,
    cell: (t) => [bytes(t.memory)],
  });
  for (const column of columns) column.best = bestOf(column, done);
  return columns;
}

function bestOf(column, done) {
  if (!column.better) return null;
  const values = done.map(column.value).filter((v) => v !== null);
  if (values.length < 2) return null;
  return column.better === "higher" ? Math.max(...values) : Math.min(...values);
}

function scoreCell(said, digits) {
  if (!said) return ["–"];
  const interval = said.low !== null && said.high !== null;
  return [
    score(said.value, digits),
    interval && el("small", null, `${score(said.low, digits)} to ${score(said.high, digits)}`),
  ];
}

// Whether the interval of a score reaches that of the best, so that chance may have decided.
function mayBeBest(trial, column) {
  const own = trial.scores[column.name],
    best = trials.map((t) => t.scores[column.name]).find((s) => s && s.value === column.best);
  if (!own || !best || own.low === null || best.low === null || own.high === null || best.high === null) return false;
  return own.low <= best.high && own.high >= best.low;
}

function cellOf(trial, column) {
  const value = column.value(trial);
  const best = value !== null && value === column.best,
    near = !best && value !== null && column.best !== null && mayBeBest(trial, column);
  const sign = best
    ? [el("span", { class: "sign", "aria-hidden": "true" }, "★"), unseen("best: ")]
    : near
      ? [el("span", { class: "sign", "aria-hidden": "true" }, "≈"), unseen("about as good as the best: ")]
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
    if (u === null || v === null) return (u === null) - (v === null); // what has no value comes last, both ways
    return (u < v ? -1 : u > v ? 1 : 0) * (down ? -1 : 1);
  });
}

function drawScores(columns) {
  const { by, down } = scoresTable;
  const head = (name, text, column) =>
    el(
      "th",
      { scope: "col", "aria-sort": by === name ? (down ? "descending" : "ascending") : "none" },
      el(
        "button",
        {
          type: "button",
          title: column?.about,
          onclick: () => {
            sortScores(columns, name);
            find("scores").querySelector("th[aria-sort$=cending] button")?.focus();
          },
        },
        text,
        column?.better && [
          el("span", { class: "way", "aria-hidden": "true" }, ` ${WAY[column.better][0]}`),
          unseen(`, ${WAY[column.better][1]}`),
        ],
        el("span", { class: "sorted", "aria-hidden": "true" }, by === name ? (down ? "▼" : "▲") : ""),
      ),
    );
  const done = trials.filter((trial) => trial.status === "done"),
    others = trials.filter((trial) => trial.status !== "done");
  const chosen = study.advice[0]?.trial;
  const ordered =
    by === null
      ? done
      : inOrder(
          done,
          columns.find((c) => c.name === by),
          down,
        );
  const name = (trial) =>
    el(
      "th",
      { scope: "row" },
      trial.Z ? el("a", { href: `#panel-${trial.index}` }, parted(trial.name)) : parted(trial.name),
      trial.name === chosen && el("span", { class: "chip chosen" }, "advised"),
    );
  const rows = ordered.map((trial) =>
    el(
      "tr",
      {
        class: trial.name === chosen ? "chosen" : null,
        onpointerenter: () => lookAt(trial),
        onpointerleave: () => lookAt(null),
      },
      name(trial),
      columns.map((column) => cellOf(trial, column)),
    ),
  );
  const failed = others.map((trial) =>
    el(
      "tr",
      { class: "without" },
      el("th", { scope: "row" }, parted(trial.name), el("span", { class: "chip" }, trial.status)),
      el(
        "td",
        { colspan: columns.length, class: "sentence" },
        el("span", null, trial.error ?? "Nothing was said about why."),
      ),
    ),
  );
  const scroll = find("scores-table");
  scroll.replaceChildren(
    el(
      "table",
      { class: "scores" },
      el(
        "thead",
        null,
        el(
          "tr",
          null,
          head("trial", "Trial", null),
          columns.map((c) => head(c.name, c.name, c)),
        ),
      ),
      el("tbody", null, rows, failed),
    ),
  );
}

function scoresSection(section) {
  const columns = columnsOfScores();
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
      "★ the best of a column. ≈ its 95 % interval reaches that of the best: chance may have decided. ↑ higher is better, ↓ lower is better. A click on a heading sorts by it.",
    ),
  );
  if (trials.some((trial) => trial.cached))
    section.append(
      el("p", { class: "note" }, "* Read from disk: time and memory are those of the day when it was fitted."),
    );
  drawScores(columns);
  if (measureNames.length)
    section.append(
      el(
        "details",
        null,
        el("summary", null, "What the measures say"),
        el(
          "dl",
          null,
          measureNames.map((name) => {
            const { about, better } = aScore(name);
            return [
              el("dt", null, name),
              el("dd", null, `${about} `, el("span", { class: "note" }, `${WAY[better][0]} ${WAY[better][1]}.`)),
            ];
          }),
        ),
      ),
    );
  return true;
}
