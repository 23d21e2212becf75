// Masks of rows: one byte per row in the page, one bit per row (least significant first) on the way to the server.

export function packBits(mask) {
  const bits = new Uint8Array(Math.ceil(mask.length / 8));
  for (let row = 0; row < mask.length; row++) if (mask[row]) bits[row >> 3] |= 1 << (row & 7);
  return bits;
}

export function unpackBits(bits, n) {
  const mask = new Uint8Array(n);
  for (let row = 0; row < n; row++) mask[row] = (bits[row >> 3] >> (row & 7)) & 1;
  return mask;
}

export function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}

export const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
export const maskToText = (mask) => toBase64(packBits(mask));
export const maskFromText = (text, n) => unpackBits(fromBase64(text), n);

export function maskOfRows(rows, n) {
  const mask = new Uint8Array(n);
  for (const row of rows) if (row >= 0 && row < n) mask[row] = 1;
  return mask;
}

export function rowsOfMask(mask) {
  const rows = [];
  for (let row = 0; row < mask.length; row++) if (mask[row]) rows.push(row);
  return rows;
}

// The k nearest rows of a row in a map; coordinates component after component.
export function nearestOnMap(coordinates, components, n, row, k) {
  const far = new Float32Array(n).fill(Infinity);
  for (let other = 0; other < n; other++) {
    let sum = 0;
    for (let c = 0; c < components; c++) sum += (coordinates[c * n + other] - coordinates[c * n + row]) ** 2;
    if (other !== row && !Number.isNaN(sum)) far[other] = sum;
  }
  const heap = []; // the nearest so far, in ascending order
  for (let other = 0; other < n; other++) {
    if (heap.length === k && far[other] >= far[heap[k - 1]]) continue;
    if (far[other] === Infinity) continue;
    let at = heap.length;
    while (at > 0 && far[heap[at - 1]] > far[other]) at--;
    heap.splice(at, 0, other);
    if (heap.length > k) heap.pop();
  }
  return heap;
}

// Neighbors in the data against neighbors on a map: kept (both), missed (data only), false (map only).
export function compareNeighbors(near, onMap) {
  const inData = new Set(near);
  const there = new Set(onMap);
  return {
    kept: near.filter((row) => there.has(row)),
    missed: near.filter((row) => !there.has(row)),
    false: onMap.filter((row) => !inData.has(row)),
  };
}
