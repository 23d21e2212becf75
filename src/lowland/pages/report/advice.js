// The advice: one line for each purpose at the top of the page, and a section with the evidence.

import { el, some } from "../view/elements.js";
import { study, trialOf } from "./study.js";

/** @type {Record<string, string>} */
const PURPOSES = { visualize: "Visualization", compress: "Compression", classify: "Classification" };
/** @type {(advice: Advice) => string} */
const purposeOf = (advice) => PURPOSES[advice.purpose] ?? advice.purpose;

// The advised trial, as a link to its panel where it has one, and the number of dimensions.
/** @type {(advice: Advice) => Child[]} */
function advisedOf(advice) {
  const trial = trialOf(advice),
    what = trial?.name ?? advice.method ?? advice.trial ?? (advice.model && "All columns"),
    within = what && advice.n_components !== null ? ` in ${some(advice.n_components, "dimension")}` : "";
  return [trial?.Z ? el("a", { href: `#panel-${trial.index}` }, what) : (what ?? "No recommendation"), within];
}

/** @type {(advice: Advice) => Child} */
const evidenceOf = (advice) =>
  advice.evidence.length > 0 &&
  el(
    "ul",
    null,
    advice.evidence.map((sentence) => el("li", null, sentence)),
  );

// The reason, which opens over the maps and closes with Escape or when the focus leaves it.
/** @type {(advice: Advice) => HTMLElement} */
function reasonOf(advice) {
  const node = el(
    "details",
    { class: "why", name: "why" },
    el("summary", null, "why"),
    el("div", { class: "why-text" }, el("p", { class: "words" }, advice.text), evidenceOf(advice)),
  );
  node.addEventListener("focusout", (event) => {
    if (!node.contains(/** @type {Node | null} */ (event.relatedTarget))) node.open = false;
  });
  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape") node.open = false;
  });
  return node;
}

// One line each; the reason opens on request.
/** @type {() => HTMLElement[]} */
export const adviceLines = () =>
  study.advice.map((advice) =>
    el("li", null, `For ${purposeOf(advice).toLowerCase()}: `, el("b", null, advisedOf(advice)), reasonOf(advice)),
  );

/** @type {(section: HTMLElement) => boolean} */
export function adviceSection(section) {
  if (!study.advice.length) return false; // as in the explorer
  section.append(el("h2", { id: "advice-title" }, "Advice"));
  const cards = study.advice.map((advice, i) =>
    el(
      "article",
      { class: i ? "card" : "card first" },
      el("p", { class: "purpose" }, purposeOf(advice)),
      el("h3", null, advisedOf(advice)),
      el("p", { class: "words" }, advice.text),
      evidenceOf(advice),
    ),
  );
  section.append(cards[0], el("div", { class: "cards" }, cards.slice(1)));
  return true;
}
