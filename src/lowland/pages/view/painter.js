// Points of a panel: as shapes if few are in sight, as pixels of an image if many are, or as a density.

import { MISSING, channels, mix, packed } from "./colors.js";
import { contextOf } from "./elements.js";
import { HIDDEN, SELECTED } from "./rows.js";
import { Stamps } from "./stamps.js";

export const FEW = 30000; // points in sight that are drawn as shapes
export const MANY = 50000; // points in sight from which their density is drawn, unless the user chose
const DEPTHS = 8; // steps of paleness with distance, in three dimensions

// The radius of a point, by how many are in sight.
/** @type {(inSight: number, size: number) => number} */
export const radiusOf = (inSight, size) => size * Math.min(5, 4 * (200 / Math.max(inSight, 60)) ** 0.2);

// About how many points are in sight, from a sample.
/** @type {(frame: Plane, place: Place, flags: Uint8Array, wide: number, high: number) => number} */
export function inSight({ X, Y }, { ax, bx, ay, by }, flags, wide, high) {
  const sampled = Math.min(X.length, 20000);
  let many = 0;
  for (let i = 0; i < sampled; i++) {
    const x = X[i] * ax + bx,
      y = Y[i] * ay + by;
    if (x >= 0 && x < wide && y >= 0 && y < high && !(flags[i] & HIDDEN)) many++;
  }
  return Math.round((many * X.length) / Math.max(1, sampled));
}

export class Painter {
  constructor() {
    this.stamps = new Stamps();
    /** @type {ImageData | null} */
    this.image = null;
  }

  // scene: { frame, place, flags, selected, shades, palette, theme, radius, many, density, shapes, sight, scale } in pixels
  // of the rectangle { left, top, wide, high } of a canvas.
  /** @type {(context: Context2D, rect: Rect, scene: Scene) => void} */
  paint(context, rect, scene) {
    const { left, top, wide, high } = rect;
    context.clearRect(left, top, wide, high);
    if (scene.density) {
      this.density(context, rect, scene);
      return;
    }
    const image = this.blank(context, wide, high),
      into = new Uint32Array(image.data.buffer);
    if (scene.shapes) this.shapes(into, wide, high, scene);
    else (scene.frame.Z ? pixelsInDepth : pixels)(into, wide, high, scene);
    context.putImageData(image, left, top);
  }

  /** @type {(context: Context2D, wide: number, high: number) => ImageData} */
  blank(context, wide, high) {
    if (this.image && this.image.width === wide && this.image.height === high)
      new Uint32Array(this.image.data.buffer).fill(0);
    else this.image = context.createImageData(wide, high);
    return this.image;
  }

  /** @type {(into: Uint32Array, wide: number, high: number, scene: Scene) => void} */
  shapes(into, wide, high, scene) {
    const { frame, place, flags, selected, shades, palette, theme, radius: r, many } = scene,
      { X, Y, Z } = frame,
      { ax, bx, ay, by } = place,
      found = /** @type {number[]} */ ([]),
      rest = { shape: "disc", color: theme.dim, radius: 0.85 * r, outlined: false };
    for (let slot = 0; slot < many; slot++) {
      const x = X[slot] * ax + bx,
        y = Y[slot] * ay + by;
      if (x > -r && x < wide + r && y > -r && y < high + r && !(flags[slot] & HIDDEN)) found.push(slot);
    }
    if (Z) found.sort((a, b) => Z[a] - Z[b]);
    const pales = Z && palesOf(palette, theme),
      looks = new Map();
    const lookOf = (shade, depth) => {
      const key = depth * 256 + shade;
      if (!looks.has(key))
        looks.set(key, {
          shape: palette.shape(shade),
          color: pales ? pales.names[key] : palette.colors[shade],
          radius: r,
          outlined: r >= 2.6,
        });
      return looks.get(key);
    };
    for (const pass of selected ? ["rest", "chosen"] : ["all"]) {
      for (const slot of found) {
        const chosen = flags[slot] & SELECTED;
        if ((pass === "rest" && chosen) || (pass === "chosen" && !chosen)) continue;
        const depth = Z ? depthOf(Z[slot]) : 0,
          look = pass === "rest" ? rest : lookOf(shades ? shades[slot] : MISSING, depth);
        this.stamps.put(into, wide, high, X[slot] * ax + bx, Y[slot] * ay + by, look, theme);
      }
    }
  }

