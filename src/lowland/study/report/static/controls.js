// Controls of the panels: coloring, tools, sizes, order, axes and row search.

const field = (text, control) => el("label", { class: "field" }, el("span", null, text), control);

function choose(options, chosen, onchange) {
  const node = el("select", { onchange: (event) => onchange(event.target.value) });
  const groups = new Map([[null, node]]);
  for (const { value, text, group = null } of options) {
    if (!groups.has(group)) {
      groups.set(group, el("optgroup", { label: group }));
      node.append(groups.get(group));
    }
    groups.get(group).append(el("option", { value }, text));
  }
  node.value = chosen;
  return node;
}

function toolButtons() {
  const tools = [
    ["look", "Hover", "Hover over a point to see its row"],
    ["box", "Box", "Drag a box to select rows"],
    ["lasso", "Lasso", "Draw around rows to select them"],
    ["pan", "Pan", "Drag to move the plot"],
  ];
  return el(
    "div",
    { class: "field", role: "radiogroup", "aria-label": "Pointer tool" },
    el("span", null, "Tool"),
    el(
      "div",
      { class: "tools" },
      tools.map(([key, text, title]) => {
        const radio = el("input", {
          type: "radio",
          name: "tool",
          value: key,
          checked: state.tool === key,
          onchange: () => {
            state.tool = key;
            find("panels").dataset.tool = key;
          },
        });
        return el("label", { title }, radio, text);
      }),
    ),
  );
}

function axesFields() {
  const most = Math.max(...drawnTrials.map((trial) => trial.Z.low.length));
  const names = Array.from({ length: most }, (_, i) => ({ value: String(i), text: `component ${i + 1}` }));
  const change = (key) => (value) => {
    state[key] = Number(value);
    panels.forEach((panel) => panel.home());
    notify("axes");
  };
  const even = el("input", {
    type: "checkbox",
    checked: true,
    onchange: (event) => {
      state.evenAxes = event.target.checked;
      notify("axes");
    },
  });
  return [
    most > 2 && field("x axis", choose(names, "0", change("x"))),
    most > 2 && field("y axis", choose(names, "1", change("y"))),
    el(
      "label",
      { class: "check", title: "One unit has the same length on both axes, so that distances are not distorted" },
      even,
      "Equal axis scales",
    ),
  ];
}

// Whether a measure can sort the trials: not if it is the same for all.
const distinguishesTrials = (name) => name === deciding || new Set(drawnTrials.map(byMeasure(name).value)).size > 1;

function orderField() {
  const options = [
    { value: "", text: "study order" },
    { value: "name", text: "name" },
    ...measureNames.filter(distinguishesTrials).map((name) => ({ value: `measure ${name}`, text: name, group: "Best first" })),
    { value: "seconds", text: "fit time", group: "Best first" },
  ];
  const node = field(
    "Sort by",
    choose(options, deciding ? `measure ${deciding}` : "", (value) => {
      const name = value.startsWith("measure ") ? value.slice(8) : null;
      const key = { "": (t) => t.index, name: (t) => t.name.toLowerCase(), seconds: (t) => t.seconds }[value];
      const ordered = inOrder(
        panels.map((panel) => panel.trial),
        name === null ? { value: key } : byMeasure(name),
        name !== null && aScore(name).better === "higher",
      );
      for (const trial of ordered) find("panels").append(find(`panel-${trial.index}`));
    }),
  );
  node.classList.add("order");
  return node;
}

function findField() {
  const input = el("input", {
    ...(table.ids ? { type: "text" } : { type: "number", min: 0, max: Math.max(table.rows - 1, 0), step: 1 }),
    placeholder: table.ids ? table.ids.name : "number",
    oninput: () => {
      const row = input.value === "" ? -1 : placeOfId(input.value);
      pointAt(row);
      find("found").textContent =
        row >= 0
          ? linesOfRow(row, null)
              .slice(1, 5)
              .map(([name, value]) => (name ? `${name}: ${value}` : value))
              .join(", ")
          : input.value === ""
            ? ""
            : "This row is not shown.";
    },
    onblur: () => pointAt(-1),
  });
  return field("Find row", input);
}

function controlBar() {
  const size = el("input", {
    type: "range",
    min: -2,
    max: 3,
    step: 0.5,
    value: 0,
    oninput: () => {
      state.size = 1.4 ** Number(size.value);
      notify("colors");
    },
  });
  const width = choose(
    [
      { value: "small", text: "small" },
      { value: "medium", text: "medium" },
      { value: "large", text: "large" },
    ],
    "medium",
    (value) => {
      find("panels").dataset.width = value;
    },
  );
  return el(
    "div",
    { class: "controls", role: "group", "aria-label": "Panel controls" },
    field(
      "Color by",
      choose(
        state.choices.map((c) => ({ value: c.key, text: c.text, group: c.group })),
        state.choice.key,
        colorBy,
      ),
    ),
    toolButtons(),
    field("Point size", size),
    field("Panel size", width),
    orderField(),
    axesFields(),
    findField(),
  );
}

function embeddingsSection(section) {
  if (!drawnTrials.length) {
    section.append(
      el("h2", { id: "embeddings-title" }, "Embeddings"),
      el("p", null, "No trial produced coordinates to plot."),
    );
    return true;
  }
  const part = M < table.rows ? ` A sample of ${count(M)} of ${count(table.rows)} rows is shown.` : "";
  const controls = el(
    "div",
    { class: "bar-of-controls" },
    controlBar(),
    el("div", { class: "legend-row" }, legend(), evenColorsField()),
    selectionBox(),
  );
  // The target of a link must not be hidden behind the sticky controls.
  new ResizeObserver(() =>
    document.documentElement.style.setProperty("--controls", `${controls.offsetHeight}px`),
  ).observe(controls);
  section.append(
    el("h2", { id: "embeddings-title" }, "Embeddings"),
    el(
      "p",
      { class: "lead screen" },
      `All panels show the same rows. Hover over a point to highlight its row in every panel; drag to select rows.${part}`,
    ),
    controls,
    el(
      "p",
      { id: "panel-keys", class: "unseen" },
      "Keys: n and p go to the next and previous row, space selects it, plus and minus zoom, arrows pan, 0 resets the zoom, Escape clears the selection.",
    ),
    el("div", { id: "panels", class: "panels", "data-width": "medium", "data-tool": state.tool }),
    el(
      "p",
      { class: "note screen" },
      "Zoom with Ctrl and the mouse wheel; double-click to reset, and again to show rows outside of the axes. Keys in a panel: n and p for the next and previous row, space to select, + and − to zoom, arrows to pan, 0 to reset, Escape to clear the selection.",
    ),
    drawnTrials.some((trial) => Object.values(trial.scores).some((said, i) => i < 2 && said.labels_seen))
      ? el("p", { class: "note" }, SEEN)
      : "",
  );
  buildPanels(find("panels"));
  return true;
}
