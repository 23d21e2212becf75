// The row that is shown in all maps: the one under the pointer in a list, or else the only selected one, with its neighbors.

import { array, study } from "./study.js";

/** @type {(row: number) => { near: number[] } | null} */
function neighborsOf(row) {
  const place = study.table.near;
  return place ? { near: [...array(place).subarray(row * place.k, (row + 1) * place.k)] } : null;
}

// Show a row of a list in all maps; null: no longer.
/** @type {(view: View, row: number | null) => void} */
export function showRow(view, row) {
  if (row !== null) view.show({ row });
  else if (view.selectedCount === 1) {
    const [only] = view.selectedRows(1);
    view.show({ row: only, neighbors: neighborsOf(only) });
  } else view.show(null);
}
