// Questions about a map, which the server's workers answer: is it real, and are the groups that are shown separate?

import { duration, el, number } from "../view/elements.js";
import { base64Of } from "../view/saving.js";
import { deleteAt, getFloats, getJson, postJson } from "./api.js";
import { button, glyph, replace } from "./elements.js";
import { attempt, notice } from "./notices.js";
import { asPercent } from "./words.js";

export const CLASS_NAMES = ["reliable", "uncertain", "unreliable"];
const POINT_VALUES = { class: "Reliability", p: "p-value", stability: "Stability", region: "Dense regions" };
const MOST_GROUPS = 100; // classes that are tested
const VERDICTS = { separate: "check", "not separate": "close", undecided: "help" };

export const isAnswered = (map, question = "reliability") => map?.answers?.[question]?.status === "done";
export const answerWords = (store, { map, value }) => `${POINT_VALUES[value] ?? value}: ${store.mapName(map)}`;

// What the view colors by: a value of every row, or classes.
export async function answerColoring(store, { map, value }) {
  const values = await getFloats(`/maps/${map}/answers/reliability/${value}`);
  const name = answerWords(store, { map, value });
  if (value !== "class" && value !== "region")
    return { kind: "values", name, values, low: 0, high: value === "p" || value === "stability" ? 1 : undefined };
  const most = values.reduce((high, code) => (code > high ? code : high), -1) + 1;
  const levels = value === "class" ? CLASS_NAMES : Array.from({ length: most }, (_, code) => `cluster ${code}`);
  const codes = Uint16Array.from(values, (code) => (Number.isNaN(code) ? levels.length : code));
  return { kind: "values", name, values: codes, levels };
}

