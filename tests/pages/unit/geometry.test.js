// Where points and panels are: frames, the nearest point, neighbors, boxes and lassos, and the grid of panels.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  bulkRange,
  flatFrame,
  placeOf,
  randomOrder,
  solidFrame,
  turn,
  wholeZoom,
} from "../../../src/lowland/pages/view/frames.js";
import { gridFor } from "../../../src/lowland/pages/view/layout.js";
import { MapData } from "../../../src/lowland/pages/view/model.js";
import { gridOf, nearestSlot } from "../../../src/lowland/pages/view/nearest.js";
import { nearOnMap, neighborSets } from "../../../src/lowland/pages/view/neighbors.js";
import { arrowsOf, contoursOf } from "../../../src/lowland/pages/view/overlay.js";
import { HIDDEN, RowStates, insideBox, insideLasso, underBrush } from "../../../src/lowland/pages/view/rows.js";

const HOME = { zoom: 1, x: 0, y: 0 };

// Uniform numbers in [0, 1), the same in every run.
function randomNumbers(n, seed = 1) {
  return Float32Array.from({ length: n }, () => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return (seed >>> 8) / 2 ** 24;
  });
}
const identity = (n) => Uint32Array.from({ length: n }, (_, i) => i);
const mapOf = (components, coordinates) => new MapData({ key: "map", components, coordinates });
const close = (a, b, within = 1e-5) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);

test("the order of drawing has every row once and is not sorted", () => {
  const order = randomOrder(1000);
  assert.deepEqual(
    [...order].sort((a, b) => a - b),
    [...Array(1000).keys()],
  );
  let up = 0;
  for (let i = 1; i < 1000; i++) up += order[i] > order[i - 1];
  assert.ok(up > 400 && up < 600);
});

test("the range of the bulk ignores a few far values, but not a tenth of all", () => {
  const values = randomNumbers(1000),
    order = identity(1000),
    [low, high] = bulkRange(values, order);
  assert.deepEqual([low, high], [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))]);
  const outlier = values.slice();
  outlier[17] = 1e6;
  assert.ok(bulkRange(outlier, order)[1] <= 1);
  const many = values.slice().fill(1e6, 0, 100);
  assert.equal(bulkRange(many, order)[1], 1e6);
  assert.deepEqual(bulkRange(Float32Array.of(NaN, 2, Infinity, 2), identity(4)), [2, 2]);
  assert.deepEqual(bulkRange(Float32Array.of(NaN, NaN), identity(2)), [0, 0]);
});

test("with equal scales a frame keeps the ratios of distances", () => {
  const map = mapOf(2, Float32Array.of(0, 3, 0, 10, 0, 0, 4, -2)),
    { X, Y } = flatFrame(map, identity(4), [0, 1], true),
    distance = (i, j) => Math.hypot(X[i] - X[j], Y[i] - Y[j]);
  close(distance(0, 1) / distance(0, 2), 3 / 4);
  close(distance(1, 2) / distance(0, 1), 5 / 3);
});

test("all rows are inside of the rectangle, whatever the order of drawing", () => {
  const n = 500,
    map = mapOf(2, randomNumbers(2 * n)),
    order = randomOrder(n);
  for (const equal of [true, false]) {
    const frame = flatFrame(map, order, [0, 1], equal),
      place = placeOf(frame, HOME, 300, 200, equal);
    for (let slot = 0; slot < n; slot++) {
      const x = frame.X[slot] * place.ax + place.bx,
        y = frame.Y[slot] * place.ay + place.by;
      assert.ok(x >= 0 && x <= 300 && y >= 0 && y <= 200);
    }
    const top = order.indexOf(map.component(1).indexOf(Math.max(...map.component(1))));
    assert.equal(frame.Y[top], Math.max(...frame.Y)); // up is up, and the slot is that of the row
  }
});

test("rows that are missing or infinite are not on the map", () => {
  const frame = flatFrame(mapOf(2, Float32Array.of(0, NaN, 1, 2, 0, 1, Infinity, 2)), identity(4), [0, 1], true);
  assert.deepEqual([...frame.X].map(Number.isNaN), [false, true, true, false]);
});

test("an outlier is far, and the zoom to the whole shows it", () => {
  const n = 400,
    coordinates = randomNumbers(2 * n);
  coordinates[5] = 50;
  const frame = flatFrame(mapOf(2, coordinates), identity(n), [0, 1], true);
  assert.deepEqual(frame.far, [5]);
  const home = placeOf(frame, HOME, 300, 200, true);
  assert.ok(frame.X[5] * home.ax + home.bx > 300);
  const place = placeOf(frame, wholeZoom(frame, 300, 200, true), 300, 200, true);
  for (let i = 0; i < n; i++) {
    const x = frame.X[i] * place.ax + place.bx,
      y = frame.Y[i] * place.ay + place.by;
    assert.ok(x >= 0 && x <= 300 && y >= 0 && y <= 200);
  }
});

