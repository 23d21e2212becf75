// Colorings of the points: every row has a shade, and every shade a color.

import { LOOKS, MISSING, classColor, classShape, lookOf, packed, scaleColor } from "./colors.js";
import { dateText, number } from "./elements.js";
import { bulkRange } from "./frames.js";

// spec: { kind: "label" | "column" | "trust" | "values" | "none", column, measure, map, values, levels, name, byRank }.
// A coloring: { spec, type: "classes" | "scale" | "one", name, shadesOf(map), ... }, shades by slot.
/** @type {(spec: ColoringSpec, table: Table, maps: MapData[], order: Uint32Array) => Promise<Coloring>} */
export async function coloringOf(spec, table, maps, order) {
  if (spec.kind === "label" || spec.kind === "column") {
    const at =
      spec.kind === "label"
        ? table.label
        : typeof spec.column === "string"
          ? table.columns.findIndex((c) => c.name === spec.column)
          : spec.column;
    const column = table.columns[at ?? -1];
    if (!column || !column.colors) return oneColor(table.n);
    const values = /** @type {NumberArray} */ (await column.ready()),
      said = spec.kind === "label" ? spec : { ...spec, column: at };
    if (column.kind === "category") return classColoring(said, column.name, values, column.levels ?? [], order);
    return scaleColoring(said, column.name, values, order, column.kind === "date" ? dateText : number);
  }
  if (spec.kind === "values" && spec.values)
    return spec.levels
      ? classColoring(spec, spec.name ?? "", spec.values, spec.levels, order)
      : scaleColoring(spec, spec.name ?? "", spec.values, order, number);
  if (spec.kind === "trust") return trustColoring(spec, maps, order);
  return oneColor(table.n);
}

/** @type {(n: number) => OneColor} */
const oneColor = (n) => {
  const shades = new Uint8Array(n);
  return { spec: { kind: "none" }, type: "one", name: "", shadesOf: () => shades, missing: false };
};

/** @type {(spec: ColoringSpec, name: string, codes: NumberArray, levels: string[], order: Uint32Array) => ClassColoring} */
function classColoring(spec, name, codes, levels, order) {
  const shades = new Uint8Array(order.length),
    counts = new Uint32Array(levels.length + 1);
  for (let slot = 0; slot < order.length; slot++) {
    const code = codes[order[slot]];
    shades[slot] = code < levels.length ? code % LOOKS : MISSING;
    counts[Math.min(code, levels.length)]++;
  }
  return {
    spec,
    type: "classes",
    name,
    levels,
    codes,
    counts,
    shadesOf: () => shades,
    missing: counts[levels.length] > 0,
  };
}

/** @type {(spec: ColoringSpec, name: string, values: NumberArray, order: Uint32Array, format: (value: number) => string) => ScaleColoring} */
function scaleColoring(spec, name, values, order, format) {
  const all = rangeOf([values], spec),
    ranks = spec.byRank ? rankCuts([values]) : null,
    [low, high] = ranks || all.given ? [all.low, all.high] : bulkRange(values, order), // a few far values do not use it up
    shades = shadesIn(values, order, low, high, ranks);
  return {
    spec,
    type: "scale",
    name,
    format,
    ends: [`${all.low < low ? "≤ " : ""}${format(low)}`, `${all.high > high ? "≥ " : ""}${format(high)}`],
    middle: ranks?.middle,
    shadesOf: () => shades,
    missing: shades.includes(MISSING),
  };
}

// Quality per row: of each map in its own panel, or of one map in all panels.
/** @type {(spec: ColoringSpec, maps: MapData[], order: Uint32Array) => Coloring} */
function trustColoring(spec, maps, order) {
  const measure = spec.measure ?? "",
    having = maps.filter((map) => map.trust?.[measure] && (!spec.map || map.key === spec.map)),
    all = having.map((map) => map.trust[measure]);
  if (!all.length) return oneColor(order.length);
  const { low, high } = rangeOf(
      all.map((each) => each.values),
      {
        low: leastOf(all.map((each) => each.low)),
        high: mostOf(all.map((each) => each.high)),
      },
    ),
    ranks = spec.byRank ? rankCuts(all.map((each) => each.values)) : null,
    made = new Map();
  /** @type {Coloring["shadesOf"]} */
  const shadesOf = (map) => {
    const trust = (spec.map ? having[0] : map).trust?.[measure];
    if (!trust) return null;
    if (!made.has(trust)) made.set(trust, shadesIn(trust.values, order, low, high, ranks));
    return made.get(trust);
  };
  const where = spec.map ? `in ${having[0].name}` : "in each map";
  return {
    spec,
    type: "scale",
    name: `${measure} per row, ${where}`,
    format: number,
    ends: [number(low), number(high)],
    middle: ranks?.middle,
    shadesOf,
    better: all[0].better,
    missing: (spec.map ? having : maps).some((map) => lacksTrust(map, measure)),
  };
}

// Whether a point of a map has no value.
/** @type {(map: MapData, measure: string) => boolean} */
function lacksTrust(map, measure) {
  const values = map.trust?.[measure]?.values,
    x = map.coordinates ? map.component(0) : new Float32Array();
  return x.some((at, row) => at === at && !(values && values[row] === values[row]));
}

/** @param {unknown} value @returns {value is number} */
const isFiniteNumber = (value) => Number.isFinite(value);
/** @type {(values: (number | null | undefined)[]) => number | undefined} */
const leastOf = (values) => (values.every(isFiniteNumber) ? Math.min(...values) : undefined);
/** @type {(values: (number | null | undefined)[]) => number | undefined} */
const mostOf = (values) => (values.every(isFiniteNumber) ? Math.max(...values) : undefined);

