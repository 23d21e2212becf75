// The data of all panels: blocks are decoded on first use and cached.

const study = JSON.parse(find("study").textContent);
const { table, trials } = study;
const M = table.drawn;
const MISSING = 255;
const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };
const decoded = new Map();

function array(place) {
  if (!decoded.has(place.block)) {
    const node = find(`block-${place.block}`);
    decoded.set(place.block, new KINDS[place.kind](fromBase64(node.textContent).buffer));
    node.remove();
  }
  return decoded.get(place.block);
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

const rowNumber = (row) => (table.shown ? array(table.shown)[row] : row);

function placeOfRow(wanted) {
  if (!table.shown) return wanted >= 0 && wanted < M && Number.isInteger(wanted) ? wanted : -1;
  return array(table.shown).indexOf(wanted);
}

// The id of a row as text; without ids, its number.
const idOf = (row) => table.ids?.texts[row] ?? String(rowNumber(row));
const nameOfIds = table.ids ? table.ids.name : "row";

function placeOfId(wanted) {
  return table.ids ? table.ids.texts.indexOf(wanted) : placeOfRow(Number(wanted));
}

// The value of a column in a row, or null.
function valueOf(column, row) {
  const code = array(column)[row];
  if (column.levels) return code === 255 ? null : column.levels[code];
  if (column.kind === "f4") return Number.isNaN(code) ? null : code;
  return code === 65535 ? null : toStep(column.low + (code / 65534) * (column.high - column.low), column);
}

// Rounded to the precision of the steps of a column.
function toStep(value, { low, high }) {
  const unit = 10 ** Math.ceil(Math.log10((high - low) / 65534 || 1e-300));
  return Math.round(value / unit) * unit;
}

// The value of a column of classes or numbers as text.
const textOf = (column, row, missing) =>
  column.classes ? (column.classes[array(column)[row]] ?? missing) : number(valueOf(column, row), 5);
const labelOf = (row) => (table.label ? textOf(table.label, row, "no label") : null);

function trustOf(trial, measure, row) {
  const code = array(trial.per_row[measure.name])[row];
  return code === 255 ? null : measure.low + (code / 254) * (measure.high - measure.low);
}

// Rows are drawn in random order, so that no class is always on top.
const ORDER = (() => {
  const order = Uint32Array.from({ length: M }, (_, i) => i);
  let seed = 12345;
  for (let i = M - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
})();

// In the order of the trial with the most scores, whose first score is the decisive one.
const measuresOf = trials.map((trial) => Object.keys(trial.scores)).sort((a, b) => b.length - a.length);
const measureNames = [...new Set(measuresOf.flat())];
const aScore = (name) => trials.map((trial) => trial.scores[name]).find(Boolean);

// Scores of one measure, to sort trials by. A score that uses the labels to which the method was fitted is optimistic:
// it is never marked as best and is sorted last.
const byMeasure = (name) => ({
  value: (trial) => trial.scores[name]?.value ?? null,
  seen: (trial) => Boolean(trial.scores[name]?.labels_seen),
});

// The first measure of the study is the decisive one: trials are sorted by it, best first.
const deciding = measureNames[0];
const bestFirst = (list) => inOrder(list, byMeasure(deciding), aScore(deciding)?.better === "higher");
const drawnTrials = bestFirst(trials.filter((trial) => trial.Z));
trials.forEach((trial, index) => {
  trial.index = index;
});

// The trial of an advice: none if the advised number of dimensions was not tried.
const trialOf = (advice) =>
  trials.find(
    (trial) =>
      trial.name === advice?.trial && (advice.n_components === null || trial.components === advice.n_components),
  );
const isAdvised = (trial) => trialOf(study.advice[0]) === trial;

// Line styles: the advised trial has the first, trials without a result the last.
[...trials]
  .sort((a, b) => rankOfLook(a) - rankOfLook(b))
  .forEach((trial, look) => {
    trial.look = look;
  });

function rankOfLook(trial) {
  if (isAdvised(trial)) return 0;
  return trial.status === "done" ? 1 : 2;
}
