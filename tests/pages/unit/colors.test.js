// Colors and colorings: every row gets the shade that its value deserves.

import assert from "node:assert/strict";
import { test } from "node:test";

import { coloringOf, colorChoices, paletteOf, sameSpec } from "../../../src/lowland/pages/view/colorings.js";
import {
  COLORS,
  LOOKS,
  MISSING,
  THEMES,
  channels,
  classColor,
  classShape,
  mix,
  packed,
  scaleColor,
} from "../../../src/lowland/pages/view/colors.js";
import { randomOrder } from "../../../src/lowland/pages/view/frames.js";
import { Column, MapData, Table } from "../../../src/lowland/pages/view/model.js";

// The luminance and the contrast ratio of WCAG 2.
function luminance(color) {
  const [r, g, b] = channels(color).map((c) => (c <= 10 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((u, v) => u - v);
  return (high + 0.05) / (low + 0.05);
};

// Shades by row, not by slot.
async function shadesByRow(spec, table, maps = [], map = maps[0]) {
  const order = randomOrder(table.n),
    coloring = await coloringOf(spec, table, maps, order),
    shades = coloring.shadesOf(map),
    out = [];
  order.forEach((row, slot) => (out[row] = shades[slot]));
  return { coloring, shades: out };
}

const numbers = (values, kind = "number") =>
  new Table({ n: values.length, columns: [{ name: "x", kind, values: Float64Array.from(values) }] });

test("a mixture has the two colors at its ends and their mean halfway", () => {
  assert.equal(mix("#102030", "#fedcba", 0), "#102030");
  assert.equal(mix("#102030", "#fedcba", 1), "#fedcba");
  assert.equal(mix("#000000", "#646464", 0.5), "#323232");
});

test("a packed color is a pixel of an image: red, green, blue and full alpha", () => {
  const bytes = new Uint8Array(Uint32Array.of(packed("#010203")).buffer);
  assert.deepEqual([...bytes], [1, 2, 3, 255]);
});

test("the continuous scale gets steadily lighter in both themes", () => {
  for (const theme of Object.values(THEMES)) {
    const light = Array.from({ length: 51 }, (_, i) => luminance(scaleColor(i / 50, theme)));
    for (let i = 1; i < light.length; i++) assert.ok(light[i] > light[i - 1], `${theme.name} at ${i}`);
  }
});

test("class colors stand out from a dark background", () => {
  for (let i = 0; i < LOOKS; i++) assert.ok(contrast(classColor(i), THEMES.dark.paper) >= 3, `class ${i}`);
});

test("no two of the first classes have the same color and shape", () => {
  const looks = Array.from({ length: LOOKS }, (_, i) => `${classColor(i)} ${classShape(i)}`);
  assert.equal(new Set(looks).size, LOOKS);
  assert.notEqual(classShape(0), classShape(1));
  assert.equal(classColor(COLORS.length), classColor(0));
});

test("classes of reliability are calm, in between and a warning by their names, other classes by their numbers", () => {
  const palette = (levels) => paletteOf({ type: "classes", levels }, THEMES.light),
    colors = (levels) => palette(levels).colors.slice(0, levels.length);
  const [calm, middle, warning] = [COLORS[0], COLORS[2], COLORS[1]]; // blue, yellow, red
  assert.deepEqual(colors(["reliable", "uncertain", "unreliable"]), [calm, middle, warning]);
  assert.deepEqual(colors(["unreliable", "reliable"]), [warning, calm]);
  assert.deepEqual(colors(["reliable", "uncertain", "other"]), COLORS.slice(0, 3));
  const { shape } = palette(["unreliable", "reliable"]);
  assert.deepEqual([shape(0), shape(1), shape(MISSING)], [classShape(1), classShape(0), "disc"]);
});

test("classes: equal labels have equal shades, different labels different ones, missing labels none", async () => {
  const labels = ["b", "a", null, "b", "c", "a"],
    table = new Table({ n: 6, columns: [{ name: "label", kind: "category", values: labels }], label: 0 });
  const { coloring, shades } = await shadesByRow({ kind: "label" }, table);
  labels.forEach((label, i) => labels.forEach((other, j) => assert.equal(shades[i] === shades[j], label === other)));
  assert.equal(shades[2], MISSING);
  assert.equal(coloring.missing, true);
  assert.deepEqual(
    coloring.levels.map((level, code) => [level, coloring.counts[code]]),
    [
      ["b", 2],
      ["a", 2],
      ["c", 1],
    ],
  );
});

test("a scale is monotone, goes from the first to the last shade, and marks missing values", async () => {
  const values = [3, NaN, -1, 0.5, 7],
    { coloring, shades } = await shadesByRow({ kind: "column", column: "x" }, numbers(values));
  assert.deepEqual([shades[2], shades[4], shades[1]], [0, 254, MISSING]);
  assert.ok(shades[2] < shades[3] && shades[3] < shades[0] && shades[0] < shades[4]);
  assert.deepEqual(coloring.ends, ["−1", "7"]);
  assert.equal(coloring.missing, true);
});

test("one far value does not use up the scale, and the end of the scale says so", async () => {
  const values = [...Array(1000).keys(), 1e9],
    { coloring, shades } = await shadesByRow({ kind: "column", column: 0 }, numbers(values));
  assert.ok(Math.abs(shades[500] - 127) <= 1);
  assert.deepEqual([shades[999], shades[1000]], [254, 254]);
  assert.deepEqual(coloring.ends, ["0", "≥ 999"]);
});

test("by rank, a monotone transformation of the values changes no color", async () => {
  const values = Array.from({ length: 500 }, (_, i) => ((i * 7919) % 500) / 50);
  const plain = await shadesByRow({ kind: "column", column: 0, byRank: true }, numbers(values)),
    warped = await shadesByRow({ kind: "column", column: 0, byRank: true }, numbers(values.map(Math.exp)));
  assert.deepEqual(plain.shades, warped.shades);
  assert.ok(new Set(plain.shades).size > 200);
  assert.ok(Math.abs(plain.coloring.middle - 5) < 0.1);
});

test("a constant column has one color in the middle of the scale", async () => {
  const { shades } = await shadesByRow({ kind: "column", column: 0 }, numbers([4, 4, 4]));
  assert.deepEqual(shades, [127, 127, 127]);
});

test("quality per row: each panel has its own values, unless one map is asked for", async () => {
  const trustOf = (values) => ({ trust: { values: Float32Array.from(values), low: 0, high: 1, better: "higher" } });
  const map = (key, values) =>
    new MapData({ key, coordinates: new Float32Array(6), components: 2, trust: trustOf(values) });
  const maps = [map("a", [0, 0.5, 1]), map("b", [1, 1, NaN])],
    table = new Table({ n: 3 });
  const each = { kind: "trust", measure: "trust" };
  assert.deepEqual((await shadesByRow(each, table, maps, maps[0])).shades, [0, 127, 254]);
  assert.deepEqual((await shadesByRow(each, table, maps, maps[1])).shades, [254, 254, MISSING]);
  assert.deepEqual((await shadesByRow({ ...each, map: "a" }, table, maps, maps[1])).shades, [0, 127, 254]);
});

test("a column that is loaded later is colored as one that is there", async () => {
  const late = new Table({
    n: 3,
    columns: [new Column({ name: "x", kind: "number", load: async () => Float32Array.of(1, 2, 3) })],
  });
  assert.deepEqual((await shadesByRow({ kind: "column", column: 0 }, late)).shades, [0, 127, 254]);
});

test("a column that does not exist leaves all points in one color", async () => {
  const { coloring } = await shadesByRow({ kind: "column", column: "gone" }, numbers([1, 2]));
  assert.equal(coloring.type, "one");
});

test("a palette has a color for each shade, and missing values are discs of their own color", async () => {
  const table = new Table({ n: 2, columns: [{ name: "label", kind: "category", values: ["a", null] }], label: 0 });
  const { coloring } = await shadesByRow({ kind: "label" }, table),
    palette = paletteOf(coloring, THEMES.light);
  assert.equal(palette.colors[0], COLORS[0]);
  assert.equal(palette.colors[MISSING], THEMES.light.missing);
  assert.equal(palette.shape(MISSING), "disc");
  assert.equal(palette.packed[0], packed(COLORS[0]));
});

test("the choices are those that color: no texts, the label once, each different from the others", () => {
  const table = new Table({
    n: 1,
    label: 0,
    columns: [
      { name: "kind", kind: "category", values: ["a"] },
      { name: "note", kind: "text", values: ["b"] },
      { name: "x", kind: "number", values: Float32Array.of(1) },
    ],
  });
  const choices = colorChoices(table, []);
  assert.deepEqual(
    choices.map(({ text }) => text),
    ["Label: kind", "Single color", "x"],
  );
  choices.forEach(({ spec }, i) =>
    choices.forEach((other, j) => assert.equal(sameSpec(spec, other.spec), i === j, `${i} and ${j}`)),
  );
});
