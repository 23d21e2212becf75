// The two canvases that all panels share, and when they are drawn: points below, marks such as rings and lassos above.

import { contextOf, el } from "./elements.js";
import { drawMarks } from "./marks.js";
import { Painter } from "./painter.js";

const REST = 140; // milliseconds without movement until all points are drawn
const FRAME = 24; // milliseconds that drawing may take while something moves
const BEYOND = 500; // pixels above and below what is in sight that are drawn in advance
const MOST_PIXELS = 2.4e7;

export class Stage {
  /** @param {View} view @param {HTMLElement} host */
  constructor(view, host) {
    this.view = view;
    this.host = host;
    /** @type {Set<Panel>} */
    this.waiting = new Set();
    /** @type {Set<Panel>} */
    this.sampled = new Set();
    this.budget = 300000;
    this.printing = false;
    /** @type {{ spent: number, written: number, moving: boolean, at: number }[]} */
    this.frames = [];
    this.asked = this.resting = this.preparing = 0; // what is to come: a frame, a rest, an idle moment
    this.moving = this.marked = this.closed = false;
    this.top = this.high = this.wide = this.hostHigh = 0;
    this.scale = 1;
    this.measured = "";
    this.painter = new Painter();
    this.points = el("canvas", { class: "lv-canvas", "aria-hidden": "true" });
    this.marks = el("canvas", { class: "lv-canvas", "aria-hidden": "true" });
    host.append(this.points, this.marks);
    this.sizes = new ResizeObserver(() => this.ask(view.panels));
    this.sizes.observe(host);
    this.onScroll = () => {
      if (!this.covers()) this.ask(view.panels);
    };
    addEventListener("scroll", this.onScroll, { capture: true, passive: true });
    addEventListener("resize", this.onScroll);
  }

  close() {
    this.sizes.disconnect();
    removeEventListener("scroll", this.onScroll, { capture: true });
    removeEventListener("resize", this.onScroll);
    cancelAnimationFrame(this.asked);
    clearTimeout(this.resting);
    this.closed = true;
  }

  // Draw panels in the next frame. While something moves, at most a sample of their points.
  /** @type {(panels: Panel[], moving?: boolean) => void} */
  ask(panels, moving = false) {
    for (const panel of panels) this.waiting.add(panel);
    if (moving) this.moving = true;
    this.next();
  }

  askMarks() {
    this.marked = false;
    this.next();
  }

