// The right pane's third tab: one map, its parameters, scores and charts, and what can be made of it.

import { curveChart } from "../view/charts.js";
import { BETTER, bytes, duration, el, offer, score } from "../view/elements.js";
import { answersBox } from "./answers.js";
import { getFile, getJson } from "./api.js";
import { actionMenu, button, choice, copyButton, facts, glyph, replace, symbolButton } from "./elements.js";
import {
  cancelMap,
  changeParameters,
  mapActions,
  mapState,
  OUTDATED,
  parametersText,
  removeMap,
  runAgain,
  versionActions,
} from "./maps_pane.js";
import { attempt, notice, openDialog } from "./notices.js";
import { fillPlaced } from "./placed.js";
import { isActive } from "./store.js";
import { asPython } from "./words.js";

/** @type {Record<string, string>} */
const TITLES = {
  scree: "Scree: explained variance",
  Shepard: "Shepard diagram: distances in the data and on the map",
  R_NX: "R_NX: neighborhoods preserved, beyond chance",
};

/** @type {(app: App) => HTMLElement} */
export function mapPane(app) {
  const { store } = app;
  const head = el("div");
  const numbers = el("div");
  const charts = el("div", { class: "charts" });
  const placed = el("div");
  const pane = el("div", { class: "pane-body" }, head, answersBox(app), numbers, charts, placed);
  let chartsOf = "";
  let seen = "";

  function fill() {
    const map = store.maps.get(store.focus ?? "");
    const now = map
      ? JSON.stringify([
          map.id,
          map.name,
          map.status,
          map.stage,
          Math.round(100 * (map.fraction ?? 0)),
          map.scores,
          map.seconds,
          map.measured,
          map.curves,
          map.outdated,
          map.run,
          map.warm,
          store.maps.size,
          [...store.hidden],
        ])
      : "";
    if (now === seen && map) return;
    seen = now;
    if (!map) {
      replace(
        head,
        el("h2", null, "No map chosen"),
        el("p", { class: "note" }, "Click the name of a map to see its parameters, scores and charts."),
      );
      for (const part of [numbers, charts, placed]) replace(part);
      chartsOf = "";
      return;
    }
    const done = map.status === "done";
    const more = symbolButton("dots", `Actions of ${map.name}`, () => actionMenu(more, mapActions(app, map)), {
      "aria-haspopup": "menu",
    });
    const save = button("Export", { symbol: "download", kind: "small", disabled: !done, "aria-haspopup": "menu" });
    save.addEventListener("click", () => actionMenu(save, exportsOf(app, map)));
    replace(
      head,
      el("div", { class: "row spread" }, el("h2", null, map.name), more),
      el("p", { class: `state-line ${map.status}` }, mapState(map)),
      isActive(map) &&
        el(
          "progress",
          Number.isFinite(map.fraction) && map.status === "running" ? { max: 1, value: map.fraction } : {},
        ),
      el(
        "div",
        { class: "row" },
        isActive(map) && button("Cancel", { symbol: "stop", kind: "small", onclick: () => cancelMap(app, map) }),
        !isActive(map) &&
          !done &&
          button("Run again", { symbol: "redo", kind: "small", onclick: () => runAgain(app, map) }),
        button("Change parameters", { kind: "small", onclick: () => changeParameters(app, map) }),
        !isActive(map) &&
          !done &&
          button("Remove", { symbol: "trash", kind: "small", onclick: () => removeMap(app, map) }),
        done && save,
        done &&
          button("Code", {
            symbol: "code",
            kind: "small",
            title: "The Python and the command line that repeat this map",
            onclick: () => showCode(map),
          }),
        done && morphControl(app, map),
      ),
      !store.hidden.has(map.id) &&
        el(
          "div",
          { class: "row versions" },
          versionActions(app, map).map(([text, run, { symbol } = {}]) =>
            button(text, { symbol, kind: "small", onclick: run }),
          ),
        ),
      map.outdated &&
        el(
          "p",
          { class: "warning" },
          glyph("warning"),
          el("span", null, OUTDATED),
          button("Update", { kind: "small", onclick: () => runAgain(app, map) }),
        ),
      (map.warnings ?? []).map((warning) => el("p", { class: "remark" }, glyph("info"), el("span", null, warning))),
    );
    const method = store.method(map.method);
    const scores = Object.entries(map.scores ?? {}).flatMap(([name, reply]) =>
      reply ? [/** @type {[string, ScoreRecord]} */ ([name, reply])] : [],
    );
    const given = Object.entries(map.parameters ?? {});
    replace(
      numbers,
      done && map.measured === false && el("p", { class: "note" }, "Its quality is being measured."),
      scores.length > 0 && [el("h3", null, "Scores"), scoreList(scores)],
      el("h3", null, "How it was computed"),
      facts([
        ["method", method?.title ?? map.method],
        ...given.map(([name, value]) => /** @type {[string, string]} */ ([name.replaceAll("_", " "), asPython(value)])),
        ["other parameters", "defaults"],
        ["components", map.components ?? "–"],
        Number.isFinite(map.seconds) && map.seconds !== null ? ["time", duration(map.seconds)] : null,
        Number.isFinite(map.memory) && map.memory !== null ? ["memory", bytes(map.memory)] : null,
      ]),
    );
    if (!done) {
      chartsOf = "";
      replace(charts);
      replace(placed);
    } else if (chartsOf !== `${map.id} ${map.run} ${map.curves}`) {
      chartsOf = `${map.id} ${map.run} ${map.curves}`;
      replace(charts);
      fillCharts(map);
      fillPlaced(app, map, placed);
    }
  }

  async function fillCharts(map) {
    if (map.curves && !map.curves.length) return;
    const curves = await attempt(() => getJson(`/maps/${map.id}/curves`));
    if (!curves || store.focus !== map.id) return;
    replace(
      charts,
      Object.entries(curves).flatMap(([name, curve]) =>
        curve.kind === "loadings"
          ? curve.values.slice(0, 2).map((values, i) =>
              figureOf(`Loadings of component ${i + 1}`, {
                x: curve.names,
                y: values,
                x_name: "loading",
                y_name: "column",
                kind: "bars",
              }),
            )
          : figureOf(TITLES[name] ?? name, curve),
      ),
    );
  }
  store.on("placed", (id) => {
    const map = store.maps.get(id);
    if (map && id === store.focus) fillPlaced(app, map, placed);
  });
  store.on("focus", fill);
  store.on("maps", fill);
  store.on("current", fill);
  return pane;
}

