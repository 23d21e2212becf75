// Rows far from the others. At first, the axes are fitted to the others, and arrows at the edge mark these rows.

// Codes of a component; those of outliers lie outside of 0 … 65534.
function codesOf(Z, i) {
  const codes = array(Z).subarray(i * M, (i + 1) * M),
    far = Z.far[i];
  if (far && !far.codes) {
    far.codes = Float32Array.from(codes);
    const at = array(far.at);
    array(far.rows).forEach((row, j) => {
      far.codes[row] = at[j];
    });
  }
  return far ? far.codes : codes;
}

// The rows outside of the range of a drawn component.
function farRows({ trial: { Z } }) {
  const kept = Z.low.length,
    drawn = new Set(kept === 1 ? [0] : [Math.min(state.x, kept - 1), Math.min(state.y, kept - 1)]);
  const far = [...drawn].map((i) => Z.far[i]).filter(Boolean);
  return far.length === 2
    ? [...new Set([...array(far[0].rows), ...array(far[1].rows)])]
    : far.length
      ? array(far[0].rows)
      : [];
}

// Positions in which rows outside of the panel are moved to its edge; they depend only on its proportions.
function withinPanel(panel, place, width, height) {
  const key = `${state.x} ${state.y} ${state.evenAxes} ${(width / height).toFixed(2)}`;
  if (panel.edgeKey !== key) {
    const X = Float32Array.from(place.X),
      Y = Float32Array.from(place.Y),
      edge = 0.025 * Math.min(width, height),
      outside = [];
    const kept = (at, room) => Math.max(edge, Math.min(room - edge, at));
    for (const row of farRows(panel)) {
      const x = X[row] * place.ax + place.bx,
        y = Y[row] * place.ay + place.by,
        dx = x - kept(x, width),
        dy = y - kept(y, height);
      if (!dx && !dy) continue;
      if (dx) X[row] = (kept(x, width) - place.bx) / place.ax;
      if (dy) Y[row] = (kept(y, height) - place.by) / place.ay;
      outside.push({ row, angle: Math.atan2(Math.sign(dy), Math.sign(dx)) });
    }
    Object.assign(panel, { edgeKey: key, edged: { X, Y, outside } });
  }
  return { ...place, ...panel.edged };
}

// The view in which all rows are inside the panel.
function wholeView(panel) {
  const view = panel.view,
    width = panel.frame.clientWidth,
    height = panel.frame.clientHeight,
    margin = 0.06 * Math.min(width, height);
  panel.home();
  const { ax, ay } = panel.place(width, height),
    [x, y] = panel.axes().map(({ codes }) => {
      const [low, high] = extent([codes.filter((code) => code !== 65535)]);
      return { middle: (low + high) / 2, wide: high - low };
    });
  panel.view = view;
  const zoom = Math.min(
    1,
    (width - 2 * margin) / Math.max(1e-9, Math.abs(x.wide * ax)),
    (height - 2 * margin) / Math.max(1e-9, Math.abs(y.wide * ay)),
  );
  return { zoom, x: (-ax * (x.middle - 32767)) / width, y: (ay * (y.middle - 32767)) / height };
}

// Arrows that point from the edge to the rows outside.
function drawArrows(context, { X, Y, ax, bx, ay, by }, outside, shades, scale) {
  const r = 6 * scale;
  for (const { row, angle } of outside) {
    if (state.flags[row] & HIDDEN) continue;
    context.save();
    context.translate(X[row] * ax + bx, Y[row] * ay + by);
    context.rotate(angle);
    context.beginPath();
    context.moveTo(r, 0);
    context.lineTo(-0.8 * r, -0.9 * r);
    context.lineTo(-0.8 * r, 0.9 * r);
    context.closePath();
    context.fillStyle =
      state.selected && !(state.flags[row] & SELECTED) ? theme().dim : state.palette.colors[shades ? shades[row] : MISSING];
    context.fill();
    context.strokeStyle = theme().ink;
    context.lineWidth = scale;
    context.stroke();
    context.restore();
  }
}
