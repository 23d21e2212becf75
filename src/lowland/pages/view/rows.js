// Which rows are shown and which are selected. Inside, rows are in the order of drawing (slots).

export const HIDDEN = 1;
export const SELECTED = 2;

export class RowStates {
  /** @param {Uint32Array} order */
  constructor(order) {
    this.order = order;
    this.flags = new Uint8Array(order.length);
    this.selected = 0;
    this.shown = order.length;
    this.shows = 0; // how often other rows were shown
    /** @type {Uint8Array | null} */
    this.mask = null;
    /** @type {Uint32Array | null} */
    this.slots = null; // of the rows, made when they are first asked for
  }

  /** @type {(row: number) => number} */
  slotOf(row) {
    if (!this.slots) {
      this.slots = new Uint32Array(this.order.length);
      for (let slot = 0; slot < this.order.length; slot++) this.slots[this.order[slot]] = slot;
    }
    return this.slots[row];
  }

  // The selected rows as 0 and 1, by row.
  /** @type {() => Uint8Array} */
  selection() {
    if (!this.mask) {
      this.mask = new Uint8Array(this.order.length);
      if (this.selected)
        for (let slot = 0; slot < this.flags.length; slot++)
          if (this.flags[slot] & SELECTED) this.mask[this.order[slot]] = 1;
    }
    return this.mask;
  }

  /** @type {(mask: Mask) => Uint8Array} */
  bySlot(mask) {
    return Uint8Array.from(this.order, (row) => mask[row]);
  }

  // Select the slots that were hit: how is "new", "add" or "take" (remove), from the flags before. Hidden rows are never
  // selected.
  /** @type {(hits: Uint8Array, how: How, before?: Uint8Array) => void} */
  combine(hits, how, before = this.flags) {
    const { flags } = this,
      add = how === "add",
      take = how === "take";
    let selected = 0;
    for (let i = 0; i < flags.length; i++) {
      const was = before[i] & SELECTED,
        hit = hits[i] && !(flags[i] & HIDDEN);
      if (take ? was && !hit : hit || (add && was)) {
        flags[i] |= SELECTED;
        selected++;
      } else flags[i] &= ~SELECTED;
    }
    this.selected = selected;
    this.mask = null;
  }

  // Show the rows of a mask, less those of hidden classes; returns whether the selection changed.
  /** @type {(mask: Mask | null, codes: NumberArray | null, hiddenClasses: Set<number>, classes: number) => boolean} */
  show(mask, codes, hiddenClasses, classes) {
    const { flags, order } = this,
      before = this.selected;
    let shown = 0,
      selected = 0;
    for (let slot = 0; slot < flags.length; slot++) {
      const row = order[slot];
      if ((mask && !mask[row]) || (codes && hiddenClasses.has(codes[row] < classes ? codes[row] : classes)))
        flags[slot] = HIDDEN;
      else {
        flags[slot] &= ~HIDDEN;
        shown++;
        if (flags[slot] & SELECTED) selected++;
      }
    }
    this.shown = shown;
    this.shows++;
    this.selected = selected;
    this.mask = null;
    return selected !== before;
  }
}

// The slots of a frame inside of a box, a lasso or under a brush. place: pixels; corners: [[x, y], …] in pixels.
/** @type {(frame: Plane, place: Place, corners: Point[], hits: Uint8Array) => void} */
export function insideBox({ X, Y }, { ax, bx, ay, by }, [[x, y], [u, v]], hits) {
  const left = (Math.min(x, u) - bx) / ax,
    right = (Math.max(x, u) - bx) / ax,
    low = (Math.max(y, v) - by) / ay, // ay is negative
    top = (Math.min(y, v) - by) / ay;
  for (let i = 0; i < X.length; i++) hits[i] = X[i] >= left && X[i] <= right && Y[i] >= low && Y[i] <= top ? 1 : 0;
}

// Even-odd rule, exact; the edges are sorted into bands of one pixel, so that a point is compared with few of them.
/** @type {(frame: Plane, place: Place, corners: Point[], hits: Uint8Array) => void} */
export function insideLasso({ X, Y }, { ax, bx, ay, by }, corners, hits) {
  const xs = corners.map((c) => c[0]),
    ys = corners.map((c) => c[1]),
    [left, right, top, bottom] = [smallest(xs), largest(xs), smallest(ys), largest(ys)],
    bands = Array.from({ length: Math.floor(bottom - top) + 1 }, () => /** @type {number[]} */ ([]));
  corners.forEach(([x, y], i) => {
    const [u, v] = corners[(i + 1) % corners.length];
    if (y === v) return;
    const slope = (u - x) / (v - y),
      from = Math.floor(Math.min(y, v) - top),
      to = Math.floor(Math.max(y, v) - top);
    for (let band = from; band <= to; band++) bands[band].push(Math.min(y, v), Math.max(y, v), x - slope * y, slope);
  });
  const edges = bands.map((band) => Float64Array.from(band));
  for (let i = 0; i < X.length; i++) {
    const px = X[i] * ax + bx,
      py = Y[i] * ay + by;
    let inside = 0;
    if (px >= left && px <= right && py >= top && py <= bottom) {
      const band = edges[Math.floor(py - top)];
      for (let e = 0; e < band.length; e += 4) {
        if (py >= band[e] && py < band[e + 1] && px < band[e + 2] + band[e + 3] * py) inside ^= 1;
      }
    }
    hits[i] = inside;
  }
}

// Adds the slots within a radius of the way from one place to another.
/** @type {(frame: Plane, place: Place, from: Point, to: Point, radius: number, hits: Uint8Array) => void} */
export function underBrush({ X, Y }, { ax, bx, ay, by }, [x, y], [u, v], radius, hits) {
  const dx = u - x,
    dy = v - y,
    length = dx * dx + dy * dy || 1,
    reach = radius * radius;
  const [left, right, top, bottom] = [
    Math.min(x, u) - radius,
    Math.max(x, u) + radius,
    Math.min(y, v) - radius,
    Math.max(y, v) + radius,
  ];
  for (let i = 0; i < X.length; i++) {
    const px = X[i] * ax + bx,
      py = Y[i] * ay + by;
    if (!(px >= left && px <= right && py >= top && py <= bottom)) continue;
    const t = Math.max(0, Math.min(1, ((px - x) * dx + (py - y) * dy) / length));
    if ((px - x - t * dx) ** 2 + (py - y - t * dy) ** 2 <= reach) hits[i] = 1;
  }
}

/** @type {(values: number[]) => number} */
const smallest = (values) => values.reduce((a, b) => Math.min(a, b));
/** @type {(values: number[]) => number} */
const largest = (values) => values.reduce((a, b) => Math.max(a, b));
