// A view: any number of linked maps of one table, drawn on one canvas. Its state belongs to it: a page can have several.

import { THEMES } from "./colors.js";
import { coloringOf, paletteOf } from "./colorings.js";
import { el, offer } from "./elements.js";
import { csvOf, pngOf, svgOf } from "./files.js";
import { randomOrder } from "./frames.js";
import { Gestures } from "./gestures.js";
import { arrange } from "./layout.js";
import { createLegend } from "./legend.js";
import { LinkedRows } from "./linked_rows.js";
import { MapData, Table } from "./model.js";
import { Panel } from "./panel.js";
import { RowStates } from "./rows.js";
import { restoreState, savedState } from "./saving.js";
import { Stage } from "./stage.js";
import { createToolbar } from "./toolbar.js";
import { Tooltip } from "./tooltip.js";

const KEYS =
  "Keys: arrows move, plus and minus zoom, 0 resets the zoom, n and p go to the next and previous row, space selects it, [ and ] change the size of the brush, Enter opens the map large, Escape clears the selection.";

// options: table, maps, layout ("grid", "focus", "single" or { mode, key, size }), fit ("flow" or "fill"), wheel ("zoom" or
// "ctrl": only with the Ctrl key), theme ("auto", "light" or "dark"), tool, coloring, toolbar and legend (true, false, or
// the element to put them in), actions and statusActions ((map) => [{ text, run }], in the menu and beside the progress).
export function createView(root, options) {
  return new View(root, options);
}

// Counted per page: two widgets of a notebook are two copies of this module.
function nextNumber() {
  globalThis.lowlandViews = (globalThis.lowlandViews ?? 0) + 1;
  return globalThis.lowlandViews;
}

export class View extends LinkedRows {
  constructor(root, options) {
    super();
    const {
      table,
      maps = [],
      layout = "grid",
      fit = "flow",
      wheel = fit === "fill" ? "zoom" : "ctrl",
      theme = "auto",
    } = options;
    const coarse = matchMedia("(pointer: coarse)").matches;
    Object.assign(this, {
      root,
      fit,
      wheel,
      number: nextNumber(),
      parts: new Set([root]),
      panels: [],
      maps: [],
      hiddenClasses: new Set(),
      themeChoice: theme,
    });
    this.table = table instanceof Table ? table : new Table(table);
    this.layout =
      typeof layout === "string"
        ? { mode: layout, key: null, size: "medium" }
        : { mode: "grid", key: null, size: "medium", ...layout };
    this.settings = {
      tool: coarse ? "look" : (options.tool ?? "look"),
      size: 1,
      density: false,
      linked: false,
      equal: true,
      brush: 22,
      axes: { x: 0, y: 1, z: 2 },
      ...options.settings,
    };
    this.compact = options.compact ?? false; // whether the switches that are seldom used are in a menu
    this.actions = options.actions ?? (() => []);
    this.statusActions = options.statusActions ?? (() => []);
    this.rows = new RowStates(randomOrder(this.table.n));
    this.build(options);
    for (const map of maps) this.add(map, true);
    this.rearrange();
    this.emit("maps");
    const label = this.table.labelColumn;
    this.ready = this.colorBy(options.coloring ?? (label?.colors ? { kind: "label" } : { kind: "none" }));
  }

  build({ toolbar = true, legend = true }) {
    const { root } = this;
    root.classList.add("lowland-view");
    root.dataset.fit = this.fit;
    this.keys = el("p", { id: `lv-keys-${this.number}`, class: "lv-unseen" }, KEYS);
    this.live = el("div", { class: "lv-unseen", role: "status", "aria-live": "polite" });
    this.host = el("div", { class: "lv-panels" });
    this.scroller = el("div", { class: "lv-scroll" }, this.host);
    this.tip = new Tooltip(this);
    this.night = matchMedia("(prefers-color-scheme: dark)");
    this.onNight = () => this.retheme();
    this.night.addEventListener("change", this.onNight);
    this.theme = THEMES.light;
    this.coloring = { spec: { kind: "none" }, type: "one", name: "", shadesOf: () => this.plain, missing: false };
    this.plain = new Uint8Array(this.table.n);
    this.palette = paletteOf(this.coloring, this.theme);
    this.stage = new Stage(this, this.host);
    this.retheme();
    const put = (where, make) => {
      if (!where) return null;
      const node = make(this);
      if (where === true) root.append(node);
      else where.append(node);
      return node;
    };
    this.toolbar = put(toolbar, createToolbar);
    this.body = el("div", { class: "lv-body" }, this.scroller);
    root.append(this.body);
    this.legend = legend === true ? put(this.body, createLegend) : put(legend, createLegend);
    root.append(this.keys, this.live, this.tip.node);
    this.rooms = new ResizeObserver(() => {
      if (this.fit === "fill") this.rearrange();
    });
    this.rooms.observe(this.scroller);
    this.set({});
  }

