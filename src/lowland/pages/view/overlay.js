// What is drawn over the points of a map: arrows of columns, and contours of a surface.

import { number } from "./elements.js";

const HEAD = 8; // pixels of the head of an arrow
const APART = 40; // pixels between the value of a contour and the next one

/** @type {(context: Context2D, rect: Rect, panel: Panel, scale: number) => void} */
export function drawOverlay(context, rect, panel, scale) {
  const { arrows, contours } = panel.map.overlay ?? {};
  context.save();
  context.beginPath();
  context.rect(rect.left, rect.top, rect.wide, rect.high);
  context.clip();
  context.translate(rect.left, rect.top);
  if (contours) drawContours(context, rect, panel, scale, contours);
  if (arrows) drawVectors(context, rect, panel, scale, arrows);
  context.restore();
}

// The first point is where all arrows begin.
/** @type {(context: Context2D, rect: Rect, panel: Panel, scale: number, arrows: NonNullable<Overlay["arrows"]>) => void} */
function drawVectors(context, rect, panel, scale, { coordinates, names }) {
  const { theme } = panel.view,
    [from, ...tips] = finitePixels(panel, coordinates, rect),
    r = HEAD * scale;
  if (!from) return;
  context.strokeStyle = context.fillStyle = theme.mark;
  context.lineWidth = 1.8 * scale;
  tips.forEach((to) => {
    const angle = Math.atan2(to[1] - from[1], to[0] - from[0]),
      side = (/** @type {number} */ turn) =>
        context.lineTo(to[0] - r * Math.cos(angle + turn), to[1] - r * Math.sin(angle + turn));
    context.beginPath();
    context.moveTo(from[0], from[1]);
    context.lineTo(to[0], to[1]);
    context.stroke();
    context.beginPath();
    context.moveTo(to[0], to[1]);
    side(0.4);
    side(-0.4);
    context.closePath();
    context.fill();
  });
  const written = /** @type {{ right: boolean, at: Point }[]} */ ([]);
  tips.forEach((to, i) => {
    const right = to[0] >= from[0],
      at = /** @type {Point} */ ([to[0] + (right ? 6 : -6) * scale, to[1] + (to[1] < from[1] ? -4 : 12) * scale]);
    if (written.some((other) => other.right === right && Math.abs(other.at[1] - at[1]) < 13 * scale))
      at[1] += 13 * scale;
    written.push({ right, at });
    writeText(context, names[i], at, scale, theme, right ? "left" : "right");
  });
}

/** @type {(context: Context2D, rect: Rect, panel: Panel, scale: number, contours: Contour[]) => void} */
function drawContours(context, rect, panel, scale, contours) {
  const { theme } = panel.view,
    written = /** @type {Point[]} */ ([]);
  for (const { value, coordinates } of contours) {
    const points = finitePixels(panel, coordinates, rect);
    context.strokeStyle = theme.ink;
    context.lineWidth = scale;
    context.globalAlpha = 0.75;
    context.beginPath();
    for (let i = 0; i + 1 < points.length; i += 2) {
      context.moveTo(points[i][0], points[i][1]);
      context.lineTo(points[i + 1][0], points[i + 1][1]);
    }
    context.stroke();
    context.globalAlpha = 1;
    const at = points.find((one) =>
      written.every((other) => Math.hypot(one[0] - other[0], one[1] - other[1]) > APART * scale),
    );
    if (!at) continue;
    written.push(at);
    writeText(context, number(value, 3), at, scale, theme, "center");
  }
}

// Text with a rim, to be read over points.
// Pixels of coordinates that are finite: all are drawn.
/** @type {(panel: Panel, coordinates: Float32Array, rect: Rect) => Point[]} */
const finitePixels = (panel, coordinates, rect) =>
  /** @type {Point[]} */ (panel.pixelsOf(coordinates, rect.wide, rect.high));

/** @type {(context: Context2D, text: string, at: Point, scale: number, theme: Theme, align: CanvasTextAlign) => void} */
function writeText(context, text, [x, y], scale, theme, align) {
  context.font = `600 ${12 * scale}px system-ui, sans-serif`;
  context.textAlign = align;
  context.lineJoin = "round";
  context.lineWidth = 4 * scale;
  context.strokeStyle = theme.paper;
  context.fillStyle = theme.ink;
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
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
