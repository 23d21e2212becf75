// The plane of a panel: the coordinates of a map on its axes, centered and scaled, in the order in which rows are drawn.

const MARGIN = 0.06;

// Rows are drawn in random order, so that no class is always on top and the first rows are a sample.
/** @type {(n: number) => Uint32Array} */
export function randomOrder(n) {
  const order = new Uint32Array(n);
  let seed = 20261;
  for (let i = 0; i < n; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1));
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

// The range to which an axis is fitted: without outliers, if they are few and far. The bulk is what remains without 0.5%
// of the values at each end, or 3 of 75 or more. Values beyond half its width from it are outliers if the range of the
// others is at most a third of the whole.
/** @type {(values: NumberArray, order: Uint32Array) => [number, number]} */
export function bulkRange(values, order) {
  let low = Infinity,
    high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value < low && value !== -Infinity) low = value;
    if (value > high && value !== Infinity) high = value;
  }
  if (!(low < high)) return low === high ? [low, high] : [0, 0];
  const sample = new Float32Array(Math.min(values.length, 100000));
  for (let i = 0; i < sample.length; i++) sample[i] = values[order[i]];
  const sorted = sample.filter(Number.isFinite).sort(),
    many = sorted.length,
    few = Math.max(Math.floor(0.005 * many), Math.min(3, Math.floor(many / 25)));
  if (!(few > 0 && few < many / 2)) return [low, high];
  const edge = (sorted[many - 1 - few] - sorted[few]) / 2,
    from = sorted[few] - edge,
    to = sorted[many - 1 - few] + edge;
  let least = Infinity,
    most = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value < from || value > to) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return most > least && 3 * (most - least) <= high - low ? [least, most] : [low, high];
}

/** @type {(range: [number, number]) => number} */
const middleOf = ([low, high]) => low / 2 + high / 2;
/** @type {(range: [number, number]) => number} */
const widthOf = ([low, high]) => high - low;

// X, Y: positions by slot (place in the order of drawing), NaN if the row is not on the map; wide, high: extent of the
// bulk; far: slots outside of it; whole: the extent of all.
/** @type {(map: MapData, order: Uint32Array, axes: number[], equal: boolean) => FlatFrame} */
export function flatFrame(map, order, axes, equal) {
  const { n } = map,
    one = map.components === 1,
    x = map.component(axes[0]),
    y = one ? x : map.component(axes[1]), // of one component: not used
    across = bulkRange(x, order),
    up = one ? /** @type {[number, number]} */ ([0, 0]) : bulkRange(y, order);
  const unit = equal || one ? Math.max(widthOf(across), widthOf(up)) || 1 : 0,
    xUnit = unit || widthOf(across) || 1,
    yUnit = unit || widthOf(up) || 1,
    X = new Float32Array(n),
    Y = new Float32Array(n),
    far = /** @type {number[]} */ ([]),
    [cx, cy] = [middleOf(across), middleOf(up)];
  const whole = { left: Infinity, right: -Infinity, low: Infinity, top: -Infinity };
  for (let slot = 0; slot < n; slot++) {
    const row = order[slot],
      u = x[row],
      // A single component has no second axis: its points are jittered vertically.
      v = one ? ((Math.imul(row + 1, 2654435761) >>> 16) / 65535 - 0.5) / 4 : y[row];
    X[slot] = (u - cx) / xUnit;
    Y[slot] = one ? v : (v - cy) / yUnit;
    if (!Number.isFinite(X[slot] - Y[slot])) {
      X[slot] = NaN; // missing or infinite
      continue;
    }
    if (X[slot] < whole.left) whole.left = X[slot];
    if (X[slot] > whole.right) whole.right = X[slot];
    if (Y[slot] < whole.low) whole.low = Y[slot];
    if (Y[slot] > whole.top) whole.top = Y[slot];
    if (u < across[0] || u > across[1] || (!one && (v < up[0] || v > up[1]))) far.push(slot);
  }
  /** @type {FlatFrame["ofPlaced"]} */
  const ofPlaced = (coordinates, m) => [
    (i) => (coordinates[axes[0] * m + i] - cx) / xUnit,
    (i) => (one ? 0 : (coordinates[axes[1] * m + i] - cy) / yUnit),
  ];
  return { X, Y, Z: null, wide: widthOf(across) / xUnit, high: one ? 0.25 : widthOf(up) / yUnit, far, whole, ofPlaced };
}

