// What all panels of a view share about rows: selection, filter, the row under the pointer, neighbors, and who listens.

import { some } from "./elements.js";
import { neighborSets, neighborsInWords } from "./neighbors.js";
import { HIDDEN } from "./rows.js";
import { searchRows } from "./search.js";

export class LinkedRows {
  constructor() {
    Object.assign(this, { listeners: new Map(), hovered: -1, shown: null, filterMask: null, neighborCache: new Map() });
  }

  // --- events: "select" "hover" "click" "colors" "maps" "axes" "settings" "layout" "theme" "filter" "classes" "neighbors" "problem"

  on(event, listener) {
    if (!this.listeners.has(event)) this.listeners.set(event, new Set());
    this.listeners.get(event).add(listener);
    return () => this.listeners.get(event).delete(listener);
  }

  // Whether somebody listens.
  emit(event, detail = null) {
    const listeners = this.listeners.get(event);
    for (const listener of listeners ?? []) listener(detail);
    return Boolean(listeners?.size);
  }

  // Another element that follows the theme.
  addPart(node) {
    this.parts.add(node);
    node.dataset.theme = this.theme.name;
  }

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

  selectedRows(most = Infinity) {
    const mask = this.selection,
      rows = [];
    for (let row = 0; row < mask.length && rows.length < most; row++) if (mask[row]) rows.push(row);
    return rows;
  }

  isShown(row) {
    return !(this.rows.flags[this.rows.slotOf(row)] & HIDDEN);
  }

  select(mask, how = "new") {
    this.applyHits(this.rows.bySlot(mask), how, this.rows.flags.slice(), false);
  }

  selectRows(rows, how = "new") {
    const mask = new Uint8Array(this.table.n);
    for (const row of rows) mask[row] = 1;
    this.select(mask, how);
  }

  clearSelection() {
    if (this.rows.selected) this.select(new Uint8Array(this.table.n), "new");
  }

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
      classes ? coloring.codes : null,
      this.hiddenClasses,
      coloring.levels?.length ?? 0,
    );
    this.stage.ask(this.panels);
    if (changed) this.tellSelection();
  }

  get shownCount() {
    return this.rows.shown;
  }

  hover(row, panel = null) {
    if (row === this.hovered) return;
    this.hovered = row;
    this.stage.askMarks();
    this.emit("hover", { row, key: panel?.key ?? null });
  }

  // Show a row and its neighbors in all panels; null hides them.
  show(what) {
    this.shown = what && what.row >= 0 ? what : null;
    this.neighborCache.clear();
    for (const panel of this.panels) panel.tellNote();
    this.stage.askMarks();
    this.emit("neighbors");
  }

  neighborSetsOf(panel) {
    if (!this.shown) return null;
    const { map } = panel;
    if (!this.neighborCache.has(map)) this.neighborCache.set(map, neighborSets(map, this.shown));
    return this.neighborCache.get(map);
  }

  neighborNote(panel) {
    return this.shown?.neighbors ? neighborsInWords(this.neighborSetsOf(panel)) : "";
  }

  // Rows whose number, id, label or loaded text contains a text: { rows, total }.
  search(text, most = 200) {
    return searchRows(this.table, text, most);
  }
}
