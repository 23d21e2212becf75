// The left pane's third tab: all maps of the table, with their state.

import { duration, el, some } from "../view/elements.js";
import { deleteAt, patchJson, postJson } from "./api.js";
import { compareWithEarlier, earlierMap, isCompared, laterMap, redoChange, undoChange } from "./edits.js";
import { actionMenu, button, glyph, replace, symbolButton } from "./elements.js";
import { startMap } from "./methods_pane.js";
import { askText, askYes, attempt, notice } from "./notices.js";
import { isActive } from "./store.js";
import { asPercent, asPython } from "./words.js";

export const OUTDATED =
  "Computed from other columns, labels, weights, scales or replaced values than the table has now.";

// How far a map is: stage, percent and time left, as far as they are known.
/** @type {(map: MapRecord) => string} */
export function mapProgress(map) {
  const parts = map.stage ? [map.stage] : [];
  if (map.fraction) parts.push(asPercent(map.fraction));
  if (Number.isFinite(map.seconds_left)) parts.push(`${duration(map.seconds_left)} left`);
  return parts.join(", ");
}

// What a map is doing, in one line.
/** @type {(map: MapRecord) => string} */
export function mapState(map) {
  if (map.status === "running") return mapProgress(map) || "Being computed";
  if (map.status === "queued") return "Waiting for its turn";
  if (map.status === "done") return Number.isFinite(map.seconds) ? `Done in ${duration(map.seconds)}` : "Done";
  if (map.status === "canceled") return "Canceled";
  return map.error ?? "";
}

/** @type {(map: MapRecord) => string} */
export const parametersText = (map) =>
  Object.entries(map.parameters ?? {})
    .map(([name, value]) => `${name}=${asPython(value)}`)
    .join(", ");

/** @type {(app: App, map: MapRecord) => Promise<unknown>} */
export const cancelMap = (app, map) => attempt(() => postJson(`/maps/${map.id}/cancel`));
// A map that failed or is outdated is computed again in its place. Of a finished one, a second one is made.
/** @type {(app: App, map: MapRecord) => Promise<unknown>} */
export const runAgain = (app, map) =>
  map.status === "done" && !map.outdated
    ? startMap(app, map.method, map.parameters ?? {}, map.name)
    : attempt(async () => (await app.store.settled(), app.takeMap(await postJson(`/maps/${map.id}/restart`))));
/** @type {(app: App) => Promise<void>} */
const updateAll = async (app) => {
  for (const map of outdatedMaps(app.store)) await runAgain(app, map);
};
const outdatedMaps = (store) =>
  store.mapList().filter((map) => map.outdated && (map.status === "done" || isActive(map)));

// Above the maps: how many were computed before the table was changed.
/** @type {(app: App) => HTMLElement} */
export function outdatedBar(app) {
  const { store } = app;
  const words = el("span");
  const bar = el(
    "div",
    { class: "outdated-bar", role: "status", hidden: true },
    glyph("warning"),
    words,
    button("Update all", { symbol: "redo", kind: "small", title: OUTDATED, onclick: () => updateAll(app) }),
  );
  const fill = () => {
    const many = outdatedMaps(store).length;
    bar.hidden = !many;
    words.textContent = `${some(many, "map is outdated", "maps are outdated")}: the table was changed since.`;
  };
  store.on("maps", fill);
  store.on("current", fill);
  return bar;
}

/** @type {(app: App, map: MapRecord) => Promise<void>} */
async function renameMap(app, map) {
  const name = await askText("Rename the map", { value: map.name });
  if (name) await attempt(() => patchJson(`/maps/${map.id}`, { name }));
}

/** @type {(app: App, map: MapRecord, ask?: boolean) => Promise<void>} */
export async function removeMap(app, map, ask = true) {
  if (
    ask &&
    map.status === "done" &&
    !(await askYes("Remove this map?", `${map.name} and its coordinates will be deleted.`, "Remove"))
  )
    return;
  await attempt(async () => {
    await deleteAt(`/maps/${map.id}`);
    app.dropMap(map.id);
  });
}

/** @type {(app: App, map: MapRecord) => void} */
export function changeParameters(app, map) {
  app.openTab("methods");
  app.chooseMethod(map.method, map.parameters ?? {}, map);
}

// The same map without the one before it as its start, in its place.
/** @type {(app: App, map: MapRecord) => Promise<MapRecord | undefined>} */
const computeFromScratch = (app, map) =>
  startMap(app, map.method, map.parameters ?? {}, map.name, { replaces: map.id });

// What can be done with the earlier and later versions of a map that was changed.
/** @type {(app: App, map: MapRecord) => MenuItem[]} */
export function versionActions(app, map) {
  const { store } = app;
  const isChanged = earlierMap(store, map) !== null;
  const compare = isCompared(store, map) ? "Hide the map before" : "Compare before and after";
  /** @type {[boolean, MenuItem][]} */
  const actions = [
    [isChanged, ["Undo the change", () => undoChange(app, map), { symbol: "undo" }]],
    [laterMap(store, map) !== null, ["Redo the change", () => redoChange(app, map), { symbol: "redo" }]],
    [isChanged, [compare, () => compareWithEarlier(app, map), { symbol: "columns" }]],
    [Boolean(map.warm), ["Compute from scratch", () => computeFromScratch(app, map), { symbol: "play" }]],
  ];
  return actions.filter(([isOffered]) => isOffered).map(([, action]) => action);
}