  // Counts in cells of some pixels, smoothed: the color is the mean color of the points, the opacity their number.
  /** @type {(context: Context2D, rect: Rect, scene: Scene) => void} */
  density(context, { left, top, wide, high }, scene) {
    const { frame, place, flags, selected, shades, palette, theme, many, scale, sight } = scene,
      { X, Y } = frame,
      { ax, bx, ay, by } = place,
      cell = scale * Math.max(2.5, Math.min(12, 2.5 * (30000 / Math.max(1, sight)) ** 0.33)), // wider if there are few
      columns = Math.ceil(wide / cell),
      lines = Math.ceil(high / cell),
      sums = [0, 1, 2, 3].map(() => new Float32Array(columns * lines)), // red, green, blue, number
      rest = new Float32Array(columns * lines),
      rgb = palette.colors.map(channels);
    for (let slot = 0; slot < many; slot++) {
      const x = (X[slot] * ax + bx) / cell,
        y = (Y[slot] * ay + by) / cell;
      if (!(x >= 0 && x < columns && y >= 0 && y < lines) || flags[slot] & HIDDEN) continue;
      const at = Math.floor(y) * columns + Math.floor(x);
      if (selected && !(flags[slot] & SELECTED)) rest[at]++;
      else {
        const color = rgb[shades ? shades[slot] : MISSING];
        for (let c = 0; c < 3; c++) sums[c][at] += color[c];
        sums[3][at]++;
      }
    }
    const [red, green, blue, number] = sums.map((values) => smoothed(values, columns)),
      pale = selected ? smoothed(rest, columns) : rest,
      largest = quantile(number, 0.995),
      largestRest = quantile(pale, 0.995),
      small = new OffscreenCanvas(columns, lines),
      image = new ImageData(columns, lines),
      gray = channels(mix(theme.dim, theme.ink, 0.12));
    for (let i = 0; i < number.length; i++) {
      const opacity = number[i] ? 0.12 + 0.88 * Math.min(1, Math.log1p(number[i]) / Math.log1p(largest)) : 0,
        restOpacity = pale[i] ? 0.7 * Math.min(1, Math.log1p(pale[i]) / Math.log1p(largestRest)) : 0,
        all = opacity + (1 - opacity) * restOpacity;
      if (!all) continue;
      [red, green, blue].forEach((values, c) => {
        const mean = number[i] ? values[i] / number[i] : 0;
        image.data[4 * i + c] = (opacity * mean + (1 - opacity) * restOpacity * gray[c]) / all;
      });
      image.data[4 * i + 3] = 255 * Math.min(1, all * (number[i] ? Math.min(1, 4 * number[i]) : 1));
    }
    contextOf(small).putImageData(image, 0, 0);
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "high";
    context.drawImage(small, left, top, columns * cell, lines * cell);
  }
}

/** @type {(values: Float32Array, columns: number) => Float32Array} */
function smoothed(values, columns) {
  const along = new Float32Array(values.length),
    out = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const x = i % columns;
    along[i] = 0.5 * values[i] + 0.25 * ((x ? values[i - 1] : 0) + (x < columns - 1 ? values[i + 1] : 0));
  }
  for (let i = 0; i < values.length; i++)
    out[i] =
      0.5 * along[i] +
      0.25 * ((i >= columns ? along[i - columns] : 0) + (i + columns < values.length ? along[i + columns] : 0));
  return out;
}

/** @type {(values: Float32Array, fraction: number) => number} */
function quantile(values, fraction) {
  const positive = values.filter((value) => value > 0).sort();
  return positive[Math.floor(fraction * (positive.length - 1))] ?? 1;
}

// The part of each line of a round point of a given side that is left empty.
/** @type {(side: number) => number[]} */
const rimsOf = (side) =>
  Array.from({ length: side }, (_, y) => Math.round(side / 2 - Math.sqrt((side / 2) ** 2 - (y + 0.5 - side / 2) ** 2)));

// Two colors in equal parts.
/** @type {(a: number, b: number) => number} */
const halfway = (a, b) => (((a & 0xfefefe) >>> 1) + ((b & 0xfefefe) >>> 1)) | 0xff000000;

