// Colors of the two themes, of classes (which also differ in shape) and of continuous scales.

const THEMES = {
  light: { paper: "#ffffff", ink: "#20242b", dim: "#d3d8df", missing: "#b3b9c2", mark: "#bd1f01", scale: [0, 0.93] },
  dark: { paper: "#171a20", ink: "#eceff3", dim: "#343a44", missing: "#5c6470", mark: "#ff7a5c", scale: [0.14, 1] },
};
const night = matchMedia("(prefers-color-scheme: dark)");
const onPaper = matchMedia("print");
let printing = false;
const theme = () => (night.matches && !printing && !onPaper.matches ? THEMES.dark : THEMES.light);

const SHAPES = ["disc", "square", "triangle", "diamond", "wedge", "cross"];
const LOOKS = COLORS.length * SHAPES.length; // further classes repeat these markers

// Viridis at eleven points: perceptually uniform, and readable with any color vision.
const SCALE = [
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

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const hex = (rgb) => `#${rgb.map((c) => Math.round(c).toString(16).padStart(2, "0")).join("")}`;
const mix = (a, b, fraction) => {
  const to = channels(b);
  return hex(channels(a).map((c, i) => c + (to[i] - c) * fraction));
};
const packed = (color) => {
  const [r, g, b] = channels(color);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
};

function scaleColor(fraction) {
  const [from, to] = theme().scale;
  const place = (from + fraction * (to - from)) * (SCALE.length - 1);
  const left = Math.min(Math.floor(place), SCALE.length - 2);
  return mix(SCALE[left], SCALE[left + 1], place - left);
}

function lightness(color) {
  const [r, g, b] = channels(color).map((c) =>
    c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// On a dark background the darkest colors are lightened to a contrast ratio of 3:1.
function classColor(index) {
  const { paper, ink } = theme();
  let color = COLORS[index % COLORS.length];
  while (theme() === THEMES.dark && (lightness(color) + 0.05) / (lightness(paper) + 0.05) < 3)
    color = mix(color, ink, 0.1);
  return color;
}

const classShape = (look) => SHAPES[((look % COLORS.length) + Math.floor(look / COLORS.length)) % SHAPES.length];
const DASHES = [null, "6 3", "2 2.5", "8 3 2 3"];
const trialDash = (trial) => DASHES[Math.floor(trial.look / COLORS.length) % DASHES.length];