test("placed rows are where rows of the map with the same coordinates are", () => {
  const coordinates = randomNumbers(3 * 50),
    map = mapOf(3, coordinates);
  const flat = flatFrame(map, identity(50), [2, 0], false),
    [x, y] = flat.ofPlaced(coordinates, 50);
  close(x(7), flat.X[7]);
  close(y(7), flat.Y[7]);
  const solid = solidFrame(map, identity(50), [0, 1, 2]);
  turn(solid, { yaw: 0.3, pitch: -0.4 });
  const [u, v] = solid.ofPlaced(coordinates, 50);
  close(u(7), solid.X[7]);
  close(v(7), solid.Y[7]);
});

test("turning three components keeps all distances", () => {
  const map = mapOf(3, randomNumbers(3 * 20)),
    frame = solidFrame(map, identity(20), [0, 1, 2]);
  const distances = () => {
    const { X, Y, Z } = frame;
    return Array.from({ length: 19 }, (_, i) => Math.hypot(X[i + 1] - X[0], Y[i + 1] - Y[0], Z[i + 1] - Z[0]));
  };
  turn(frame, { yaw: 0, pitch: 0 });
  const before = distances(),
    x = frame.X.slice();
  turn(frame, { yaw: 1.1, pitch: 0.6 });
  distances().forEach((distance, i) => close(distance, before[i]));
  assert.notDeepEqual(frame.X, x);
});

test("the nearest point under the pointer is that of a full search", () => {
  const n = 2000,
    coordinates = randomNumbers(2 * n, 5);
  coordinates[3] = 40; // an outlier, in a cell at the edge
  const frame = flatFrame(mapOf(2, coordinates), identity(n), [0, 1], true),
    grid = gridOf(frame),
    place = placeOf(frame, { zoom: 1.7, x: 0.1, y: -0.2 }, 400, 300, true),
    flags = new Uint8Array(n).map((_, i) => (i % 7 ? 0 : HIDDEN)),
    pixels = [...randomNumbers(300, 9)].map((u, i, all) => [u * 400, all[(i * 17) % 300] * 300]);
  let found = 0;
  for (const [px, py] of pixels) {
    for (const reach of [4, 30]) {
      const far = (slot) =>
        Math.hypot(frame.X[slot] * place.ax + place.bx - px, frame.Y[slot] * place.ay + place.by - py);
      const near = [...identity(n)].filter((slot) => !flags[slot] && far(slot) <= reach),
        slot = nearestSlot(grid, frame, place, flags, px, py, reach);
      if (!near.length) assert.equal(slot, -1);
      else close(far(slot), Math.min(...near.map(far)));
      found += slot >= 0;
    }
  }
  assert.ok(found > 100);
});

test("neighbors on a map are those of a full search, nearest first", () => {
  const n = 200,
    map = mapOf(3, randomNumbers(3 * n)),
    far = (i) => Math.hypot(...[0, 1, 2].map((c) => map.component(c)[i] - map.component(c)[11]));
  const expected = [...identity(n)].filter((i) => i !== 11).sort((a, b) => far(a) - far(b));
  for (const k of [1, 10, 60]) assert.deepEqual(nearOnMap(map, 11, k), expected.slice(0, k));
});

test("neighbors are kept, missed or false, and nothing else", () => {
  const map = mapOf(1, Float32Array.of(0, 1, 2, 3, 10)),
    sets = neighborSets(map, { row: 0, neighbors: { near: [1, 4] } });
  assert.deepEqual(sets, { kept: [1], missed: [4], false: [2] });
});

test("a box and a lasso around the same rectangle hit the same points", () => {
  const n = 500,
    frame = { X: randomNumbers(n), Y: randomNumbers(n, 3) },
    place = { ax: 200, bx: 5, ay: -100, by: 110 },
    box = new Uint8Array(n),
    lasso = new Uint8Array(n);
  insideBox(frame, place, [[150.3, 90.4], [40.2, 30.7]], box); // prettier-ignore
  insideLasso(frame, place, [[40.2, 30.7], [150.3, 30.7], [150.3, 90.4], [40.2, 90.4]], lasso); // prettier-ignore
  assert.deepEqual(lasso, box);
  const expected = Uint8Array.from(frame.X, (x, i) => {
    const [u, v] = [200 * x + 5, 110 - 100 * frame.Y[i]];
    return +(u >= 40.2 && u <= 150.3 && v >= 30.7 && v <= 90.4);
  });
  assert.deepEqual(box, expected);
  assert.ok(box.includes(1) && box.includes(0));
});

