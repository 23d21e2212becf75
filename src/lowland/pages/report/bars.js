// Time and memory: bars with numbers.

import { bytes, duration, el, parted, tableOf } from "../view/elements.js";
import { lookAt } from "./highlight.js";
import { FROM_DISK } from "./scores.js";
import { trials } from "./study.js";

/** @type {(section: HTMLElement) => boolean} */
export function costsSection(section) {
  const list = trials.filter((trial) => trial.seconds !== null || trial.memory !== null);
  if (!list.length) return false;
  list.sort((a, b) => (a.seconds ?? Infinity) - (b.seconds ?? Infinity));
  /** @type {(key: "seconds" | "memory") => number} */
  const most = (key) => Math.max(...list.map((trial) => trial[key] ?? 0)) || 1;
  const tops = { seconds: most("seconds"), memory: most("memory") };
  /** @type {(trial: Trial, key: "seconds" | "memory", text: string) => HTMLElement} */
  const bar = (trial, key, text) => {
    const drawn = el("span", { class: `bar ${key}` });
    drawn.style.width = `${(100 * (trial[key] ?? 0)) / tops[key]}%`;
    return el(
      "td",
      null,
      el(
        "span",
        { class: "bar-row" },
        el("span", { class: "bar-room" }, trial[key] === null ? null : drawn),
        el("span", { class: "bar-text" }, text),
      ),
    );
  };
  const rows = list.map((trial) =>
    el(
      "tr",
      { onpointerenter: () => lookAt(trial), onpointerleave: () => lookAt(null) },
      el(
        "th",
        { scope: "row" },
        parted(trial.name),
        trial.status === "done" ? null : el("span", { class: "chip" }, trial.status),
      ),
      bar(trial, "seconds", `${duration(trial.seconds)}${trial.cached ? " *" : ""}`),
      bar(trial, "memory", bytes(trial.memory)),
    ),
  );
  section.append(
    el("h2", { id: "costs-title" }, "Time and memory"),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Time and memory of each trial" },
      tableOf({ class: "bars" }, ["Trial", "Fit time", "Peak memory"], rows),
    ),
  );
  if (list.some((trial) => trial.cached)) section.append(el("p", { class: "note" }, FROM_DISK));
  return true;
}
