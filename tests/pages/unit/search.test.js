// Rows found by texts and conditions.

import assert from "node:assert/strict";
import { test } from "node:test";

import { conditionOf, placesToSearch, rowsFound } from "../../../src/lowland/pages/report/search.js";
import { Table } from "../../../src/lowland/pages/view/model.js";
import { searchRows } from "../../../src/lowland/pages/view/search.js";

const table = new Table({
  n: 5,
  label: 0,
  columns: [
    { name: "kind", kind: "category", values: ["setosa", "virginica", null, "setosa", "set"] },
    { name: "width", kind: "number", values: Float32Array.of(5.1, 0.1, NaN, -3, 5.2) },
    { name: "note", kind: "text", values: ["Red one", null, "blue", "bluer", "3 of 4"] },
  ],
});
const found = (text, place = "any") =>
  [...rowsFound(table, text, place).mask.keys()].filter((row) => rowsFound(table, text, place).mask[row]);

test("a text is searched in labels and texts, in any case", () => {
  assert.deepEqual(searchRows(table, "VIRG", 10), { rows: [1], total: 1 });
  assert.deepEqual(searchRows(table, "blue", 10), { rows: [2, 3], total: 2 });
  assert.deepEqual(searchRows(table, "  ", 10), { rows: [], total: 0 });
  assert.deepEqual(searchRows(table, "nothing", 10), { rows: [], total: 0 });
});

test("a number is first of all the number of a row", () => {
  assert.deepEqual(searchRows(table, "3", 10), { rows: [3, 4], total: 2 });
  assert.deepEqual(searchRows(table, "4", 10), { rows: [4], total: 1 });
  assert.deepEqual(searchRows(table, "17", 10), { rows: [], total: 0 });
});

test("the number of all rows found is told, also if fewer are listed", () => {
  assert.deepEqual(searchRows(table, "set", 2), { rows: [0, 3], total: 3 });
});

test("ids are searched", () => {
  const named = new Table({ n: 3, ids: ["ab", "B", "c"] });
  assert.deepEqual(searchRows(named, "b", 10).rows, [0, 1]);
});

test("texts that are equal to the wanted one come before those that contain it", () => {
  assert.deepEqual(found("set"), [4]);
  assert.deepEqual(found("seto"), [0, 3]);
  assert.deepEqual(found("blue"), [2]);
});

test("a place limits the search", () => {
  assert.deepEqual(
    placesToSearch(table).map(({ value }) => value),
    ["any", "row", "0", "1", "2"],
  );
  assert.deepEqual(found("3", "row"), [3]);
  assert.deepEqual(found("3", "2"), [4]);
  assert.deepEqual(found("virginica", "2"), []);
  assert.deepEqual(found("", "2"), []);
});

test("conditions on numbers hold for the written values, which are kept in single precision", () => {
  assert.deepEqual(found("5.1", "1"), [0]);
  assert.deepEqual(found("= 5.1", "1"), [0]);
  assert.deepEqual(found("> 5.1", "1"), [4]);
  assert.deepEqual(found(">= 5.1", "1"), [0, 4]);
  assert.deepEqual(found("< 5.1", "1"), [1, 3]);
  assert.deepEqual(found("<= 5.1", "1"), [0, 1, 3]);
  assert.deepEqual(found("> 0.1", "1"), [0, 4]);
  assert.deepEqual(found("-3..0.1", "1"), [1, 3]);
  assert.deepEqual(found("5.1 .. 5.2", "1"), [0, 4]);
});

test("what is no condition finds nothing", () => {
  for (const text of ["", "abc", "> x", "1..b", "1 2"]) assert.equal(conditionOf(text), null, text);
  assert.deepEqual(found("abc", "1"), []);
});
