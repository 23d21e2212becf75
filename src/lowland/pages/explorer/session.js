// The state of the page for each table: kept by the server, found again after a reload, saved to a file on demand.

import { offer } from "../view/elements.js";
import { getFile, getJson, putJson, sentenceOf } from "./api.js";
import { colorBy, readClusters } from "./coloring.js";
import { applyConditions } from "./filter.js";
import { attempt, notice } from "./notices.js";
import { debounced } from "./store.js";

// A tab keeps its own state over reloads. A copy of a tab has the same storage, but cannot have the lock.
let tab = "";
async function tabName() {
  if (tab) return tab;
  const fresh = () => Math.random().toString(36).slice(2, 14);
  try {
    tab = sessionStorage.getItem("lowland-tab") ?? fresh();
    const isOurs =
      (await navigator.locks?.request(`lowland-tab-${tab}`, { ifAvailable: true }, async (lock) => {
        if (lock) navigator.locks.request(`lowland-tab-${tab}`, () => new Promise(() => {})); // as long as the page is open
        return lock !== null;
      })) ?? true;
    if (!isOurs) tab = fresh();
    sessionStorage.setItem("lowland-tab", tab);
  } catch {
    tab ||= fresh(); // a browser that stores nothing
  }
  return tab;
}

// What has another form than expected, as in a damaged session file, is left out.
const list = (value, fits) => (Array.isArray(value) ? value.filter(fits) : []);
/** @type {(saved: any) => PageState} */
const repaired = ({ hidden, clusterings, conditions, coloring, neighbors, ...state }) => ({
  ...state,
  hidden: Array.isArray(hidden) ? list(hidden, (id) => typeof id === "string") : null,
  clusterings: list(clusterings, (each) => typeof each?.codes === "string" && Array.isArray(each.levels)),
  conditions: list(conditions, (each) => typeof each?.column === "string" || typeof each?.rows === "string"),
  coloring: typeof coloring?.kind === "string" ? coloring : null,
  neighbors: Number.isInteger(neighbors) && neighbors > 0 ? neighbors : null,
});

/** @param {App} app */
export function keepState(app) {
  const { store } = app;
  /** @type {string | null} */
  let opened = null; // the table whose state has been restored: only that may be written
  let last = "";

  // Colors, filter and neighbors are kept by what they mean, not by their values.
  const viewState = () => {
    const { coloring, filter, shown, ...rest } = /** @type {View} */ (app.stage.view).save();
    return rest;
  };
  const current = () => ({
    version: 1,
    view: viewState(),
    hidden: [...store.hidden].filter((id) => store.maps.has(id)),
    coloring: store.coloring,
    clusterings: store.clusterings.map(({ name, levels, text }) => ({ name, levels, codes: text })),
    conditions: store.conditions,
    point: store.point,
    focus: store.focus,
    neighbors: store.neighbors,
  });
  /** @type {Promise<unknown>} */
  let written = Promise.resolve(); // until the server has all that was written
  const write = () => (written = Promise.all([written, sent()]));
  const sent = async () => {
    later.cancel();
    if (!opened || !app.stage.view) return;
    const state = current();
    const text = JSON.stringify(state);
    if (text === last) return;
    last = text;
    try {
      await putJson(`/tables/${opened}/state?tab=${await tabName()}`, state);
    } catch {
      last = ""; // written again after the next change; a lost connection is shown elsewhere
    }
  };
  /** @type {Debounced<[]>} */
  const later = debounced(write, 700);
  for (const event of ["selection", "coloring", "filter", "point", "focus", "hidden", "looks"]) store.on(event, later);
  addEventListener("visibilitychange", () => document.visibilityState === "hidden" && write());

  return {
    later,
    write,
    // The table is gone, and its state with it.
    forget() {
      later.cancel();
      opened = null;
    },
    // Another table will be shown: the last changes are written now.
    leave() {
      write();
      opened = null;
    },
    async read(table) {
      await written;
      try {
        return repaired((await getJson(`/tables/${table}/state?tab=${await tabName()}`)) ?? {});
      } catch {
        return repaired({});
      }
    },
    // Bring back what was seen; the view has been made with the maps of the table.
    /** @type {(table: string, state: PageState) => Promise<void>} */
    async restore(table, state) {
      const { view } = app.stage;
      const gone = () => view !== app.stage.view; // another table is shown meanwhile
      store.clusterings = state.clusterings.map((each) => readClusters(each, each.name));
      if (state.neighbors) store.neighbors = state.neighbors;
      if (state.view && view) {
        try {
          await view.restore({ ...state.view, coloring: null, filter: null, shown: null }); // these are asked for below
        } catch (error) {
          console.warn(`The former view could not be restored: ${sentenceOf(error)}`);
        }
      }
      if (gone()) return;
      if (state.coloring && (state.coloring.kind !== "cluster" || store.clusterings[state.coloring.index ?? -1]))
        await colorBy(app, state.coloring);
      else store.emit("coloring");
      /** @type {(condition: Condition) => unknown} */
      const known = ({ column, rows }) =>
        column === null ? rows : store.table?.columns.some((each) => each.name === column);
      if (!gone() && state.conditions.some(known)) await applyConditions(app, state.conditions.filter(known));
      if (gone()) return;
      if (state.point !== undefined && Number.isInteger(state.point) && state.point < (store.table?.rows ?? 0))
        app.showPoint(state.point, false);
      if (state.focus && store.maps.has(state.focus)) store.set("focus", { focus: state.focus });
      app.takeSelection();
      opened = table;
      last = JSON.stringify(current());
    },
  };
}

// The table with its maps, selections and this state in one file, to be opened again here or elsewhere.
/** @type {(app: App) => Promise<void>} */
export async function saveArchive(app) {
  const { store } = app;
  await app.state.write();
  const wait = notice("The session is being written.");
  await attempt(async () => {
    const { blob, name } = await getFile(`/tables/${store.tableId}/archive`, `${store.table?.name}.lowland-session`);
    offer(blob, name);
    notice(`${name} contains the table, its maps and selections. Drop it onto this page to open it again.`, "done");
  });
  wait.remove();
}
