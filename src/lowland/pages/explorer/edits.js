// Changed maps: a changed map takes the place of the one before it, which is kept. To undo and to redo a change, the two
// change places, and nothing is computed.

import { postJson } from "./api.js";
import { attempt } from "./notices.js";
import { isActive } from "./store.js";

/** @type {(store: Store, map: MapRecord) => boolean} */
const isShown = (store, map) => store.maps.has(map.id) && !store.hidden.has(map.id);

// The map that this one has replaced, and the latest one that has replaced this one; null: there is none.
/** @type {(store: Store, map: MapRecord) => MapRecord | null} */
export const earlierMap = (store, map) => store.maps.get(map.replaces ?? "") ?? null;
/** @type {(store: Store, map: MapRecord) => MapRecord | null} */
export const laterMap = (store, map) =>
  store.mapList().findLast((each) => each.replaces === map.id && (each.status === "done" || isActive(each))) ?? null;

// Whether a changed map can start from the coordinates of this one.
/** @type {(store: Store, map: MapRecord) => boolean} */
export const canStartFrom = (store, map) =>
  Boolean(store.method(map.method)?.warm) && map.status === "done" && !map.outdated && !map.fitted_rows;

// One map takes the place of another: the points move there.
/** @type {(app: App, from: MapRecord, to: MapRecord) => void} */
export function changePlaces(app, from, to) {
  const { store } = app;
  store.hidden.add(from.id);
  store.hidden.delete(to.id);
  app.stage.swap(from.id, to);
  if (store.focus === from.id) store.set("focus", { focus: to.id });
  store.emit("maps");
  store.emit("hidden");
}

// Returns the map that is in sight then.
/** @type {(app: App, map: MapRecord) => MapRecord} */
export function undoChange(app, map) {
  const earlier = earlierMap(app.store, map);
  if (!earlier) return map;
  if (isActive(map)) attempt(() => postJson(`/maps/${map.id}/cancel`));
  changePlaces(app, map, earlier);
  return earlier;
}
/** @type {(app: App, map: MapRecord) => void} */
export function redoChange(app, map) {
  const later = laterMap(app.store, map);
  if (later) changePlaces(app, map, later);
}

// By keys: the latest change in sight.
/** @type {(app: App) => void} */
export function undoLast(app) {
  const { store } = app;
  const last = store.mapList().findLast((map) => isShown(store, map) && earlierMap(store, map));
  if (last) undoChange(app, last);
}
/** @type {(app: App) => void} */
export function redoLast(app) {
  const { store } = app;
  const last = store.mapList().findLast((map) => {
    const later = laterMap(store, map);
    return isShown(store, map) && later && !isShown(store, later);
  });
  if (last) redoChange(app, last);
}

// Show the earlier map beside this one, or hide it again.
/** @type {(store: Store, map: MapRecord) => boolean} */
export const isCompared = (store, map) => isShown(store, earlierMap(store, map) ?? map);
// Whether a map that replaced this one is in sight, too.
/** @type {(store: Store, map: MapRecord) => boolean} */
export const isBefore = (store, map) =>
  store.mapList().some((each) => each.replaces === map.id && isShown(store, each));
/** @type {(app: App, map: MapRecord) => void} */
export function compareWithEarlier(app, map) {
  const earlier = earlierMap(app.store, map);
  if (!earlier) return;
  const compared = isCompared(app.store, map);
  app.hideMap(earlier.id, compared);
  if (!compared) app.stage.putFirst(earlier.id, map.id);
}

// The version of a map that is in sight after changes were undone; itself if none is.
/** @type {(store: Store, map: MapRecord) => MapRecord} */
export function shownVersion(store, map) {
  /** @type {(each: MapRecord) => string} */
  const first = (each) => {
    const earlier = earlierMap(store, each);
    return earlier ? first(earlier) : each.id;
  };
  if (isShown(store, map)) return map;
  return store.mapList().findLast((each) => isShown(store, each) && first(each) === first(map)) ?? map;
}
