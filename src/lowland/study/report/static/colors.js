// Colours: of the two themes, of classes (which differ in shape as well) and of scales.

const THEMES = {
  light: { paper: "#ffffff", ink: "#20242b", dim: "#dde1e6", missing: "#b3b9c2", mark: "#bd1f01", scale: [0, 0.93] },
  dark: { paper: "#171a20", ink: "#eceff3", dim: "#343a44", missing: "#5c6470", mark: "#ff7a5c", scale: [0.14, 1] },
};
const night = matchMedia("(prefers-color-scheme: dark)");
const onPaper = matchMedia("print");
let printing = false;
const theme = () => (night.matches && !printing && !onPaper.matches ? THEMES.dark : THEMES.light);

const SHAPES = ["disc", "square", "triangle", "diamond", "wedge", "cross"];
const LOOKS = COLORS.length * SHAPES.length; // classes beyond these look like earlier ones

// Viridis, at eleven places: even in lightness, and readable with any colour vision.
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
const mix = (a, b, share) => {
  const to = channels(b);
  return hex(channels(a).map((c, i) => c + (to[i] - c) * share));
};
const packed = (color) => {
  const [r, g, b] = channels(color);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
};

function scaleColor(share) {
  const [from, to] = theme().scale;
  const place = (from + share * (to - from)) * (SCALE.length - 1);
  const left = Math.min(Math.floor(place), SCALE.length - 2);
  return mix(SCALE[left], SCALE[left + 1], place - left);
}

function lightness(color) {
  const [r, g, b] = channels(color).map((c) =>
    c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// On dark paper the darkest colours are lightened until they stand out by three to one.
function classColor(index) {
  const { paper, ink } = theme();
  let color = COLORS[index % COLORS.length];
  while (theme() === THEMES.dark && (lightness(color) + 0.05) / (lightness(paper) + 0.05) < 3)
    color = mix(color, ink, 0.1);
  return color;
}

const classShape = (look) => SHAPES[((look % COLORS.length) + Math.floor(look / COLORS.length)) % SHAPES.length];
const DASHES = [null, "6 3", "2 2.5", "8 3 2 3"];
const trialColor = (trial) => classColor(trial.index);
const trialDash = (trial) => DASHES[Math.floor(trial.index / COLORS.length) % DASHES.length];

// A colouring gives every row a shade from 0 to 254, or 255 where its value is missing, and every shade a colour.
function scaleShades(column) {
  const codes = array(column);
  const shades = new Uint8Array(M);
  if (column.levels) {
    const low = column.levels[0],
      width = column.levels.at(-1) - low;
    const of = column.levels.map((level) => (width ? Math.round(((level - low) / width) * 254) : 127));
    for (let i = 0; i < M; i++) shades[i] = codes[i] === 255 ? MISSING : of[codes[i]];
  } else {
    for (let i = 0; i < M; i++) shades[i] = codes[i] === 65535 ? MISSING : Math.round((codes[i] * 254) / 65534);
  }
  return shades;
}

function classShades(label) {
  const codes = array(label),
    classes = label.classes.length;
  return Uint8Array.from({ length: M }, (_, i) => (codes[i] < classes ? codes[i] % LOOKS : MISSING));
}

const ends = (column) =>
  column.levels ? [column.levels[0] ?? 0, column.levels.at(-1) ?? 0] : [column.low, column.high];

// What the points can be coloured by. Each choice gives the shades for a trial (the same for all, unless it is their own trust).
function colorChoices() {
  const choices = [];
  const add = (choice) => choices.push({ ...choice, key: String(choices.length) });
  const fixed = (make) => {
    let shades = null;
    return () => (shades ??= make());
  };
  const { label } = table;
  if (label && label.classes)
    add({
      group: null,
      text: `Label: ${label.name}`,
      name: label.name,
      kind: "classes",
      shades: fixed(() => classShades(label)),
    });
  if (label && !label.classes)
    add({
      group: null,
      text: `Label: ${label.name}`,
      name: label.name,
      kind: "scale",
      ends: ends(label),
      shades: fixed(() => scaleShades(label)),
    });
  add({ group: null, text: "One colour", name: "", kind: "one", shades: fixed(() => new Uint8Array(M)) });
  for (const measure of study.measures) {
    const of = (trial) => (trial.per_row[measure.name] ? array(trial.per_row[measure.name]) : null);
    const said = { kind: "scale", ends: [measure.low, measure.high], better: measure.better };
    add({
      ...said,
      group: "Trust of each point, in each panel's own embedding",
      text: measure.name,
      name: `${measure.name} of each point, in its own panel`,
      shades: of,
      own: true,
    });
    for (const trial of drawnTrials.filter(of0)) {
      add({
        ...said,
        group: `${measure.name} of each point, in one embedding`,
        text: trial.name,
        name: `${measure.name} of each point in ${trial.name}`,
        shades: () => of(trial),
      });
    }
    function of0(trial) {
      return Boolean(trial.per_row[measure.name]);
    }
  }
  for (const column of table.kept) {
    add({
      group: "Columns",
      text: column.name,
      name: column.name,
      kind: "scale",
      ends: ends(column),
      shades: fixed(() => scaleShades(column)),
    });
  }
  return choices;
}

// Colours of the 256 shades, for the theme that is on.
function palette(choice) {
  const colors = new Array(256).fill(theme().missing);
  if (choice.kind === "one") colors[0] = classColor(0);
  if (choice.kind === "classes") for (let i = 0; i < LOOKS; i++) colors[i] = classColor(i);
  if (choice.kind === "scale") for (let i = 0; i < 255; i++) colors[i] = scaleColor(i / 254);
  return {
    colors,
    packed: Uint32Array.from(colors, packed),
    shape: choice.kind === "classes" ? (shade) => (shade === MISSING ? "disc" : classShape(shade)) : () => "disc",
  };
}