  close() {
    this.stage.close();
    this.rooms.disconnect();
    this.night.removeEventListener("change", this.onNight);
    for (const part of this.parts) part.replaceChildren();
  }

  // --- maps

  panelOf(key) {
    return this.panels.find((panel) => panel.key === key) ?? null;
  }

  mapOf(key) {
    return this.maps.find((map) => map.key === key) ?? null;
  }

  add(data, quiet = false) {
    const map = data instanceof MapData ? data : new MapData(data);
    if (this.mapOf(map.key)) return this.update(map.key, map);
    this.checkRows(map);
    this.maps.push(map);
    const panel = new Panel(this, map);
    panel.plot.setAttribute("aria-describedby", this.keys.id);
    panel.gestures = new Gestures(this, panel);
    if (this.settings.linked && this.panels.length) panel.zoomed = { ...this.panels[0].zoomed };
    this.panels.push(panel);
    this.host.append(panel.node);
    this.stage.sizes.observe(panel.plot);
    if (!quiet) {
      this.rearrange();
      this.recolorTrust();
      this.emit("maps");
    }
    return map;
  }

  remove(key) {
    const panel = this.panelOf(key);
    if (!panel) return;
    panel.node.remove();
    this.stage.sizes.unobserve(panel.plot);
    this.panels = this.panels.filter((each) => each !== panel);
    this.maps = this.maps.filter((map) => map.key !== key);
    for (const other of this.panels) {
      if (other.map.key !== key) continue;
      other.map = this.mapOf(other.key); // it had morphed to the map that is gone
      other.tell();
    }
    if (this.layout.key === key)
      this.layout = { ...this.layout, key: null, mode: this.layout.mode === "single" ? "grid" : this.layout.mode };
    this.rearrange();
    this.emit("maps");
  }

  checkRows({ name, coordinates, n }) {
    if (coordinates && n !== this.table.n)
      throw new RangeError(`${name}: the map has ${n} rows, the table ${this.table.n}.`);
  }

  // Change a map. New coordinates of as many rows move the points there.
  update(key, fields) {
    const map = this.mapOf(key);
    if (!map) return null;
    const { coordinates } = fields,
      replaced = coordinates && coordinates !== map.coordinates,
      showing = this.panels.filter((panel) => panel.map === map),
      before = showing.map((panel) => replaced && panel.frame && panel.snapshot()),
      components = map.components;
    Object.assign(map, fields);
    if (coordinates) map.n = coordinates.length / map.components;
    this.checkRows(map);
    showing.forEach((panel, i) => {
      if (replaced) {
        this.neighborCache.clear();
        if (components !== map.components && map.components < 3) panel.solid = null;
        if (before[i] && before[i].X.length === map.n)
          this.stage.move(panel, before[i], map.status === "running" ? 350 : 700);
        else this.stage.ask([panel]);
      } else if ("placed" in fields) this.stage.ask([panel]);
      panel.tell();
    });
    if (fields.trust) this.recolorTrust();
    this.emit("maps");
    return map;
  }

  // The panel of a map moves its points to another map.
  morph(key, toKey) {
    const panel = this.panelOf(key),
      to = this.mapOf(toKey);
    if (!panel || !to || panel.map === to) return;
    const before = panel.frame && panel.snapshot();
    panel.map = to;
    if (to.components < 3) panel.solid = null;
    panel.tell();
    if (before && to.coordinates) this.stage.move(panel, before);
    else this.stage.ask([panel]);
    this.emit("maps");
  }

  sort(compare) {
    this.panels.sort(compare);
    for (const panel of this.panels) this.host.append(panel.node);
    this.rearrange();
  }

