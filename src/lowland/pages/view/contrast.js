// What sets selected rows apart from all others: an effect size for each column, and bars of the largest.

import { dateText, el, number, some } from "./elements.js";

const BARS = 12; // columns compared at once
const DAY_LENGTH = 86400000; // milliseconds
const inPercent = (fraction) => `${Math.round(100 * fraction)}%`;

// The effects of all columns that are numbers or categories, the largest first, as the explorer's server computes them.
/** @type {(table: Table, mask: Mask) => Effect[]} */
export const contrastOf = (table, mask) =>
  table.columns
    .map((column) =>
      column.kind === "number"
        ? effectOfNumbers(column, mask)
        : column.kind === "category"
          ? effectOfLevels(column, mask)
          : null,
    )
    .filter((effect) => effect !== null)
    .sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));

// Cohen's d: the difference of the means in pooled standard deviations. null: not defined.
/** @type {(column: Column, mask: Mask) => Effect | null} */
function effectOfNumbers(column, mask) {
  const { name, numbers: values } = column,
    parts = /** @type {[number[], number[]]} */ ([[], []]); // the others, the selected
  for (let row = 0; row < values.length; row++) if (Number.isFinite(values[row])) parts[mask[row]].push(values[row]);
  const [b, a] = parts;
  if (!a.length || !b.length || a.length + b.length < 3) return null;
  const mean = (part) => part.reduce((sum, value) => sum + value / part.length, 0),
    means = [mean(a), mean(b)],
    squares = (part, center) => part.reduce((sum, value) => sum + (value - center) ** 2, 0),
    sd = Math.sqrt((squares(a, means[0]) + squares(b, means[1])) / (a.length + b.length - 2)),
    difference = means[0] - means[1],
    tiny = 1e-12 * Math.max(Math.abs(means[0]), Math.abs(means[1]));
  if (sd <= tiny && Math.abs(difference) <= tiny) return null;
  const effect = sd <= tiny ? Math.sign(difference) * Infinity : difference / sd;
  return { name, kind: "number", measure: "Cohen's d", effect, selected: means[0], rest: means[1], level: null };
}

// Cohen's h: the difference of two fractions after the arcsine transformation, of the level that differs most.
/** @type {(column: Column, mask: Mask) => Effect | null} */
function effectOfLevels(column, mask) {
  const { name, numbers: values } = column,
    levels = column.levels ?? [],
    counts = [new Float64Array(levels.length), new Float64Array(levels.length)],
    totals = [0, 0];
  for (let row = 0; row < values.length; row++) {
    if (values[row] >= levels.length) continue; // missing
    counts[mask[row]][values[row]]++;
    totals[mask[row]]++;
  }
  if (!totals[0] || !totals[1] || levels.length < 2) return null;
  const effects = levels.map((level, code) => {
    const [rest, selected] = counts.map((each, part) => each[code] / totals[part]);
    return { effect: 2 * Math.asin(Math.sqrt(selected)) - 2 * Math.asin(Math.sqrt(rest)), level, selected, rest };
  });
  const largest = effects.reduce((best, each) => (Math.abs(each.effect) > Math.abs(best.effect) ? each : best));
  return { name, kind: "category", measure: "Cohen's h", ...largest };
}

// Effect sizes as bars to the left (less) and to the right (more than in the other rows). ``known``: the columns of the
// table; colorBy(index) colors the points by one of them.
/** @type {(effects: Effect[], known: { name: string, kind: string }[], colorBy: (index: number) => unknown) => HTMLElement[]} */
export function contrastBars(effects, known, colorBy) {
  const top = Math.max(...effects.map(({ effect }) => Math.abs(effect)).filter(Number.isFinite), 1e-9);
  const line = (column) => {
    const bar = el("span", { class: `effect ${column.effect < 0 ? "less" : "more"}` });
    bar.style.width = `${(50 * Math.min(1, Math.abs(column.effect) / top)).toFixed(1)}%`;
    const name = column.level !== null && column.level !== undefined ? `${column.name} = ${column.level}` : column.name;
    const index = known.findIndex((each) => each.name === column.name);
    const isDate = known[index]?.kind === "date"; // in days
    const digits = [3, 4, 5, 6].find((d) => number(column.selected, d) !== number(column.rest, d)); // that tell them apart
    const words = (value) =>
      column.kind === "category" && Number.isFinite(value)
        ? inPercent(value)
        : isDate
          ? dateText(Math.round(value) * DAY_LENGTH)
          : number(value, digits);
    return el(
      "button",
      {
        type: "button",
        class: "contrast-line",
        title: `${name}: ${words(column.selected)} in the selection, ${words(column.rest)} in the rest. ${column.measure} ${number(column.effect, 4)}. Click to color by it.`,
        onclick: () => index >= 0 && colorBy(index),
      },
      el("span", { class: "contrast-name" }, name),
      el("span", { class: "effect-room" }, bar),
      el("span", { class: "effect-size" }, number(column.effect, 2)),
      el("small", null, `${words(column.selected)} against ${words(column.rest)}`),
    );
  };
  const usable = effects.filter(({ effect }) => Number.isFinite(effect));
  const rest = usable.slice(BARS, 100);
  return [
    el(
      "p",
      { class: "note" },
      "Effect sizes of the selected rows against all others: Cohen's d of numbers, Cohen's h of fractions. 0.2 is small, 0.5 medium, 0.8 large.",
    ),
    ...usable.slice(0, BARS).map(line),
    rest.length > 0 && el("details", null, el("summary", null, some(rest.length, "more column")), rest.map(line)),
    !usable.length && el("p", { class: "note" }, "No column differs."),
  ].filter(Boolean);
}
