// Search for the nearest point.

// Points sorted into a grid of cells, to find the nearest one to the pointer without a full search.
function gridOf(X, Y) {
  const n = Math.max(4, Math.min(256, Math.ceil(Math.sqrt(M / 4))));
  const part = (code) => Math.max(0, Math.min(n - 1, Math.floor((code / 65535) * n))); // outliers in the cells at the edge
  const cell = (row) => part(Y[row]) * n + part(X[row]);
  const starts = new Uint32Array(n * n + 1);
  for (let row = 0; row < M; row++) if (X[row] !== 65535) starts[cell(row) + 1]++;
  for (let i = 0; i < n * n; i++) starts[i + 1] += starts[i];
  const next = starts.slice(),
    rows = new Uint32Array(starts[n * n]);
  for (let row = 0; row < M; row++) if (X[row] !== 65535) rows[next[cell(row)]++] = row;
  return { n, starts, rows };
}

function nearest(grid, place, px, py, reach) {
  const { X, Y, ax, bx, ay, by } = place,
    { n, starts, rows } = grid;
  const cells = (p, a, b) => {
    if (a === 0) return [0, n - 1];
    const ends = [(p - reach - b) / a, (p + reach - b) / a]
      .map((q) => Math.floor((q / 65535) * n))
      .sort((u, v) => u - v);
    return [Math.max(0, Math.min(n - 1, ends[0])), Math.max(0, Math.min(n - 1, ends[1]))];
  };
  const [left, right] = cells(px, ax, bx),
    [low, high] = cells(py, ay, by);
  let best = -1,
    least = reach * reach;
  for (let j = low; j <= high; j++) {
    for (let at = starts[j * n + left]; at < starts[j * n + right + 1]; at++) {
      const row = rows[at];
      if (state.flags[row] & HIDDEN) continue;
      const far = (X[row] * ax + bx - px) ** 2 + (Y[row] * ay + by - py) ** 2;
      if (far <= least) {
        least = far;
        best = row;
      }
    }
  }
  return best;
}
