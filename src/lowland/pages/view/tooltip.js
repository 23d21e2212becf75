// The description of a row, and the tooltip that shows it.

import { el, number, some } from "./elements.js";

const MOST_COLUMNS = 8;
const MOST_TEXT = 240;
const PAUSE = 120; // milliseconds until further details are asked for

export class Tooltip {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.node = el("div", { class: "lv-tip", "aria-hidden": "true", hidden: true });
    /** @type {Map<number, Detail[]>} */
    this.found = new Map(); // details by row
    this.row = -1;
    /** @type {Panel | null} */
    this.panel = null;
    this.details = el("tbody", { class: "lv-details" });
    this.asking = 0;
    this.x = this.y = 0;
  }

  // Id, label, quality in a map, and values of a row: [name, text].
  /** @type {(row: number, panel?: Panel | null) => Line[]} */
  linesOf(row, panel) {
    const { table, coloring } = this.view,
      label = table.labelColumn,
      lines = /** @type {Line[]} */ ([["", table.titleOf(row)]]);
    if (table.ids) lines.push(["row", String(table.numberOf(row))]);
    if (label) lines.push([label.name, label.textOf(row) ?? (label.loaded ? "no label" : "…")]);
    for (const [measure, { values }] of Object.entries(panel?.map.trust ?? {}))
      lines.push([measure, number(values[row])]);
    if (coloring.spec.kind === "values" && coloring.spec.values) {
      const value = coloring.spec.values[row];
      lines.push([coloring.name, coloring.levels ? (coloring.levels[value] ?? "–") : number(value, 4)]);
    }
    const columns = table.columns.filter(
        (column, i) => column.loaded && i !== table.label && i !== coloring.spec.column,
      ),
      first = coloring.spec.kind === "column" ? [table.columns[Number(coloring.spec.column)]] : [],
      all = [...first, ...columns];
    for (const column of all.slice(0, MOST_COLUMNS)) lines.push([column.name, clipped(column.textOf(row) ?? "–")]);
    if (all.length > MOST_COLUMNS) lines.push(["", `and ${some(all.length - MOST_COLUMNS, "more column")}`]);
    return lines;
  }

  /** @type {(row: number, panel: Panel, x: number, y: number) => void} */
  showRow(row, panel, x, y) {
    if (row < 0) {
      this.hide();
      return;
    }
    if (row !== this.row || this.node.hidden || this.panel !== panel) {
      this.row = row;
      this.panel = panel;
      const picture = this.view.table.thumbnail?.(row),
        image = picture ? el("img", { src: picture, alt: "" }) : null;
      image?.addEventListener("load", () => this.put());
      const lines = this.linesOf(row, panel);
      this.details = el("tbody", { class: "lv-details" });
      this.fillDetails(row, new Set(lines.map(([name]) => name).filter(Boolean)));
      this.node.replaceChildren(
        ...[image, el("table", null, el("tbody", null, lines.map(lineOf)), this.details)].filter(Boolean),
      );
      this.node.hidden = false;
    }
    this.put(x, y);
  }

  /** @type {(panel: Panel, i: number, x: number, y: number) => void} */
  showPlaced(panel, i, x, y) {
    const { components } = panel.map,
      placed = /** @type {Placed} */ (panel.map.placed),
      many = placed.coordinates.length / components,
      where = Array.from(
        { length: Math.min(3, components) },
        (_, c) => /** @type {Line} */ ([`component ${c + 1}`, number(placed.coordinates[c * many + i], 4)]),
      );
    this.row = -1;
    this.node.replaceChildren(
      el(
        "table",
        null,
        el(
          "tbody",
          null,
          /** @type {Line[]} */ ([["", placed.names?.[i] ?? `New row ${i}`], ["", "placed on this map"], ...where]).map(
            lineOf,
          ),
        ),
      ),
    );
    this.node.hidden = false;
    this.put(x, y);
  }

  // Further columns of a row, without those that are listed.
  /** @type {(row: number, listed: Set<string>) => void} */
  fillDetails(row, listed) {
    const { details } = this.view.table,
      into = this.details;
    clearTimeout(this.asking);
    if (!details) return;
    /** @type {(lines: Detail[]) => void} */
    const fill = (lines) => {
      const more = lines.filter(([name]) => !listed.has(name));
      into.replaceChildren(...more.map(([name, text]) => lineOf([name, clipped(String(text ?? "–"))], 1)));
    };
    /** @type {(lines: Detail[]) => void} */
    const show = (lines) => {
      if (this.row !== row || this.node.hidden) return;
      fill(lines);
      this.put();
    };
    const found = this.found.get(row);
    if (found) {
      fill(found);
      return;
    }
    this.asking = setTimeout(async () => {
      try {
        const lines = await details(row);
        if (this.found.size > 300) this.found.clear();
        this.found.set(row, lines);
        show(lines);
      } catch {
        show([["", "The other columns could not be read."]]);
      }
    }, PAUSE);
  }

  put(x = this.x, y = this.y) {
    this.x = x;
    this.y = y;
    const { node } = this,
      { offsetWidth: wide, offsetHeight: high } = node,
      room = document.documentElement.clientWidth,
      left = x + 16 + wide > room ? Math.max(4, x - 16 - wide) : x + 16;
    node.style.left = `${Math.min(left, Math.max(4, room - wide - 4))}px`;
    node.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - high - 4))}px`;
  }

  hide() {
    this.node.hidden = true;
    this.row = -1;
    clearTimeout(this.asking);
  }
}

/** @type {(text: string) => string} */
const clipped = (text) => (text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text);

/** @type {(line: Line, i: number) => HTMLElement} */
const lineOf = ([name, text], i) =>
  name
    ? el("tr", null, el("th", { scope: "row" }, name), el("td", null, text))
    : el("tr", { class: i ? "lv-more" : "lv-first" }, el("td", { colspan: 2 }, text));