test("a lasso that crosses itself follows the even-odd rule", () => {
  const frame = { X: [5, 5, 1, 9], Y: [-2, -8, -5, -5] },
    hits = new Uint8Array(4); // a bow tie: the upper and lower triangles are outside
  insideLasso(frame, { ax: 1, bx: 0, ay: -1, by: 0 }, [[0, 0], [10, 10], [10, 0], [0, 10]], hits); // prettier-ignore
  assert.deepEqual([...hits], [0, 0, 1, 1]);
});

test("a brush hits what is within its radius of its way", () => {
  const frame = { X: [5, 5, 12, 14], Y: [-2, -4, 0, 0] },
    hits = new Uint8Array(4);
  underBrush(frame, { ax: 1, bx: 0, ay: -1, by: 0 }, [0, 0], [10, 0], 3, hits);
  assert.deepEqual([...hits], [1, 0, 1, 0]);
});

test("selections are replaced, added to and reduced, and hidden rows are never selected", () => {
  const rows = new RowStates(randomOrder(6)),
    select = (mask, how) => rows.combine(rows.bySlot(mask), how, rows.flags.slice());
  select([1, 1, 0, 0, 0, 0], "new");
  select([0, 0, 1, 0, 0, 0], "add");
  select([1, 0, 0, 0, 0, 0], "take");
  assert.deepEqual([...rows.selection()], [0, 1, 1, 0, 0, 0]);
  assert.equal(rows.show([1, 0, 1, 1, 1, 1], null, new Set(), 0), true);
  assert.deepEqual([...rows.selection()], [0, 0, 1, 0, 0, 0]);
  select([1, 1, 1, 1, 1, 1], "new");
  assert.deepEqual([...rows.selection()], [1, 0, 1, 1, 1, 1]);
  assert.deepEqual([rows.selected, rows.shown], [5, 5]);
});

test("panels that fit fill the room without scrolling; too many keep their least height", () => {
  for (const [many, wide, high] of [
    [1, 900, 600],
    [2, 900, 400],
    [4, 1200, 800],
    [6, 1400, 700],
    [2, 400, 900],
  ]) {
    // prettier-ignore
    const { columns, height } = gridFor(many, wide, high, 170),
      lines = Math.ceil(many / columns);
    assert.ok(lines * height + 10 * (lines - 1) <= high + 1e-9, `${many} panels`);
  }
  assert.equal(gridFor(2, 1200, 400, 170).columns, 2);
  assert.equal(gridFor(2, 300, 900, 170).columns, 1);
  const crowded = gridFor(60, 800, 500, 170);
  assert.ok(crowded.height >= 170 && (800 - 10 * (crowded.columns - 1)) / crowded.columns >= 170);
});

test("contours of a plane are straight, at round values, and end where the surface ends", () => {
  const x = [0, 1, 2, 3, 4],
    y = [0, 10, 20],
    heights = y.map((v) => x.map((u) => (u > 3 && v > 10 ? null : 2 * u + v)));
  const found = contoursOf({ x, y, heights }, 2);
  assert.deepEqual(
    found.map(({ value }) => value),
    [0, 5, 10, 15, 20, 25].filter((value) => found.some((each) => each.value === value)),
  );
  assert.ok(found.length >= 4);
  for (const { value, coordinates } of found) {
    const many = coordinates.length / 2;
    assert.equal(many % 2, 0);
    for (let i = 0; i < many; i++) {
      assert.ok(Math.abs(2 * coordinates[i] + coordinates[many + i] - value) < 1e-5);
      assert.ok(!(coordinates[i] > 3 && coordinates[many + i] > 10));
    }
  }
});

test("arrows end at 1.5 times the spread, shortened by r, and columns without a direction have none", () => {
  const found = arrowsOf(
    {
      center: [10, 20],
      spread: 2,
      columns: [
        { name: "a", r2: 1, p_value: 0.01, direction: [1, 0] },
        { name: "kind", r2: 0.5, p_value: 0.01, direction: null },
        { name: "b", r2: 0.25, p_value: 0.01, direction: [0, -1] },
      ],
    },
    2,
  );
  assert.deepEqual(found.names, ["a", "b"]);
  assert.deepEqual([...found.coordinates], [10, 13, 10, 20, 20, 18.5]); // where they begin, and both ends
});
