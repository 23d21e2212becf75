// The explorer's filter: conditions in words, those that are sent to the server, and the rows that are left.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createStore, debounced } from "../../../src/lowland/pages/explorer/store.js";
import { maskText } from "../../../src/lowland/pages/view/saving.js";

globalThis.document = { addEventListener: () => {} };
const { applyConditions, conditionText, shownColumns } = await import("../../../src/lowland/pages/explorer/filter.js");

test("conditions read as sentences", () => {
  assert.equal(conditionText({ column: "mass", op: ">=", value: "4" }), "mass ≥ 4");
  assert.equal(conditionText({ column: "kind", op: "contains", value: "set" }), "kind contains set");
  assert.equal(conditionText({ column: "mass", op: "missing", value: "4" }), "mass is missing");
  assert.equal(conditionText({ column: null, value: "3 chosen rows" }), "3 chosen rows");
});

// A server that answers a filter with a mask, and a view that remembers its own.
function appWith(mask) {
  const store = createStore(),
    app = { store, stage: { view: { filter: (shown) => (app.shown = shown) } }, sent: [] };
  store.tables.set("t", { rows: 5, columns: [{ name: "mass" }, { name: "kind" }] });
  store.tableId = "t";
  globalThis.fetch = async (address, { body }) => {
    app.sent.push([address, JSON.parse(body)]);
    return Response.json({ mask: maskText(mask) });
  };
  return app;
}
const mass = { column: "mass", op: ">", value: " 3 " },
  empty = { column: "kind", op: "=", value: "" },
  missing = { column: "kind", op: "missing", value: "" },
  own = { column: null, value: "2 chosen rows", rows: maskText([0, 1, 1, 0, 0]) };

test("the server is asked for conditions with a value, by the index of their column", async () => {
  const app = appWith([1, 1, 0, 0, 1]);
  await applyConditions(app, [mass, empty, missing]);
  const conditions = [
    { column: 0, op: ">", value: "3" },
    { column: 1, op: "missing", value: null },
  ];
  assert.deepEqual(app.sent, [["/api/tables/t/filter", { conditions }]]);
  assert.deepEqual([...app.shown], [1, 1, 0, 0, 1]);
  assert.deepEqual(app.store.conditions, [mass, missing]);
});

test("rows pass the filter if they meet all conditions, also the chosen rows", async () => {
  const app = appWith([1, 1, 0, 0, 1]);
  await applyConditions(app, [mass, own]);
  assert.deepEqual([...app.shown], [0, 1, 0, 0, 0]);
  await applyConditions(app, [own]);
  assert.deepEqual([...app.shown], [0, 1, 1, 0, 0]);
  await applyConditions(app, []);
  assert.equal(app.shown, null);
  assert.equal(app.sent.length, 1);
});

test("a row is recognized by its name and label first", () => {
  const roles = ["feature", "feature", "label", "drop", "id", "feature"];
  assert.deepEqual(shownColumns({ columns: roles.map((role) => ({ role })) }), [4, 2, 0, 1]);
});

test("a debounced function is called once, with the last values", async () => {
  const calls = [];
  await new Promise((done) => {
    const later = debounced((value) => done(calls.push(value)), 5);
    for (const value of [1, 2, 3]) later(value);
  });
  assert.deepEqual(calls, [3]);
});
