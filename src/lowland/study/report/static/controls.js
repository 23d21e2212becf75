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

function orderField() {
  const options = [
    { value: "", text: "as studied" },
    { value: "name", text: "name" },
    ...measureNames.map((name) => ({ value: `measure ${name}`, text: `${name}, best first` })),
    { value: "seconds", text: "time, quickest first" },
  ];
  return field(
    "Order",
    choose(options, "", (value) => {
      const name = value.slice(8),
        scored = value.startsWith("measure ") ? aScore(name) : null;
      const key =
        { "": (t) => t.index, name: (t) => t.name.toLowerCase(), seconds: (t) => t.seconds }[value] ??
        ((t) => t.scores[name]?.value ?? null);
      const ordered = inOrder(
        panels.map((panel) => panel.trial),
        { value: key },
        scored?.better === "higher",
      );
      for (const trial of ordered) find("panels").append(find(`panel-${trial.index}`));
    }),
  );
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
    "aria-label": "Colours from low to high",
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
    choice.better && el("span", { class: "note" }, WAY[choice.better][1]),
    el("span", { class: "note" }, missing, " no value"),
  ].filter(Boolean);
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
        title: `${some(counts[i], "row")}; a click hides or shows them`,
        onclick: () => {
          const hidden = new Set(state.hiddenClasses);
          if (!hidden.delete(i)) hidden.add(i);
          hideClasses(hidden);
          button.setAttribute("aria-pressed", String(!hidden.has(i)));
        },
      },
      sampleOf(shade),
      name,
    );
    return button;
  });
  const all = (hidden) => () => {
    hideClasses(new Set(hidden));
    buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(!hidden.includes(i))));
  };
  return [
    el("span", { class: "legend-name" }, table.label.name),
    ...buttons,
    names.length > 2 && el("button", { type: "button", class: "quiet", onclick: all([]) }, "show all"),
    names.length > 2 &&
      el("button", { type: "button", class: "quiet", onclick: all(names.map((_, i) => i)) }, "hide all"),
    classes.length > LOOKS &&
      el("span", { class: "note" }, `${classes.length} classes share ${LOOKS} looks: hide some to tell them apart.`),
  ].filter(Boolean);
}

function sampleOf(shade) {
  const canvas = el("canvas", { width: 26, height: 26, class: "sample", "aria-hidden": "true" });
  const image = stamp(state.palette.shape(shade), state.palette.colors[shade], 8, true);
  canvas.getContext("2d").drawImage(image, 13 - image.width / 2, 13 - image.height / 2);
  return canvas;
}

const MOST_LISTED = 200;

function selectionBox() {
  const said = el("span", { id: "selected", class: "selected" });
  const numbers = el(
    "button",
    { type: "button", onclick: () => copy(selectedRows().map(rowNumber).join(", "), numbers) },
    "Copy row numbers",
  );
  const clear = el("button", { type: "button", onclick: clearSelection }, "Clear");
  const list = el("div", { class: "scroll listed", tabindex: "0", role: "region", "aria-label": "Selected rows" });
  const more = el("details", null, el("summary", null, "List them"), list);
  const box = el("div", { class: "selection" }, said, numbers, clear, more, el("span", { id: "found", class: "note" }));
  let waitingToSay = 0;
  const draw = () => {
    const none = state.selected === 0;
    for (const node of [numbers, clear, more]) node.hidden = none;
    said.textContent = none
      ? "No rows selected. Drag over a panel; with Shift to add, with Alt to take away."
      : `${some(state.selected, "row")} selected${classesOfSelection()}`;
    if (more.open && !none) listRows(list);
    clearTimeout(waitingToSay);
    if (!none) waitingToSay = setTimeout(() => say(said.textContent), 400);
  };
  more.addEventListener("toggle", draw);
  on("rows", draw);
  draw();
  return box;
}

function classesOfSelection() {
  if (!table.label || !table.label.classes) return ".";
  const counts = new Map(),
    codes = array(table.label);
  for (let i = 0; i < M; i++) if (state.flags[i] & SELECTED) counts.set(codes[i], (counts.get(codes[i]) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1]);
  return `: ${most
    .slice(0, 4)
    .map(([code, many]) => `${table.label.classes[code] ?? "no label"} ${count(many)}`)
    .join(", ")}${most.length > 4 ? `, ${most.length - 4} other classes` : ""}.`;
}

function listRows(into) {
  const rows = selectedRows(MOST_LISTED),
    columns = table.kept.slice(0, MOST_COLUMNS);
  const head = ["row", ...(table.label ? [table.label.name] : []), ...columns.map((c) => c.name)];
  const cells = (row) => [
    rowNumber(row),
    ...(table.label ? [labelOf(row)] : []),
    ...columns.map((c) => number(valueOf(c, row), 4)),
  ];
  into.replaceChildren(
    el(
      "table",
      null,
      el(
        "thead",
        null,
        el(
          "tr",
          null,
          head.map((h) => el("th", { scope: "col" }, h)),
        ),
      ),
      el(
        "tbody",
        null,
        rows.map((row) =>
          el(
            "tr",
            { onpointerenter: () => pointAt(row), onpointerleave: () => pointAt(-1) },
            cells(row).map((c) => el("td", null, c)),
          ),
        ),
      ),
    ),
    state.selected > rows.length ? el("p", { class: "note" }, `The first ${MOST_LISTED}; all of them are copied.`) : "",
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
  const controls = el("div", { class: "bar-of-controls" }, controlBar(), legend(), selectionBox());
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
  );
  buildPanels(find("panels"));
  return true;
}
