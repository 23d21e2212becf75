// Neighbors of a row: near in the data, near on a map, and what a map made of them.

import { some } from "./elements.js";

// kept: near in the data and on the map. missed: near in the data only. false: near on the map only. How each is drawn:
/** @type {["false" | "missed" | "kept", Shape, "wrong" | "missed" | "kept", string][]} */
export const NEIGHBOR_LOOKS = [
  ["false", "cross", "wrong", "near on the map only"],
  ["missed", "diamond", "missed", "near in the data only"],
  ["kept", "disc", "kept", "near in the data and on the map"],
]; // name, shape, color of the theme, meaning

// The k rows nearest to a row on a map, by Euclidean distance over all components.
/** @type {(map: MapData, row: number, k: number) => number[]} */
export function nearOnMap(map, row, k) {
  const { n, components } = map,
    coordinates = /** @type {Float32Array} */ (map.coordinates),
    best = /** @type {[distance: number, row: number][]} */ ([]); // farthest first
  for (let other = 0; other < n; other++) {
    if (other === row) continue;
    let distance = 0;
    for (let c = 0; c < components; c++) distance += (coordinates[c * n + other] - coordinates[c * n + row]) ** 2;
    if (distance !== distance || (best.length === k && distance >= best[0][0])) continue;
    if (best.length === k) best.shift();
    let at = best.findIndex(([farther]) => farther < distance);
    if (at < 0) at = best.length;
    best.splice(at, 0, [distance, other]);
  }
  return best.reverse().map(([, other]) => other);
}

// What a map made of the neighbors of a row.
/** @type {(map: MapData, shown: ShownRow) => NeighborSets | null} */
export function neighborSets(map, { row, neighbors }) {
  if (!neighbors || !map.coordinates) return null;
  const said = neighbors.byMap?.[map.key];
  if (said) return said;
  const near = neighbors.near ?? [];
  if (!near.length || Number.isNaN(map.component(0)[row])) return { kept: [], missed: near, false: [] };
  const onMap = new Set(nearOnMap(map, row, near.length)),
    inData = new Set(near);
  return {
    kept: near.filter((other) => onMap.has(other)),
    missed: near.filter((other) => !onMap.has(other)),
    false: [...onMap].filter((other) => !inData.has(other)),
  };
}

/** @type {(sets: NeighborSets | null) => string} */
export function neighborsInWords(sets) {
  if (!sets) return "";
  const many = (rows) => rows?.length ?? 0;
  return `${some(many(sets.kept) + many(sets.missed), "neighbor")}: ${many(sets.kept)} kept, ${many(sets.missed)} missed, ${many(sets.false)} false.`;
}
