// Names on a map, none over another: of arrows and contours, of the classes at the medians of their points, the largest
// first, and of the axes.

import { LOOKS } from "./colors.js";
import { brief, contextOf, number } from "./elements.js";
import { overlayNames } from "./overlay.js";
import { HIDDEN } from "./rows.js";

const SAMPLED = 20000; // points from which the medians are computed
const LEAST_NAMED = 90; // width and height of a panel with names, in pixels
const LETTERS = [12, 15]; // pixels, in small and large panels
const LONG = 22; // letters of a name that is written in two lines, if it has a comma
/** @type {Context2D | null} */
let measuring = null;

// Without a choice of the user, if every class has a marker of its own: more of them are names of rows, not of groups.
// Classes that are no groups, such as reliable points, have no place to be named at.
/** @type {(view: Pick<View, "coloring" | "settings">) => boolean} */
export const namesAreShown = ({ coloring, settings }) =>
  coloring.type === "classes" &&
  (settings.names ?? (coloring.spec.groups !== false && coloring.levels.length <= LOOKS));

/** @type {(size: number, weight?: string) => string} */
const fontOf = (size, weight = "") => `${weight} ${size}px system-ui, sans-serif`;

// How wide a text is in a font.
/** @type {(text: string, font: string) => number} */
function widthOfText(text, font) {
  measuring ??= contextOf(new OffscreenCanvas(1, 1));
  measuring.font = font;
  return measuring.measureText(text).width;
}

/** @type {(values: Float32Array) => number} */
function medianOf(values) {
  const sorted = values.sort();
  return sorted[sorted.length >> 1];
}

// For each class, the largest first, the point that is nearest to the median of its points that are shown.
/** @type {(panel: Panel, frame: Frame, coloring: ClassColoring) => Anchors["list"]} */
function anchorsOf(panel, frame, { codes, levels }) {
  const { rows } = panel.view,
    made = panel.anchors;
  if (made?.frame === frame && made.codes === codes && made.shows === rows.shows) return made.list;
  const axes = frame.points ?? [frame.X, frame.Y],
    members = levels.map(() => /** @type {number[]} */ ([]));
  for (let slot = 0; slot < Math.min(frame.X.length, SAMPLED); slot++) {
    const code = codes[rows.order[slot]];
    if (code < levels.length && !(rows.flags[slot] & HIDDEN) && axes.every((values) => Number.isFinite(values[slot])))
      members[code].push(slot);
  }
  const list = members
    .map((slots, code) => {
      const middle = axes.map((values) => medianOf(Float32Array.from(slots, (slot) => values[slot]))),
        away = (slot) => axes.reduce((sum, values, i) => sum + (values[slot] - middle[i]) ** 2, 0);
      let nearest = slots[0];
      for (const slot of slots) if (away(slot) < away(nearest)) nearest = slot;
      return { code, many: slots.length, slot: nearest };
    })
    .filter(({ many }) => many)
    .sort((a, b) => b.many - a.many || a.code - b.code);
  panel.anchors = { frame, codes, shows: rows.shows, list };
  return list;
}

/** @type {(name: string) => string[]} */
function linesOfName(name) {
  const comma = name.length > LONG ? name.indexOf(", ") : -1;
  return (comma < 0 ? [name] : [name.slice(0, comma + 1), name.slice(comma + 2)]).map((line) => brief(line, 30));
}

