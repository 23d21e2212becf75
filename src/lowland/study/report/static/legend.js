// The legend.

const MOST_NAMED = 30; // classes listed before "and … more"

function legend() {
  const node = el("div", { id: "legend", class: "legend" });
  const draw = () => {
    const { choice } = state;
    node.replaceChildren(
      ...(choice.kind === "classes" ? classLegend() : choice.kind === "scale" ? scaleLegend(choice) : []),
    );
  };
  on("colors", draw);
  draw();
  return node;
}

function scaleLegend(choice) {
  const bar = el("canvas", {
    width: 255,
    height: 1,
    class: "scale",
    role: "img",
    "aria-label": "Color scale from low to high",
  });
  const context = bar.getContext("2d");
  for (let i = 0; i < 255; i++) {
    context.fillStyle = state.palette.colors[i];
    context.fillRect(i, 0, 1, 1);
  }
  const missing = el("span", { class: "swatch" });
  missing.style.background = theme().missing;
  return [
    el("span", { class: "legend-name" }, choice.name),
    el("span", null, number(choice.ends[0])),
    bar,
    el("span", null, number(choice.ends[1])),
    state.evenColors && el("span", { class: "note" }, `by rank, median ${number(choice.even().middle)}`),
    choice.better && el("span", { class: "note" }, WAY[choice.better][1]),
    someMissing() && el("span", { class: "note" }, missing, " missing value"),
  ].filter(Boolean);
}

// Whether a plotted point of any panel has no value to color by.
function someMissing() {
  return drawnTrials.some((trial) => {
    const shades = shadesOf(trial);
    if (shades && !shades.includes(MISSING)) return false;
    const X = array(trial.Z).subarray(0, M);
    return X.some((code, row) => code !== 65535 && (!shades || shades[row] === MISSING));
  });
}

function classLegend() {
  const { classes } = table.label,
    codes = array(table.label);
  const counts = new Uint32Array(classes.length + 1);
  for (let i = 0; i < M; i++) counts[Math.min(codes[i], classes.length)]++;
  const names = [...classes, ...(counts[classes.length] ? ["no label"] : [])].slice(0, 500);
  const buttons = names.map((name, i) => {
    const shade = i < classes.length ? i % LOOKS : MISSING;
    const button = el(
      "button",
      {
        type: "button",
        class: "class-button",
        "aria-pressed": String(!state.hiddenClasses.has(i)),
        title: `${name}: ${some(counts[i], "row")}; click to hide or show`,
        onclick: () => {
          const hidden = new Set(state.hiddenClasses);
          if (!hidden.delete(i)) hidden.add(i);
          hideClasses(hidden);
          button.setAttribute("aria-pressed", String(!hidden.has(i)));
        },
      },
      sampleOf(shade),
      el("span", null, brief(name)),
    );
    return button;
  });
  const rest = buttons.length > MOST_NAMED ? buttons.slice(MOST_NAMED) : [];
  rest.forEach((button) => {
    button.hidden = true;
  });
  const more = el(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        rest.forEach((button) => {
          button.hidden = false;
        });
        rest[0].focus();
        more.remove();
      },
    },
    `and ${count(rest.length)} more`,
  );
  const all = (hidden) => () => {
    hideClasses(new Set(hidden));
    buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(!hidden.includes(i))));
  };
  return [
    el("span", { class: "legend-name" }, table.label.name),
    ...buttons,
    rest.length > 0 && more,
    names.length > 2 && el("button", { type: "button", class: "quiet", onclick: all([]) }, "show all"),
    names.length > 2 &&
      el("button", { type: "button", class: "quiet", onclick: all(names.map((_, i) => i)) }, "hide all"),
    classes.length > LOOKS &&
      el("span", { class: "note" }, `${classes.length} classes share ${LOOKS} markers. Hide some to distinguish the others.`),
  ].filter(Boolean);
}

function sampleOf(shade) {
  const canvas = el("canvas", { width: 26, height: 26, class: "sample", "aria-hidden": "true" });
  const image = stamp(state.palette.shape(shade), state.palette.colors[shade], 8, true);
  canvas.getContext("2d").drawImage(image, 13 - image.width / 2, 13 - image.height / 2);
  return canvas;
}

// Color by rank, so that outliers do not use up the scale.
function evenColorsField() {
  const box = el("input", {
    type: "checkbox",
    onchange: () => {
      state.evenColors = box.checked;
      colorBy(state.choice.key);
    },
  });
  const node = el(
    "label",
    { class: "check", title: "Color by rank instead of value" },
    box,
    "Color by rank",
  );
  const show = () => {
    node.hidden = state.choice.kind !== "scale";
  };
  on("colors", show);
  show();
  return node;
}
