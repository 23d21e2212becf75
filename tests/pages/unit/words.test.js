// Numbers, durations, dates and values as people read them; masks as the server reads them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { asPercent, asPython, cellText } from "../../../src/lowland/pages/explorer/words.js";
import { brief, bytes, dateText, duration, number, score, some } from "../../../src/lowland/pages/view/elements.js";
import { Column, Table } from "../../../src/lowland/pages/view/model.js";
import { maskOf, maskText } from "../../../src/lowland/pages/view/saving.js";

test("numbers have as many digits as asked for, and read back as nearly the same", () => {
  for (const value of [0, 3, -7, 0.1234567, -12.3456, 123.456, 1234.5, 54321, 999999.5, 1e6, 1.2345e-7, -6.022e23]) {
    const text = number(value, 4),
      back = Number(text.replaceAll("−", "-").replaceAll(",", ""));
    assert.ok(Math.abs(back - value) <= 5e-4 * Math.abs(value), `${value}: ${text}`);
  }
  assert.equal(number(2008), "2008"); // a year has no comma
  assert.equal(number(2007.93), "2008"); // nor has the mean of years
  assert.equal(number(2007.93, 5), "2007.9");
  assert.equal(number(12345), "12,345");
  assert.equal(number(12345.6), "12,346");
  assert.equal(number(-0.5), "−0.5");
  assert.equal(number(6e-7), "6e−7");
});

test("what is missing or infinite is said so", () => {
  assert.deepEqual(
    [null, undefined, NaN].map((value) => number(value)),
    ["–", "–", "–"],
  );
  assert.deepEqual(
    [Infinity, -Infinity].map((value) => number(value)),
    ["∞", "−∞"],
  );
  const column = new Column({ name: "x", kind: "number", values: Float32Array.of(-Infinity, NaN, 0.1) });
  assert.deepEqual(
    [0, 1, 2].map((row) => column.textOf(row)),
    ["−∞", null, "0.1"],
  );
  assert.deepEqual(
    [0, 1, 2].map((row) => column.exactTextOf(row)),
    ["-Infinity", "", "0.1"],
  );
});

test("scores keep trailing zeros, and a small score is not zero", () => {
  assert.equal(score(0.9, 2), "0.90");
  assert.equal(score(-0.25, 2), "−0.25");
  assert.notEqual(Number(score(0.0001, 2).replace("−", "-")), 0);
  assert.equal(score(null, 2), "–");
});

test("a duration never has 60 seconds or 60 minutes", () => {
  const seconds = (text) => {
    const units = { ms: 0.001, s: 1, min: 60, h: 3600 };
    return [...text.matchAll(/([\d.]+) (ms|s|min|h)/g)].reduce((sum, [, value, unit]) => sum + value * units[unit], 0);
  };
  for (const value of [0.0123, 0.5, 1.5, 59.4, 61, 119.7, 179.2, 3599.8, 3600, 7199, 7170, 90000]) {
    const text = duration(value);
    assert.doesNotMatch(text, /min 60 s|h 60 min/);
    assert.ok(Math.abs(seconds(text) - value) <= Math.max(0.051 * Math.min(value, 1), value < 3600 ? 0.5 : 30), text);
  }
  assert.equal(duration(119.7), "2 min 0 s");
  assert.equal(duration(0.0001), "< 1 ms");
});

test("sizes, counts, percentages and long names", () => {
  assert.deepEqual([512, 1000, 2.5e6, 3e9].map(bytes), ["512 B", "1 kB", "2.5 MB", "3 GB"]);
  assert.deepEqual(
    [some(1, "row"), some(2, "row"), some(1200, "class", "classes")],
    ["1 row", "2 rows", "1,200 classes"],
  );
  assert.equal(asPercent(0.256), "26%");
  const name = "a name that is much too long for its place";
  assert.equal(brief(name).length, 26);
  assert.ok(name.startsWith(brief(name).split("…")[0]) && name.endsWith(brief(name).split("…")[1]));
});

test("dates are days, with the time if it is not midnight", () => {
  assert.equal(dateText(Date.UTC(2024, 1, 29)), "2024-02-29");
  assert.equal(dateText(Date.UTC(2024, 1, 29, 13, 5)), "2024-02-29 13:05");
  assert.equal(dateText(NaN), "–");
});

test("values of parameters are written as Python", () => {
  assert.equal(asPython(null), "None");
  assert.equal(asPython([true, false, 0.5, 'a "b"']), '[True, False, 0.5, "a \\"b\\""]');
  assert.deepEqual([null, 3.14159265, "x"].map(cellText), ["", "3.1416", "x"]);
});

test("a mask survives the way to the server and back", () => {
  for (const n of [0, 1, 8, 9, 70000]) {
    const mask = Uint8Array.from({ length: n }, (_, i) => +(i % 3 === 1));
    assert.deepEqual(maskOf(maskText(mask), n), mask);
  }
  assert.equal(maskText([1, 0, 0, 0, 0, 0, 0, 0, 1]), Buffer.from([1, 1]).toString("base64"));
});

test("codes of a category go to its levels, also beyond 255 of them", () => {
  const texts = Array.from({ length: 600 }, (_, i) => `level ${i % 300}`);
  texts[7] = null;
  const column = new Column({ name: "c", kind: "category", values: texts });
  assert.equal(column.levels.length, 300);
  texts.forEach((text, row) => assert.equal(column.textOf(row), text));
});

test("a table that shows some rows knows them by their numbers", () => {
  const table = new Table({ n: 3, rowNumbers: Uint32Array.of(4, 10, 11) });
  assert.deepEqual(
    [4, 10, 11, 0].map((wanted) => table.rowOf(wanted)),
    [0, 1, 2, -1],
  );
  assert.equal(table.titleOf(1), "Row 10");
  const all = new Table({ n: 3, ids: ["a", "b", "c"] });
  assert.deepEqual(
    [2, 3, -1, 0.5].map((wanted) => all.rowOf(wanted)),
    [2, -1, -1, -1],
  );
  assert.equal(all.titleOf(1), "b");
});
