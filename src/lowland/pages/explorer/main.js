// The explorer's page: puts its parts together and keeps them in step with the server.

import { count, el } from "../view/elements.js";
import { printedMaps } from "../view/printed.js";
import { ApiError, getJson, listen, NO_ANSWER, sentenceOf } from "./api.js";
import { saveButton, tableChoice } from "./bar.js";
import { colorBy, coloringPicker } from "./coloring.js";
import { dataPane, readingState } from "./data_pane.js";
import { changePlaces, earlierMap, redoLast, undoChange, undoLast } from "./edits.js";
import { button, closePopover, glyph, replace, symbolButton } from "./elements.js";
import { filterButton, filterChips, searchBox } from "./filter.js";
import { pageKeys, showHelp } from "./help.js";
import { sidePane } from "./layout.js";
import { mapPane } from "./map_pane.js";
import { cancelMap, mapActions, mapsPane, outdatedBar, removeMap, runAgain, tellOfEnd } from "./maps_pane.js";
import { methodsPane } from "./methods_pane.js";
import { notice, tellProblem } from "./notices.js";
import { acceptDrops, emptyState, openData } from "./open.js";
import { tookPlace } from "./placed.js";
import { pointPane } from "./point_pane.js";
import { selectionPane } from "./selection_pane.js";
import { keepState } from "./session.js";
import { createStage } from "./stage.js";
import { createStore, isActive } from "./store.js";

/** @type {App} */
const app = /** @type {any} */ ({ store: createStore(), notice }); // the parts below add themselves
const { store } = app;
app.sendings = el("div", { class: "sendings" });
app.stage = createStage(app);
app.state = keepState(app);
app.colorBy = (coloring) => colorBy(app, coloring);

const left = sidePane("left", "Data and methods", [
  ["data", "Data", dataPane(app)],
  ["methods", "Methods", methodsPane(app)],
  ["maps", "Maps", mapsPane(app)],
]);
const right = sidePane("right", "Details", [
  ["selection", "Selection", selectionPane(app)],
  ["point", "Point", pointPane(app)],
  ["map", "Map", mapPane(app)],
]);
const lostWords = el("span", null, NO_ANSWER);
const lost = el("div", { class: "lost", role: "alert", hidden: true }, glyph("warning"), lostWords);
const other = el("div", { class: "other" });
const search = searchBox(app);
const tablePicker = tableChoice(app);
const saveMenu = saveButton(app);
app.colorControl = el("label", { class: "color-control" }, el("span", null, "Color by"), coloringPicker(app));
const tools = el("div", { class: "tools" }, search.element, filterButton(app));
app.viewOptions = {
  actions: (map) => panelActions(map.key),
  statusActions: ({ key, status }) => {
    const map = store.maps.get(key);
    if (!map) return [];
    if (status === "queued" || status === "running") return [{ text: "Cancel", run: () => cancelMap(app, map) }];
    if (status === "done") return map.outdated ? [{ text: "Update", run: () => runAgain(app, map) }] : [];
    return [
      ...(earlierMap(store, map) ? [{ text: "Undo the change", run: () => undoChange(app, map) }] : []),
      { text: "Run again", run: () => runAgain(app, map) },
      { text: "Remove", run: () => removeMap(app, map) },
    ];
  },
};
// The menu of a panel: what the list of maps offers, except for what the view has itself.
/** @type {(key: string) => Action[]} */
const panelActions = (key) => {
  const map = store.maps.get(key),
    items = map ? mapActions(app, map).filter(Boolean) : [];
  return items.filter(([, , more]) => !more?.disabled).map(([text, run]) => ({ text, run }));
};
const bar = el(
  "header",
  { class: "bar" },
  left.handle,
  el("span", { class: "brand" }, "Lowland"),
  tablePicker.element,
  tools,
  el("div", { class: "bar-end" }, saveMenu, symbolButton("help", "Keys and gestures (?)", showHelp), right.handle),
);
const printed = el("div", { class: "lv-printed" });
const middle = el("main", { class: "middle" }, outdatedBar(app), filterChips(app), app.stage.element, other, printed);
document.body.append(
  el("a", { class: "skip", href: "#maps" }, "Skip to the maps"),
  bar,
  lost,
  el("div", { class: "frame" }, left.element, middle, right.element),
  app.sendings,
);
middle.id = "maps";
middle.tabIndex = -1;

