// The data of a view: a table, its columns, and maps (embeddings) of its rows.

import { dateText, number } from "./elements.js";

export class Table {
  // rowNumbers: numbers of the rows, if only some are shown. thumbnail(row): address of a picture.
  // details(row): a promise of [[name, text], …], for the hover beyond the loaded columns.
  constructor({
    n,
    name = "",
    ids = null,
    columns = [],
    label = null,
    rowNumbers = null,
    thumbnail = null,
    details = null,
  }) {
    Object.assign(this, { n, name, ids, label, rowNumbers, thumbnail, details });
    this.columns = columns.map((column) => (column instanceof Column ? column : new Column(column)));
  }

  get labelColumn() {
    return this.label === null ? null : this.columns[this.label];
  }

  numberOf(row) {
    return this.rowNumbers ? this.rowNumbers[row] : row;
  }

  // The row with a number, or -1.
  rowOf(wanted) {
    if (this.rowNumbers) return this.rowNumbers.indexOf(wanted);
    return Number.isInteger(wanted) && wanted >= 0 && wanted < this.n ? wanted : -1;
  }

  titleOf(row) {
    return this.ids ? String(this.ids[row]) : `Row ${this.numberOf(row)}`;
  }
}

export class Column {
  // kind: "number", "category", "date" (milliseconds since 1970) or "text". values: numbers (NaN: missing), codes of the
  // levels (the largest value: missing), strings, or null if load() has to be called first.
  constructor({ name, kind, values = null, levels = null, load = null }) {
    Object.assign(this, { name, kind, values, levels, load });
    if (kind === "category" && Array.isArray(values)) this.encode(values);
  }

  encode(texts) {
    this.levels ??= [...new Set(texts.filter((text) => text !== null && text !== undefined))].map(String);
    const codeOf = new Map(this.levels.map((level, code) => [level, code]));
    const Codes = this.levels.length < 255 ? Uint8Array : this.levels.length < 65535 ? Uint16Array : Uint32Array;
    this.values = Codes.from(texts, (text) => codeOf.get(String(text)) ?? 2 ** 32 - 1);
  }

  get loaded() {
    return this.values !== null;
  }

  get colors() {
    return this.kind !== "text"; // whether points can be colored by it
  }

  // The values, loaded if necessary.
  async ready() {
    if (this.values === null && this.load) {
      this.loading ??= Promise.resolve(this.load()).finally(() => {
        this.loading = null;
      });
      const loaded = await this.loading;
      const { values, levels } = ArrayBuffer.isView(loaded) || Array.isArray(loaded) ? { values: loaded } : loaded;
      if (levels) this.levels = levels;
      if (this.kind === "category" && Array.isArray(values)) this.encode(values);
      else this.values = values;
    }
    return this.values;
  }

  // The value of a row as text, or null if it is missing or not loaded.
  textOf(row) {
    if (!this.values) return null;
    const value = this.values[row];
    if (this.kind === "category") return this.levels[value] ?? null;
    if (this.kind === "text") return value === null || value === undefined ? null : String(value);
    if (value === null || Number.isNaN(value)) return null;
    return this.kind === "date" ? dateText(value) : number(value, 4);
  }

  // The value of a row as exact text, for files.
  exactTextOf(row) {
    if (!this.values) return "";
    const value = this.values[row];
    if (this.kind !== "number") return this.textOf(row) ?? "";
    return Number.isNaN(value)
      ? ""
      : String(this.values instanceof Float32Array ? Number(value.toPrecision(7)) : value);
  }
}

export class MapData {
  // coordinates: Float32Array, component after component; NaN: the row is not on the map; null: none yet.
  // status: "queued", "running", "done", "failed", "canceled" or "broken"; progress: { fraction, text }.
  // trust: { measure: { values, low, high, better } }; placed: { coordinates, names }, rows placed later.
  // badge: a word beside the name, such as "recommended".
  constructor({
    key,
    name = key,
    subtitle = "",
    coordinates = null,
    components = 2,
    n = null,
    status = "done",
    progress = null,
    error = null,
    trust = {},
    curves = {},
    scores = {},
    placed = null,
    badge = null,
  }) {
    Object.assign(this, {
      key,
      name,
      subtitle,
      coordinates,
      components,
      status,
      progress,
      error,
      trust,
      curves,
      scores,
      placed,
      badge,
    });
    this.n = n ?? (coordinates ? coordinates.length / components : 0);
  }

  component(i) {
    return this.coordinates.subarray(i * this.n, (i + 1) * this.n);
  }

  // How many rows are on the map.
  get onMap() {
    if (this.counted !== this.coordinates) {
      this.counted = this.coordinates;
      this.many = 0;
      if (this.coordinates) for (const value of this.component(0)) if (Number.isFinite(value)) this.many++;
    }
    return this.coordinates ? this.many : 0;
  }
}