/** @type {(title: string, curve: Curve) => HTMLElement} */
const figureOf = (title, curve) =>
  el("figure", null, el("figcaption", null, title), curveChart(curve, { name: title }));

// Those that most maps are compared by, then all of them.
const FIRST_SCORES = [
  "trustworthiness",
  "continuity",
  "neighbors preserved",
  "normalized stress",
  "nearest-neighbor accuracy",
  "downstream accuracy",
  "explained variance ratio",
  "reconstruction error",
];

/** @type {(scores: [string, ScoreRecord][]) => Child[]} */
function scoreList(scores) {
  const lines = (list) =>
    facts(
      list.map(([name, reply]) => [
        el("span", { title: reply.about }, name),
        [
          score(reply.value, 3),
          reply.better && el("small", { title: BETTER[reply.better][1] }, ` ${BETTER[reply.better][0]}`),
        ],
      ]),
      "figures-list",
    );
  const first = FIRST_SCORES.flatMap((name) => scores.filter(([each]) => each === name));
  const rest = scores.filter(([name]) => !FIRST_SCORES.includes(name));
  return [
    lines(first),
    rest.length > 0 && el("details", null, el("summary", null, `${rest.length} more scores`), lines(rest)),
  ];
}

// Move the points of this panel to where another map has them, and back.
/** @type {(app: App, map: MapRecord) => HTMLElement | null} */
function morphControl(app, map) {
  const others = app.store.mapList().filter((other) => other.id !== map.id && other.status === "done");
  if (!others.length) return null;
  const there = app.stage.view?.panelOf(map.id)?.map.key ?? map.id;
  const moved = there === map.id ? "" : there;
  const alike = (name) => others.filter((other) => other.name === name).length > 1 || name === map.name;
  const nameOf = (other) =>
    alike(other.name) ? `${other.name} (${parametersText(other) || "default parameters"})` : other.name;
  return choice(
    [
      ["", moved ? "Back to this map" : "Morph to…"],
      ...others.map((other) => /** @type {[string, string]} */ ([other.id, nameOf(other)])),
    ],
    moved,
    (to) => app.stage.view?.morph(map.id, to || map.id),
    { class: "small", "aria-label": "Morph to another map" },
  );
}

/** @type {(app: App, map: MapRecord) => (MenuItem | null)[]} */
function exportsOf(app, map) {
  const { stage, store } = app;
  const safe = map.name.replace(/[^\w.-]+/g, "_");
  /** @type {(kind: "png" | "svg") => Promise<void>} */
  const picture = async (kind) => {
    await attempt(async () => stage.view && offer(await stage.view[kind](map.id), `${safe}.${kind}`));
  };
  /** @type {(path: string, name: string, options?: { method?: string, json?: unknown }) => Promise<void>} */
  const file = (path, name, options) =>
    attempt(async () => {
      const made = await getFile(path, name, options);
      offer(made.blob, made.name);
    });
  const rows = (format) =>
    file(`/tables/${store.tableId}/export`, `${safe}.${format}`, {
      method: "POST",
      json: { mask: null, format, maps: [map.id] },
    });
  return [
    ["Picture (PNG)", () => picture("png")],
    ["Picture (SVG)", () => picture("svg")],
    null,
    ["Coordinates (CSV)", () => rows("csv")],
    ["Coordinates (Parquet)", () => rows("parquet")],
    null,
    ["Model file", () => file(`/maps/${map.id}/model`, `${safe}.lowland`)],
    ["Report of all maps (HTML)", () => saveReport(app)],
  ];
}

/** @type {(app: App) => Promise<void>} */
export async function saveReport(app) {
  const { store } = app;
  const maps = store
    .mapList()
    .filter((map) => map.status === "done" && !store.hidden.has(map.id))
    .map((map) => map.id);
  if (!maps.length) {
    notice("There is no finished map to report on. Compute one first.");
    return;
  }
  const wait = notice("The report is being written.");
  await attempt(async () => {
    const made = await getFile(`/tables/${store.tableId}/report`, `${store.table?.name}.html`, {
      method: "POST",
      json: { maps },
    });
    offer(made.blob, made.name);
    notice(`${made.name} works without this server: one file, to be opened in any browser.`, "done");
  });
  wait.remove();
}

/** @type {(map: MapRecord) => Promise<void>} */
async function showCode(map) {
  const code = await attempt(() => getJson(`/maps/${map.id}/code`));
  if (!code) return;
  const part = (title, text) => [
    el("div", { class: "row spread" }, el("h3", null, title), copyButton(text)),
    el("pre", { tabIndex: 0 }, text),
  ];
  openDialog(`Repeat ${map.name}`, () => [part("Python", code.python), part("Command line", code.command)], {
    kind: "medium",
  });
}