// Panes

app.openTab = (key) => (["data", "methods", "maps"].includes(key) ? left : right).open(key);
let opened = false;
// The first selection opens the pane, unless the person has closed it; later ones change its tab only.
const reveal = (key) => {
  right.choose(key);
  if (document.documentElement.dataset.ready !== store.tableId) return; // a selection that is found again
  if (!opened && !right.isOpen() && !right.wasClosed()) right.open(key);
  opened = true;
};
app.focusMap = (id) => {
  store.set("focus", { focus: id });
  app.openTab("map");
};
app.showPoint = (row, open = true) => {
  store.set("point", { point: row });
  if (row !== null && open) app.openTab("point");
};

// Tables

// While a table is prepared again (roles, scale), its maps stay in sight; they are built again only if its rows, its
// columns, its label or the shape of its images changed.
const shapeOf = (table) =>
  JSON.stringify([
    table?.rows,
    table?.image_shape,
    table?.columns?.map((column) => [column.name, column.kind, column.role === "label"]),
  ]);
const askedTable = () => new URLSearchParams(location.hash.slice(1)).get("table") ?? ""; // in the address
const heard = new Map(); // when tables and maps were last reported, by id
const gone = new Set(); // tables and maps that were removed: answers about them may come late
app.takeTable = (table) => {
  if (gone.has(table.id)) return;
  heard.set(table.id, performance.now());
  const before = store.tables.get(table.id);
  store.tables.set(table.id, { ...before, ...table });
  if (!store.tableId || (!before && table.id === askedTable())) {
    app.showTable(table); // opened by another browser or a script, or asked for before it was known
    return;
  }
  if (table.id !== store.tableId) return;
  tablePicker.show(table.name);
  const inSight = app.stage.view !== null;
  const isReady = table.status === "ready";
  if (isReady ? app.stage.shape !== shapeOf(table) : table.status === "failed" || !inSight) showCurrent();
  else store.emit("table");
};
// Changes come by events, which may overtake the answer to a request: what is known of a table is newer than the answer.
app.showTable = async (table) => {
  if (gone.has(table.id)) return;
  if (!store.tables.has(table.id)) {
    store.tables.set(table.id, table);
    heard.set(table.id, performance.now());
  }
  const again = store.tableId === table.id;
  store.tableId = table.id;
  location.hash = `table=${table.id}`;
  if (!again || table.status !== "ready") left.choose("data");
  await showCurrent();
};
app.dropTable = (id) => {
  store.tables.delete(id);
  gone.add(id);
  if (store.tableId !== id) {
    store.emit("table");
    return;
  }
  app.state.forget();
  store.tableId = null;
  history.replaceState(null, "", location.pathname);
  const next = [...store.tables.values()].at(-1);
  if (next) app.showTable(next);
  else showCurrent();
};

// It could not be removed.
app.keepTable = (id) => {
  gone.delete(id);
  refresh().catch(() => {}); // or when the server answers again
};

let showing = 0;
async function showCurrent() {
  const number = ++showing;
  app.state.leave();
  app.stage.close();
  closePopover(); // of the table before
  const { tableId, table } = store;
  Object.assign(store, {
    maps: new Map(),
    hidden: new Set(),
    focus: null,
    point: null,
    selection: [],
    selected: 0,
    conditions: [],
    shown: null,
    clusterings: [],
    coloring: { kind: "label" },
  });
  tablePicker.show(table?.name ?? "No table");
  document.title = table ? `${table.name} – Lowland` : "Lowland";
  const ready = table?.status === "ready";
  app.stage.shape = ready ? shapeOf(table) : null; // of what is in sight, or will be in a moment
  tools.hidden = !ready;
  saveMenu.hidden = !ready;
  app.stage.element.hidden = !ready;
  document.body.classList.toggle("no-table", !table);
  if (!ready || !tableId) {
    for (const event of ["current", "maps", "selection", "filter", "focus"]) store.emit(event);
    replace(other, table ? readingState(app) : emptyState(app));
    return;
  }
  replace(other);
  try {
    const [maps, state] = await Promise.all([getJson(`/maps?table=${tableId}`), app.state.read(tableId)]);
    if (number !== showing) return;
    for (const map of maps) if (!store.maps.has(map.id) && !gone.has(map.id)) store.maps.set(map.id, map); // an event may be newer
    const later = new Set(maps.map((map) => map.replaces));
    store.hidden = new Set(state.hidden ?? maps.map((map) => map.id).filter((id) => later.has(id)));
    watchView(app.stage.show(table));
    for (const event of ["current", "maps", "filter"]) store.emit(event);
    noMaps();
    await app.state.restore(tableId, state);
    if (number === showing) document.documentElement.dataset.ready = tableId;
  } catch (error) {
    app.stage.shape = null; // tried again when the server answers
    tellProblem(error);
  }
}

