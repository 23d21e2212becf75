// Controls of the panels: what colours them, how to select, the legend, and the list of what is selected.

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
    ["look", "Look", "Point at a row to see what it is"],
    ["box", "Box", "Drag a box to select rows"],
    ["lasso", "Lasso", "Draw around rows to select them"],
    ["pan", "Move", "Drag to move the picture"],
  ];
  return el(
    "div",
    { class: "field", role: "radiogroup", "aria-label": "What dragging does" },
    el("span", null, "Drag to"),
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
    tell("axes");
  };
  const even = el("input", {
    type: "checkbox",
    checked: true,
    onchange: (event) => {
      state.evenAxes = event.target.checked;
      tell("axes");
    },
  });
  return [
    most > 2 && field("Across", choose(names, "0", change("x"))),
    most > 2 && field("Up", choose(names, "1", change("y"))),
    el(
      "label",
      { class: "check", title: "A unit is as long upwards as across, so that distances are true" },
      even,
      "Same scale on both axes",
    ),
  ];
}

// Whether a measure puts trials in an order: not where it is the same for all.
const tellsApart = (name) => name === deciding || new Set(drawnTrials.map(byMeasure(name).value)).size > 1;

function orderField() {
  const options = [
    { value: "", text: "as studied" },
    { value: "name", text: "by name" },
    ...measureNames.filter(tellsApart).map((name) => ({ value: `measure ${name}`, text: name, group: "The best first, by" })),
    { value: "seconds", text: "time", group: "The best first, by" },
  ];
  const node = field(
    "Order",
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
    type: "number",
    min: 0,
    max: Math.max(table.rows - 1, 0),
    step: 1,
    placeholder: "number",
    oninput: () => {
      const row = input.value === "" ? -1 : placeOfRow(Number(input.value));
      pointAt(row);
      find("found").textContent =
        row >= 0
          ? linesOfRow(row, null)
              .slice(1, 5)
              .map(([name, value]) => (name ? `${name}: ${value}` : value))
              .join(", ")
          : input.value === ""
            ? ""
            : "This row is not drawn.";
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
      tell("colors");
    },
  });
  const width = choose(
    [
      { value: "small", text: "small" },
      { value: "middle", text: "middle" },
      { value: "big", text: "big" },
    ],
    "middle",
    (value) => {
      find("panels").dataset.width = value;
    },
  );
  return el(
    "div",
    { class: "controls", role: "group", "aria-label": "Controls of the panels" },
    field(
      "Colour by",
      choose(
        state.choices.map((c) => ({ value: c.key, text: c.text, group: c.group })),
        state.choice.key,
        colorBy,
      ),
    ),
    toolButtons(),
    field("Points", size),
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
      el("p", null, "No trial gave coordinates to draw."),
    );
    return true;
  }
  const part = M < table.rows ? ` ${count(M)} of ${count(table.rows)} rows are drawn.` : "";
  const controls = el(
    "div",
    { class: "bar-of-controls" },
    controlBar(),
    el("div", { class: "legend-row" }, legend(), evenColorsField()),
    selectionBox(),
  );
  // What a link leads to must not end up behind the controls that stay in view.
  new ResizeObserver(() =>
    document.documentElement.style.setProperty("--controls", `${controls.offsetHeight}px`),
  ).observe(controls);
  section.append(
    el("h2", { id: "embeddings-title" }, "Embeddings"),
    el(
      "p",
      { class: "lead screen" },
      `Every panel shows the same rows: point at one to find it in all of them, drag to select.${part}`,
    ),
    controls,
    el(
      "p",
      { id: "panel-keys", class: "unseen" },
      "Keys: n and p go to the next and previous row, space selects it, plus and minus zoom, arrows move, 0 shows the whole, Escape clears the selection.",
    ),
    el("div", { id: "panels", class: "panels", "data-width": "middle", "data-tool": state.tool }),
    el(
      "p",
      { class: "note screen" },
      "Ctrl and the wheel zoom, a double click shows the whole again. Keys in a panel: n and p step through rows, space selects, + and − zoom, arrows move, 0 resets, Escape clears.",
    ),
    drawnTrials.some((trial) => Object.values(trial.scores).some((said, i) => i < 2 && said.labels_seen))
      ? el("p", { class: "note" }, SEEN)
      : "",
  );
  buildPanels(find("panels"));
  return true;
}
