// Points sorted into a grid of cells, to find the nearest one to the pointer without a full search.

import { HIDDEN } from "./rows.js";

/** @type {(frame: Frame) => Grid} */
export function gridOf(frame) {
  const { X, Y } = frame,
    many = X.length,
    n = Math.max(4, Math.min(512, Math.ceil(Math.sqrt(many / 4)))),
    half = Math.max(frame.wide, frame.high, 1e-9) / 2;
  const part = (value) => Math.max(0, Math.min(n - 1, Math.floor(((value + half) / (2 * half)) * n))); // outliers in the cells at the edge
  const starts = new Uint32Array(n * n + 1),
    cells = new Uint32Array(many);
  for (let slot = 0; slot < many; slot++) {
    if (X[slot] !== X[slot]) continue;
    cells[slot] = part(Y[slot]) * n + part(X[slot]);
    starts[cells[slot] + 1]++;
  }
  for (let i = 0; i < n * n; i++) starts[i + 1] += starts[i];
  const next = starts.slice(),
    slots = new Uint32Array(starts[n * n]);
  for (let slot = 0; slot < many; slot++) if (X[slot] === X[slot]) slots[next[cells[slot]]++] = slot;
  return { n, half, starts, slots };
}

// The slot nearest to a pixel within reach, or -1.
/** @type {(grid: Grid, frame: Plane, place: Place, flags: Uint8Array, px: number, py: number, reach: number) => number} */
export function nearestSlot(grid, frame, place, flags, px, py, reach) {
  const { X, Y } = frame,
    { ax, bx, ay, by } = place,
    { n, half, starts, slots } = grid;
  const range = (p, a, b) => {
    const ends = [(p - reach - b) / a, (p + reach - b) / a]
      .map((q) => Math.floor(((q + half) / (2 * half)) * n))
      .sort((u, v) => u - v);
    return [Math.max(0, Math.min(n - 1, ends[0])), Math.max(0, Math.min(n - 1, ends[1]))];
  };
  const [left, right] = range(px, ax, bx),
    [low, high] = range(py, ay, by);
  let best = -1,
    least = reach * reach;
  for (let j = low; j <= high; j++) {
    for (let at = starts[j * n + left]; at < starts[j * n + right + 1]; at++) {
      const slot = slots[at];
      if (flags[slot] & HIDDEN) continue;
      const distance = (X[slot] * ax + bx - px) ** 2 + (Y[slot] * ay + by - py) ** 2;
      if (distance <= least) {
        least = distance;
        best = slot;
      }
    }
  }
  return best;
}
