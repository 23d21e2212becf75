// A panel with pointer and keyboard interaction.

class LivePanel extends Panel {
  constructor(trial) {
    super(trial);
    this.listen();
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
    marks.addEventListener("dblclick", () => this.resetView());
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
    const least = farRows(this).length ? wholeView(this).zoom / 2 : 0.5;
    const zoom = Math.max(least, Math.min(200, view.zoom * factor));
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
    else if (event.key === "0") this.resetView();
    else if (event.key === "n" || event.key === "p") this.step(event.key === "n" ? 1 : -1);
    else if (event.key === " " && state.row >= 0) select((i) => i === state.row, "add", state.flags.slice());
    else if (event.key === "Escape") {
      this.leave();
      clearSelection();
    } else return;
    event.preventDefault();
  }

  // Go to the next or previous row of this panel.
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
