// The data of a view: a table, its columns, and maps (embeddings) of its rows.

import { dateText, number } from "./elements.js";

export class Table {
  // rowNumbers: numbers of the rows, if only some are shown. thumbnail(row): address of a picture.
  // details(row): a promise of [[name, text], …], for the hover beyond the loaded columns.
  /** @param {TableFields} fields */
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
    this.n = n;
    this.name = name;
    this.ids = ids;
    this.label = label;
    this.rowNumbers = rowNumbers;
    this.thumbnail = thumbnail;
    this.details = details;
    this.columns = columns.map((column) => (column instanceof Column ? column : new Column(column)));
  }

  get labelColumn() {
    return this.label === null ? null : this.columns[this.label];
  }

  /** @type {(row: number) => number} */
  numberOf(row) {
    return this.rowNumbers ? this.rowNumbers[row] : row;
  }

  // The row with a number, or -1.
  /** @type {(wanted: number) => number} */
  rowOf(wanted) {
    if (this.rowNumbers) return this.rowNumbers.indexOf(wanted);
    return Number.isInteger(wanted) && wanted >= 0 && wanted < this.n ? wanted : -1;
  }

  /** @type {(row: number) => string} */
  titleOf(row) {
    return this.ids ? String(this.ids[row]) : `Row ${this.numberOf(row)}`;
  }
}

export class Column {
  // kind: "number", "category", "date" (milliseconds since 1970) or "text". values: numbers (NaN: missing), codes of the
  // levels (the largest value: missing), strings, or null if load() has to be called first.
  /** @param {ColumnFields} fields */
  constructor({ name, kind, values = null, levels = null, load = null }) {
    this.name = name;
    this.kind = kind;
    this.values = values;
    this.levels = levels;
    this.load = load;
    /** @type {Promise<Loaded> | null} */
    this.loading = null;
    if (kind === "category" && Array.isArray(values)) this.encode(values);
  }

  /** @type {(texts: Texts) => void} */
  encode(texts) {
    const levels = (this.levels ??= [...new Set(texts.filter((text) => text !== null && text !== undefined))].map(
      String,
    ));
    const codeOf = new Map(levels.map((level, code) => [level, code]));
    const Codes = levels.length < 255 ? Uint8Array : levels.length < 65535 ? Uint16Array : Uint32Array;
    this.values = new Codes(texts.map((text) => codeOf.get(String(text)) ?? 2 ** 32 - 1));
  }

  // The values of a loaded column: numbers, or codes of its levels.
  get numbers() {
    return /** @type {NumberArray} */ (this.values);
  }

  get loaded() {
    return this.values !== null;
  }

  get colors() {
    return this.kind !== "text"; // whether points can be colored by it
  }

  // The values, loaded if necessary.
  /** @type {() => Promise<Values | null>} */
  async ready() {
    if (this.values === null && this.load) {
      this.loading ??= Promise.resolve(this.load()).finally(() => {
        this.loading = null;
      });
      const loaded = await this.loading;
      const { values, levels } =
        Array.isArray(loaded) || ArrayBuffer.isView(loaded) ? { values: loaded, levels: null } : loaded;
      if (levels) this.levels = levels;
      if (this.kind === "category" && Array.isArray(values)) this.encode(values);
      else this.values = values;
    }
    return this.values;
  }

  // The value of a row as text, or null if it is missing or not loaded.
  /** @type {(row: number) => string | null} */
  textOf(row) {
    if (!this.values) return null;
    const value = this.values[row];
    if (value === null || value === undefined || Number.isNaN(value)) return null;
    if (typeof value === "string") return value;
    if (this.kind === "category") return this.levels?.[value] ?? null;
    return this.kind === "date" ? dateText(value) : number(value, 4);
  }

  // The value of a row as exact text, for files.
  /** @type {(row: number) => string} */
  exactTextOf(row) {
    if (!this.values) return "";
    const value = this.values[row];
    if (typeof value !== "number" || this.kind !== "number") return this.textOf(row) ?? "";
    return Number.isNaN(value)
      ? ""
      : String(this.values instanceof Float32Array ? Number(value.toPrecision(7)) : value);
  }
}

export class MapData {
  // coordinates: Float32Array, component after component; NaN: the row is not on the map; null: none yet.
  // status: "queued", "running", "done", "failed", "canceled" or "broken"; progress: { fraction, text }.
  // trust: { measure: { values, low, high, better } }; classes: { name, codes, levels } of the rows; placed: { coordinates, names }, rows placed later.
  // overlay: { arrows: { coordinates, names }, contours: [{ value, coordinates }] }, drawn over the points.
  // badge: a word beside the name, such as "recommended". axes: [{ name, share, columns }], of a linear map.
  /** @param {MapFields} fields */
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
    classes = null,
    curves = {},
    scores = {},
    placed = null,
    overlay = null,
    badge = null,
    axes = null,
  }) {
    this.key = key;
    this.name = name;
    this.subtitle = subtitle;
    this.coordinates = coordinates;
    this.components = components;
    this.status = status;
    this.progress = progress;
    this.error = error;
    this.trust = trust;
    this.classes = classes;
    this.curves = curves;
    this.scores = scores;
    this.placed = placed;
    this.overlay = overlay;
    this.badge = badge;
    this.axes = axes;
    /** @type {Float32Array | null} */
    this.counted = null;
    this.many = 0; // of the counted coordinates
    this.n = n ?? (coordinates ? coordinates.length / components : 0);
  }

  /** @type {(i: number) => Float32Array} */
  component(i) {
    const coordinates = /** @type {Float32Array} */ (this.coordinates);
    return coordinates.subarray(i * this.n, (i + 1) * this.n);
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
