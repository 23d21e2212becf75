// Panels: one embedding each, all of the same rows. They are drawn when they come near the view, and again only when something changed.

const panels = [];
const waiting = new Set();
let asked = false;

function redraw(panel) {
  waiting.add(panel);
  if (!asked) {
    asked = true;
    requestAnimationFrame(drawWaiting);
  }
}

// A frame draws as many panels as it has time for; the others follow in the next frames.
function drawWaiting() {
  const begun = performance.now();
  asked = false;
  for (const panel of waiting) {
    if (!panel.near) continue;
    waiting.delete(panel);
    panel.draw();
    if (performance.now() - begun > 14) break;
  }
  if (!asked && [...waiting].some((panel) => panel.near)) {
    asked = true;
    requestAnimationFrame(drawWaiting);
  }
}

// A single component has no second axis: its points are spread over a band, so that they can be told apart.
let band = null;
const spread = () =>
  (band ??= Uint16Array.from({ length: M }, (_, i) => (Math.imul(i + 1, 2654435761) >>> 16) % 65535));

class Panel {
  constructor(trial) {
    this.trial = trial;
    this.near = false;
    this.home();
    this.points = el("canvas", { class: "points", "aria-hidden": "true" });
    this.marks = el("canvas", {
      class: "marks",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "embedding",
      "aria-label": this.description(),
      "aria-describedby": "panel-keys",
    });
    this.frame = el("div", { class: "frame" }, this.points, this.marks);
    this.reset = el(
      "button",
      {
        type: "button",
        hidden: true,
        onclick: () => {
          this.home();
          this.changed();
        },
      },
      "Whole",
      unseen(` of ${trial.name}`),
    );
    this.larger = el(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => this.enlarge() },
      "Enlarge",
      unseen(` ${trial.name}`),
    );
    this.node = el(
      "article",
      { class: "panel", id: `panel-${trial.index}` },
      el(
        "header",
        null,
        el(
          "h3",
          null,
          parted(trial.name),
          trial.name === study.advice[0]?.trial && el("span", { class: "chip chosen" }, "advised"),
        ),
        el("span", { class: "buttons" }, this.reset, this.larger),
      ),
      el("p", { class: "facts" }, this.facts()),
      this.frame,
      this.note(),
    );
    this.node.addEventListener("pointerenter", () => lookAt(trial));
    this.node.addEventListener("pointerleave", () => lookAt(null));
    this.listen();
  }

  description() {
    const { Z, name } = this.trial;
    return `${name}: embedding of ${some(M - Z.left_out, "row")}`;
  }

  facts() {
    const names = Object.keys(this.trial.scores).slice(0, 3);
    return names.map((name, i) => [
      i ? " · " : "",
      el("span", { class: "fact" }, `${name} `, el("b", null, score(this.trial.scores[name].value, 3))),
    ]);
  }

  note() {
    const { Z } = this.trial,
      parts = [];
    if (Z.left_out)
      parts.push(
        Z.left_out === M ? "All rows were left out: there is nothing to draw." : `${some(Z.left_out, "row")} left out.`,
      );
    if (Z.components === 1) parts.push("One component, from left to right; the height means nothing.");
    if (Z.components > 2 && Z.low.length === 2) parts.push(`The first 2 of ${Z.components} components.`);
    return parts.length ? el("p", { class: "note" }, parts.join(" ")) : null;
  }

  home() {
    this.view = { zoom: 1, x: 0, y: 0 };
  }

  enlarge() {
    const large = this.node.classList.toggle("large");
    this.larger.setAttribute("aria-pressed", String(large));
    this.larger.firstChild.textContent = large ? "Smaller" : "Enlarge";
  }

  // Whole numbers of the two axes, and their ranges.
  axes() {
    const { Z } = this.trial,
      kept = Z.low.length,
      codes = array(Z);
    const x = Math.min(state.x, kept - 1),
      y = Math.min(state.y, kept - 1);
    const take = (i) => ({ codes: codes.subarray(i * M, (i + 1) * M), width: Z.high[i] - Z.low[i] });
    const across = take(x);
    return [across, kept === 1 ? { codes: spread(), width: across.width / 4 } : take(y)];
  }

  // Where rows lie, in pixels of a canvas of the given size.
  place(width, height) {
    const [x, y] = this.axes(),
      { zoom } = this.view,
      margin = 0.06 * Math.min(width, height);
    const fit = (axis, room) => (axis.width > 0 ? (room - 2 * margin) / axis.width : Infinity);
    let sx = fit(x, width),
      sy = fit(y, height);
    if (state.evenAxes) sx = sy = Math.min(sx, sy);
    const line = (axis, s, room, moved, sign) => {
      const a = Number.isFinite(s) ? (sign * axis.width * s * zoom) / 65534 : 0;
      return [a, room / 2 - a * 32767 + sign * moved * room * zoom];
    };
    const [ax, bx] = line(x, sx, width, this.view.x, 1),
      [ay, by] = line(y, sy, height, this.view.y, -1);
    return { X: x.codes, Y: y.codes, ax, bx, ay, by };
  }

  measure() {
    const scale = printing ? 2 : Math.min(2, Math.max(1, devicePixelRatio || 1));
    const width = Math.round(this.frame.clientWidth * scale),
      height = Math.round(this.frame.clientHeight * scale);
    for (const canvas of [this.points, this.marks]) {
      if (canvas.width !== width || canvas.height !== height) {
        canvas.width = width;
        canvas.height = height;
      }
    }
    return { width, height, scale };
  }

  draw() {
    const { width, height, scale } = this.measure();
    if (!width || !height) return;
    const grown = scale * Math.min(1.7, Math.max(1, width / scale / 420));
    paint(this.points, (context) =>
      drawPoints(context, width, height, this.place(width, height), state.choice.shades(this.trial), grown),
    );
    this.node.dataset.drawn = String(Number(this.node.dataset.drawn || 0) + 1);
    this.drawMarks();
  }

  changed() {
    const { zoom, x, y } = this.view;
    this.reset.hidden = zoom === 1 && x === 0 && y === 0;
    redraw(this);
  }

  // The ring around the row under the pointer, and the line of the selection that is being drawn.
  drawMarks() {
    const { width, height } = this.marks,
      scale = width / (this.frame.clientWidth || 1);
    const context = this.marks.getContext("2d"),
      colors = theme();
    context.clearRect(0, 0, width, height);
    if (state.row >= 0) {
      const at = this.pixelOf(state.row);
      if (at) {
        const r = Math.max(5, radius() + 3) * scale;
        for (const [color, line] of [
          [colors.paper, 5],
          [colors.ink, 2],
        ]) {
          context.beginPath();
          context.arc(at[0], at[1], r, 0, 2 * Math.PI);
          context.strokeStyle = color;
          context.lineWidth = line * scale;
          context.stroke();
        }
      }
    }
    if (this.trail) {
      context.beginPath();
      this.outlineOfTrail().forEach(([x, y], i) =>
        i ? context.lineTo(x * scale, y * scale) : context.moveTo(x * scale, y * scale),
      );
      context.closePath();
      context.fillStyle = `${colors.ink}14`;
      context.fill();
      context.setLineDash([4 * scale, 3 * scale]);
      context.lineWidth = 1.2 * scale;
      context.strokeStyle = colors.ink;
      context.stroke();
      context.setLineDash([]);
    }
  }

  pixelOf(row) {
    const { X, Y, ax, bx, ay, by } = this.place(this.marks.width, this.marks.height);
    return X[row] === 65535 ? null : [X[row] * ax + bx, Y[row] * ay + by];
  }

  outlineOfTrail() {
    const { trail } = this;
    if (state.tool === "lasso") return trail;
    const [x, y] = trail[0],
      [u, v] = trail.at(-1);
    return [
      [x, y],
      [u, y],
      [u, v],
      [x, v],
    ];
  }

  // The row nearest to a place of the frame, or -1.
  rowAt(x, y, reach = 9) {
    const key = `${state.x} ${state.y}`;
    const place = this.place(this.frame.clientWidth, this.frame.clientHeight);
    if (this.gridKey !== key) {
      this.grid = gridOf(place.X, place.Y);
      this.gridKey = key;
    }
    return nearest(this.grid, place, x, y, reach);
  }

  listen() {
    const { marks } = this;
    const at = (event) => {
      const box = marks.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    marks.addEventListener("pointerdown", (event) => {
      if (event.button === 0) this.begin(event, at(event));
    });
    marks.addEventListener("pointermove", (event) =>
      this.drag ? this.move(event, at(event)) : this.hover(event, at(event)),
    );
    marks.addEventListener("pointerup", (event) => {
      if (this.drag) this.end(event, at(event));
    });
    marks.addEventListener("pointercancel", () => this.leave());
    marks.addEventListener("pointerleave", () => {
      if (!this.drag) this.leave();
    });
    marks.addEventListener("dblclick", () => {
      this.home();
      this.changed();
    });
    marks.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
        event.preventDefault();
        this.zoomAt(at(event), Math.exp(-event.deltaY / 200));
      },
      { passive: false },
    );
    marks.addEventListener("keydown", (event) => this.key(event));
    marks.addEventListener("blur", () => this.leave());
  }

  hover(event, [x, y]) {
    const row = this.rowAt(x, y, event.pointerType === "touch" ? 18 : 9);
    pointAt(row);
    showTip(row < 0 ? null : tipOfRow(row, this.trial), event.clientX, event.clientY);
  }

  leave() {
    this.drag = this.trail = null;
    pointAt(-1);
    showTip(null);
    this.drawMarks();
  }

  begin(event, at) {
    if (event.pointerType === "touch" && state.tool === "look") {
      this.hover(event, at);
      return;
    }
    this.marks.setPointerCapture(event.pointerId);
    this.drag = { at, view: { ...this.view }, before: state.flags.slice(), moved: false };
  }

  move(event, [x, y]) {
    const { drag } = this;
    if (!drag.moved && Math.hypot(x - drag.at[0], y - drag.at[1]) < 3) return;
    drag.moved = true;
    showTip(null);
    if (state.tool === "pan") {
      this.view.x = drag.view.x + (x - drag.at[0]) / this.frame.clientWidth / this.view.zoom;
      this.view.y = drag.view.y - (y - drag.at[1]) / this.frame.clientHeight / this.view.zoom;
      this.changed();
    } else if (state.tool !== "look") {
      (this.trail ??= [drag.at]).push([x, y]);
      if (!drag.asked) {
        drag.asked = true;
        requestAnimationFrame(() => {
          drag.asked = false;
          if (this.drag === drag) this.selectTrail(event);
        });
      }
      this.drawMarks();
    }
  }

  end(event, [x, y]) {
    const { drag } = this;
    if (this.trail) this.selectTrail(event);
    else if (!drag.moved) {
      const row = this.rowAt(x, y),
        how = howOf(event);
      if (row >= 0 || how === "new") select((i) => i === row, how, drag.before);
    }
    this.drag = this.trail = null;
    this.drawMarks();
  }

  selectTrail(event) {
    const corners = this.outlineOfTrail(),
      place = this.place(this.frame.clientWidth, this.frame.clientHeight);
    const xs = corners.map((c) => c[0]),
      ys = corners.map((c) => c[1]);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const box = state.tool === "box";
    select(
      (row) => {
        if (place.X[row] === 65535) return false;
        const x = place.X[row] * place.ax + place.bx,
          y = place.Y[row] * place.ay + place.by;
        return x >= left && x <= right && y >= top && y <= bottom && (box || within(corners, x, y));
      },
      howOf(event),
      this.drag.before,
    );
  }

  zoomAt([x, y], factor) {
    const { view } = this,
      w = this.frame.clientWidth,
      h = this.frame.clientHeight;
    const zoom = Math.max(0.5, Math.min(200, view.zoom * factor));
    view.x += (x / w - 0.5) * (1 / zoom - 1 / view.zoom);
    view.y -= (y / h - 0.5) * (1 / zoom - 1 / view.zoom);
    view.zoom = zoom;
    this.changed();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = [this.frame.clientWidth / 2, this.frame.clientHeight / 2],
      step = 0.1 / this.view.zoom;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (moves[event.key]) {
      this.view.x += moves[event.key][0];
      this.view.y += moves[event.key][1];
      this.changed();
    } else if (event.key === "+" || event.key === "=") this.zoomAt(middle, 1.3);
    else if (event.key === "-") this.zoomAt(middle, 1 / 1.3);
    else if (event.key === "0") {
      this.home();
      this.changed();
    } else if (event.key === "n" || event.key === "p") this.step(event.key === "n" ? 1 : -1);
    else if (event.key === " " && state.row >= 0) select((i) => i === state.row, "add", state.flags.slice());
    else if (event.key === "Escape") {
      this.leave();
      clearSelection();
    } else return;
    event.preventDefault();
  }

  // To the next or the previous row that is drawn here.
  step(by) {
    const { X } = this.place(1, 1);
    let row = state.row < 0 && by < 0 ? M : state.row;
    do row += by;
    while (row >= 0 && row < M && (X[row] === 65535 || state.flags[row] & HIDDEN));
    if (row < 0 || row >= M) return;
    pointAt(row);
    const box = this.marks.getBoundingClientRect(),
      [x, y] = this.pixelOf(row),
      scale = this.marks.width / box.width;
    showTip(tipOfRow(row, this.trial), box.left + x / scale, box.top + y / scale);
    say(
      linesOfRow(row, this.trial)
        .map((line) => line.filter(Boolean).join(" "))
        .join(", "),
    );
  }
}

