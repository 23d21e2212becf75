// A panel: one embedding on two canvases, one for the points and one above it for the highlight and the selection.

// A single component has no second axis: its points are jittered vertically.
let band = null;
const spread = () =>
  (band ??= Uint16Array.from({ length: M }, (_, i) => (Math.imul(i + 1, 2654435761) >>> 16) % 65535));

class Panel {
  constructor(trial) {
    this.trial = trial;
    this.near = false;
    this.outside = []; // rows at the edge, as last drawn
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
      "Reset",
      unseen(` the zoom of ${trial.name}`),
    );
    this.whole = el(
      "button",
      { type: "button", hidden: true, onclick: () => this.showAll() },
      "Show all",
      unseen(` rows of ${trial.name}`),
    );
    this.outsideNote = el("p", { class: "note screen", hidden: true });
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
          isAdvised(trial) && el("span", { class: "chip chosen" }, "recommended"),
        ),
        el("span", { class: "buttons" }, this.reset, this.whole, this.larger),
      ),
      el("p", { class: "facts" }, this.facts()),
      this.frame,
      this.outsideNote,
      this.note(),
    );
    this.node.addEventListener("pointerenter", () => lookAt(trial));
    this.node.addEventListener("pointerleave", () => lookAt(null));
  }

  description() {
    const { Z, name } = this.trial;
    return `${name}: embedding of ${some(M - Z.n_excluded, "row")}`;
  }

  facts() {
    const names = Object.keys(this.trial.scores).slice(0, 2);
    return names.map((name, i) => {
      const said = this.trial.scores[name];
      return [
        i ? " · " : "",
        el("span", { class: "fact" }, `${name} `, el("b", null, score(said.value, 3)), said.labels_seen && dagger()),
      ];
    });
  }

  note() {
    const { Z } = this.trial,
      parts = [];
    if (Z.n_excluded)
      parts.push(
        Z.n_excluded === M ? "No row has coordinates." : `${some(Z.n_excluded, "row")} without coordinates.`,
      );
    if (Z.components === 1) parts.push("One component, on the horizontal axis; vertical positions are jitter.");
    if (Z.components > 2 && Z.low.length === 2) parts.push(`First 2 of ${Z.components} components.`);
    return parts.length ? el("p", { class: "note" }, parts.join(" ")) : null;
  }

  home() {
    this.view = { zoom: 1, x: 0, y: 0 };
  }

  atHome() {
    const { zoom, x, y } = this.view;
    return zoom === 1 && x === 0 && y === 0;
  }

  showAll() {
    this.view = wholeView(this);
    this.changed();
    this.view.whole = true; // fitted again when the size of the panel changes
  }

  // Back to the first view; from there to a view of all rows, if some are outside of it.
  resetView() {
    if (this.atHome() && this.outside.length) {
      this.showAll();
      return;
    }
    this.home();
    this.changed();
  }

  enlarge() {
    const large = this.node.classList.toggle("large");
    this.larger.setAttribute("aria-pressed", String(large));
    this.larger.firstChild.textContent = large ? "Reduce" : "Enlarge";
  }

  // Integer codes of the two axes, and their ranges.
  axes() {
    const { Z } = this.trial,
      kept = Z.low.length;
    const x = Math.min(state.x, kept - 1),
      y = Math.min(state.y, kept - 1);
    const take = (i) => ({ codes: codesOf(Z, i), width: Z.high[i] - Z.low[i] });
    const across = take(x);
    return [across, kept === 1 ? { codes: spread(), width: across.width / 4 } : take(y)];
  }

  // Positions of the rows, in pixels of a canvas of the given size.
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
    return this.atHome() && farRows(this).length
      ? withinPanel(this, { X: x.codes, Y: y.codes, ax, bx, ay, by }, width, height)
      : { X: x.codes, Y: y.codes, ax, bx, ay, by };
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
    if (this.view.whole) Object.assign(this.view, wholeView(this));
    const grown = scale * Math.min(1.7, Math.max(1, width / scale / 420));
    const place = this.place(width, height),
      shades = shadesOf(this.trial);
    this.outside = place.outside ?? [];
    paint(this.points, (context) => {
      drawPoints(context, width, height, place, shades, grown);
      drawArrows(context, place, this.outside, shades, scale);
    });
    this.tellOutside();
    this.node.dataset.drawn = String(Number(this.node.dataset.drawn || 0) + 1);
    this.drawMarks();
  }

  changed() {
    this.view.whole = false;
    this.reset.hidden = this.atHome();
    redraw(this);
  }

  tellOutside() {
    const many = this.outside.length;
    this.reset.hidden = this.atHome();
    this.whole.hidden = !many;
    this.outsideNote.hidden = !farRows(this).length; // its space is kept while the view changes
    this.outsideNote.textContent = many
      ? `${some(many, "row lies", "rows lie")} outside of the axes, marked at the edge. Double-click to show all rows.`
      : "Double-click to fit the axes to most rows.";
  }

  // The ring around the row under the pointer, and the outline of the current selection.
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

  // The row nearest to a position in the frame, or -1.
  rowAt(x, y, reach = 9) {
    const key = `${state.x} ${state.y} ${this.atHome()} ${state.evenAxes}`;
    const place = this.place(this.frame.clientWidth, this.frame.clientHeight);
    if (this.gridKey !== key) {
      this.grid = gridOf(place.X, place.Y);
      this.gridKey = key;
    }
    return nearest(this.grid, place, x, y, reach);
  }
}
