// Colors of the two themes, of classes (which also differ in shape) and of continuous scales.

/** @type {{ light: Theme, dark: Theme }} */
export const THEMES = {
  light: {
    name: "light",
    paper: "#ffffff",
    ink: "#20242b",
    soft: "#5a626e",
    dim: "#d3d8df",
    missing: "#b3b9c2",
    line: "#d9dde3",
    kept: "#0b6fb8",
    missed: "#b45309",
    wrong: "#b0185f",
    mark: "#bd1f01",
    scale: [0, 0.93],
  },
  dark: {
    name: "dark",
    paper: "#171a20",
    ink: "#eceff3",
    soft: "#a5aebb",
    dim: "#343a44",
    missing: "#5c6470",
    line: "#333a44",
    kept: "#62b0f4",
    missed: "#f5a623",
    wrong: "#ff7eb6",
    mark: "#ff7a5c",
    scale: [0.14, 1],
  },
};

// Ten colors without grays, optimized so that any two differ in CIELAB for protans and deutans, too, and stand out from
// both papers (tests/pages/test_palette.py). The figures of lowland.plots have the same.
export const COLORS = [
  "#3f90da",
  "#b4395d",
  "#debf16",
  "#3f7500",
  "#ef94b7",
  "#3d52ec",
  "#0fdeff",
  "#fc545b",
  "#7f5a8b",
  "#a5df9a",
];
const SHAPES = ["disc", "square", "triangle", "diamond", "wedge", "cross"];
export const LOOKS = COLORS.length * SHAPES.length; // further classes repeat these markers
export const MISSING = 255; // the shade of a missing value

// Viridis at eleven points: perceptually uniform, and readable with any color vision.
const VIRIDIS = [
  "#440154",
  "#482475",
  "#414487",
  "#355f8d",
  "#2a788e",
  "#21918c",
  "#22a884",
  "#44bf70",
  "#7ad151",
  "#bddf26",
  "#fde725",
];

/** @type {(color: string) => number[]} */
export const channels = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
/** @type {(rgb: number[]) => string} */
const hexOf = (rgb) => `#${rgb.map((c) => Math.round(c).toString(16).padStart(2, "0")).join("")}`;

/** @type {(a: string, b: string, fraction: number) => string} */
export function mix(a, b, fraction) {
  const to = channels(b);
  return hexOf(channels(a).map((c, i) => c + (to[i] - c) * fraction));
}

// A color as a pixel of an image.
/** @type {(color: string) => number} */
export function packed(color) {
  const [r, g, b] = channels(color);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** @type {(fraction: number, theme: Theme) => string} */
export function scaleColor(fraction, theme) {
  const [from, to] = theme.scale;
  const place = (from + fraction * (to - from)) * (VIRIDIS.length - 1);
  const left = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return mix(VIRIDIS[left], VIRIDIS[left + 1], place - left);
}

/** @type {(index: number) => string} */
export const classColor = (index) => COLORS[index % COLORS.length];

// Classes whose names have a meaning: calm, in between, and a warning. The figures of lowland.plots have the same.
const MEANINGS = new Map([
  ["reliable", 0],
  ["uncertain", 2],
  ["unreliable", 1],
]);

// The look of a class, which is its number unless all names have a meaning.
/** @type {(levels: string[], code: number) => number} */
export const lookOf = (levels, code) =>
  levels.every((name) => MEANINGS.has(name)) ? (MEANINGS.get(levels[code]) ?? code) : code;

/** @type {(look: number) => Shape} */
export const classShape = (look) => SHAPES[((look % COLORS.length) + Math.floor(look / COLORS.length)) % SHAPES.length];