// Three components, turned to be seen from any side.
/** @type {(map: MapData, order: Uint32Array, axes: number[]) => SolidFrame} */
export function solidFrame(map, order, axes) {
  const { n } = map,
    parts = axes.map((axis) => map.component(axis)),
    ranges = parts.map((values) => bulkRange(values, order)),
    unit = Math.max(...ranges.map(widthOf)) || 1,
    points = parts.map(() => new Float32Array(n));
  parts.forEach((values, i) => {
    const center = middleOf(ranges[i]),
      into = points[i];
    for (let slot = 0; slot < n; slot++) into[slot] = (values[order[slot]] - center) / unit;
  });
  const half = reachOf(points);
  /** @type {SolidFrame} */
  const frame = {
    X: new Float32Array(n),
    Y: new Float32Array(n),
    Z: new Float32Array(n),
    wide: 2 * half,
    high: 2 * half,
    far: [],
    whole: { left: -half, right: half, low: -half, top: half },
    points,
    turned: null,
    ofPlaced: (coordinates, m) => {
      const at = (axis, i) => (coordinates[axes[axis] * m + i] - middleOf(ranges[axis])) / unit,
        angles = frame.turned ?? { yaw: 0, pitch: 0 };
      return [0, 1].map((which) => (i) => turnedPoint([at(0, i), at(1, i), at(2, i)], angles)[which]);
    },
  };
  return frame;
}

// The distance from the center within which nearly all points lie.
/** @type {(points: Float32Array[]) => number} */
function reachOf([x, y, z]) {
  const distances = new Float32Array(Math.min(x.length, 20000));
  for (let i = 0; i < distances.length; i++) distances[i] = Math.hypot(x[i], y[i], z[i]);
  const sorted = distances.filter(Number.isFinite).sort();
  return Math.max(0.2, sorted[Math.floor(0.995 * (sorted.length - 1))] ?? 0.5);
}

/** @type {(point: number[], angles: Angles) => number[]} */
function turnedPoint([x, y, z], { yaw, pitch }) {
  const across = x * Math.cos(yaw) + z * Math.sin(yaw),
    back = -x * Math.sin(yaw) + z * Math.cos(yaw);
  return [across, y * Math.cos(pitch) - back * Math.sin(pitch), y * Math.sin(pitch) + back * Math.cos(pitch)];
}

// Turn the first `many` points of a solid frame.
/** @type {(frame: SolidFrame, angles: Angles, many?: number) => void} */
export function turn(frame, angles, many = frame.X.length) {
  const last = frame.turned;
  if (last && last.yaw === angles.yaw && last.pitch === angles.pitch && last.many >= many) return;
  const { X, Y, Z, points } = frame,
    [x, y, z] = points,
    cy = Math.cos(angles.yaw),
    sy = Math.sin(angles.yaw),
    cp = Math.cos(angles.pitch),
    sp = Math.sin(angles.pitch);
  for (let i = 0; i < many; i++) {
    const back = z[i] * cy - x[i] * sy;
    X[i] = x[i] * cy + z[i] * sy;
    Y[i] = y[i] * cp - back * sp;
    Z[i] = y[i] * sp + back * cp;
  }
  frame.turned = { ...angles, many };
}

// Pixels of a rectangle of the given size: x = X * ax + bx, y = Y * ay + by. margin: the part of its smaller side that is
// left free at each edge.
/** @type {(frame: Frame, zoomed: Zoomed, wide: number, high: number, equal: boolean, margin?: number) => Place} */
export function placeOf(frame, zoomed, wide, high, equal, margin = MARGIN) {
  const free = margin * Math.min(wide, high),
    fit = (extent, room) => (extent > 0 ? (room - 2 * free) / extent : Infinity);
  let sx = fit(frame.wide, wide),
    sy = fit(frame.high, high);
  if (equal || frame.Z) sx = sy = Math.min(sx, sy);
  const ax = (Number.isFinite(sx) ? sx : 1) * zoomed.zoom,
    ay = -(Number.isFinite(sy) ? sy : 1) * zoomed.zoom;
  return { ax, bx: wide / 2 + zoomed.x * wide * zoomed.zoom, ay, by: high / 2 - zoomed.y * high * zoomed.zoom };
}

// The zoom in which all rows are inside of the panel.
/** @type {(frame: Frame, wide: number, high: number, equal: boolean, margin?: number) => Zoomed} */
export function wholeZoom(frame, wide, high, equal, margin = MARGIN) {
  const free = margin * Math.min(wide, high),
    { ax, ay } = placeOf(frame, { zoom: 1, x: 0, y: 0 }, wide, high, equal, margin),
    { left, right, low, top } = frame.whole;
  if (!(right >= left)) return { zoom: 1, x: 0, y: 0 };
  const zoom = Math.min(
    1,
    (wide - 2 * free) / Math.max(1e-9, (right - left) * ax),
    (high - 2 * free) / Math.max(1e-9, (top - low) * -ay),
  );
  return { zoom, x: (-ax * (left + right)) / 2 / wide, y: (ay * (low + top)) / 2 / high };
}
