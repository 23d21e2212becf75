// The study: plain data, and its arrays, which are decoded on first use and cached.

import { bytesOf } from "../view/saving.js";
import { find } from "./words.js";

export const study = JSON.parse(find("study").textContent);
export const trials = study.trials;
const BLOCK_ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };
const decoded = new Map();

// The text of a block, which is then removed from the page: every block is read once.
function blockText(place) {
  const node = find(`block-${place.block}`);
  const text = node.textContent;
  node.remove();
  return text;
}

export const textsOf = (place) => blockText(place).split(" ");
export const decode = (place) => new BLOCK_ARRAYS[place.kind](bytesOf(blockText(place)).buffer);

// The array of a block that is used more than once.
export function array(place) {
  if (!decoded.has(place.block)) decoded.set(place.block, decode(place));
  return decoded.get(place.block);
}

// In the order of the trial with the most scores, whose first score is the decisive one.
const namesOfScores = trials.map((trial) => Object.keys(trial.scores)).sort((a, b) => b.length - a.length);
export const measureNames = [...new Set(namesOfScores.flat())];
export const aScore = (name) => trials.map((trial) => trial.scores[name]).find(Boolean);

// Scores of one measure, to sort trials by. A score that uses the labels to which the method was fitted is optimistic:
// it is never marked as best and is sorted last.
export const byMeasure = (name) => ({
  value: (trial) => trial.scores[name]?.value ?? null,
  seen: (trial) => Boolean(trial.scores[name]?.labels_seen),
});

export function inOrder(list, column, down) {
  return [...list].sort((a, b) => {
    const [u, v] = column ? [column.value(a), column.value(b)] : [a.name.toLowerCase(), b.name.toLowerCase()];
    if (u === null || v === null) return (u === null) - (v === null); // missing values are last in both directions
    const [s, t] = [a, b].map((trial) => Boolean(column?.seen?.(trial)));
    if (s !== t) return s - t; // and before them optimistic values
    return (u < v ? -1 : u > v ? 1 : 0) * (down ? -1 : 1);
  });
}

// The first measure of the study is the decisive one: trials are sorted by it, best first.
export const deciding = measureNames[0];
const bestFirst = (list) => inOrder(list, byMeasure(deciding), aScore(deciding)?.better === "higher");
export const drawnTrials = bestFirst(trials.filter((trial) => trial.Z));
trials.forEach((trial, index) => {
  trial.index = index;
});

// The trial of an advice: none if the advised number of dimensions was not tried.
export const trialOf = (advice) =>
  trials.find(
    (trial) =>
      trial.name === advice?.trial && (advice.n_components === null || trial.components === advice.n_components),
  );
export const isAdvised = (trial) => trialOf(study.advice[0]) === trial;

// Line styles: the advised trial has the first, trials without a result the last.
const rankOfLook = (trial) => (isAdvised(trial) ? 0 : trial.status === "done" ? 1 : 2);
[...trials]
  .sort((a, b) => rankOfLook(a) - rankOfLook(b))
  .forEach((trial, look) => {
    trial.look = look;
  });
