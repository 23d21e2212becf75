// The table of trials and measures, sortable by any column, with the best values marked.

import { BETTER, bytes, duration, el, number, parted, score, some, tableOf, unseen } from "../view/elements.js";
import { highlighted, lookAt, onHighlight } from "./highlight.js";
import { aScore, byMeasure, deciding, inOrder, isAdvised, measureNames, study, trials } from "./study.js";
import { find } from "./words.js";

const MOST_MEASURES = 8; // columns shown at first; the others can be chosen
/** @type {{ by: string | null, down: boolean, hidden: Set<string> }} */
const scoresTable = { by: null, down: false, hidden: new Set() };
export const SEEN =
  "† computed with the labels to which the method was fitted, so the value is optimistic. It is never marked as best and is sorted last.";
const dagger = () => [el("span", { "aria-hidden": "true" }, "†"), unseen(" (the method was fitted to these labels)")];
export const FROM_DISK = "* From the cache: time and memory are those of the original fit.";

/** @type {() => ScoreColumn[]} */
function columnsOfScores() {
  const done = trials.filter((trial) => trial.status === "done");
  /** @type {ScoreColumn[]} */
  const columns = measureNames.map((name) => {
    const better = aScore(name)?.better ?? "higher";
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

/** @type {(column: ScoreColumn, done: Trial[]) => number | null} */
function bestOf(column, done) {
  if (!column.better) return null;
  const proven = done.filter((trial) => !column.seen?.(trial));
  const values = proven.map(column.value).filter((v) => v !== null);
  if (values.length < 2 || values.every((value) => value === values[0])) return null;
  return column.better === "higher" ? Math.max(...values) : Math.min(...values);
}

/** @type {(said: StudyScore | undefined, digits: number) => Child[]} */
function scoreCell(said, digits) {
  if (!said) return ["–"];
  const interval = said.low !== null && said.high !== null;
  return [
    score(said.value, digits),
    said.labels_seen && dagger(),
    interval && el("small", null, `${score(said.low, digits)} to ${score(said.high, digits)}`),
  ];
}

/** @type {(trial: Trial, column: ScoreColumn) => HTMLElement} */
function cellOf(trial, column) {
  const value = column.seen?.(trial) ? null : column.value(trial);
  const best = value !== null && value === column.best,
    near = !best && value !== null && column.best !== null && trial.scores[column.name]?.near;
  const sign = best
    ? [el("span", { class: "sign", "aria-hidden": "true" }, "★"), unseen("best: ")]
    : near
      ? [
          el("span", { class: "sign", "aria-hidden": "true" }, "≈"),
          unseen("not significantly different from the best: "),
        ]
      : [];
  return el("td", { class: best ? "best" : near ? "near" : null }, sign, column.cell(trial));
}

/** @type {(columns: ScoreColumn[], by: string) => void} */
function sortScores(columns, by) {
  const column = columns.find((c) => c.name === by);
  if (scoresTable.by === by) scoresTable.down = !scoresTable.down;
  else Object.assign(scoresTable, { by, down: column ? column.better === "higher" : false }); // the best first
  drawScores(columns);
}

// A heading that sorts by its column, or by the names of the trials.
/** @type {(column: ScoreColumn | null, columns: ScoreColumn[]) => HTMLElement} */
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
        el("span", { class: "way", "aria-hidden": "true" }, ` ${BETTER[column.better][0]}`),
        unseen(`, ${BETTER[column.better][1]}`),
      ],
      el("span", { class: "sorted", "aria-hidden": "true" }, { none: "", descending: "▼", ascending: "▲" }[order]),
    ),
  );
}

/** @type {(trial: Trial) => HTMLElement} */
function trialCell(trial) {
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

/** @type {(trial: Trial, columns: ScoreColumn[]) => HTMLElement} */
function rowOf(trial, columns) {
  const point = {
    "data-trial": trial.index,
    onpointerenter: () => lookAt(trial),
    onpointerleave: () => lookAt(null),
  };
  if (trial.status === "done")
    return el(
      "tr",
      point,
      trialCell(trial),
      columns.map((column) => cellOf(trial, column)),
    );
  const sentence = trial.error ?? "No reason was recorded.";
  return el(
    "tr",
    { class: "without" },
    trialCell(trial),
    el("td", { colspan: columns.length, class: "sentence" }, el("span", null, sentence)),
  );
}

/** @type {(columns: ScoreColumn[]) => void} */
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
  for (const node of find("scores").querySelectorAll("[data-measure]"))
    node.classList.toggle("screen", hidden.has(node.dataset.measure ?? "")); // of columns that are not printed
  placeSentences();
}

