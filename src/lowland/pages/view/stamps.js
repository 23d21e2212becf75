// Shapes of points, and their pictures, written into an image pixel by pixel: many times faster than drawImage where no
// graphics card helps.

import { channels, mix } from "./colors.js";
import { contextOf } from "./elements.js";

/** @type {(color: string, theme: Theme) => string} */
export const rimColor = (color, theme) => mix(color, theme.name === "dark" ? theme.paper : theme.ink, 0.45);

// Corners of shapes of about equal area.
/** @type {Record<string, number[][]>} */
export const CORNERS = {
  square: [
    [-0.88, -0.88],
    [0.88, -0.88],
    [0.88, 0.88],
    [-0.88, 0.88],
  ],
  triangle: [
    [0, -1.25],
    [1.15, 0.8],
    [-1.15, 0.8],
  ],
  diamond: [
    [0, -1.3],
    [1.1, 0],
    [0, 1.3],
    [-1.1, 0],
  ],
  wedge: [
    [0, 1.25],
    [1.15, -0.8],
    [-1.15, -0.8],
  ],
  cross: [
    [-0.45, -1.2],
    [0.45, -1.2],
    [0.45, -0.45],
    [1.2, -0.45],
    [1.2, 0.45],
    [0.45, 0.45],
    [0.45, 1.2],
    [-0.45, 1.2],
    [-0.45, 0.45],
    [-1.2, 0.45],
    [-1.2, -0.45],
    [-0.45, -0.45],
  ],
  star: Array.from({ length: 10 }, (_, i) => {
    const r = i % 2 ? 0.62 : 1.5,
      angle = (i * Math.PI) / 5;
    return [r * Math.sin(angle), -r * Math.cos(angle)];
  }),
};

/** @type {(context: Context2D, shape: Shape, x: number, y: number, r: number) => void} */
export function outline(context, shape, x, y, r) {
  context.beginPath();
  if (!CORNERS[shape]) context.arc(x, y, r, 0, 2 * Math.PI);
  else
    CORNERS[shape].forEach(([dx, dy], i) =>
      i ? context.lineTo(x + dx * r, y + dy * r) : context.moveTo(x + dx * r, y + dy * r),
    );
  context.closePath();
}

const PHASES = 2; // positions within a pixel, along each axis

export class Stamps {
  constructor() {
    this.masks = new Map();
    this.made = new Map();
  }

  // Put the picture of a point, { shape, color, radius, outlined }, into an image.
  /** @type {(into: Uint32Array, wide: number, high: number, x: number, y: number, look: Look, theme: Theme) => void} */
  put(into, wide, high, x, y, look, theme) {
    look.stamps ??= this.stampsOf(look, theme);
    const fx = Math.floor(x),
      fy = Math.floor(y),
      { side, half, pictures } = look.stamps,
      picture = pictures[Math.floor((y - fy) * PHASES) * PHASES + Math.floor((x - fx) * PHASES)],
      left = fx - half,
      top = fy - half,
      from = Math.max(0, -left),
      to = Math.min(side, wide - left);
    for (let line = Math.max(0, -top), last = Math.min(side, high - top); line < last; line++) {
      for (let i = from, at = (top + line) * wide + left + from, p = line * side + from; i < to; i++, at++, p++) {
        const pixel = picture[p];
        if (pixel >>> 24 === 255) into[at] = pixel;
        else if (pixel >>> 24) into[at] = into[at] ? over(pixel, into[at]) : pixel;
      }
    }
  }

  // The pictures of a point at each position within a pixel.
  /** @type {(look: Look, theme: Theme) => Stamped} */
  stampsOf({ shape, color, radius, outlined }, theme) {
    const r = Math.max(0.75, radius < 2 ? Math.round(radius * 4) / 4 : Math.round(radius * 2) / 2),
      key = `${shape} ${color} ${r} ${outlined} ${theme.name}`;
    if (!this.made.has(key)) {
      if (this.made.size > 2000) this.made.clear();
      const { side, half, masks } = this.masksOf(shape, r, outlined);
      this.made.set(key, {
        side,
        half,
        pictures: masks.map(({ inner, rim }) => tinted(inner, rim, channels(color), channels(rimColor(color, theme)))),
      });
    }
    return this.made.get(key);
  }

  // How much of each pixel is covered by a shape and by its rim.
  masksOf(shape, r, outlined) {
    const key = `${shape} ${r} ${outlined}`;
    if (!this.masks.has(key)) {
      if (this.masks.size > 300) this.masks.clear();
      const half = Math.ceil(1.5 * r + 1.5),
        side = 2 * half + 1,
        context = contextOf(new OffscreenCanvas(side, side), { willReadFrequently: true });
      const coverage = (x, y, draw) => {
        context.clearRect(0, 0, side, side);
        outline(context, shape, x, y, r);
        draw();
        return context.getImageData(0, 0, side, side).data.filter((_, i) => i % 4 === 3);
      };
      context.lineWidth = Math.max(0.75, r / 6);
      const masks = Array.from({ length: PHASES * PHASES }, (_, i) => {
        const x = half + ((i % PHASES) + 0.5) / PHASES,
          y = half + (Math.floor(i / PHASES) + 0.5) / PHASES;
        return {
          inner: coverage(x, y, () => context.fill()),
          rim: outlined ? coverage(x, y, () => context.stroke()) : null,
        };
      });
      this.masks.set(key, { side, half, masks });
    }
    return this.masks.get(key);
  }
}

/** @type {(inner: Uint8ClampedArray, rim: Uint8ClampedArray | null, color: number[], edge: number[]) => Uint32Array} */
function tinted(inner, rim, color, edge) {
  return Uint32Array.from(inner, (fill, i) => {
    const over = rim ? rim[i] / 255 : 0,
      under = (fill / 255) * (1 - over),
      alpha = over + under;
    if (!alpha) return 0;
    const [r, g, b] = color.map((c, k) => Math.round((c * under + edge[k] * over) / alpha));
    return ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
}

// One pixel over another.
/** @type {(a: number, b: number) => number} */
function over(a, b) {
  const p = (a >>> 24) / 255,
    q = ((b >>> 24) / 255) * (1 - p),
    sum = p + q,
    part = (shift) => Math.round((((a >>> shift) & 255) * p + ((b >>> shift) & 255) * q) / sum) << shift;
  return ((Math.round(sum * 255) << 24) | part(16) | part(8) | part(0)) >>> 0;
}
