// The report: axes of charts, and the study as the table and the maps of the view.

import assert from "node:assert/strict";
import { test } from "node:test";

import { axis, extent } from "../../../src/lowland/pages/view/axes.js";

test("ticks are round, evenly spaced, few, and inside of the range", () => {
  for (const [low, high] of [
    [0, 1],
    [-3.7, 12.2],
    [0.0012, 0.0047],
    [1e6, 3.3e6],
    [-5, -1],
  ]) {
    // prettier-ignore
    const { ticks } = axis(low, high, 0, 100),
      steps = ticks.slice(1).map((tick, i) => tick - ticks[i]);
    assert.ok(ticks.length >= 3 && ticks.length <= 9, `${ticks}`);
    for (const step of steps) assert.ok(Math.abs(step - steps[0]) < 1e-9 * Math.abs(high));
    for (const tick of ticks) assert.ok(tick >= low && tick <= high && `${tick}`.length <= 8, `${tick}`);
  }
});

test("whole numbers have whole ticks", () => {
  for (const high of [2, 3, 7, 40])
    for (const tick of axis(1, high, 0, 100, { whole: true }).ticks) assert.ok(Number.isInteger(tick));
});

test("an axis goes from end to end, and equal ratios are equally far on a logarithmic one", () => {
  const plain = axis(2, 12, 50, 10);
  assert.deepEqual([plain.at(2), plain.at(7), plain.at(12)], [50, 30, 10]);
  const log = axis(1, 1000, 0, 300, { logarithmic: true });
  [1, 10, 100, 1000].forEach((value, i) => assert.ok(Math.abs(log.at(value) - 100 * i) < 1e-9));
  for (const tick of [1, 10, 100, 1000]) assert.ok(log.ticks.includes(tick));
  assert.ok(Number.isFinite(axis(3, 3, 0, 100, { logarithmic: true }).at(3))); // a single value
});

test("the extent ignores what is not finite", () => {
  assert.deepEqual(extent([[3, NaN], [-1, Infinity]]), [-1, 3]); // prettier-ignore
  assert.deepEqual(extent([[NaN]]), [0, 1]);
});

// A study of four rows with two trials. Blocks are elements of the page, whose text is removed once it is read.
const blocks = new Map();
function block(array, kind) {
  const id = `block-${blocks.size}`;
  blocks.set(id, Buffer.from(array.buffer).toString("base64"));
  return { block: Number(id.slice(6)), kind };
}
const steps = (...codes) => block(Uint16Array.from(codes), "u2");
const trial = (name, value, Z, others = {}) => ({
  name,
  status: "done",
  components: 2,
  seconds: 1,
  curves: {},
  scores: value === null ? {} : { trustworthiness: { value, better: "higher", ...others } },
  per_row: {},
  Z,
});
const said = {
  table: {
    drawn: 4,
    rows: 9,
    source: "four.csv",
    shown: block(Uint32Array.of(1, 3, 5, 8), "u4"),
    ids: null,
    label: { name: "kind", classes: ["a", "b"], ...block(Uint8Array.of(1, 0, 255, 1), "u1") },
    kept: [
      { name: "exact", ...block(Float32Array.of(0.5, NaN, -2, 1e9), "f4") },
      { name: "stepped", low: -1, high: 1, ...steps(0, 65534, 65535, 32767) },
      { name: "levels", levels: [0, 2.5], ...block(Uint8Array.of(1, 0, 255, 1), "u1") },
    ],
  },
  measures: [{ name: "trust", low: 0, high: 2, better: "higher" }],
  advice: [{ trial: "PCA", n_components: 2 }],
  trials: [
    trial("PCA", 0.8, { components: 5, low: [0, -1], high: [65534, 1], far: [null, { rows: block(Uint32Array.of(2), "u4"), at: block(Float64Array.of(98301), "f8") }], ...steps(0, 10, 65534, 65535, 0, 65534, 0, 32767) }), // prettier-ignore
    trial("LDA", 0.99, { components: 1, low: [0], high: [1], far: [null], ...steps(0, 0, 0, 0) }, { labels_seen: true }), // prettier-ignore
    trial("UMAP", 0.9, { components: 1, low: [0], high: [1], far: [null], ...steps(0, 0, 0, 0) }),
    trial("failed", null, null),
  ],
};
said.trials[0].per_row.trust = block(Uint8Array.of(0, 127, 254, 255), "u1");
blocks.set("study", JSON.stringify(said));
globalThis.document = {
  getElementById: (id) => ({
    textContent: blocks.get(id) ?? assert.fail(`${id} is read again`),
    remove: () => blocks.delete(id),
  }),
};
const { mapsOfStudy, tableOfStudy } = await import("../../../src/lowland/pages/report/convert.js");
const { drawnTrials, inOrder, isAdvised, trials } = await import("../../../src/lowland/pages/report/study.js");

test("a table is decoded: numbers, steps of a range, levels, classes and row numbers", () => {
  const table = tableOfStudy(),
    [kind, exact, stepped, levels] = table.columns;
  assert.equal(table.labelColumn, kind);
  assert.deepEqual([0, 1, 2, 3].map((row) => kind.textOf(row)), ["b", "a", null, "b"]); // prettier-ignore
  assert.deepEqual([...exact.values], [0.5, NaN, -2, 1e9]);
  assert.deepEqual([...stepped.values].map((value) => Math.round(value * 1e4) / 1e4), [-1, 1, NaN, 0]); // prettier-ignore
  assert.deepEqual([...levels.values], [2.5, 0, NaN, 2.5]);
  assert.deepEqual([table.rowOf(8), table.titleOf(0)], [3, "Row 1"]);
});

test("maps are decoded: coordinates, rows beyond the range, rows that are not on the map, quality per row", () => {
  const map = mapsOfStudy().find(({ name }) => name === "PCA");
  assert.deepEqual([...map.component(0)], [0, 10, 65534, NaN]);
  const [a, b, c, d] = map.component(1);
  assert.deepEqual([a, b, c], [-1, 1, 2]); // the third is beyond the range
  assert.ok(Math.abs(d) < 1e-4);
  assert.deepEqual([...map.trust.trust.values], [0, 1, 2, NaN]);
  assert.equal(map.badge, "recommended");
  assert.equal(map.subtitle, "first 2 of 5 components");
});

test("trials are sorted best first, then those that saw the labels", () => {
  assert.deepEqual(drawnTrials.map(({ name }) => name), ["UMAP", "PCA", "LDA"]); // prettier-ignore
  assert.deepEqual(trials.filter(isAdvised).map(({ name }) => name), ["PCA"]); // prettier-ignore
  const byName = inOrder(trials, null, false).map(({ name }) => name);
  assert.deepEqual(byName, ["failed", "LDA", "PCA", "UMAP"]);
});
