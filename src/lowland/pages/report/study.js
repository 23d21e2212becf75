// The study: plain data, and its arrays, which are decoded on first use and cached.

import { bytesOf } from "../view/saving.js";
import { find } from "./words.js";

/** @type {Study} */
export const study = JSON.parse(find("study").textContent);
/** @type {Trial[]} */
export const trials = study.trials;
const BLOCK_ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };
/** @type {Map<number, NumberArray>} */
const decoded = new Map();

// The text of a block, which is then removed from the page: every block is read once.
/** @type {(place: { block: number }) => string} */
function blockText(place) {
  const node = find(`block-${place.block}`);
  const text = node.textContent;
  node.remove();
  return text;
}

/** @type {(place: { block: number }) => string[]} */
export const textsOf = (place) => blockText(place).split(" ");
/** @type {(place: Block) => NumberArray} */
export const decode = (place) => new BLOCK_ARRAYS[place.kind](bytesOf(blockText(place)).buffer);

// The array of a block that is used more than once.
/** @type {(place: Block) => NumberArray} */
export function array(place) {
  const made = decoded.get(place.block) ?? decode(place);
  decoded.set(place.block, made);
  return made;
}

// In the order of the trial with the most scores, whose first score is the decisive one.
const namesOfScores = trials.map((trial) => Object.keys(trial.scores)).sort((a, b) => b.length - a.length);
export const measureNames = [...new Set(namesOfScores.flat())];
/** @type {(name: string) => StudyScore | undefined} */
export const aScore = (name) => trials.map((trial) => trial.scores[name]).find(Boolean);

// Scores of one measure, to sort trials by. A score that uses the labels to which the method was fitted is optimistic:
// it is never marked as best and is sorted last.
/** @type {(name: string) => { value: (trial: Trial) => number | null, seen: (trial: Trial) => boolean }} */
export const byMeasure = (name) => ({
  value: (trial) => trial.scores[name]?.value ?? null,
  seen: (trial) => Boolean(trial.scores[name]?.labels_seen),
});

/** @type {(list: Trial[], column: TrialOrder | null | undefined, down: boolean) => Trial[]} */
export function inOrder(list, column, down) {
  return [...list].sort((a, b) => {
    const [u, v] = column ? [column.value(a), column.value(b)] : [a.name.toLowerCase(), b.name.toLowerCase()];
    if (u === null || v === null) return Number(u === null) - Number(v === null); // missing values are last in both directions
    const [s, t] = [a, b].map((trial) => Boolean(column?.seen?.(trial)));
    if (s !== t) return Number(s) - Number(t); // and before them optimistic values
    return (u < v ? -1 : u > v ? 1 : 0) * (down ? -1 : 1);
  });
}

// The first measure of the study is the decisive one: trials are sorted by it, best first.
export const deciding = measureNames[0];
/** @type {(list: Trial[]) => Trial[]} */
const bestFirst = (list) => inOrder(list, byMeasure(deciding), aScore(deciding)?.better === "higher");
export const drawnTrials = bestFirst(trials.filter((trial) => trial.Z));
trials.forEach((trial, index) => {
  trial.index = index;
});

// The trial of an advice: none if the advised number of dimensions was not tried.
/** @type {(advice: Advice | undefined) => Trial | undefined} */
export const trialOf = (advice) =>
  trials.find(
    (trial) =>
      trial.name === advice?.trial && (advice.n_components === null || trial.components === advice.n_components),
  );
/** @type {(trial: Trial) => boolean} */
export const isAdvised = (trial) => trialOf(study.advice[0]) === trial;

// Line styles: the advised trial has the first, trials without a result the last.
/** @type {(trial: Trial) => number} */
const rankOfLook = (trial) => (isAdvised(trial) ? 0 : trial.status === "done" ? 1 : 2);
[...trials]
  .sort((a, b) => rankOfLook(a) - rankOfLook(b))
  .forEach((trial, look) => {
    trial.look = look;
  });
