// A panel: one map in a rectangle of the shared canvas.

import { MISSING } from "./colors.js";
import { flatFrame, placeOf, solidFrame, turn, wholeZoom } from "./frames.js";
import { axisText } from "./names.js";
import { gridOf, nearestSlot } from "./nearest.js";
import { drawOverlay } from "./overlay.js";
import { FEW, MANY, inSight, radiusOf } from "./painter.js";
import { HOME, PanelBox } from "./panel_box.js";
import { HIDDEN, SELECTED } from "./rows.js";
import { outline, rimColor } from "./stamps.js";

const AXIS_NAMES = 24; // pixels for the names of the axes at an edge
const MOST_STARS = 3000; // placed rows that are drawn as stars; more become small squares

export class Panel extends PanelBox {
  frameKey = "";
  /** @type {Float32Array | null} */
  framed = null;
  /** @type {FlatFrame | SolidFrame | null} */
  made = null;
  /** @type {Grid | null} */
  grid = null;
  /** @type {string | null} */
  gridTurned = null; // the angles of the points in the grid

  get axes() {
    const { x, y, z } = this.view.settings.axes,
      last = this.map.components - 1;
    return (this.solid ? [x, y, z] : [x, y]).map((axis) => Math.max(0, Math.min(axis, last)));
  }

  // The plane of the points, made when it is first needed; null without coordinates.
  get frame() {
    const { map, view } = this;
    if (!map.coordinates) return null;
    const key = `${this.axes} ${view.settings.equal} ${Boolean(this.solid)}`;
    if (this.frameKey !== key || this.framed !== map.coordinates) {
      this.framed = map.coordinates;
      this.frameKey = key;
      this.made = this.solid
        ? solidFrame(map, view.rows.order, this.axes)
        : flatFrame(map, view.rows.order, this.axes, view.settings.equal);
      this.grid = null;
    }
    const { made } = this;
    if (this.solid && made && "turned" in made) turn(made, this.solid, this.sampled ?? made.X.length);
    return made;
  }

  // The same where a map is known to have coordinates.
  get plane() {
    return /** @type {FlatFrame} */ (this.frame);
  }

  /** @type {Frame} */
  get drawnFrame() {
    return this.motion ? this.motion.frame : this.plane;
  }

  atHome() {
    const { zoom, x, y } = this.zoomed;
    return zoom === 1 && x === 0 && y === 0;
  }

  goHome() {
    this.view.zoomTo(this, { ...HOME });
  }

  // The part of the smaller side that is left free at each edge; the names of axes need some pixels.
  get margin() {
    const named = this.map.axes || this.map.components > 2;
    return Math.min(0.2, Math.max(0.06, named ? AXIS_NAMES / Math.min(this.wide, this.high) : 0));
  }

  wholeZoom() {
    return wholeZoom(this.plane, this.wide, this.high, this.view.settings.equal, this.margin);
  }

  showAll() {
    this.view.zoomTo(this, { ...this.wholeZoom(), whole: true });
  }

  // Back to the first zoom; from there to all rows, if some are outside.
  toggleZoom() {
    if (this.atHome() && this.outside) this.showAll();
    else this.goHome();
  }

  /** @type {(angles: Angles | null) => void} */
  setSolid(angles) {
    const before = this.frame && this.snapshot();
    this.solid = this.map.components >= 3 ? angles : null;
    this.tell();
    if (before) this.view.stage.move(this, before);
    this.view.emit("axes");
  }

  // Positions now, from which points move elsewhere.
  /** @type {() => Snapshot} */
  snapshot() {
    const { X, Y, wide, high } = this.motion ? this.motion.now() : this.plane;
    return { X: X.slice(), Y: Y.slice(), wide, high };
  }

  /** @type {(wide?: number, high?: number) => Place} */
  place(wide = this.wide, high = this.high) {
    if (this.zoomed.whole && this.frame) Object.assign(this.zoomed, this.wholeZoom());
    return placeOf(this.drawnFrame, this.zoomed, wide, high, this.view.settings.equal, this.margin);
  }

