// The parameters, costs, scores and warnings of each trial.

import { bytes, duration, el, number, some } from "../view/elements.js";
import { columnsInWords } from "./drawn.js";
import { trials } from "./study.js";

// The definition of a measure is below the table of scores; here only if it differs between trials.
/** @type {(name: string, score: StudyScore) => string} */
function scoreInWords(name, { value, low, high, about }) {
  const interval =
    low !== null && high !== null ? ` (95% confidence interval ${number(low, 4)} to ${number(high, 4)})` : "";
  const own = trials.some((trial) => trial.scores[name] && trial.scores[name].about !== about);
  return `${number(value, 4)}${interval}${own ? `. ${about}` : ""}`;
}

/** @type {(name: string, said: Child) => HTMLElement} */
const fact = (name, said) => el("div", null, el("dt", null, name), el("dd", null, said));

/** @type {(trial: Trial) => Child[]} */
function factsOf(trial) {
  const settings = Object.entries(trial.parameters).map(([name, value]) => [
    el("code", null, `${name}=${JSON.stringify(value)}`),
    " ",
  ]);
  const columns = columnsInWords(trial);
  const warnings = trial.warnings.map((text) => el("li", null, text));
  return [
    trial.error !== null && fact("Reason", trial.error),
    fact("Method", trial.method),
    fact("Parameters", settings.length ? settings : "all at their defaults"),
    (trial.seconds !== null || trial.memory !== null) &&
      fact(
        "Time and peak memory",
        `${duration(trial.seconds)}, ${bytes(trial.memory)}${trial.cached ? ", from the cache" : ""}`,
      ),
    Object.entries(trial.scores).map(([name, said]) => fact(name, scoreInWords(name, said))),
    columns && fact("Columns that follow the axes", columns),
    warnings.length > 0 && fact("Warnings", el("ul", null, warnings)),
  ];
}

/** @type {(section: HTMLElement) => boolean} */
export function detailsSection(section) {
  section.append(el("h2", { id: "details-title" }, "Trial details"));
  for (const trial of trials) {
    const warned = trial.warnings.length;
    section.append(
      el(
        "details",
        { class: "trial", id: `trial-${trial.index}` },
        el(
          "summary",
          null,
          el("b", null, trial.name),
          el("span", { class: "chip" }, trial.status),
          warned > 0 && el("span", { class: "chip warned" }, some(warned, "warning")),
        ),
        el("dl", null, factsOf(trial)),
      ),
    );
  }
  return trials.length > 0;
}
