// Pointer and keyboard in a panel.

import { insideBox, insideLasso, underBrush } from "./rows.js";

const SLOW = 40; // milliseconds: a selection that takes longer is made at the end of the gesture only

export class Gestures {
  /** @param {View} view @param {Panel} panel */
  constructor(view, panel) {
    this.view = view;
    this.panel = panel;
    /** @type {Drag | null} */
    this.drag = null;
    /** @type {Map<number, Point>} */
    this.fingers = new Map();
    /** @type {{ x: number, y: number, event: PointerEvent } | null} */
    this.pointer = null;
    this.hovering = 0;
    this.slow = 0; // milliseconds that the last selection took
    const { plot } = panel;
    /** @type {(event: MouseEvent) => Point} */
    const at = (event) => {
      const box = plot.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    plot.addEventListener("pointerdown", (event) => {
      if (event.button === 0) this.begin(event, at(event));
    });
    plot.addEventListener("pointermove", (event) =>
      this.drag ? this.move(this.drag, event, at(event)) : this.hover(event, at(event)),
    );
    plot.addEventListener("pointerup", (event) => this.end(event, at(event)));
    plot.addEventListener("pointercancel", () => this.leave());
    plot.addEventListener("pointerleave", () => {
      if (!this.drag) this.leave();
    });
    plot.addEventListener("dragstart", (event) => event.preventDefault()); // marked text, as after Ctrl+A
    plot.addEventListener("dblclick", () => panel.toggleZoom());
    plot.addEventListener("wheel", (event) => this.wheel(event, at(event)), { passive: false });
    plot.addEventListener("keydown", (event) => this.key(event));
    plot.addEventListener("blur", () => this.leave());
  }

  /** @type {(event: WheelEvent, at: Point) => void} */
  wheel(event, at) {
    if (this.view.wheel === "ctrl" && !event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    this.view.tip.hide();
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoomAt(at, Math.exp((-event.deltaY * lines) / (event.ctrlKey ? 150 : 350)));
  }

  /** @type {(event: PointerEvent, at: Point) => void} */
  hover(event, [x, y]) {
    this.pointer = { x, y, event };
    if (this.view.settings.tool === "brush") {
      this.panel.brushAt = [x, y];
      this.view.stage.askMarks();
    }
    if (this.hovering) return;
    this.hovering = requestAnimationFrame(() => {
      this.hovering = 0;
      if (!this.pointer || this.drag) return;
      const { x: px, y: py, event: last } = this.pointer,
        reach = last.pointerType === "touch" ? 18 : 9,
        placed = this.panel.placedAt(px, py, reach);
      const row = placed >= 0 ? -1 : this.panel.rowAt(px, py, reach);
      this.view.hover(row, this.panel);
      if (placed >= 0) this.view.tip.showPlaced(this.panel, placed, last.clientX, last.clientY);
      else this.view.tip.showRow(row, this.panel, last.clientX, last.clientY);
    });
  }

  leave() {
    this.drag = this.panel.trail = this.pointer = this.panel.brushAt = null;
    this.fingers.clear();
    this.view.hover(-1, this.panel);
    this.view.tip.hide();
    this.view.stage.askMarks();
  }

  /** @type {(event: PointerEvent, at: Point) => void} */
  begin(event, at) {
    const { panel, view } = this;
    this.fingers.set(event.pointerId, at);
    const { tool } = view.settings,
      pinch = this.fingers.size === 2;
    this.drag = {
      pinch,
      tool: tool === "look" && howOf(event) !== "new" ? "box" : tool, // Shift or Alt select also while looking
      at,
      last: at,
      zoomed: { ...panel.zoomed },
      solid: panel.solid && { ...panel.solid },
      moved: pinch,
      asked: false,
      before: null,
      hits: null,
    };
    if (pinch) {
      panel.trail = null;
      return;
    }
    panel.plot.setPointerCapture(event.pointerId);
    panel.trailTool = this.drag.tool;
    this.slow = Math.min(this.slow, SLOW); // each gesture tries once to select while it goes on
    if (tool === "brush") this.brush(this.drag, event, at);
  }

  /** @type {(drag: Drag, event: PointerEvent, at: Point) => void} */
  move(drag, event, [x, y]) {
    const { panel, view } = this;
    if (drag.pinch) {
      this.pinch(event, [x, y]);
      return;
    }
    if (!drag.moved && Math.hypot(x - drag.at[0], y - drag.at[1]) < 3) return;
    drag.moved = true;
    view.tip.hide();
    const { tool } = drag;
    if (tool === "look") {
      if (panel.solid && drag.solid) {
        panel.solid = {
          yaw: drag.solid.yaw + (x - drag.at[0]) / 150,
          pitch: Math.max(-Math.PI / 2, Math.min(Math.PI / 2, drag.solid.pitch + (y - drag.at[1]) / 150)),
        };
        view.stage.ask([panel], true);
      } else
        view.zoomTo(
          panel,
          {
            zoom: panel.zoomed.zoom,
            x: drag.zoomed.x + (x - drag.at[0]) / panel.wide / panel.zoomed.zoom,
            y: drag.zoomed.y - (y - drag.at[1]) / panel.high / panel.zoomed.zoom,
          },
          true,
        );
    } else if (tool === "brush") this.brush(drag, event, [x, y]);
    else {
      (panel.trail ??= [drag.at]).push([x, y]);
      this.later(drag, event);
    }
    view.stage.askMarks();
  }

  /** @type {(event: PointerEvent, at: Point) => void} */
  pinch(event, at) {
    const before = [...this.fingers.values()];
    this.fingers.set(event.pointerId, at);
    const after = [...this.fingers.values()];
    if (after.length < 2) return;
    /** @type {(points: Point[]) => number} */
    const apart = ([p, q]) => Math.hypot(p[0] - q[0], p[1] - q[1]) || 1,
      between = (/** @type {Point[]} */ [p, q]) => [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2],
      [x, y] = between(after),
      [u, v] = between(before),
      { panel } = this,
      { zoom } = panel.zoomed;
    this.view.zoomTo(
      panel,
      { zoom, x: panel.zoomed.x + (x - u) / panel.wide / zoom, y: panel.zoomed.y - (y - v) / panel.high / zoom },
      true,
    );
    this.zoomAt([x, y], apart(after) / apart(before));
  }

  /** @type {(event: PointerEvent, at: Point) => void} */
  end(event, [x, y]) {
    const { panel, view, drag } = this;
    this.fingers.delete(event.pointerId);
    if (!drag) return;
    if (drag.pinch) {
      if (!this.fingers.size) this.drag = null;
      return;
    }
    if (panel.trail && (drag.moved || drag.tool === "brush")) this.select(drag, event, false);
    else if (!drag.moved) this.click(event, x, y);
    this.drag = panel.trail = null;
    view.stage.askMarks();
  }

  /** @type {(event: PointerEvent, x: number, y: number) => void} */
  click(event, x, y) {
    const { panel, view } = this,
      row = panel.rowAt(x, y),
      how = howOf(event);
    if (view.settings.tool !== "look" || how !== "new") {
      if (row >= 0) view.selectRows([row], how);
      else if (how === "new") view.clearSelection();
    }
    view.emit("click", { row, key: panel.key, event });
  }

  /** @type {(drag: Drag, event: PointerEvent, at: Point) => void} */
  brush(drag, event, at) {
    const { panel, view } = this;
    if (!panel.frame || panel.motion) return;
    drag.hits ??= new Uint8Array(view.table.n);
    underBrush(panel.frame, panel.place(), drag.last, at, view.settings.brush, drag.hits);
    drag.last = panel.brushAt = at;
    (panel.trail ??= []).push(at);
    this.later(drag, event);
  }

  // Select while the pointer moves, once per frame, if that is fast enough.
  /** @type {(drag: Drag, event: PointerEvent) => void} */
  later(drag, event) {
    if (drag.asked || this.slow > SLOW) return;
    drag.asked = true;
    requestAnimationFrame(() => {
      drag.asked = false;
      if (this.drag === drag) this.select(drag, event, true);
    });
  }

  /** @type {(drag: Drag, event: PointerEvent, live: boolean) => void} */
  select(drag, event, live) {
    const { panel, view } = this,
      { tool } = drag,
      began = performance.now();
    if (!panel.frame || panel.motion) return;
    drag.before ??= view.rows.flags.slice();
    const hits = (drag.hits ??= new Uint8Array(view.table.n)),
      place = panel.place();
    if (tool !== "brush") {
      const trail = panel.trail ?? [drag.at],
        corners = tool === "box" ? [trail[0], trail[trail.length - 1]] : trail,
        find = tool === "box" ? insideBox : insideLasso;
      find(panel.frame, place, corners, hits);
      for (const { slot, at } of panel.edgeSlots(place, panel.wide, panel.high)) {
        const one = new Uint8Array(1); // rows at the edge are where their arrows are
        find({ X: [at[0]], Y: [-at[1]] }, PIXELS, corners, one);
        hits[slot] = one[0];
      }
    }
    view.applyHits(hits, howOf(event), drag.before, live);
    this.slow = performance.now() - began;
  }

  /** @type {(at: Point, factor: number) => void} */
  zoomAt([x, y], factor) {
    const { panel, view } = this,
      { zoomed } = panel;
    if (!panel.frame) return;
    const least = panel.frame.far.length ? panel.wholeZoom().zoom / 2 : 0.5,
      zoom = Math.max(least, Math.min(2000, zoomed.zoom * factor)),
      by = 1 / zoom - 1 / zoomed.zoom;
    view.zoomTo(
      panel,
      { zoom, x: zoomed.x + (x / panel.wide - 0.5) * by, y: zoomed.y - (y / panel.high - 0.5) * by },
      true,
    );
  }

  /** @type {(event: KeyboardEvent) => void} */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { panel, view } = this,
      step = 0.1 / panel.zoomed.zoom,
      moves = /** @type {Record<string, Point>} */ ({
        ArrowLeft: [1, 0],
        ArrowRight: [-1, 0],
        ArrowUp: [0, -1],
        ArrowDown: [0, 1],
      }),
      move = moves[event.key];
    if (move && panel.solid) {
      panel.solid = {
        yaw: panel.solid.yaw + move[0] * 0.12,
        pitch: Math.max(-Math.PI / 2, Math.min(Math.PI / 2, panel.solid.pitch - move[1] * 0.12)),
      };
      view.stage.ask([panel], true);
    } else if (move)
      view.zoomTo(
        panel,
        { zoom: panel.zoomed.zoom, x: panel.zoomed.x + move[0] * step, y: panel.zoomed.y + move[1] * step },
        true,
      );
    else if (event.key === "+" || event.key === "=") this.zoomAt([panel.wide / 2, panel.high / 2], 1.3);
    else if (event.key === "-") this.zoomAt([panel.wide / 2, panel.high / 2], 1 / 1.3);
    else if (event.key === "0") panel.toggleZoom();
    else if (event.key === "n" || event.key === "p") this.step(event.key === "n" ? 1 : -1);
    else if (event.key === " " && view.hovered >= 0) view.selectRows([view.hovered], "add");
    else if (view.settings.tool === "brush" && (event.key === "[" || event.key === "]"))
      view.set({ brush: Math.max(4, Math.min(120, view.settings.brush * (event.key === "]" ? 1.3 : 1 / 1.3))) });
    else if (event.key === "Enter") {
      if (!(view.hovered >= 0 && view.emit("click", { row: view.hovered, key: panel.key, event }))) panel.enlarge();
    } else if (event.key === "Escape") {
      this.leave();
      view.show(null);
      view.clearSelection();
    } else return;
    event.preventDefault();
  }

  // Go to the next or previous row of this panel.
  /** @type {(by: number) => void} */
  step(by) {
    const { panel, view } = this;
    if (!panel.frame) return;
    const { n } = view.table;
    let row = view.hovered < 0 && by < 0 ? n : view.hovered;
    do row += by;
    while (row >= 0 && row < n && (!view.isShown(row) || !panel.pixelOf(row)));
    if (row < 0 || row >= n) return;
    view.hover(row, panel);
    const box = panel.plot.getBoundingClientRect(),
      [x, y] = /** @type {Point} */ (panel.pixelOf(row)); // it is on the map
    view.tip.showRow(row, panel, box.left + x, box.top + y);
    view.say(
      view.tip
        .linesOf(row, panel)
        .map((line) => line.filter(Boolean).join(" "))
        .join(", "),
    );
  }
}

const PIXELS = { ax: 1, bx: 0, ay: -1, by: 0 };
/** @type {(event: { shiftKey: boolean, altKey: boolean }) => How} */
const howOf = (event) => (event.shiftKey ? "add" : event.altKey ? "take" : "new");