  // --- layout, zoom and settings

  arrange(layout) {
    this.layout = { ...this.layout, ...layout };
    this.rearrange();
    this.emit("layout");
  }

  // Open a panel alone and large, or go back with null.
  open(key) {
    const back = key === null;
    if (!back && this.layout.mode !== "single") this.before = this.layout.mode;
    const focused = this.panels.find(
      (panel) => panel.plot === document.activeElement || panel.node.contains(document.activeElement),
    );
    this.arrange({ mode: back ? (this.before ?? "grid") : "single", key: back ? this.layout.key : key });
    if (focused && !focused.node.hidden) focused.plot.focus();
  }

  rearrange() {
    arrange(this);
    this.stage.ask(this.panels);
  }

  zoomTo(panel, zoomed, moving = true) {
    const changed = this.settings.linked ? this.panels : [panel];
    for (const each of changed) {
      each.zoomed = { ...zoomed };
      each.reset.hidden = each.atHome();
    }
    this.stage.ask(changed, moving);
    this.emit("zoom");
  }

  set(fields) {
    const axes = fields.axes && JSON.stringify(fields.axes) !== JSON.stringify(this.settings.axes),
      equal = "equal" in fields && fields.equal !== this.settings.equal,
      before = axes || equal ? this.panels.map((panel) => panel.frame && panel.snapshot()) : [];
    Object.assign(this.settings, fields);
    this.host.dataset.tool = this.settings.tool;
    if (axes || equal) {
      this.panels.forEach((panel, i) => {
        if (axes) panel.zoomed = { zoom: 1, x: 0, y: 0 };
        if (before[i]) this.stage.move(panel, before[i]);
      });
      this.emit("axes");
    } else this.stage.ask(this.panels);
    this.emit("settings");
  }

  setTheme(choice) {
    this.themeChoice = choice;
    this.retheme();
  }

  retheme() {
    const dark = this.themeChoice === "dark" || (this.themeChoice === "auto" && this.night.matches);
    this.theme = THEMES[dark && !this.stage.printing ? "dark" : "light"];
    for (const part of this.parts) part.dataset.theme = this.theme.name;
    this.palette = paletteOf(this.coloring, this.theme);
    this.stage.ask(this.panels);
    this.emit("theme");
  }

  // Before and after printing: all panels at once, on white.
  print(on) {
    this.stage.printing = on;
    this.retheme();
    if (on) {
      while (this.stage.waiting.size) {
        const left = this.stage.waiting.size;
        this.stage.draw();
        if (this.stage.waiting.size === left) break;
      }
    }
  }

  // --- colors

  async colorBy(spec) {
    const asked = (this.coloringAsked = Symbol("coloring"));
    let coloring;
    try {
      coloring = await coloringOf(spec, this.table, this.maps, this.rows.order);
    } catch (error) {
      this.emit("problem", {
        text: "The values to color by could not be loaded. Choose another coloring, or try again.",
        error,
      });
      this.emit("colors", this.coloring.spec);
      return;
    }
    if (asked !== this.coloringAsked) return; // another one was chosen meanwhile
    const classes = coloring.type === "classes" && coloring.codes === this.coloring.codes;
    this.coloring = coloring;
    this.palette = paletteOf(coloring, this.theme);
    if (!classes && this.hiddenClasses.size) this.hideClasses(new Set());
    this.stage.ask(this.panels);
    this.emit("colors", coloring.spec);
  }

  recolorTrust() {
    if (this.coloring.spec.kind === "trust") this.colorBy(this.coloring.spec);
  }

  hideClasses(hidden) {
    this.hiddenClasses = hidden;
    this.applyFilter();
    this.emit("classes", hidden);
  }

  // --- files and state

  png(key, options) {
    return pngOf(this.panelOf(key), options);
  }

  svg(key, options) {
    return svgOf(this.panelOf(key), options);
  }

  async savePicture(key, kind) {
    const name =
      this.panelOf(key)
        .map.name.replace(/[^\w.-]+/g, "_")
        .slice(0, 80) || "map";
    offer(await this[kind](key), `${name}.${kind}`);
  }

  csv(rows = this.selectedRows()) {
    return csvOf(this, rows);
  }

  save() {
    return savedState(this);
  }

  restore(state) {
    return restoreState(this, state);
  }
}
