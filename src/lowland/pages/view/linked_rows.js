// What all panels of a view share about rows: selection, filter, the row under the pointer, neighbors, and who listens.

import { some } from "./elements.js";
import { neighborSets, neighborsInWords } from "./neighbors.js";
import { HIDDEN } from "./rows.js";
import { searchRows } from "./search.js";

export class LinkedRows {
  // What the view, which extends this class, makes.
  /** @type {Table} */
  table;
  /** @type {RowStates} */
  rows;
  /** @type {Stage} */
  stage;
  /** @type {Panel[]} */
  panels;
  /** @type {Set<HTMLElement>} */
  parts;
  /** @type {Theme} */
  theme;
  /** @type {HTMLElement} */
  live;
  /** @type {Coloring} */
  coloring;
  /** @type {Set<number>} */
  hiddenClasses;

  constructor() {
    /** @type {Map<string, Set<(detail: any) => void>>} */
    this.listeners = new Map();
    this.hovered = -1;
    /** @type {ShownRow | null} */
    this.shown = null;
    /** @type {Mask | null} */
    this.filterMask = null;
    /** @type {Map<MapData, NeighborSets | null>} */
    this.neighborCache = new Map();
  }

  // --- events: "select" "hover" "click" "colors" "maps" "axes" "settings" "layout" "theme" "filter" "classes" "neighbors" "problem"

  /** @type {(event: string, listener: (detail: any) => void) => () => void} */
  on(event, listener) {
    const listeners = this.listeners.get(event) ?? new Set();
    this.listeners.set(event, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  // Whether somebody listens.
  /** @type {(event: string, detail?: unknown) => boolean} */
  emit(event, detail = null) {
    const listeners = this.listeners.get(event);
    for (const listener of listeners ?? []) listener(detail);
    return Boolean(listeners?.size);
  }

  // Another element that follows the theme.
  /** @type {(node: HTMLElement) => void} */
  addPart(node) {
    this.parts.add(node);
    node.dataset.theme = this.theme.name;
  }

  /** @type {(text: string) => void} */
  say(text) {
    this.live.textContent = text;
  }

  // --- rows

  get selection() {
    return this.rows.selection();
  }

  get selectedCount() {
    return this.rows.selected;
  }

  /** @type {(most?: number) => number[]} */
  selectedRows(most = Infinity) {
    const mask = this.selection,
      rows = /** @type {number[]} */ ([]);
    for (let row = 0; row < mask.length && rows.length < most; row++) if (mask[row]) rows.push(row);
    return rows;
  }

  /** @type {(row: number) => boolean} */
  isShown(row) {
    return !(this.rows.flags[this.rows.slotOf(row)] & HIDDEN);
  }

  /** @type {(mask: Mask, how?: How) => void} */
  select(mask, how = "new") {
    this.applyHits(this.rows.bySlot(mask), how, this.rows.flags.slice(), false);
  }

  /** @type {(rows: Iterable<number>, how?: How) => void} */
  selectRows(rows, how = "new") {
    const mask = new Uint8Array(this.table.n);
    for (const row of rows) mask[row] = 1;
    this.select(mask, how);
  }

  clearSelection() {
    if (this.rows.selected) this.select(new Uint8Array(this.table.n), "new");
  }

  /** @type {(hits: Uint8Array, how: How, before: Uint8Array, live: boolean) => void} */
  applyHits(hits, how, before, live) {
    this.rows.combine(hits, how, before);
    this.stage.ask(this.panels, live);
    this.tellSelection(live);
  }

  tellSelection(live = false) {
    const many = this.rows.selected;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => this.say(many ? `${some(many, "row")} selected` : "No rows selected"), 300);
    this.emit("select", { count: many, live });
  }

  // Show only the rows of a mask, or all with null.
  /** @type {(mask: Mask | null) => void} */
  filter(mask) {
    this.filterMask = mask;
    this.applyFilter();
    this.emit("filter", { shown: this.rows.shown });
  }

  applyFilter() {
    const { coloring } = this,
      classes = coloring.type === "classes" && this.hiddenClasses.size;
    const changed = this.rows.show(
      this.filterMask,
      classes ? (coloring.codes ?? null) : null,
      this.hiddenClasses,
      coloring.levels?.length ?? 0,
    );
    this.stage.ask(this.panels);
    if (changed) this.tellSelection();
  }

  get shownCount() {
    return this.rows.shown;
  }

  /** @type {(row: number, panel?: Panel | null) => void} */
  hover(row, panel = null) {
    if (row === this.hovered) return;
    this.hovered = row;
    this.stage.askMarks();
    this.emit("hover", { row, key: panel?.key ?? null });
  }

  // Show a row and its neighbors in all panels; null hides them.
  /** @type {(what: ShownRow | null) => void} */
  show(what) {
    this.shown = what && what.row >= 0 ? what : null;
    this.neighborCache.clear();
    for (const panel of this.panels) panel.tellNote();
    this.stage.askMarks();
    this.emit("neighbors");
  }

  /** @type {(panel: Panel) => NeighborSets | null} */
  neighborSetsOf(panel) {
    if (!this.shown) return null;
    const { map } = panel;
    if (!this.neighborCache.has(map)) this.neighborCache.set(map, neighborSets(map, this.shown));
    return this.neighborCache.get(map) ?? null;
  }

  /** @type {(panel: Panel) => string} */
  neighborNote(panel) {
    return this.shown?.neighbors ? neighborsInWords(this.neighborSetsOf(panel)) : "";
  }

  // Rows whose number, id, label or loaded text contains a text: { rows, total }.
  /** @type {(text: string, most?: number) => { rows: number[], total: number }} */
  search(text, most = 200) {
    return searchRows(this.table, text, most);
  }
}