export function answersBox(app) {
  const { store } = app;
  const element = el("section", { class: "answers" });
  const known = new Map(); // "map run question" -> the answer
  let seen = "";

  const ask = (map, question, json) => attempt(() => postJson(`/maps/${map.id}/answers/${question}`, json));

  // The answer, once it is there; it is drawn when it comes.
  function answerTo(map, question) {
    const key = `${map.id} ${map.run} ${question}`;
    if (!known.has(key)) {
      known.set(key, null);
      attempt(async () => {
        known.set(key, await getJson(`/maps/${map.id}/answers/${question}`));
        seen = "";
        fill();
      });
    }
    return known.get(key);
  }

  // Its state while it is being answered, or why it was not.
  function underWay(map, question) {
    const { status, stage, fraction, seconds_left: left, error } = map.answers[question];
    if (status !== "queued" && status !== "running")
      return el("p", { class: "state-line failed" }, error || "It was not answered. Ask again.");
    const words = [stage ?? (status === "queued" ? "Waiting for its turn" : "Starting")];
    if (Number.isFinite(left) && left !== null) words.push(`${duration(left)} left`);
    return [
      el("p", { class: "state-line" }, words.join(", ")),
      el("progress", Number.isFinite(fraction) && fraction !== null ? { max: 1, value: fraction } : {}),
      button("Cancel", {
        symbol: "stop",
        kind: "small",
        onclick: () => attempt(() => deleteAt(`/maps/${map.id}/answers/${question}`)),
      }),
    ];
  }

  function reliabilityParts(map) {
    const asked = map.answers?.reliability;
    const test = (words) => button(words, { kind: "small", onclick: () => ask(map, "reliability") });
    if (!asked)
      return [
        el(
          "p",
          { class: "note" },
          "Compares every point with maps of noise, makes the map again from parts of the rows, and tests its clusters.",
        ),
        test("Test it"),
      ];
    if (asked.status !== "done")
      return [underWay(map, "reliability"), !["queued", "running"].includes(asked.status) && test("Test it again")];
    const found = answerTo(map, "reliability");
    if (!found) return el("p", { class: "note" }, "The answer is being read.");
    return [
      fractionBar(found.fractions),
      el("p", { class: "summary" }, found.summary),
      el(
        "div",
        { class: "row" },
        Object.entries(POINT_VALUES)
          .filter(([value]) => value !== "region" || found.regions > 0)
          .map(([value, text]) =>
            button(text, {
              kind: "small",
              title: "Color the points by this",
              onclick: () => app.colorBy({ kind: "answer", map: map.id, value }),
            }),
          ),
      ),
      el("h4", null, "Dense regions of the map"),
      found.clusters.length
        ? verdictList(found.clusters)
        : el(
            "p",
            { class: "note" },
            "The map has no clusters to test: it has fewer than two dense regions of 20 points.",
          ),
    ];
  }

  // The clusters or classes that the colors show now.
  function groupParts(map) {
    const { coloring } = app.stage.view ?? {};
    const own = store.coloring.kind === "answer" && store.coloring.value === "class";
    const isShown = coloring?.type === "classes" && coloring.levels.length > 1 && !own;
    const asked = map.answers?.groups;
    const found = isAnswered(map, "groups") && answerTo(map, "groups");
    return [
      (asked || isShown) && el("h4", null, asked?.of ? `Groups: ${asked.of}` : "Groups"),
      asked && asked.status !== "done" && underWay(map, "groups"),
      found &&
        (found.clusters.length
          ? verdictList(found.clusters)
          : el("p", { class: "note" }, "Fewer than two of these groups have 20 rows, so they cannot be tested.")),
      isShown &&
        !["queued", "running"].includes(asked?.status) &&
        button(`Test ${coloring.name}`, {
          kind: "small",
          title: "Are the groups that the colors show separate in the data?",
          onclick: () => testGroups(map, coloring),
        }),
    ];
  }

  async function testGroups(map, { name, codes, levels }) {
    if (levels.length > MOST_GROUPS) {
      notice(`At most ${MOST_GROUPS} groups can be tested, and these are ${levels.length}.`);
      return;
    }
    const wide = Uint16Array.from(codes, (code) => Math.min(code, 65535));
    const json = { name: name.slice(0, 200), kind: "u2", codes: base64Of(new Uint8Array(wide.buffer)), levels };
    await ask(map, "groups", json);
  }

  function fill() {
    const map = store.maps.get(store.focus);
    const done = map?.status === "done";
    const now = done ? JSON.stringify([map.id, map.run, map.answers, map.outdated, store.coloring]) : "";
    if (now === seen) return;
    seen = now;
    for (const [question, { status }] of Object.entries(map?.answers ?? {}))
      if (status !== "done") known.delete(`${map.id} ${map.run} ${question}`); // it is asked anew, here or elsewhere
    replace(
      element,
      done && [
        el("h3", null, "Is it real?"),
        map.outdated
          ? el("p", { class: "note" }, "The map is outdated. Update it to test it.")
          : [reliabilityParts(map), groupParts(map)],
      ],
    );
  }
  for (const event of ["focus", "maps", "current", "coloring"]) store.on(event, fill);
  return element;
}

function fractionBar(fractions) {
  const words = CLASS_NAMES.map((name) => `${asPercent(fractions[name])} ${name}`).join(", ");
  return el(
    "figure",
    { class: "fractions" },
    el(
      "div",
      { class: "fraction-bar", role: "img", "aria-label": words },
      CLASS_NAMES.map((name) => {
        const part = el("span", { class: name, title: `${asPercent(fractions[name])} ${name}` });
        part.style.flexGrow = fractions[name];
        return part;
      }),
    ),
    el("figcaption", null, words),
  );
}

function verdictList(clusters) {
  return el(
    "ul",
    { class: "verdicts" },
    clusters.map((each) =>
      el(
        "li",
        { class: each.verdict.replace(" ", "-"), title: `Held-out separation ${number(each.separation, 2)}` },
        glyph(VERDICTS[each.verdict]),
        el("span", null, each.sentence),
      ),
    ),
  );
}