/** @type {(image: Uint32Array, wide: number, high: number, scene: Scene) => void} */
function pixels(image, wide, high, { frame, place, flags, selected, shades, palette, theme, radius, many }) {
  const { X, Y } = frame,
    { ax, bx, ay, by } = place,
    side = Math.max(1, Math.round(2 * radius)),
    rims = rimsOf(side),
    x0 = bx - side / 2 + 0.5,
    y0 = by - side / 2 + 0.5,
    right = wide - side,
    bottom = high - side,
    dim = packed(theme.dim),
    missing = palette.packed[MISSING],
    paper = packed(theme.paper);
  for (const pass of selected ? [1, 2] : [0]) {
    for (let slot = 0; slot < many; slot++) {
      const x = X[slot] * ax + x0,
        y = Y[slot] * ay + y0;
      if (!(x >= 0 && x <= right && y >= 0 && y <= bottom)) continue; // outside, or NaN
      const flag = flags[slot];
      if (flag & HIDDEN || (pass === 1 && flag) || (pass === 2 && !flag)) continue;
      const color = pass === 1 ? dim : shades ? palette.packed[shades[slot]] : missing;
      let at = (y | 0) * wide + (x | 0);
      for (let line = 0; line < side; line++, at += wide)
        for (let i = at + rims[line], end = at + side - rims[line]; i < end; i++)
          image[i] = pass ? color : halfway(color, image[i] || paper); // without a selection, points are transparent
    }
  }
}

// The same in three dimensions: from the back to the front, paler at the back.
/** @type {(image: Uint32Array, wide: number, high: number, scene: Scene) => void} */
function pixelsInDepth(image, wide, high, scene) {
  const { frame, place, flags, selected, shades, palette, theme, radius, many } = scene,
    { X, Y } = frame,
    Z = /** @type {Float32Array} */ (frame.Z),
    { ax, bx, ay, by } = place,
    side = Math.max(1, Math.round(2 * radius)),
    rims = rimsOf(side),
    colors = palesOf(palette, theme).packed,
    dim = packed(theme.dim),
    order = backToFront(Z, many);
  for (const pass of selected ? [1, 2] : [0]) {
    for (let i = 0; i < many; i++) {
      const slot = order[i],
        flag = flags[slot],
        x = X[slot] * ax + bx - side / 2 + 0.5,
        y = Y[slot] * ay + by - side / 2 + 0.5;
      if (!(x >= 0 && x <= wide - side && y >= 0 && y <= high - side)) continue;
      if (flag & HIDDEN || (pass === 1 && flag) || (pass === 2 && !flag)) continue;
      const color = pass === 1 ? dim : colors[depthOf(Z[slot]) * 256 + (shades ? shades[slot] : MISSING)];
      let at = (y | 0) * wide + (x | 0);
      for (let line = 0; line < side; line++, at += wide)
        for (let j = rims[line]; j < side - rims[line]; j++) image[at + j] = color;
    }
  }
}

/** @type {(z: number) => number} */
const depthOf = (z) => Math.max(0, Math.min(DEPTHS - 1, ((z + 0.5) * DEPTHS) | 0));

/** @type {(palette: Palette, theme: Theme) => { names: string[], packed: Uint32Array }} */
function palesOf(palette, theme) {
  if (!palette.pales) {
    const names = Array.from({ length: DEPTHS * 256 }, (_, i) =>
      mix(palette.colors[i % 256], theme.paper, 0.6 * (1 - (Math.floor(i / 256) + 1) / DEPTHS)),
    );
    palette.pales = { names, packed: Uint32Array.from(names, packed) };
  }
  return palette.pales;
}

// Counting sort of the first points by depth.
/** @type {(Z: Float32Array, many: number) => Uint32Array} */
function backToFront(Z, many) {
  const bins = 256,
    starts = new Uint32Array(bins + 1),
    binOf = (z) => (z === z ? Math.max(0, Math.min(bins - 1, ((z + 0.87) * (bins / 1.74)) | 0)) : 0),
    order = new Uint32Array(many);
  for (let i = 0; i < many; i++) starts[binOf(Z[i]) + 1]++;
  for (let b = 0; b < bins; b++) starts[b + 1] += starts[b];
  for (let i = 0; i < many; i++) order[starts[binOf(Z[i])]++] = i;
  return order;
}
