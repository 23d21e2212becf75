// What the points are coloured by: every row has a shade, and every shade a colour.

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

// What the points can be coloured by. A choice gives the shades for a trial: the same for all, unless by their own trust.
function colorChoices() {
  const choices = [];
  const add = (choice) => choices.push({ ...choice, key: String(choices.length) });
  const fixed = (make) => {
    let shades = null;
    return () => (shades ??= make());
  };
  const { label } = table;
  const labelText = label && (label.name === "label" ? "Label" : `Label: ${label.name}`);
  if (label && label.classes)
    add({
      group: null,
      text: labelText,
      name: label.name,
      kind: "classes",
      shades: fixed(() => classShades(label)),
    });
  if (label && !label.classes)
    add({
      group: null,
      text: labelText,
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
    for (const trial of drawnTrials.filter((each) => each.per_row[measure.name])) {
      add({
        ...said,
        group: `${measure.name} of each point, in one embedding`,
        text: trial.name,
        name: `${measure.name} of each point in ${trial.name}`,
        shades: () => of(trial),
      });
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

// For each shade, the share of rows below it: colours by rank rather than by value.
function ranks(choice) {
  const counts = new Float64Array(256);
  for (const trial of choice.own ? drawnTrials : drawnTrials.slice(0, 1)) {
    for (const shade of choice.shades(trial) ?? []) counts[shade]++;
  }
  const all = counts.subarray(0, 255).reduce((sum, many) => sum + many, 0) || 1;
  let below = 0;
  return Array.from(counts.subarray(0, 255), (many) => {
    below += many;
    return (below - many / 2) / all;
  });
}

// Colours of the 256 shades, for the theme that is on.
function palette(choice) {
  const colors = new Array(256).fill(theme().missing);
  if (choice.kind === "one") colors[0] = classColor(0);
  if (choice.kind === "classes") for (let i = 0; i < LOOKS; i++) colors[i] = classColor(i);
  const shares = choice.kind === "scale" && state.evenColors ? ranks(choice) : null;
  if (choice.kind === "scale") for (let i = 0; i < 255; i++) colors[i] = scaleColor(shares ? shares[i] : i / 254);
  return {
    colors,
    packed: Uint32Array.from(colors, packed),
    shape: choice.kind === "classes" ? (shade) => (shade === MISSING ? "disc" : classShape(shade)) : () => "disc",
  };
}