// While a table has no map, say what to do.
function noMaps() {
  const none = store.table?.status === "ready" && !store.maps.size;
  app.stage.element.classList.toggle("bare", none);
  const there = other.querySelector(".first-map");
  if (!none) there?.remove();
  else if (!there)
    replace(
      other,
      el(
        "div",
        { class: "empty first-map" },
        el("h1", null, `${store.table.name} is ready`),
        el("p", { class: "lead" }, "Look at its columns, then compute a first map: every row becomes a point."),
        el(
          "div",
          { class: "row center" },
          button("Choose a method", { kind: "main", onclick: () => app.openTab("methods") }),
          button("Look at the columns", { onclick: () => app.openTab("data") }),
        ),
      ),
    );
}

// The view

app.takeSelection = () => {
  const { view } = app.stage;
  if (!view) return;
  store.set("selection", { selection: view.selection, selected: view.selectedCount ?? 0 });
};

function watchView(view) {
  view.on("select", ({ count: many, live }) => {
    right.count("selection", many ? count(many) : "");
    if (live) return; // the rest when the gesture ends
    app.takeSelection();
    if (store.selected) reveal("selection");
  });
  view.on("click", (event) => {
    const { row } = event;
    if (view.settings.tool !== "look" && event.event.type !== "keydown") return; // a click with another tool selects
    if (row >= 0) app.showPoint(row, right.isOpen() || window.innerWidth >= 1200);
    else if (store.point !== null) app.showPoint(null);
  });
  for (const event of ["axes", "classes", "layout", "maps", "settings", "zoom"])
    view.on(event, () => store.emit("looks"));
}

// Maps

app.takeMap = (map) => {
  if (map.table !== store.tableId || gone.has(map.id)) return;
  heard.set(map.id, performance.now());
  const before = store.maps.get(map.id);
  const newer = (map.run ?? 0) - (before?.run ?? 0); // it is computed again in its place
  if (before && (newer < 0 || (newer === 0 && before.status === "done" && isActive(map)))) return; // an event that was overtaken
  if (before && newer > 0) app.stage.renew(map.id);
  const merged = { ...before, ...map };
  store.maps.set(map.id, merged);
  if (!before) noMaps();
  const earlier = before ? null : earlierMap(store, merged);
  if (earlier && !store.hidden.has(earlier.id)) changePlaces(app, earlier, merged);
  else app.stage.update(merged);
  tellOfEnd(app, before, map);
  const { coloring } = store;
  const isMeasured = (each) => each?.measures?.some((measure) => measure.name === coloring.measure);
  if (
    coloring.kind === "trust" &&
    map.status === "done" &&
    isMeasured(map) &&
    !(before?.status === "done" && isMeasured(before))
  )
    colorBy(app, coloring);
  store.emit("maps");
};
app.dropMap = (id) => {
  gone.add(id);
  const map = store.maps.get(id);
  const earlier = map && earlierMap(store, map);
  if (earlier && !store.hidden.has(id)) changePlaces(app, map, earlier); // the map before it is seen again
  if (!store.maps.delete(id)) return;
  store.hidden.delete(id);
  app.stage.remove(id);
  if (store.focus === id) store.set("focus", { focus: null });
  store.emit("maps");
  noMaps();
};
app.hideMap = (id, hide) => {
  if (hide) store.hidden.add(id);
  else store.hidden.delete(id);
  const map = store.maps.get(id);
  if (map) app.stage.update(map);
  store.emit("maps");
  store.emit("hidden");
};
store.on("maps", () => {
  const active = store.mapList().filter(isActive).length;
  left.count("maps", active ? `${active} …` : store.maps.size || "");
});
store.on("selection", () => right.count("selection", store.selected ? count(store.selected) : ""));