/** @type {(arrays: NumberArray[], given: { low?: number, high?: number }) => { low: number, high: number, given?: boolean }} */
function rangeOf(arrays, { low, high }) {
  if (isFiniteNumber(low) && isFiniteNumber(high)) return { low, high, given: true };
  let from = Infinity,
    to = -Infinity;
  for (const values of arrays) {
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (value < from && value !== -Infinity) from = value;
      if (value > to && value !== Infinity) to = value;
    }
  }
  return from <= to ? { low: from, high: to } : { low: 0, high: 0 };
}

// Values at 256 ranks, and the median: outliers then do not use up the scale.
/** @type {(arrays: NumberArray[]) => RankCuts} */
function rankCuts(arrays) {
  const total = arrays.reduce((sum, values) => sum + values.length, 0),
    step = Math.max(1, Math.floor(total / 200000)),
    taken = [];
  for (const values of arrays)
    for (let i = 0; i < values.length; i += step) if (Number.isFinite(values[i])) taken.push(values[i]);
  const sorted = Float64Array.from(taken).sort(),
    cuts = Float64Array.from({ length: 255 }, (_, i) => sorted[Math.floor(((i + 0.5) * sorted.length) / 255)] ?? 0);
  return { cuts, middle: sorted[sorted.length >> 1] };
}

/** @type {(values: NumberArray, order: Uint32Array, low: number, high: number, ranks: RankCuts | null) => Uint8Array} */
function shadesIn(values, order, low, high, ranks) {
  const shades = new Uint8Array(order.length),
    factor = high > low ? 254 / (high - low) : 0;
  for (let slot = 0; slot < order.length; slot++) {
    const value = values[order[slot]];
    if (value !== value) shades[slot] = MISSING;
    else if (ranks) shades[slot] = (cutsBelow(ranks.cuts, value, false) + cutsBelow(ranks.cuts, value, true)) >> 1;
    else shades[slot] = factor ? Math.max(0, Math.min(254, Math.round((value - low) * factor))) : 127;
  }
  return shades;
}

// How many of the sorted cuts are below a value.
/** @type {(cuts: Float64Array, value: number, orEqual: boolean) => number} */
function cutsBelow(cuts, value, orEqual) {
  let from = 0,
    to = cuts.length - 1;
  while (from < to) {
    const half = (from + to) >> 1;
    if (cuts[half] < value || (orEqual && cuts[half] === value)) from = half + 1;
    else to = half;
  }
  return from;
}

// Colors of the 256 shades.
/** @type {(coloring: Coloring, theme: Theme) => Palette} */
export function paletteOf(coloring, theme) {
  const colors = new Array(256).fill(theme.missing);
  if (coloring.type === "one") colors[0] = classColor(0);
  const look = (shade) => (coloring.type === "classes" ? lookOf(coloring.levels, shade) : shade);
  if (coloring.type === "classes") for (let i = 0; i < LOOKS; i++) colors[i] = classColor(look(i));
  if (coloring.type === "scale") for (let i = 0; i < 255; i++) colors[i] = scaleColor(i / 254, theme);
  const shape =
    coloring.type === "classes" ? (shade) => (shade === MISSING ? "disc" : classShape(look(shade))) : () => "disc";
  return { colors, packed: Uint32Array.from(colors, packed), shape };
}

/** @type {(map: MapData) => ColoringSpec} */
export const reliabilitySpec = ({ name, classes }) => ({
  kind: "values",
  name: `Reliability: ${name}`,
  values: classes?.codes,
  levels: classes?.levels,
  groups: false,
});

// What can be chosen to color by: [{ text, group, spec }].
/** @type {(table: Table, maps: MapData[]) => { text: string, group: string | null, spec: ColoringSpec }[]} */
export function colorChoices(table, maps) {
  /** @type {ReturnType<typeof colorChoices>} */
  const choices = [],
    label = table.labelColumn;
  if (label?.colors)
    choices.push({
      text: label.name === "label" ? "Label" : `Label: ${label.name}`,
      group: null,
      spec: { kind: "label" },
    });
  choices.push({ text: "Single color", group: null, spec: { kind: "none" } });
  const measures = [...new Set(maps.flatMap((map) => Object.keys(map.trust ?? {})))];
  for (const map of maps.filter((each) => each.classes))
    choices.push({ text: `Reliability: ${map.name}`, group: map.classes?.name ?? null, spec: reliabilitySpec(map) });
  for (const measure of measures)
    choices.push({ text: measure, group: "Quality per row, in each map", spec: { kind: "trust", measure } });
  table.columns.forEach((column, i) => {
    if (column.colors && i !== table.label)
      choices.push({ text: column.name, group: "Columns", spec: { kind: "column", column: i } });
  });
  for (const measure of measures) {
    for (const map of maps.filter((each) => each.trust?.[measure] && maps.length > 1))
      choices.push({
        text: map.name,
        group: `${measure} per row, in one map`,
        spec: { kind: "trust", measure, map: map.key },
      });
  }
  return choices;
}

/** @type {(a: ColoringSpec, b: ColoringSpec) => boolean} */
export const sameSpec = (a, b) =>
  a.kind === b.kind && a.column === b.column && a.measure === b.measure && a.map === b.map && a.values === b.values;

// What rows without a class are called.
/** @type {(coloring: Coloring) => string} */
export const nameOfMissing = ({ spec }) => (spec.kind === "column" ? "missing value" : "no label");
