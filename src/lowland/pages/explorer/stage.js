// The middle of the page: the view with one panel per map, kept up to date with what the server tells.

import { el } from "../view/elements.js";
import { Column, MapData, Table } from "../view/model.js";
import { createView } from "../view/view.js";
import { getColumn, getFloats, getJson } from "./api.js";
import { isBefore } from "./edits.js";
import { replace } from "./elements.js";
import { mapProgress, mapState, parametersText } from "./maps_pane.js";
import { tellProblem } from "./notices.js";
import { isActive } from "./store.js";
import { cellText, DAY } from "./words.js";

/** @type {Record<string, ColumnKind>} */
const KINDS = {
  number: "number",
  integer: "number",
  boolean: "category",
  category: "category",
  ordered: "category",
  date: "date",
  text: "text",
  id: "text",
  constant: "number",
};
const CLASSES = 60; // a label of numbers with at most so many values is one of classes
const NAMES = 1000; // texts that repeat, with at most so many values, are names of classes
const MAIN_SCORES = ["trustworthiness", "continuity", "normalized stress", "downstream accuracy"];
const HOVERED = 8; // columns in the hover, besides those the table marks as shown

// The two scores that say most about a map, for its heading.
/** @type {(map: MapRecord) => Record<string, ScoreRecord | null>} */
function mainScores({ scores = {} }) {
  const names = Object.keys(scores).filter((name) => MAIN_SCORES.includes(name) && scores[name] !== null);
  names.sort((a, b) => MAIN_SCORES.indexOf(a) - MAIN_SCORES.indexOf(b));
  return Object.fromEntries(names.slice(0, 2).map((name) => [name, scores[name]]));
}