  // Where the far rows are drawn: at the edge, with an arrow that points to them.
  /** @type {(slot: number, place: Place, wide: number, high: number) => { at: Point, angle: number, moved: boolean }} */
  edged(slot, place, wide, high) {
    const { X, Y } = this.plane,
      edge = 0.025 * Math.min(wide, high),
      within = (at, room) => Math.max(edge, Math.min(room - edge, at)),
      x = X[slot] * place.ax + place.bx,
      y = Y[slot] * place.ay + place.by,
      at = /** @type {Point} */ ([within(x, wide), within(y, high)]);
    return { at, angle: Math.atan2(Math.sign(y - at[1]), Math.sign(x - at[0])), moved: at[0] !== x || at[1] !== y };
  }

  /** @type {(place: Place, wide: number, high: number) => { slot: number, at: Point, angle: number, moved: boolean }[]} */
  edgeSlots(place, wide, high) {
    if (this.motion || !this.atHome() || !this.frame) return [];
    return this.frame.far
      .map((slot) => ({ slot, ...this.edged(slot, place, wide, high) }))
      .filter((each) => each.moved);
  }

  /** @type {(row: number, wide?: number, high?: number) => Point | null} */
  pixelOf(row, wide = this.wide, high = this.high) {
    if (!this.frame || row >= this.map.n) return null;
    const slot = this.view.rows.slotOf(row),
      place = this.place(wide, high),
      { X, Y, far } = this.drawnFrame;
    if (X[slot] !== X[slot]) return null;
    if (far.length && this.atHome() && far.includes(slot)) return this.edged(slot, place, wide, high).at;
    return [X[slot] * place.ax + place.bx, Y[slot] * place.ay + place.by];
  }

  // The row nearest to a place in the plot, or -1.
  /** @type {(x: number, y: number, reach?: number) => number} */
  rowAt(x, y, reach = 9) {
    if (!this.frame || this.motion) return -1;
    const { rows } = this.view,
      place = this.place(),
      turned = this.solid && `${this.solid.yaw} ${this.solid.pitch}`;
    const edge = this.edgeSlots(place, this.wide, this.high).find(
      ({ at, slot }) => Math.hypot(at[0] - x, at[1] - y) <= reach && !(rows.flags[slot] & HIDDEN),
    );
    if (edge) return rows.order[edge.slot];
    if (this.gridTurned !== turned) this.grid = null;
    this.gridTurned = turned;
    this.index();
    const grid = /** @type {Grid} */ (this.grid), // just made
      slot = nearestSlot(grid, this.frame, place, rows.flags, x, y, reach);
    return slot < 0 ? -1 : rows.order[slot];
  }

  // Sort the points into the grid in which the nearest one is found; whether that was necessary.
  index() {
    if (!this.frame || this.grid) return false;
    this.grid = gridOf(this.frame);
    return true;
  }

  // The number of a placed row at a place in the plot, or -1.
  /** @type {(x: number, y: number, reach?: number) => number} */
  placedAt(x, y, reach = 9) {
    return this.placedPixels(this.wide, this.high).findIndex((at) => at && Math.hypot(at[0] - x, at[1] - y) <= reach);
  }

  /** @type {(wide: number, high: number) => (Point | null)[]} */
  placedPixels(wide, high) {
    return this.map.placed ? this.pixelsOf(this.map.placed.coordinates, wide, high) : [];
  }

  // Where coordinates are drawn, component after component; null: nowhere.
  pixelsOf(coordinates, wide, high) {
    if (!this.frame || this.motion) return [];
    const many = coordinates.length / this.map.components,
      place = this.place(wide, high),
      [x, y] = this.frame.ofPlaced(coordinates, many);
    return Array.from({ length: many }, (_, i) => {
      const at = /** @type {Point} */ ([x(i) * place.ax + place.bx, y(i) * place.ay + place.by]);
      return Number.isFinite(at[0] + at[1]) ? at : null;
    });
  }

