// What is drawn above the points: rings around a row, its neighbors, the outline of a selection, names.

import { drawAxes, drawNames } from "./names.js";
import { NEIGHBOR_LOOKS } from "./neighbors.js";
import { HIDDEN } from "./rows.js";
import { outline } from "./stamps.js";

/** @type {(context: Context2D, view: View, scale: number) => void} */
export function drawMarks(context, view, scale) {
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  for (const panel of view.panels) {
    if (!panel.rect || !panel.frame) continue;
    const { left, top, wide, high } = panel.rect;
    context.save();
    context.beginPath();
    context.rect(left, top, wide, high);
    context.clip();
    context.translate(left, top);
    drawThumbnails(context, view, panel, wide, high, scale);
    drawNames(context, panel, wide, high, scale);
    drawAxes(context, panel, wide, high, scale);
    if (view.shown) drawNeighbors(context, panel, view.shown.row, view.neighborSetsOf(panel), wide, high, scale);
    if (view.hovered >= 0)
      drawRing(context, view, panel.pixelOf(view.hovered, wide, high), Math.max(5, panel.radius + 3) * scale, scale);
    if (panel.brushAt && view.settings.tool === "brush")
      drawRing(
        context,
        view,
        panel.brushAt.map((at) => at * scale),
        view.settings.brush * scale,
        0.5 * scale,
      );
    drawTrail(context, view, panel, scale);
    context.restore();
  }
}

const FEW_IMAGES = 60; // points in sight up to which their images are drawn
const MOST_SEARCHED = 200000; // rows that are searched for points in sight
const THUMBNAIL = 34; // pixels

// The images of the rows, if the map is zoomed in so far that few are in sight.
/** @type {(context: Context2D, view: View, panel: Panel, wide: number, high: number, scale: number) => void} */
function drawThumbnails(context, view, panel, wide, high, scale) {
  const { table, rows } = view;
  if (!table.thumbnail || panel.zoomed.zoom < 1.5 || panel.solid || panel.motion || table.n > MOST_SEARCHED) return;
  const seen = [],
    { ax, bx, ay, by } = panel.place(wide, high),
    { X, Y } = panel.plane;
  for (let slot = 0; slot < X.length && seen.length <= FEW_IMAGES; slot++) {
    const x = X[slot] * ax + bx,
      y = Y[slot] * ay + by;
    if (x >= 0 && y >= 0 && x <= wide && y <= high && !(rows.flags[slot] & HIDDEN)) seen.push([rows.order[slot], x, y]);
  }
  if (seen.length > FEW_IMAGES) return;
  const side = THUMBNAIL * scale;
  context.imageSmoothingEnabled = false;
  for (const [row, x, y] of seen) {
    const image = thumbnailOf(view, row);
    if (!image.complete || !image.naturalWidth) continue;
    const by = side / Math.max(image.naturalWidth, image.naturalHeight);
    context.drawImage(image, x + 4 * scale, y + 4 * scale, image.naturalWidth * by, image.naturalHeight * by);
  }
}

/** @type {(view: View, row: number) => HTMLImageElement} */
function thumbnailOf({ thumbnails, stage, table }, row) {
  let image = thumbnails.get(row);
  if (!image) {
    if (thumbnails.size > 10 * FEW_IMAGES) thumbnails.clear();
    image = new Image();
    image.onload = () => stage.askMarks();
    image.src = table.thumbnail?.(row) ?? "";
    thumbnails.set(row, image);
  }
  return image;
}

/** @type {(context: Context2D, view: View, at: number[] | null, r: number, scale: number) => void} */
function drawRing(context, { theme }, at, r, scale) {
  if (!at) return;
  for (const [color, line] of /** @type {const} */ ([
    [theme.paper, 5],
    [theme.ink, 2],
  ])) {
    context.beginPath();
    context.arc(at[0], at[1], r, 0, 2 * Math.PI);
    context.strokeStyle = color;
    context.lineWidth = line * scale;
    context.stroke();
  }
}

