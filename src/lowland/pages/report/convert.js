// The study as the table and the maps of the view.

import { Column, MapData, Table } from "../view/model.js";
import { array, decode, drawnTrials, isAdvised, study, textsOf } from "./study.js";

const MISSING_STEP = 65535; // the code of a missing value among 65,534 steps
const CLASSES_OR_TEXTS = 1000;

// Numbers of a column: levels by their codes, exact values, or steps of a range.
/** @type {(said: StudyColumn) => NumberArray} */
function numbersOf(said) {
  const codes = decode(said),
    { levels, low = 0, high = 0 } = said;
  if (levels) return Float32Array.from(codes, (code) => (code === 255 ? NaN : levels[code]));
  if (said.kind === "f4") return codes;
  const width = high - low,
    unit = 10 ** Math.ceil(Math.log10(width / 65534 || 1e-300)); // rounded to the precision of the steps
  return Float32Array.from(codes, (code) =>
    code === MISSING_STEP ? NaN : Math.round((low + (code / 65534) * width) / unit) * unit,
  );
}

// Classes as codes; so many that they describe single rows are texts.
/** @type {(said: StudyColumn) => Column} */
function columnOf(said) {
  const { name, classes } = said;
  if (!classes) return new Column({ name, kind: "number", values: numbersOf(said) });
  const codes = decode(said);
  return classes.length <= CLASSES_OR_TEXTS
    ? new Column({ name, kind: "category", values: codes, levels: classes })
    : new Column({ name, kind: "text", values: Array.from(codes, (code) => classes[code] ?? null) });
}

/** @type {() => Table} */
export function tableOfStudy() {
  const { table } = study,
    columns = [...(table.label ? [table.label] : []), ...(table.carried ?? []), ...table.kept].map(columnOf),
    images = table.thumbnails && textsOf(table.thumbnails);
  return new Table({
    n: table.drawn,
    name: table.source,
    ids: table.ids?.texts.map((text) => text ?? "") ?? null,
    columns,
    label: table.label ? 0 : null,
    rowNumbers: table.shown ? Uint32Array.from(array(table.shown)) : null,
    thumbnail: images ? (row) => `data:image/png;base64,${images[row]}` : null,
    details: null,
  });
}

// Coordinates, component after component; NaN: not on the map.
/** @type {(Z: StudyMap) => Float32Array} */
function coordinatesOf(Z) {
  const m = study.table.drawn,
    codes = decode(Z),
    out = new Float32Array(codes.length);
  Z.low.forEach((low, j) => {
    const step = (Z.high[j] - low) / 65534,
      from = j * m,
      far = Z.far[j];
    for (let i = from; i < from + m; i++) out[i] = codes[i] === MISSING_STEP ? NaN : low + codes[i] * step;
    if (!far) return;
    const at = decode(far.at);
    decode(far.rows).forEach((row, i) => {
      out[from + row] = low + at[i] * step;
    });
  });
  return out;
}

// A measure per row: its values are decoded when they are first used.
/** @type {(trial: Trial, measure: RowMeasure) => Trust} */
function trustOf(trial, measure) {
  /** @type {Float32Array | null} */
  let values = null;
  return {
    low: measure.low,
    high: measure.high,
    better: measure.better,
    get values() {
      const { low, high } = measure;
      values ??= Float32Array.from(decode(trial.per_row[measure.name]), (code) =>
        code === 255 ? NaN : low + (code / 254) * (high - low),
      );
      return values;
    },
  };
}

// The reliability class of each row, if the map was tested.
/** @type {(trial: Trial) => MapClasses | null} */
const reliabilityOf = (trial) =>
  trial.classes && { name: "Reliability, in one map", codes: decode(trial.classes), levels: study.classes };

/** @type {(trial: Trial) => string} */
export const keyOf = (trial) => `panel-${trial.index}`;

// The first two scores, below the name of a map.
/** @type {(trial: Trial) => Record<string, number | null>} */
const scoresOf = (trial) =>
  Object.fromEntries(
    Object.entries(trial.scores)
      .slice(0, 2)
      .map(([name, said]) => [`${name}${said.labels_seen ? " †" : ""}`, said.value]),
  );

/** @type {() => MapData[]} */
export const mapsOfStudy = () =>
  drawnTrials.map((trial) => {
    const Z = /** @type {StudyMap} */ (trial.Z);
    return new MapData({
      key: keyOf(trial),
      name: trial.name,
      badge: isAdvised(trial) ? "recommended" : null,
      axes: trial.axes?.length ? trial.axes : null,
      subtitle: Z.components > Z.low.length ? `first ${Z.low.length} of ${Z.components} components` : "",
      scores: scoresOf(trial),
      coordinates: coordinatesOf(Z),
      components: Z.low.length,
      n: study.table.drawn,
      status: "done",
      classes: reliabilityOf(trial),
      trust: Object.fromEntries(
        study.measures
          .filter((measure) => trial.per_row[measure.name])
          .map((measure) => [measure.name, trustOf(trial, measure)]),
      ),
    });
  });