/** @type {(app: App) => PageStage} */
export function createStage(app) {
  const { store } = app;
  const root = el("div", { class: "stage" });
  const tools = el("div", { class: "strip" });
  /** @type {PageStage} */
  const stage = {
    element: root,
    view: null,
    table: null,
    shape: null,
    show,
    close,
    update,
    remove,
    swap,
    putFirst,
    renew,
    liveAt,
    loadTrust,
    mapData: (id) => stage.view?.mapOf(id) ?? null,
  };
  const loaded = new Map(); // id -> "live" or "done": the coordinates in the view
  const loading = new Set();
  const wanted = new Set(); // ids of maps with a snapshot that came while another was being fetched

  const viewColumns = (table) =>
    table.columns.map((column, index) => {
      const repeated = column.kind === "text" && column.distinct <= NAMES && column.distinct * 2 <= table.rows;
      const classes = column.distinct > 0 && (repeated || (column.role === "label" && column.distinct <= CLASSES));
      const kind = classes ? "category" : (KINDS[column.kind] ?? "text");
      return new Column({
        name: column.name,
        kind,
        load: kind === "text" ? null : () => columnOf(table.id, index, kind),
      });
    });

  // Dates come as days, and a label of numbers becomes one of classes.
  async function columnOf(table, index, kind) {
    const { values, levels } = await getColumn(table, index);
    if (kind === "date") return Float64Array.from(values, (day) => day * DAY);
    if (kind !== "category" || levels) return { values, levels };
    const sorted = [...new Set(values)].filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
    return {
      values: Array.from(values, (value) => (Number.isNaN(value) ? null : String(value))),
      levels: sorted.map(String),
    };
  }

  // Columns of the hover: name, label and those marked as shown, then the first features; an image is shown, not its pixels.
  function hoverColumns(table) {
    const rank = { id: 0, keep: 2, weight: 3, feature: 4 }; // the view shows the label itself
    const order = table.columns.map((column, index) => [rank[column.role] ?? 9, index]).filter(([at]) => at < 9);
    order.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const marked = order.filter(([at]) => at < 4).length;
    const fewest = table.has_images ? 0 : HOVERED;
    return order.slice(0, Math.max(fewest, Math.min(marked, 20))).map(([, index]) => index);
  }

  async function detailsOf(table, row) {
    const columns = hoverColumns(table);
    if (!columns.length) return [];
    const reply = await getJson(`/tables/${table.id}/values?rows=${row}&columns=${columns.join(",")}`);
    return columns
      .map((index, i) => [table.columns[index].name, cellText(reply.rows[0][i])])
      .filter(([, text]) => text !== "");
  }

  /** @type {(map: MapRecord) => MapFields} */
  const asViewMap = (map) => ({
    key: map.id,
    name: map.name,
    subtitle: parametersText(map),
    components: map.components ?? 2,
    n: store.table?.rows,
    status: map.status,
    progress: isActive(map)
      ? { fraction: map.fraction ?? null, text: mapProgress(loaded.has(map.id) ? { ...map, stage: null } : map) }
      : null, // a live map stays in sight
    error: ["failed", "broken"].includes(map.status) ? mapState(map) : null,
    scores: mainScores(map),
    badge: map.outdated ? "outdated" : isBefore(store, map) ? "before" : null,
    axes: map.axes?.length ? map.axes : null,
  });

  function show(table) {
    close();
    const label = table.columns.findIndex((column) => column.role === "label");
    const shown = new Table({
      n: table.rows,
      name: table.name,
      columns: viewColumns(table),
      label: label < 0 ? null : label,
      thumbnail: table.has_images ? (row) => `/api/tables/${table.id}/image/${row}` : null,
      details: (row) => detailsOf(table, row),
    });
    stage.table = shown;
    const room = el("div", { class: "view-room" });
    const strip = el("div", { class: "view-tools" });
    replace(tools, app.colorControl, strip);
    replace(root, tools, room);
    const maps = store.mapList().filter((map) => !store.hidden.has(map.id));
    const view = createView(room, {
      table: shown,
      maps: maps.map((map) => new MapData(asViewMap(map))),
      fit: "fill",
      toolbar: strip,
      ...app.viewOptions,
    });
    stage.view = view;
    room.addEventListener("click", (event) => {
      const at = /** @type {Node} */ (event.target),
        panel = view.panels.find((each) => each.node.querySelector(".lv-heading")?.contains(at));
      if (panel) app.focusMap(panel.map.key);
    });
    for (const map of maps) fetchCoordinates(map);
    return view;
  }

  function close() {
    stage.view?.close();
    stage.view = null;
    loaded.clear();
    loading.clear();
    wanted.clear();
    replace(root);
  }

  // A map is new, has changed, or is shown or hidden.
  function update(map) {
    if (!stage.view) return;
    const shown = stage.mapData(map.id) !== null;
    if (store.hidden.has(map.id)) {
      if (shown) remove(map.id);
      return;
    }
    const { key, n, ...fields } = asViewMap(map);
    if (shown)
      stage.view.update(
        key,
        loaded.has(key) && isActive(map) ? { ...fields, components: map.components ?? fields.components } : fields,
      );
    else stage.view.add(new MapData({ key, n, ...fields }));
    fetchCoordinates(map);
  }

  function remove(id) {
    stage.view?.remove(id);
    loaded.delete(id);
  }

  /** @type {(view: View, keys: string[]) => void} */
  const sortPanels = (view, keys) => view.sort((a, b) => keys.indexOf(a.key) - keys.indexOf(b.key));

  // The panel of one map becomes that of another: its points stay in sight, and move when the others come.
  /** @type {PageStage["swap"]} */
  function swap(from, map) {
    const { view } = stage;
    const panel = view?.panelOf(from);
    if (!view || !panel || stage.mapData(map.id)) {
      remove(from);
      update(map);
      return;
    }
    const { layout } = view;
    const { coordinates, components } = panel.map;
    const keys = view.panels.map(({ key }) => (key === from ? map.id : key));
    view.add(new MapData({ ...asViewMap(map), ...(coordinates && { coordinates, components }) }));
    Object.assign(/** @type {Panel} */ (view.panelOf(map.id)), { zoomed: { ...panel.zoomed }, solid: panel.solid });
    if (coordinates && isActive(map)) loaded.set(map.id, "live");
    remove(from);
    sortPanels(view, keys);
    if (layout.key === from) view.arrange({ ...layout, key: map.id });
    fetchCoordinates(map);
  }

  // Move the panels of two maps to the front, side by side.
  /** @type {PageStage["putFirst"]} */
  function putFirst(...first) {
    const { view } = stage;
    if (!view) return;
    sortPanels(view, [...first, ...view.panels.map((panel) => panel.key).filter((key) => !first.includes(key))]);
    if (view.layout.mode !== "grid") view.arrange({ mode: "grid" });
  }

  // A map is computed again: its points stay in sight until the new ones come.
  function renew(id) {
    loaded.delete(id);
    if (stage.mapData(id)) stage.view?.update(id, { trust: {}, placed: null, overlay: null });
  }

  async function fetchCoordinates(map) {
    if (map.status === "running" && map.version) liveAt(map.id);
    if (map.status !== "done" || loaded.get(map.id) === "done" || loading.has(map.id)) return;
    loading.add(map.id);
    const { view } = stage;
    try {
      const coordinates = await getFloats(`/maps/${map.id}/coordinates`);
      if (!view || view !== stage.view || store.hidden.has(map.id) || isReplaced(map)) return;
      loaded.set(map.id, "done");
      view.update(map.id, {
        coordinates,
        components: Math.round(coordinates.length / view.table.n) || map.components,
        status: "done",
      });
      store.emit("coordinates", map.id);
    } catch (error) {
      if (!isReplaced(map)) tellProblem(error);
    } finally {
      loading.delete(map.id);
      const now = store.maps.get(map.id);
      if (now && view === stage.view && isReplaced(map)) fetchCoordinates(now);
    }
  }

  const isReplaced = (map) => store.maps.has(map.id) && store.maps.get(map.id)?.run !== map.run;

  // A new snapshot of a map: fetched at once, or after the one that is on its way.
  async function liveAt(id) {
    if (!stage.view || store.hidden.has(id) || loaded.get(id) === "done") return;
    if (loading.has(id)) {
      wanted.add(id);
      return;
    }
    loading.add(id);
    const { view } = stage;
    try {
      const coordinates = await getFloats(`/maps/${id}/live`);
      const map = store.maps.get(id);
      if (view !== stage.view || loaded.get(id) === "done" || !map) return;
      const first = !loaded.has(id);
      loaded.set(id, "live");
      view.update(id, {
        coordinates,
        components: Math.round(coordinates.length / view.table.n),
        status: map.status,
      });
      if (first) store.emit("coordinates", id);
    } catch {
      // the snapshot was replaced by the finished map
    } finally {
      loading.delete(id);
      const map = store.maps.get(id);
      if (wanted.delete(id) && map?.status === "running") setTimeout(() => liveAt(id), 30);
      else if (map?.status === "done") fetchCoordinates(map);
    }
  }

  // The quality of every row, for the maps that have it.
  async function loadTrust(measure) {
    const { view } = stage;
    await Promise.all(
      store.mapList().map(async (map) => {
        const reply = map.measures?.find((each) => each.name === measure);
        if (!reply || map.status !== "done" || store.hidden.has(map.id)) return;
        const there = stage.mapData(map.id);
        if (there?.trust?.[measure]) return;
        const values = await getFloats(`/maps/${map.id}/trust/${encodeURIComponent(measure)}`);
        if (view && view === stage.view)
          view.update(map.id, {
            trust: { ...there?.trust, [measure]: { values, low: reply.low, high: reply.high, better: reply.better } },
          });
      }),
    );
  }

  return stage;
}