// The row, and its neighbors by what the map made of them, in pixels; null if the row is not on the map.
/** @type {(panel: Panel, row: number, sets: NeighborSets | null, wide: number, high: number) => { center: Point, radius: number, groups: { shape: Shape, color: string, dash: number[], places: Point[] }[] } | null} */
export function neighborMarks(panel, row, sets, wide, high) {
  const center = panel.pixelOf(row, wide, high);
  if (!center) return null;
  const groups = NEIGHBOR_LOOKS.map(([name, shape, color]) => ({
    shape,
    color: panel.view.theme[color],
    dash: { missed: [5, 4], false: [1.5, 3], kept: [] }[name],
    places: (sets?.[name] ?? []).map((other) => panel.pixelOf(other, wide, high)).filter(Boolean),
  }));
  return { center, groups, radius: Math.max(3.5, Math.min(6, panel.radius + 1.5)) };
}

/** @type {(context: Context2D, panel: Panel, row: number, sets: NeighborSets | null, wide: number, high: number, scale: number) => void} */
export function drawNeighbors(context, panel, row, sets, wide, high, scale) {
  const { theme } = panel.view,
    marks = neighborMarks(panel, row, sets, wide, high);
  if (!marks) return;
  const { center, groups: drawn } = marks,
    r = marks.radius * scale;
  for (const { color, dash, places } of drawn) {
    context.beginPath();
    for (const at of places) {
      context.moveTo(center[0], center[1]);
      context.lineTo(at[0], at[1]);
    }
    context.setLineDash(dash.map((length) => length * scale));
    context.globalAlpha = 0.75;
    context.strokeStyle = color;
    context.lineWidth = 1.2 * scale;
    context.stroke();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
  for (const { shape, color, places } of drawn) {
    for (const at of places) {
      outline(context, shape, at[0], at[1], r);
      context.strokeStyle = theme.paper;
      context.lineWidth = 3 * scale;
      context.stroke();
      context.fillStyle = color;
      context.fill();
    }
  }
  outline(context, "star", center[0], center[1], 1.25 * r);
  context.strokeStyle = theme.paper;
  context.lineWidth = 3 * scale;
  context.stroke();
  context.fillStyle = theme.ink;
  context.fill();
}

/** @type {(context: Context2D, view: View, panel: Panel, scale: number) => void} */
function drawTrail(context, { theme, settings }, panel, scale) {
  const { trail, trailTool } = panel;
  if (!trail) return;
  const last = trail[trail.length - 1];
  context.beginPath();
  if (trailTool === "brush") {
    context.lineCap = context.lineJoin = "round";
    trail.forEach(([x, y], i) => (i ? context.lineTo(x * scale, y * scale) : context.moveTo(x * scale, y * scale)));
    context.lineTo(last[0] * scale + 0.01, last[1] * scale);
    context.strokeStyle = `${theme.ink}18`;
    context.lineWidth = 2 * settings.brush * scale;
    context.stroke();
    return;
  }
  trailOutline(trail, trailTool).forEach(([x, y], i) =>
    i ? context.lineTo(x * scale, y * scale) : context.moveTo(x * scale, y * scale),
  );
  context.closePath();
  context.fillStyle = `${theme.ink}14`;
  context.fill();
  context.setLineDash([4 * scale, 3 * scale]);
  context.lineWidth = 1.2 * scale;
  context.strokeStyle = theme.ink;
  context.stroke();
  context.setLineDash([]);
}

/** @type {(trail: Point[], tool: string) => Point[]} */
function trailOutline(trail, tool) {
  if (tool === "lasso") return trail;
  const [x, y] = trail[0],
    [u, v] = trail[trail.length - 1];
  return [
    [x, y],
    [u, y],
    [u, v],
    [x, v],
  ];
}