// Sentences stay in view next to the names when the table is scrolled.
function placeSentences() {
  const region = find("scores-table"),
    names = region.querySelector("th")?.offsetWidth ?? 0;
  region.style.setProperty("--names", `${names}px`);
  region.style.setProperty("--room", `${region.clientWidth - names}px`);
}

// Checkboxes for the columns. Values that are the same for all trials are in a sentence instead of a column.
/** @type {(columns: ScoreColumn[]) => HTMLElement} */
function columnBoxes(columns) {
  const boxOf = (column) =>
    el("input", {
      type: "checkbox",
      checked: !scoresTable.hidden.has(column.name),
      onchange: (event) => {
        if (event.target.checked) scoresTable.hidden.delete(column.name);
        else scoresTable.hidden.add(column.name);
        drawScores(columns);
      },
    });
  const boxes = columns.map((column) => el("label", { class: "check" }, boxOf(column), column.name));
  const all = el(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => boxes.forEach((label) => label.querySelector("input:not(:checked)")?.click()),
    },
    "Show all columns",
  );
  const many = columns.filter((column) => scoresTable.hidden.has(column.name)).length;
  return el(
    "details",
    { class: "choose-columns" },
    el("summary", null, many ? `Choose columns: ${many} of ${columns.length} are hidden` : "Choose columns"),
    el("div", { class: "boxes" }, boxes, all),
  );
}

/** @type {(columns: ScoreColumn[]) => ScoreColumn[]} */
function sameForAll(columns) {
  const done = trials.filter((trial) => trial.status === "done");
  return done.length < 3
    ? []
    : columns.filter((column) =>
        done.every((trial) => column.value(trial) !== null && column.value(trial) === column.value(done[0])),
      );
}

// Marks in the table and their meanings.
/** @type {(columns: ScoreColumn[], same: ScoreColumn[]) => HTMLElement[]} */
function scoreNotes(columns, same) {
  const first = trials.find((trial) => trial.status === "done");
  return [
    [
      columns.some((column) => column.best !== null) &&
        "★ best in the column. ≈ not significantly different from the best. ",
      "↑ higher is better, ↓ lower is better. ",
      trials.some(({ scores }) => Object.values(scores).some((said) => said.low !== null)) &&
        "Ranges below values are 95% confidence intervals. ",
      el("span", { class: "screen" }, "Click a column heading to sort, or hover over it for the definition."),
    ],
    measureNames.some((name) => trials.some((trial) => trial.scores[name]?.labels_seen)) && SEEN,
    first &&
      same.length > 0 &&
      `Same for all trials: ${same.map((column) => `${column.name} ${number(column.value(first))}`).join(", ")}.`,
    trials.some((trial) => trial.cached) && FROM_DISK,
  ]
    .filter(Boolean)
    .map((said) => el("p", { class: "note" }, said));
}

const definitions = () =>
  el(
    "details",
    null,
    el("summary", null, "Definitions of the measures"),
    el("p", { class: "note" }, `The neighborhood size is k = ${study.neighbors}, and n is the number of rows.`),
    el("dl", null, measureNames.map(meaningOf)),
  );

/** @type {(section: HTMLElement) => boolean} */
export function scoresSection(section) {
  const columns = columnsOfScores(),
    same = sameForAll(columns),
    rest = columns
      .filter((column) => !same.includes(column) && measureNames.includes(column.name))
      .slice(MOST_MEASURES);
  scoresTable.hidden = new Set([...same, ...rest].map((column) => column.name));
  const region = el("div", {
    class: "scroll",
    id: "scores-table",
    tabindex: "0",
    role: "region",
    "aria-label": "Scores of all trials",
  });
  const more = el("p", { class: "note screen", hidden: true }, "Scroll the table sideways to see all columns.");
  section.append(
    el(
      "details",
      { class: "whole", open: true },
      el("summary", null, el("h2", { id: "scores-title" }, "Scores")),
      more,
      region,
      scoreNotes(columns, same),
      columnBoxes(columns),
      measureNames.length > 0 && definitions(),
    ),
  );
  if (deciding) sortScores(columns, deciding);
  else drawScores(columns);
  new ResizeObserver(() => {
    more.hidden = region.scrollWidth <= region.clientWidth + 1;
    placeSentences();
  }).observe(region);
  onHighlight(() => {
    for (const row of region.querySelectorAll("tr[data-trial]"))
      row.classList.toggle("lit", trials[Number(row.dataset.trial)] === highlighted());
  });
  return true;
}

/** @type {(name: string) => HTMLElement} */
function meaningOf(name) {
  const better = aScore(name)?.better ?? "higher";
  return el(
    "div",
    { "data-measure": name },
    el("dt", null, name),
    el(
      "dd",
      null,
      `${study.meanings[name]} `,
      el("span", { class: "note" }, `${BETTER[better][0]} ${BETTER[better][1]}.`),
    ),
  );
}