  next() {
    if (this.asked || this.closed) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  // The part of the panels that is in sight.
  sight() {
    const box = this.host.getBoundingClientRect(),
      clip = this.view.scroller.getBoundingClientRect();
    if (this.printing) return { box, from: 0, to: box.height };
    const from = Math.max(0, Math.max(0, clip.top) - box.top),
      to = Math.min(box.height, Math.min(innerHeight, clip.bottom) - box.top);
    return { box, from, to: Math.max(from, to) };
  }

  covers() {
    const { from, to } = this.sight();
    return from >= this.top && to <= this.top + this.high;
  }

  // Size and place of the canvases and the rectangles of the panels; whether anything changed.
  measure() {
    const { box, from, to } = this.sight();
    if (!(box.width > 0) || to <= from) return false;
    const all = this.printing || box.height <= to - from + 2 * BEYOND,
      within =
        this.wide === box.width && from >= this.top && to <= this.top + this.high && this.hostHigh === box.height;
    if (!within) {
      this.top = all ? 0 : Math.max(0, Math.floor(from - BEYOND));
      this.high = all
        ? Math.ceil(box.height)
        : Math.min(Math.ceil(box.height - this.top), Math.ceil(to - from + 2 * BEYOND));
      this.wide = box.width;
      this.hostHigh = box.height;
    }
    const wanted = this.printing ? 2 : Math.min(2, Math.max(1, devicePixelRatio || 1));
    this.scale = Math.min(wanted, Math.sqrt(MOST_PIXELS / (this.wide * this.high)));
    const rects = this.view.panels.map((panel) => this.rectOf(panel, box)),
      said = JSON.stringify([
        this.top,
        this.high,
        this.wide,
        this.scale,
        rects,
        this.view.panels.map((panel) => panel.key),
      ]);
    const isNew = this.view.panels.some((panel, i) => rects[i] && !panel.rect); // as when it is opened again at once
    if (said === this.measured && !isNew) return false;
    this.measured = said;
    this.view.panels.forEach((panel, i) => {
      panel.rect = rects[i];
    });
    for (const canvas of [this.points, this.marks]) {
      const wide = Math.round(this.wide * this.scale),
        high = Math.round(this.high * this.scale);
      if (canvas.width !== wide || canvas.height !== high) {
        canvas.width = wide;
        canvas.height = high;
      } else contextOf(canvas).clearRect(0, 0, wide, high);
      canvas.style.width = `${this.wide}px`;
      canvas.style.height = `${this.high}px`;
      canvas.style.top = `${this.top}px`;
    }
    return true;
  }

  // The rectangle of a panel in pixels of the canvas, or null if it is hidden or out of sight.
  /** @type {(panel: Panel, box: DOMRect) => Rect | null} */
  rectOf(panel, box) {
    const at = panel.plot.getBoundingClientRect();
    panel.wide = at.width;
    panel.high = at.height;
    const left = Math.round((at.left - box.left) * this.scale),
      top = Math.round((at.top - box.top - this.top) * this.scale),
      wide = Math.round(at.width * this.scale),
      high = Math.round(at.height * this.scale);
    return wide > 4 && high > 4 && top + high > 0 && top < this.high * this.scale ? { left, top, wide, high } : null;
  }

  draw() {
    const { view } = this;
    if (this.measure()) view.panels.forEach((panel) => this.waiting.add(panel));
    const began = performance.now(),
      context = contextOf(this.points),
      moved = view.panels.filter((panel) => panel.motion?.step(began, this.budget));
    for (const panel of moved) this.waiting.add(panel);
    const moving = this.moving || moved.length > 0,
      panels = [...this.waiting].filter((panel) => panel.rect && view.panels.includes(panel)),
      most = moving ? Math.max(2000, Math.floor(this.budget / Math.max(1, panels.length))) : Infinity;
    let written = 0;
    for (const panel of panels) {
      this.waiting.delete(panel);
      if (panel.rect) written += panel.draw(context, this.painter, panel.rect, this.scale, most);
      if (moving) this.sampled.add(panel);
      else this.sampled.delete(panel);
      if (!moving && performance.now() - began > 14) break; // the others follow in the next frames
    }
    if (panels.length) {
      const spent = performance.now() - began;
      this.frames.push({ spent, written, moving, at: began });
      if (this.frames.length > 600) this.frames.shift();
      if (moving && written > 20000)
        this.budget = Math.max(40000, Math.min(1e6, (this.budget * 2 + (written * FRAME) / Math.max(1, spent)) / 3));
    }
    for (const panel of [...this.waiting, ...this.sampled]) {
      if (panel.rect && view.panels.includes(panel)) continue;
      this.waiting.delete(panel); // what comes in sight is drawn because its rectangle changed
      this.sampled.delete(panel);
    }
    if (!this.marked || panels.length) {
      this.marked = true;
      drawMarks(contextOf(this.marks), view, this.scale);
    }
    this.moving = false;
    const rest = view.panels.some((panel) => panel.motion);
    if (rest || this.waiting.size) this.next();
    if (moving) this.rest();
    else if (!this.waiting.size) this.prepare();
  }

  // When the browser has nothing else to do, prepare the search for the point under the pointer, panel by panel.
  prepare() {
    if (this.preparing || typeof requestIdleCallback === "undefined") return;
    this.preparing = requestIdleCallback(() => {
      this.preparing = 0;
      const open = (panel) => panel.rect && !panel.motion && !panel.solid && !panel.grid && panel.frame;
      if (!this.closed && this.view.panels.find(open)?.index()) this.prepare();
    });
  }

  rest() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      const panels = [...this.sampled];
      this.sampled.clear();
      for (const panel of panels) panel.sampled = null;
      this.ask(panels);
    }, REST);
  }

  get still() {
    return !this.asked && !this.sampled.size && !this.waiting.size;
  }

  // Let the points of a panel move to where they belong from where they were.
  /** @type {(panel: Panel, before: Snapshot, milliseconds?: number) => void} */
  move(panel, before, milliseconds = 700) {
    const { frame } = panel,
      moves =
        !matchMedia("(prefers-reduced-motion: reduce)").matches &&
        panel.rect &&
        frame &&
        before.X.length === frame.X.length;
    panel.motion = moves ? new Motion(panel, frame, before, milliseconds) : null;
    this.ask([panel], panel.motion !== null);
  }
}

const eased = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);

// Points on their way from one frame to another.
export class Motion {
  /** @param {Panel} panel @param {Frame} to @param {Snapshot} from @param {number} milliseconds */
  constructor(panel, to, from, milliseconds) {
    this.panel = panel;
    this.to = to;
    this.from = from;
    this.milliseconds = milliseconds;
    /** @type {number | null} */
    this.began = null;
    this.t = 0;
    /** @type {Frame} */
    this.frame = {
      X: from.X.slice(),
      Y: from.Y.slice(),
      Z: null,
      wide: from.wide,
      high: from.high,
      far: [],
      whole: to.whole,
    };
  }

  // Move on; whether the panel has to be drawn.
  /** @type {(now: number, most: number) => boolean} */
  step(now, most) {
    this.began ??= now;
    const time = Math.min(1, (now - this.began) / this.milliseconds);
    if (time >= 1) {
      this.panel.motion = null;
      this.panel.sampled = null;
      return true;
    }
    this.t = eased(time);
    this.mix(Math.min(most, this.frame.X.length));
    return true;
  }

  /** @type {(many: number) => void} */
  mix(many) {
    const { from, to, frame, t } = this;
    for (let i = 0; i < many; i++) {
      frame.X[i] = from.X[i] + t * (to.X[i] - from.X[i]);
      frame.Y[i] = from.Y[i] + t * (to.Y[i] - from.Y[i]);
    }
    frame.wide = from.wide + t * (to.wide - from.wide);
    frame.high = from.high + t * (to.high - from.high);
  }

  // All points, where they are now.
  now() {
    this.mix(this.frame.X.length);
    return this.frame;
  }
}
