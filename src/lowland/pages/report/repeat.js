// How to repeat the study: the command, versions, machine and data.

import { count, el } from "../view/elements.js";
import { study } from "./study.js";
import { copyText } from "./words.js";

// An ISO time such as 2026-11-15T19:49:37+00:00 in a readable form; other text is unchanged.
export const started = () =>
  study.started.replace(
    /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*(\+00:00|Z)?/,
    (_, day, time, zone) => `${day} ${time}${zone ? " UTC" : ""}`,
  );

/** @type {(title: string, values: Record<string, string>) => HTMLElement} */
const pairs = (title, values) =>
  el(
    "div",
    null,
    el("h3", null, title),
    el(
      "table",
      { class: "pairs" },
      el(
        "tbody",
        null,
        Object.entries(values).map(([name, value]) =>
          el("tr", null, el("th", { scope: "row" }, name), el("td", null, value)),
        ),
      ),
    ),
  );

/** @type {(section: HTMLElement) => boolean} */
export function repeatSection(section) {
  const { table } = study;
  const button = el("button", { type: "button", onclick: () => copyText(study.command, button) }, "Copy");
  section.append(
    el("h2", { id: "repeat-title" }, "Reproduce"),
    el("div", { class: "command" }, el("pre", null, el("code", null, study.command)), button),
    el(
      "div",
      { class: "columns" },
      pairs("Versions", study.versions),
      pairs("Machine", study.machine),
      pairs("Data", {
        Source: table.source,
        Rows: count(table.rows),
        Columns: count(table.columns),
        Fingerprint: table.fingerprint,
        Started: started(),
      }),
    ),
  );
  return true;
}
