// What is drawn over the points of a map: arrows of columns, and contours of a surface.

import { number } from "./elements.js";

const HEAD = 8; // pixels of the head of an arrow
const MOST_ARROWS = 8;
const PLACES = 40; // of a contour at which its value may be written

// All coordinates of an overlay are finite, so that none is drawn nowhere.
/** @type {(panel: Panel, coordinates: Float32Array | undefined, wide: number, high: number) => Point[]} */
const pixelsIn = (panel, coordinates, wide, high) =>
  coordinates ? /** @type {Point[]} */ (panel.pixelsOf(coordinates, wide, high)) : [];

// Lines and heads of arrows in a rectangle, in the notation of SVG.
/** @type {(panel: Panel, wide: number, high: number, scale: number) => OverlayPath[]} */
export function overlayPaths(panel, wide, high, scale) {
  const { arrows, contours } = panel.map.overlay ?? {},
    { theme } = panel.view,
    segments = (ends) => ends.map(([x, y], i) => `${i % 2 ? "L" : "M"}${x} ${y}`).join(""),
    lines = (contours ?? []).map(({ coordinates }) => segments(pixelsIn(panel, coordinates, wide, high))).join(""),
    [from, ...tips] = pixelsIn(panel, arrows?.coordinates, wide, high),
    heads = tips.map((to) => {
      const angle = Math.atan2(to[1] - from[1], to[0] - from[0]),
        side = (turn) =>
          [to[0] - HEAD * scale * Math.cos(angle + turn), to[1] - HEAD * scale * Math.sin(angle + turn)].join(" ");
      return `M${to.join(" ")}L${side(0.4)}L${side(-0.4)}z`;
    });
  return [
    { d: lines, stroke: theme.ink, width: scale, opacity: 0.75 },
    { d: segments(tips.flatMap((to) => [from, to])), stroke: theme.mark, width: 1.8 * scale, opacity: 1 },
    { d: heads.join(""), fill: theme.mark, opacity: 1 },
  ].filter(({ d }) => d);
}

/** @type {(context: Context2D, rect: Rect, panel: Panel, scale: number) => void} */
export function drawOverlay(context, rect, panel, scale) {
  context.save();
  context.beginPath();
  context.rect(rect.left, rect.top, rect.wide, rect.high);
  context.clip();
  context.translate(rect.left, rect.top);
  for (const { d, stroke, fill, width, opacity } of overlayPaths(panel, rect.wide, rect.high, scale)) {
    Object.assign(context, { globalAlpha: opacity, strokeStyle: stroke, fillStyle: fill, lineWidth: width });
    if (fill) context.fill(new Path2D(d));
    else context.stroke(new Path2D(d));
  }
  context.restore();
}

// The names of arrows and the values of contours: { text, places }. places(w, h) are the middles where a text of twice
// this width and height may be, the best one first.
/** @type {(panel: Panel, wide: number, high: number) => OverlayName[]} */
export function overlayNames(panel, wide, high) {
  const { arrows, contours } = panel.map.overlay ?? {},
    [from, ...tips] = pixelsIn(panel, arrows?.coordinates, wide, high),
    names = tips.map((to, i) => ({
      text: arrows?.names[i] ?? "",
      places: (w, h) => {
        const y = Math.max(h, Math.min(high - h, to[1])); // of a tip that may be out of sight
        return [-1, 1, -3, 3, -5, 5].map((shift) => [to[0] + (to[0] < from[0] ? -w : w), y + shift * h]);
      },
    })),
    values = (contours ?? []).map(({ value, coordinates }) => {
      const points = pixelsIn(panel, coordinates, wide, high),
        step = Math.ceil(points.length / PLACES);
      return { text: number(value, 3), places: () => points.filter((_, i) => i % step === 0) };
    });
  return [...names, ...values];
}

// The arrow of a column with r² = 1 is 1.5 times as long as the points are far from their center (root mean square).
/** @type {(found: FittedColumns, components: number) => NonNullable<Overlay["arrows"]>} */
export function arrowsOf({ center, spread, columns: all }, components) {
  const columns = all.filter((column) => column.direction).slice(0, MOST_ARROWS);
  const many = 1 + columns.length;
  const coordinates = new Float32Array(components * many);
  for (let axis = 0; axis < components; axis++) {
    coordinates[axis * many] = center[axis];
    columns.forEach(({ direction, r2 }, i) => {
      coordinates[axis * many + 1 + i] = center[axis] + 1.5 * spread * Math.sqrt(r2) * (direction?.[axis] ?? 0);
    });
  }
  return { coordinates, names: columns.map((column) => column.name) };
}

// The lines of equal height on a grid (marching squares): [{ value, coordinates }], two points for each segment.
// Coordinates have two components; heights[row][column] is null where there is no surface.
/** @type {(surface: SurfaceRecord, components: number, many?: number) => Contour[]} */
export function contoursOf({ x, y, heights }, components, many = 8) {
  const known = heights.flat().filter((value) => typeof value === "number"),
    low = Math.min(...known),
    high = Math.max(...known),
    unit = 10 ** Math.floor(Math.log10((high - low) / many || 1)),
    step = [1, 2, 5, 10].map((times) => times * unit).find((each) => (high - low) / each <= many) ?? high - low;
  const found = /** @type {Contour[]} */ ([]);
  for (let k = Math.ceil(low / step); k * step <= high && found.length < 3 * many; k++) {
    const value = Number((k * step).toPrecision(12)),
      ends = /** @type {Point[]} */ ([]);
    for (let row = 0; row + 1 < y.length; row++)
      for (let column = 0; column + 1 < x.length; column++) ends.push(...crossings(x, y, heights, row, column, value));
    const coordinates = new Float32Array(components * ends.length);
    ends.forEach((end, i) => {
      coordinates[i] = end[0];
      coordinates[ends.length + i] = end[1];
    });
    if (ends.length) found.push({ value, coordinates });
  }
  return found;
}

// Where a line of equal height enters and leaves a cell of the grid.
/** @type {(x: number[], y: number[], heights: (number | null)[][], row: number, column: number, value: number) => Point[]} */
function crossings(x, y, heights, row, column, value) {
  const corners = [
    [row, column],
    [row, column + 1],
    [row + 1, column + 1],
    [row + 1, column],
  ].map(([r, c]) => ({ x: x[c], y: y[r], height: heights[r][c] ?? NaN }));
  const ends = /** @type {Point[]} */ ([]);
  if (corners.some(({ height }) => Number.isNaN(height))) return ends;
  corners.forEach((a, i) => {
    const b = corners[(i + 1) % 4];
    if (a.height < value === b.height < value) return;
    const t = (value - a.height) / (b.height - a.height);
    ends.push([a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)]);
  });
  return ends;
}