const howOf = (event) => (event.shiftKey ? "add" : event.altKey ? "take" : "new");

function within(corners, x, y) {
  let inside = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i++) {
    const [ax, ay] = corners[i],
      [bx, by] = corners[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

const MOST_COLUMNS = 8;

// What is known of a row: its number, its label, its trust in a trial, its values.
function linesOfRow(row, trial) {
  const lines = [["", `Row ${rowNumber(row)}`]];
  if (table.label) lines.push([table.label.name, labelOf(row)]);
  for (const measure of study.measures) {
    if (trial && trial.per_row[measure.name]) lines.push([measure.name, `≈ ${number(trustOf(trial, measure, row))}`]);
  }
  const first = table.kept.filter((column) => column.name === state.choice.name);
  const rest = table.kept.filter((column) => column.name !== state.choice.name);
  for (const column of [...first, ...rest].slice(0, MOST_COLUMNS))
    lines.push([column.name, number(valueOf(column, row), 4)]);
  if (table.kept.length > MOST_COLUMNS)
    lines.push(["", `and ${some(table.kept.length - MOST_COLUMNS, "more column")}`]);
  return lines;
}

const tipOfRow = (row, trial) =>
  el(
    "table",
    null,
    linesOfRow(row, trial).map(([name, value], i) =>
      name
        ? el("tr", null, el("th", null, name), el("td", null, value))
        : el("tr", { class: i ? "more" : "first" }, el("td", { colspan: 2 }, value)),
    ),
  );

function showTip(content, x = 0, y = 0) {
  const tip = find("tip");
  tip.hidden = !content;
  if (!content) return;
  tip.replaceChildren(content);
  const { offsetWidth: width, offsetHeight: height } = tip,
    room = document.documentElement.clientWidth;
  const left = x + 16 + width > room ? Math.max(4, x - 16 - width) : x + 16;
  tip.style.left = `${Math.min(left, Math.max(4, room - width - 4))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - height - 4))}px`;
}

function buildPanels(into) {
  const sight = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const panel = panels[target.dataset.place];
        panel.near = isIntersecting;
        if (isIntersecting && waiting.has(panel)) redraw(panel);
      }
    },
    { rootMargin: "300px" },
  );
  const sizes = new ResizeObserver((entries) =>
    entries.forEach(({ target }) => redraw(panels[target.closest("article").dataset.place])),
  );
  for (const trial of drawnTrials) {
    const panel = new Panel(trial);
    panel.node.dataset.place = panels.push(panel) - 1;
    into.append(panel.node);
    waiting.add(panel);
    sight.observe(panel.node);
    sizes.observe(panel.frame);
  }
  const all = () => panels.forEach(redraw);
  on("colors", all);
  on("rows", all);
  on("axes", all);
  on("row", () =>
    panels.forEach((panel) => {
      if (panel.near) panel.drawMarks();
    }),
  );
  on("trial", () => panels.forEach((panel) => panel.node.classList.toggle("lit", panel.trial === highlighted())));
}