  // What is drawn, in pixels of the canvas; at most `most` points.
  /** @type {(wide: number, high: number, scale: number, most: number) => Scene} */
  scene(wide, high, scale, most) {
    const { view } = this;
    this.sampled = this.solid && most < this.map.n ? most : null;
    const frame = this.drawnFrame,
      place = this.place(wide, high),
      { flags, selected } = view.rows,
      sight = inSight(frame, place, flags, wide, high),
      grown = scale * Math.min(1.7, Math.max(0.75, wide / scale / 420)),
      density = view.settings.density ?? sight > MANY,
      shapes = !density && sight <= FEW,
      cost = shapes ? 10 : 1, // a shape takes as long as about ten pixels
      { length } = frame.X,
      many = shapes ? Math.ceil(length * Math.min(1, most / cost / Math.max(1, sight))) : Math.min(most, length);
    const { coloring, palette, theme } = view;
    this.radius = (radiusOf(sight, view.settings.size) * grown) / scale;
    return {
      frame,
      place,
      flags,
      selected,
      palette,
      theme,
      scale,
      sight,
      density,
      shapes,
      radius: this.radius * scale,
      shades: coloring.shadesOf(this.map),
      many,
      written: shapes ? cost * Math.min(sight, most / cost) : many,
    };
  }

  // Draw into the rectangle of a canvas; returns how many points were written.
  /** @type {(context: Context2D, painter: Painter, rect: Rect, scale: number, most?: number) => number} */
  draw(context, painter, rect, scale, most = Infinity) {
    if (!this.frame) {
      context.clearRect(rect.left, rect.top, rect.wide, rect.high);
      return 0;
    }
    const scene = this.scene(rect.wide, rect.high, scale, most);
    painter.paint(context, rect, scene);
    const edges = this.edgeSlots(scene.place, rect.wide, rect.high);
    this.drawArrows(context, rect, scene, edges, scale);
    this.drawPlaced(context, rect, scale);
    if (this.map.overlay) drawOverlay(context, rect, this, scale);
    this.tellOutside(edges.length);
    this.node.dataset.drawn = String(Number(this.node.dataset.drawn || 0) + 1);
    return scene.written;
  }

  /** @type {(context: Context2D, rect: Rect, scene: Scene, edges: { slot: number, at: Point, angle: number }[], scale: number) => void} */
  drawArrows(context, rect, { flags, selected, shades, palette, theme }, edges, scale) {
    const r = 6 * scale;
    for (const { slot, at, angle } of edges) {
      if (flags[slot] & HIDDEN) continue;
      context.save();
      context.translate(rect.left + at[0], rect.top + at[1]);
      context.rotate(angle);
      context.beginPath();
      context.moveTo(r, 0);
      context.lineTo(-0.8 * r, -0.9 * r);
      context.lineTo(-0.8 * r, 0.9 * r);
      context.closePath();
      context.fillStyle =
        selected && !(flags[slot] & SELECTED) ? theme.dim : palette.colors[shades ? shades[slot] : MISSING];
      context.fill();
      context.strokeStyle = theme.ink;
      context.lineWidth = scale;
      context.stroke();
      context.restore();
    }
  }

  // Rows that were placed later are stars with a dark rim.
  /** @type {(context: Context2D, rect: Rect, scale: number) => void} */
  drawPlaced(context, rect, scale) {
    const { theme } = this.view,
      places = this.placedPixels(rect.wide, rect.high),
      r = Math.max(3, Math.min(6, this.radius + 2.5)) * scale;
    context.save();
    context.beginPath();
    context.rect(rect.left, rect.top, rect.wide, rect.high);
    context.clip();
    context.fillStyle = theme.mark;
    for (const at of places) {
      if (!at) continue;
      if (places.length > MOST_STARS) {
        context.fillRect(rect.left + at[0] - scale, rect.top + at[1] - scale, 2 * scale, 2 * scale);
        continue;
      }
      outline(context, "star", rect.left + at[0], rect.top + at[1], r);
      context.fill();
      context.strokeStyle = rimColor(theme.mark, theme);
      context.lineWidth = scale;
      context.stroke();
    }
    context.restore();
  }

  // The names of the axes that are shown, with as much about them as has room; none for a plain map of two components.
  /** @type {(room?: number, size?: number) => string[]} */
  axisTexts(room = 0, size = 11) {
    if (!this.map.coordinates) return [];
    return this.axes.map((axis) => axisText(this.map, axis, room, size)).filter(Boolean);
  }
}
