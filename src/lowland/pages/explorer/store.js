// What the page knows: the server's session, methods, tables and maps, and what is chosen here. Parts listen to it.

/** @type {() => Store} */
export function createStore() {
  /** @type {Map<string, ((value: unknown) => unknown)[]>} */
  const listeners = new Map();
  /** @type {Store} */
  const store = {
    session: null,
    methods: [],
    tables: new Map(), // id -> table as the server tells it
    tableId: null, // of the table that is shown
    maps: new Map(), // id -> map of this table
    hidden: new Set(), // ids of maps that have no panel
    focus: null, // id of the map whose details are shown
    point: null, // row that was clicked
    neighbors: 12, // how many neighbors of it are drawn
    selection: [], // a mask of the rows
    selected: 0,
    conditions: [], // of the filter
    shown: null, // rows that pass the filter, or null: all
    coloring: { kind: "label" },
    clusterings: [], // [{ name, codes, levels }]
    selections: [], // named ones

    on(event, listener) {
      listeners.set(event, [...(listeners.get(event) ?? []), listener]);
    },
    // Ends when the table that is shown is not being read or prepared any more.
    settled() {
      const busy = () => ["reading", "preparing"].includes(store.table?.status ?? "");
      return new Promise((done) => {
        const look = () => (busy() ? setTimeout(look, 100) : done(undefined));
        look();
      });
    },
    emit(event, value) {
      for (const listener of listeners.get(event) ?? []) listener(value);
    },
    get table() {
      return store.tables.get(store.tableId ?? "") ?? null;
    },
    method(name) {
      return store.methods.find((each) => each.name === name || each.verb === name) ?? null;
    },
    // Newest last, as they were begun.
    mapList() {
      return [...store.maps.values()];
    },
    mapName(id) {
      return store.maps.get(id)?.name ?? "";
    },
    set(event, fields) {
      Object.assign(store, fields);
      store.emit(event);
    },
  };
  return store;
}

/** @type {(map: { status: string }) => boolean} */
export const isActive = (map) => map.status === "queued" || map.status === "running";

// Call f once things have been quiet for some milliseconds.
/** @type {<A extends unknown[]>(f: (...values: A) => unknown, wait: number) => Debounced<A>} */
export function debounced(f, wait) {
  let timer = 0;
  /** @type {any} */
  const call = (/** @type {any} */ ...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...values), wait);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}