// The names that have room in a rectangle: { lines, x, y, size }, x and y the middle of the name.
/** @type {(panel: Panel, wide: number, high: number, scale: number) => PlacedName[]} */
export function placedNames(panel, wide, high, scale) {
  const { view, frame } = panel,
    { coloring } = view;
  if (panel.motion || !frame || Math.min(wide, high) < LEAST_NAMED * scale) return [];
  const { ax, bx, ay, by } = panel.place(wide, high),
    { X, Y } = frame,
    size = Math.max(LETTERS[0] * scale, Math.min(LETTERS[1] * scale, Math.min(wide, high) / 45)),
    edge = panel.axisTexts().length ? 1.5 * size : 0, // of the names of the axes
    /** @type {PlacedName[]} */
    placed = [],
    isFree = (name) =>
      placed.every((o) => Math.abs(o.x - name.x) >= o.w + name.w || Math.abs(o.y - name.y) >= o.h + name.h),
    within = (at, low, high) => Math.max(low, Math.min(high, at));
  /** @type {(lines: string[], size: number, places: (w: number, h: number) => number[][]) => void} */
  const put = (lines, size, places) => {
    const w = Math.max(...lines.map((line) => widthOfText(line, fontOf(size, "600")))) / 2 + 3 * scale,
      h = (0.6 * lines.length + 0.1) * size,
      free = places(w, h)
        .map(([x, y]) => ({ lines, size, w, h, x: within(x, edge + w, wide - w), y: within(y, h, high - edge - h) }))
        .find(isFree);
    if (free && 2 * w < wide) placed.push(free);
  };
  for (const { text, places } of overlayNames(panel, wide, high)) put([text], LETTERS[0] * scale, places);
  if (!namesAreShown(view) || coloring.type !== "classes") return placed;
  for (const { code, slot } of anchorsOf(panel, frame, coloring)) {
    const x = X[slot] * ax + bx,
      y = Y[slot] * ay + by;
    // not over the points of a small class, if there is room
    if (x >= 0 && x <= wide && y >= 0 && y <= high)
      put(linesOfName(coloring.levels[code]), size, (_, h) => [-2 * h, 2 * h, 0].map((shift) => [x, y + shift]));
  }
  return placed;
}

// The lines of a name with their places.
/** @type {(name: PlacedName) => { line: string; x: number; y: number }[]} */
export const placedLines = ({ lines, x, y, size }) =>
  lines.map((line, i) => ({ line, x, y: y + 1.15 * size * (i - (lines.length - 1) / 2) }));

/** @type {(context: Context2D, panel: Panel, wide: number, high: number, scale: number) => void} */
export function drawNames(context, panel, wide, high, scale) {
  const { theme } = panel.view;
  context.save();
  Object.assign(context, { textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 3.5 * scale });
  Object.assign(context, { strokeStyle: theme.paper, fillStyle: theme.ink });
  for (const name of placedNames(panel, wide, high, scale)) {
    context.font = fontOf(name.size, "600");
    for (const { line, x, y } of placedLines(name)) {
      context.strokeText(line, x, y); // a halo
      context.fillText(line, x, y);
    }
  }
  context.restore();
}

// The name of an axis, with its part of the variance and the columns that weigh most, as many as have room.
/** @type {(map: MapData, axis: number, room: number, letters: number) => string} */
export function axisText({ axes, components }, axis, room, letters) {
  const known = axes?.[axis];
  if (!known) return components < 3 ? "" : `component ${number(axis + 1)}`;
  const share = known.share === null ? "" : ` (${Math.round(100 * known.share)}%)`,
    columns = known.columns ?? [];
  for (let many = columns.length; many > 0; many--) {
    const text = `${known.name}${share}: ${columns.slice(0, many).join(", ")}`;
    if (widthOfText(text, fontOf(letters)) <= room) return text;
  }
  return `${known.name}${share}`;
}

// Where the names of the axes are written in a rectangle: { text, x, y, turned }.
/** @type {(panel: Panel, wide: number, high: number, scale: number) => PlacedAxis[]} */
export function placedAxes(panel, wide, high, scale) {
  if (wide < 180 * scale) return [];
  const size = 11 * scale;
  if (panel.solid) {
    const text = panel.axisTexts(0, size).join(" · ");
    return text ? [{ text, x: 8 * scale, y: high - 7 * scale, size, anchor: "start", turned: false }] : [];
  }
  const texts = [panel.axisTexts(0.75 * wide, size)[0], panel.axisTexts(0.75 * high, size)[1]];
  return [
    { x: wide - 8 * scale, y: high - 7 * scale, turned: false },
    { x: 13 * scale, y: 8 * scale, turned: true },
  ].flatMap((at, i) => (texts[i] ? [{ ...at, text: `${texts[i]} →`, size, anchor: "end" }] : []));
}

/** @type {(context: Context2D, panel: Panel, wide: number, high: number, scale: number) => void} */
export function drawAxes(context, panel, wide, high, scale) {
  const { theme } = panel.view;
  for (const { text, x, y, size, anchor, turned } of placedAxes(panel, wide, high, scale)) {
    context.save();
    context.translate(x, y);
    if (turned) context.rotate(-Math.PI / 2);
    Object.assign(context, { font: fontOf(size), textAlign: anchor, lineJoin: "round", lineWidth: 3 * scale });
    Object.assign(context, { strokeStyle: theme.paper, fillStyle: theme.soft });
    context.strokeText(text, 0, 0);
    context.fillText(text, 0, 0);
    context.restore();
  }
}