/** @type {(app: App, map: MapRecord) => (MenuItem | null)[]} */
export function mapActions(app, map) {
  const { store } = app;
  const hidden = store.hidden.has(map.id);
  return [
    ["Details", () => app.focusMap(map.id), { symbol: "info" }],
    [
      hidden ? "Show its panel" : "Hide its panel",
      () => app.hideMap(map.id, !hidden),
      { symbol: "eye", disabled: !["done", "running", "queued"].includes(map.status) },
    ],
    ["Rename", () => renameMap(app, map), { symbol: "pen" }],
    null,
    isActive(map)
      ? ["Cancel", () => cancelMap(app, map), { symbol: "stop" }]
      : [map.outdated ? "Update" : "Run again", () => runAgain(app, map), { symbol: "redo" }],
    ["Change its parameters", () => changeParameters(app, map), { symbol: "add" }],
    ...(hidden ? [] : versionActions(app, map)),
    ["Remove", () => removeMap(app, map), { symbol: "trash", disabled: isActive(map) }],
  ];
}

/** @type {(app: App) => HTMLElement} */
export function mapsPane(app) {
  const { store } = app;
  const list = el("div", { class: "maps-list" });
  const foot = el("div", { class: "row" });
  const pane = el("div", { class: "pane-body" }, list, foot);
  const lines = new Map();
  /** @type {(map: MapRecord) => MapRecord} */
  const now = (map) => store.maps.get(map.id) ?? map;

  function line(map) {
    const title = el("button", { type: "button", class: "link map-name", onclick: () => app.focusMap(map.id) });
    const state = el("small", { class: "state" });
    const bar = el("progress", { max: 1 });
    const more = symbolButton("dots", `Actions of ${map.name}`, () => actionMenu(more, mapActions(app, now(map))), {
      "aria-haspopup": "menu",
    });
    const quick = el("span");
    const parameters = el("small", { class: "doc" });
    const node = el(
      "div",
      { class: "map-line" },
      el("span", { class: "dot" }),
      el("div", { class: "map-words" }, title, state, bar, parameters),
      quick,
      more,
    );
    return { node, title, state, bar, quick, parameters };
  }

  function fill() {
    const maps = store.mapList();
    for (const [id, each] of lines)
      if (!store.maps.has(id)) {
        each.node.remove();
        lines.delete(id);
      }
    if (!maps.length) {
      replace(
        list,
        el("p", { class: "note" }, "No map yet. Choose a method, or compute the usual maps."),
        button("Choose a method", { kind: "small", onclick: () => app.openTab("methods") }),
      );
    } else
      list
        .querySelector(":scope > .note")
        ?.parentElement?.replaceChildren(...[...lines.values()].map((each) => each.node));
    for (const map of maps) {
      if (!lines.has(map.id)) {
        lines.set(map.id, line(map));
        list.append(lines.get(map.id).node);
      }
      const each = lines.get(map.id);
      each.node.dataset.status = map.status;
      each.node.classList.toggle("outdated", Boolean(map.outdated));
      each.node.classList.toggle("off", store.hidden.has(map.id));
      each.node.classList.toggle("focused", store.focus === map.id);
      each.title.textContent = map.name;
      each.title.title = map.name;
      each.state.textContent = mapState(map);
      each.bar.hidden = !isActive(map);
      if (Number.isFinite(map.fraction) && map.status === "running") each.bar.value = map.fraction;
      else each.bar.removeAttribute("value");
      const isEarlier = store.hidden.has(map.id) && laterMap(store, map) !== null;
      each.parameters.textContent = [
        isEarlier && "Replaced.",
        map.outdated && OUTDATED,
        parametersText(map) || "default parameters",
      ]
        .filter(Boolean)
        .join(" ");
      const wanted = isActive(map)
        ? "stop"
        : ["failed", "broken", "canceled"].includes(map.status)
          ? "redo"
          : map.outdated
            ? "update"
            : "";
      if (each.quick.dataset.kind !== wanted) {
        each.quick.dataset.kind = wanted;
        replace(
          each.quick,
          wanted === "stop" && symbolButton("stop", "Cancel", () => cancelMap(app, now(map))),
          wanted === "update" &&
            button("Update", { kind: "small", title: OUTDATED, onclick: () => runAgain(app, now(map)) }),
          wanted === "redo" && symbolButton("redo", "Run again", () => runAgain(app, now(map))),
        );
      }
    }
    const active = maps.filter(isActive);
    replace(
      foot,
      active.length > 1 &&
        button(`Cancel all ${active.length}`, {
          symbol: "stop",
          kind: "small",
          onclick: () => active.forEach((map) => cancelMap(app, map)),
        }),
      maps.some((map) => ["failed", "broken", "canceled"].includes(map.status)) &&
        button("Remove those that failed", {
          symbol: "trash",
          kind: "small",
          onclick: () =>
            maps
              .filter((map) => ["failed", "broken", "canceled"].includes(map.status))
              .forEach((map) => removeMap(app, map, false)),
        }),
    );
  }
  store.on("maps", fill);
  store.on("focus", fill);
  store.on("current", fill);
  fill();
  return pane;
}

// Tell of maps that end while the page is open.
/** @type {(app: App, before: MapRecord | undefined, map: MapRecord) => void} */
export function tellOfEnd(app, before, map) {
  if (!before || before.status === map.status || !isActive(before)) return;
  if (map.status !== "failed" && map.status !== "broken") return;
  const said = mapState(map);
  const named = said.startsWith(`${map.method}(`) ? said : `${map.name}: ${said}`; // an error may name the method
  notice(named, "problem", ["Details", () => app.focusMap(map.id)]);
}
