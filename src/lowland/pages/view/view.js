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
import { namesAreShown } from "./names.js";
import { MANY } from "./painter.js";
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
/** @type {(root: HTMLElement, options: ViewOptions) => View} */
export function createView(root, options) {
  return new View(root, options);
}

// Counted per page: two widgets of a notebook are two copies of this module.
/** @type {() => number} */
function nextNumber() {
  globalThis.lowlandViews = (globalThis.lowlandViews ?? 0) + 1;
  return globalThis.lowlandViews;
}

export class View extends LinkedRows {
  /** @type {HTMLElement} */
  host;
  /** @type {HTMLElement} */
  scroller;
  /** @type {HTMLElement} */
  body;
  /** @type {HTMLElement} */
  keys;
  /** @type {Tooltip} */
  tip;
  /** @type {Palette} */
  palette;
  /** @type {HTMLElement | null} */
  toolbar;
  /** @type {HTMLElement | null} */
  legend;
  /** @type {ResizeObserver} */
  rooms;
  /** @type {MediaQueryList} */
  night;
  /** @type {() => void} */
  onNight;
  /** @type {symbol} */
  coloringAsked;

  /** @param {HTMLElement} root @param {ViewOptions} options */
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
    this.root = root;
    this.fit = fit;
    this.wheel = wheel;
    this.number = nextNumber();
    this.parts = new Set([root]);
    this.panels = [];
    /** @type {MapData[]} */
    this.maps = [];
    this.hiddenClasses = new Set();
    /** @type {Map<number, HTMLImageElement>} */
    this.thumbnails = new Map();
    this.themeChoice = theme;
    /** @type {string | null} */
    this.before = null; // the layout to which a large panel goes back
    this.table = table instanceof Table ? table : new Table(table);
    /** @type {Layout} */
    this.layout =
      typeof layout === "string"
        ? { mode: layout, key: null, size: "medium" }
        : { mode: "grid", key: null, size: "medium", ...layout };
    /** @type {Settings} */
    this.settings = {
      tool: coarse ? "look" : (options.tool ?? "look"),
      size: 1,
      density: null,
      names: null,
      linked: false,
      equal: true,
      brush: 22,
      axes: { x: 0, y: 1, z: 2 },
      ...options.settings,
    };
    /** @type {(map: MapData) => Action[]} */
    this.actions = options.actions ?? (() => []);
    /** @type {(map: MapData) => Action[]} */
    this.statusActions = options.statusActions ?? (() => []);
    this.rows = new RowStates(randomOrder(this.table.n));
    this.build(options);
    for (const map of maps) this.add(map, true);
    this.rearrange();
    this.emit("maps");
    const label = this.table.labelColumn;
    this.ready = this.colorBy(options.coloring ?? (label?.colors ? { kind: "label" } : { kind: "none" }));
  }

  /** @type {(options: ViewOptions) => void} */
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
    const plain = new Uint8Array(this.table.n);
    /** @type {Coloring} */
    this.coloring = { spec: { kind: "none" }, type: "one", name: "", shadesOf: () => plain, missing: false };
    this.palette = paletteOf(this.coloring, this.theme);
    this.stage = new Stage(this, this.host);
    this.retheme();
    /** @type {(where: boolean | HTMLElement, make: (view: View) => HTMLElement) => HTMLElement | null} */
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

  /** @type {(key: string) => Panel | null} */
  panelOf(key) {
    return this.panels.find((panel) => panel.key === key) ?? null;
  }

  // The panel of a map that has one.
  /** @type {(key: string) => Panel} */
  shownPanel(key) {
    return /** @type {Panel} */ (this.panelOf(key));
  }

  /** @type {(key: string) => MapData | null} */
  mapOf(key) {
    return this.maps.find((map) => map.key === key) ?? null;
  }

  /** @type {(data: MapData | MapFields, quiet?: boolean) => MapData | null} */
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

  /** @type {(key: string) => void} */
  remove(key) {
    const panel = this.panelOf(key);
    if (!panel) return;
    panel.node.remove();
    this.stage.sizes.unobserve(panel.plot);
    this.panels = this.panels.filter((each) => each !== panel);
    this.maps = this.maps.filter((map) => map.key !== key);
    for (const other of this.panels) {
      if (other.map.key !== key) continue;
      other.map = this.mapOf(other.key) ?? other.map; // it had morphed to the map that is gone
      other.tell();
    }
    if (this.layout.key === key)
      this.layout = { ...this.layout, key: null, mode: this.layout.mode === "single" ? "grid" : this.layout.mode };
    this.rearrange();
    this.emit("maps");
  }

  /** @type {(map: MapData) => void} */
  checkRows({ name, coordinates, n }) {
    if (coordinates && n !== this.table.n)
      throw new RangeError(`${name}: the map has ${n} rows, the table ${this.table.n}.`);
  }

  // Change a map. New coordinates of as many rows move the points there.
  /** @type {(key: string, fields: Partial<MapFields> | MapData) => MapData | null} */
  update(key, fields) {
    const map = this.mapOf(key);
    if (!map) return null;
    const { coordinates } = fields,
      replaced = coordinates && coordinates !== map.coordinates,
      showing = this.panels.filter((panel) => panel.map === map),
      before = showing.map((panel) => (replaced && panel.frame ? panel.snapshot() : null)),
      components = map.components;
    Object.assign(map, fields);
    if (coordinates) map.n = coordinates.length / map.components;
    this.checkRows(map);
    showing.forEach((panel, i) => {
      if (replaced) {
        this.neighborCache.clear();
        if (components !== map.components && map.components < 3) panel.solid = null;
        const from = before[i];
        if (from && from.X.length === map.n) this.stage.move(panel, from, map.status === "running" ? 350 : 700);
        else this.stage.ask([panel]);
      } else if ("placed" in fields || "overlay" in fields) this.stage.ask([panel]);
      panel.tell();
    });
    if (fields.trust) this.recolorTrust();
    this.emit("maps");
    return map;
  }

  // The panel of a map moves its points to another map.
  /** @type {(key: string, toKey: string) => void} */
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

  /** @type {(compare: (a: Panel, b: Panel) => number) => void} */
  sort(compare) {
    this.panels.sort(compare);
    for (const panel of this.panels) this.host.append(panel.node);
    this.rearrange();
  }

  // --- layout, zoom and settings

  /** @type {(layout: Partial<Layout>) => void} */
  arrange(layout) {
    this.layout = { ...this.layout, ...layout };
    this.rearrange();
    this.emit("layout");
  }

  // Open a panel alone and large, or go back with null.
  /** @type {(key: string | null) => void} */
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

  /** @type {(panel: Panel, zoomed: Zoomed, moving?: boolean) => void} */
  zoomTo(panel, zoomed, moving = true) {
    const changed = this.settings.linked ? this.panels : [panel];
    for (const each of changed) {
      each.zoomed = { ...zoomed };
      each.reset.hidden = each.atHome();
    }
    this.stage.ask(changed, moving);
    this.emit("zoom");
  }

  /** @type {(fields: Partial<Settings>) => void} */
  set(fields) {
    const axes = fields.axes && JSON.stringify(fields.axes) !== JSON.stringify(this.settings.axes),
      equal = "equal" in fields && fields.equal !== this.settings.equal,
      before = axes || equal ? this.panels.map((panel) => (panel.frame ? panel.snapshot() : null)) : [];
    Object.assign(this.settings, fields);
    this.host.dataset.tool = this.settings.tool;
    if (axes || equal) {
      this.panels.forEach((panel, i) => {
        if (axes) panel.zoomed = { zoom: 1, x: 0, y: 0 };
        const from = before[i];
        if (from) this.stage.move(panel, from);
      });
      this.emit("axes");
    } else this.stage.ask(this.panels);
    this.emit("settings");
  }

  // Whether a switch is on: as the user chose, or else as suits the data.
  /** @type {(key: "names" | "density" | "linked" | "equal") => boolean} */
  isOn(key) {
    if (key === "names") return namesAreShown(this);
    return this.settings[key] ?? (key === "density" && this.table.n > MANY);
  }

  /** @type {(choice: "auto" | "light" | "dark") => void} */
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
  /** @type {(on: boolean) => void} */
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

  /** @type {(spec: ColoringSpec) => Promise<void>} */
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

  /** @type {(hidden: Set<number>) => void} */
  hideClasses(hidden) {
    this.hiddenClasses = hidden;
    this.applyFilter();
    this.emit("classes", hidden);
  }

  // --- files and state

  /** @type {(key: string, options?: PictureOptions) => Promise<Blob>} */
  png(key, options) {
    return pngOf(this.shownPanel(key), options);
  }

  /** @type {(key: string, options?: PictureOptions) => Promise<Blob>} */
  svg(key, options) {
    return svgOf(this.shownPanel(key), options);
  }

  /** @type {(key: string, kind: "png" | "svg") => Promise<void>} */
  async savePicture(key, kind) {
    const name =
      this.shownPanel(key)
        .map.name.replace(/[^\w.-]+/g, "_")
        .slice(0, 80) || "map";
    offer(await this[kind](key), `${name}.${kind}`);
  }

  /** @type {(rows?: Iterable<number>) => string} */
  csv(rows = this.selectedRows()) {
    return csvOf(this, rows);
  }

  /** @type {() => ViewState} */
  save() {
    return savedState(this);
  }

  /** @type {(state: Partial<ViewState> | null) => Promise<void>} */
  restore(state) {
    return restoreState(this, state);
  }
}
