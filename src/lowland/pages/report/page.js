// The page of a study from top to bottom: title, maps, advice, scores, curves, how to repeat it.

import { count, duration, el, some } from "../view/elements.js";
import { adviceLines, adviceSection } from "./advice.js";
import { costsSection } from "./bars.js";
import { cloudsSection, drawClouds } from "./clouds.js";
import { detailsSection } from "./details.js";
import { curvesSection } from "./lines.js";
import { mapsSection } from "./maps.js";
import { repeatSection, started } from "./repeat.js";
import { scoresSection } from "./scores.js";
import { study, trials } from "./study.js";
import { nameColors, onTheme, setPrinting } from "./theme.js";
import { showTip } from "./tip.js";
import { find } from "./words.js";

// Number of trials by status.
function outcomes() {
  const counts = new Map(["done", "failed", "timed out", "stopped", "left out"].map((status) => [status, 0]));
  for (const { status } of trials) counts.set(status, (counts.get(status) ?? 0) + 1);
  const listed = [...counts].filter(([, many]) => many).map(([status, many]) => `${count(many)} ${status}`);
  return [some(trials.length, "trial"), listed.join(", ")].filter(Boolean).join(": ");
}

// What was done with the columns before any method was fitted, and a list of all of them on request.
/** @type {(table: StudyTable) => string | HTMLElement} */
function preparationOf({ preparation }) {
  if (!preparation) return "";
  return el(
    "details",
    { class: "prepared" },
    el("summary", null, ["Preparation: ", preparation.line, preparation.missing && ` ${preparation.missing}`]),
    el(
      "ul",
      null,
      preparation.columns.map(({ name, text }) => el("li", null, el("b", null, name), `: ${text}`)),
    ),
  );
}

function titleSection() {
  const { table } = study;
  const facts = [
    `${some(table.rows, "row")} × ${some(table.columns, "column")}`,
    table.label && (table.label.name === "label" ? "with labels" : `label ${table.label.name}`),
    table.scaled && !table.preparation && "columns standardized",
    `${outcomes()}, in ${duration(study.seconds)}`,
    started(),
  ];
  document.title = `Study of ${table.source}`;
  find("top").append(
    el("h1", null, el("span", { class: "brand" }, "Lowland study "), table.source),
    el(
      "p",
      { class: "lead" },
      facts.filter(Boolean).map((said, i) => [i ? " · " : "", el("span", { class: "fact" }, said)]),
    ),
    study.complete
      ? ""
      : el(
          "p",
          { class: "warning", role: "note" },
          "This study was stopped early. The report shows the trials completed by then.",
        ),
    preparationOf(table),
    el("ul", { class: "advice-lines", "aria-label": "Advice" }, adviceLines()),
  );
}

/** @type {[id: string, title: string, build: (section: HTMLElement) => boolean][]} */
const SECTIONS = [
  ["maps", "Maps", mapsSection],
  ["advice", "Advice", adviceSection],
  ["scores", "Scores", scoresSection],
  ["curves", "Curves", curvesSection],
  ["distances", "Shepard diagrams", cloudsSection],
  ["costs", "Time and memory", costsSection],
  ["details", "Trial details", detailsSection],
  ["repeat", "Reproduce", repeatSection],
];

// A link to a collapsed section expands it.
function openTarget() {
  const target = find(decodeURIComponent(location.hash.slice(1)));
  for (let node = /** @type {HTMLElement | null} */ (target); node; node = node.parentElement)
    if (node instanceof HTMLDetailsElement) node.open = true;
  target?.scrollIntoView();
}

// A document to read on paper: the advice comes first, and what only repeats other parts is omitted (see the style).
function beforePrint() {
  setPrinting(true);
  drawClouds(true);
  if (advice.isConnected) find("maps").before(advice);
  for (const node of document.querySelectorAll("details")) {
    node.dataset.was = node.open ? "open" : "";
    node.open = !node.classList.contains("prepared");
  }
}

function afterPrint() {
  setPrinting(false);
  if (advice.isConnected) find("maps").after(advice);
  for (const node of document.querySelectorAll("details")) node.open = node.dataset.was === "open";
}

const advice = find("advice"); // which some reports do not have
nameColors();
titleSection();
for (const [id, title, build] of SECTIONS) {
  if (build(find(id))) find("contents").append(el("a", { href: `#${id}` }, title));
  else find(id).remove();
}
onTheme(() => {
  drawClouds(false);
});
addEventListener("hashchange", openTarget);
addEventListener("beforeprint", beforePrint);
addEventListener("afterprint", afterPrint);
addEventListener("keydown", (event) => {
  if (event.key === "Escape") showTip(null);
});
document.documentElement.dataset.ready = String(Math.round(performance.now()));
