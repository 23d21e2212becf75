// Colorings of the points: every row has a shade, and every shade a color.

// A shade is between 0 and 254; 255 means that the value is missing.
function scaleShades(column) {
  const [low, high] = ends(column),
    codes = array(column),
    shades = new Uint8Array(M);
  const shade = (value) => (high > low ? Math.round(((value - low) / (high - low)) * 254) : 127);
  if (column.levels) {
    const of = [...column.levels.map(shade), ...new Array(256 - column.levels.length).fill(MISSING)];
    for (let i = 0; i < M; i++) shades[i] = of[codes[i]];
  } else if (column.kind === "f4") {
    for (let i = 0; i < M; i++) shades[i] = Number.isNaN(codes[i]) ? MISSING : shade(codes[i]);
  } else {
    for (let i = 0; i < M; i++) shades[i] = codes[i] === 65535 ? MISSING : Math.round((codes[i] * 254) / 65534);
  }
  return shades;
}

// Shades by rank, and the median: outliers then do not use up the scale.
function evenShades(column) {
  const codes = array(column);
  if (column.kind !== "f4") {
    const { shadeOf, middle } = ranksOf([codes], codes.BYTES_PER_ELEMENT === 1 ? 256 : 65536);
    return {
      shades: () => Uint8Array.from(codes, shadeOf),
      middle: column.levels ? column.levels[middle] : column.low + (middle / 65534) * (column.high - column.low),
    };
  }
  const sorted = codes.filter((value) => !Number.isNaN(value)).sort();
  const below = (value, orEqual) => {
    let from = 0,
      to = sorted.length;
    while (from < to) {
      const half = (from + to) >> 1;
      if (sorted[half] < value || (orEqual && sorted[half] === value)) from = half + 1;
      else to = half;
    }
    return from;
  };
  const shade = (value) =>
    Number.isNaN(value) ? MISSING : Math.round((127 * (below(value, false) + below(value, true))) / sorted.length);
  return { shades: () => Uint8Array.from(codes, shade), middle: sorted[sorted.length >> 1] };
}

// For integer codes, the last of which means "missing": the shade of each code by rank, and the median code.
function ranksOf(arrays, size) {
  const counts = new Float64Array(size),
    shades = new Uint8Array(size).fill(MISSING);
  for (const codes of arrays) for (const code of codes) counts[code]++;
  const all = counts.subarray(0, size - 1).reduce((sum, many) => sum + many, 0) || 1;
  let below = 0,
    middle = 0;
  for (let code = 0; code < size - 1; code++) {
    shades[code] = Math.round((254 * (below + counts[code] / 2)) / all);
    if (below <= all / 2 && counts[code]) middle = code;
    below += counts[code];
  }
  return { shadeOf: (code) => shades[code], middle };
}

// A per-row measure by rank among the rows of all trials, so that a color means the same in every panel.
function evenTrust(measure) {
  const having = drawnTrials.filter((trial) => trial.per_row[measure.name]),
    kept = new Map();
  const { shadeOf, middle } = ranksOf(
    having.map((trial) => array(trial.per_row[measure.name])),
    256,
  );
  const shades = (trial) => {
    if (!trial.per_row[measure.name]) return null;
    if (!kept.has(trial)) kept.set(trial, Uint8Array.from(array(trial.per_row[measure.name]), shadeOf));
    return kept.get(trial);
  };
  return { shades, middle: measure.low + (middle / 254) * (measure.high - measure.low) };
}

function classShades(label) {
  const codes = array(label),
    classes = label.classes.length;
  return Uint8Array.from({ length: M }, (_, i) => (codes[i] < classes ? codes[i] % LOOKS : MISSING));
}

const ends = (column) =>
  column.levels ? [column.levels[0] ?? 0, column.levels.at(-1) ?? 0] : [column.low, column.high];

const once = (make) => {
  let made = null;
  return () => (made ??= make());
};

// The choices to color by. A choice gives the shades for a trial, which differ between trials only for per-row
// measures, and for a scale also the shades by rank.
function colorChoices() {
  const choices = [],
    { label } = table;
  const add = (choice) => choices.push({ group: null, ...choice, key: String(choices.length) });
  const addColumn = (column, group, text) =>
    add({
      group,
      text,
      name: column.name,
      kind: "scale",
      ends: ends(column),
      shades: once(() => scaleShades(column)),
      even: once(() => {
        const { shades, middle } = evenShades(column);
        return { shades: once(shades), middle };
      }),
    });
  const labelText = label && (label.name === "label" ? "Label" : `Label: ${label.name}`);
  if (label && label.classes)
    add({ text: labelText, name: label.name, kind: "classes", shades: once(() => classShades(label)) });
  if (label && !label.classes) addColumn(label, null, labelText);
  add({ text: "Single color", name: "", kind: "one", shades: once(() => new Uint8Array(M)) });
  for (const measure of study.measures) addTrust(measure, add);
  for (const column of table.kept) addColumn(column, "Columns", column.name);
  return choices;
}

function addTrust(measure, add) {
  const said = { kind: "scale", ends: [measure.low, measure.high], better: measure.better };
  const shades = (trial) => (trial.per_row[measure.name] ? array(trial.per_row[measure.name]) : null);
  const even = once(() => evenTrust(measure));
  add({
    ...said,
    group: "Quality per row, in each panel's embedding",
    text: measure.name,
    name: `${measure.name} per row, in each panel's embedding`,
    shades,
    even,
  });
  for (const trial of drawnTrials.filter((each) => each.per_row[measure.name])) {
    add({
      ...said,
      group: `${measure.name} per row, in one embedding`,
      text: trial.name,
      name: `${measure.name} per row, in ${trial.name}`,
      shades: () => shades(trial),
      even: once(() => ({ shades: () => even().shades(trial), middle: even().middle })),
    });
  }
}

const shadesOf = (trial) => (state.evenColors && state.choice.even ? state.choice.even() : state.choice).shades(trial);

// Colors of the 256 shades in the current theme.
function palette(choice) {
  const colors = new Array(256).fill(theme().missing);
  if (choice.kind === "one") colors[0] = classColor(0);
  if (choice.kind === "classes") for (let i = 0; i < LOOKS; i++) colors[i] = classColor(i);
  if (choice.kind === "scale") for (let i = 0; i < 255; i++) colors[i] = scaleColor(i / 254);
  const shape = choice.kind === "classes" ? (shade) => (shade === MISSING ? "disc" : classShape(shade)) : () => "disc";
  return { colors, packed: Uint32Array.from(colors, packed), shape };
}