// The server

// What is known is compared with what the server has. Events may overtake its answers: what they tell is newer.
async function refresh() {
  const since = performance.now();
  const isOld = (id) => !(heard.get(id) >= since);
  const tables = await getJson("/tables");
  const there = new Set(tables.map((table) => table.id));
  for (const id of [...store.tables.keys()]) if (!there.has(id) && isOld(id)) app.dropTable(id);
  for (const table of tables) if (isOld(table.id)) app.takeTable(table);
  const { tableId } = store;
  if (!tableId || store.table?.status !== "ready") return;
  const maps = await getJson(`/maps?table=${tableId}`);
  if (tableId !== store.tableId) return; // another table is shown meanwhile
  const known = new Set(maps.map((map) => map.id));
  for (const id of [...store.maps.keys()]) if (!known.has(id) && isOld(id)) app.dropMap(id);
  for (const map of maps) if (isOld(map.id)) app.takeMap(map);
}

let wasLost = false;
function connection(there, sentence) {
  if (sentence) lostWords.textContent = sentence;
  lost.hidden = there;
  document.body.classList.toggle("is-lost", !there);
  if (there && wasLost) notice("The server answers again.", "done");
  if (there) refresh().catch(tellProblem); // of what happened before the events came
  wasLost = !there;
}

// Esc: no selection and no point.
function clear() {
  app.stage.view?.clearSelection();
  if (store.point !== null) app.showPoint(null);
}

async function start() {
  acceptDrops(app);
  pageKeys({
    "/": search.focus,
    o: () => openData(app),
    m: () => app.openTab("methods"),
    Escape: clear,
    "[": left.toggle,
    "]": right.toggle,
    "?": showHelp,
    "Ctrl+z": () => undoLast(app),
    "Ctrl+Shift+z": () => redoLast(app),
    "Ctrl+y": () => redoLast(app),
  });
  try {
    const [session, methods, tables] = await Promise.all([
      getJson("/session"),
      getJson("/methods"),
      getJson("/tables"),
    ]);
    store.set("session", { session });
    store.set("methods", { methods });
    for (const table of tables) store.tables.set(table.id, table);
    listen(
      {
        table: (table) => (table.status === "deleted" ? app.dropTable(table.id) : app.takeTable(table)),
        map: (map) => (map.status === "deleted" ? app.dropMap(map.id) : app.takeMap(map)),
        live: ({ id }) => app.stage.liveAt(id),
        placed: (each) => tookPlace(app, each),
        selection: ({ table }) => table === store.tableId && store.emit("saved"),
        session: (reports) => store.set("session", { session: { ...store.session, ...reports } }),
      },
      connection,
    );
    const first =
      store.tables.get(askedTable()) ?? store.tables.get(session.table ?? "") ?? [...store.tables.values()].at(-1);
    if (first) await app.showTable(first);
    else await showCurrent();
  } catch (error) {
    replace(
      other,
      el(
        "div",
        { class: "empty failed" },
        el("h1", null, "The explorer could not start"),
        el("p", { class: "lead" }, sentenceOf(error)),
      ),
    );
    if (!(error instanceof ApiError)) throw error;
  } finally {
    document.documentElement.dataset.started = "yes";
  }
}

addEventListener("hashchange", () => {
  const asked = store.tables.get(askedTable());
  if (asked && asked.id !== store.tableId) app.showTable(asked);
});
addEventListener("beforeprint", () => app.stage.view && printed.replaceChildren(printedMaps(app.stage.view)));
addEventListener("afterprint", () => {
  printed.replaceChildren();
  app.stage.view?.print(false);
});
if (location.search) history.replaceState(null, "", location.pathname + location.hash); // without the token
start();
