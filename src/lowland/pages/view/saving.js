// The state of a view as plain JSON, and back.

// Bits of a mask, least significant first, as base64: as the server sends and takes masks.
/** @type {(mask: Mask) => string} */
export function maskText(mask) {
  const bits = new Uint8Array(Math.ceil(mask.length / 8));
  for (let i = 0; i < mask.length; i++) if (mask[i]) bits[i >> 3] |= 1 << (i & 7);
  return base64Of(bits);
}

/** @type {(text: string, n: number) => Uint8Array} */
export function maskOf(text, n) {
  const bits = bytesOf(text),
    mask = new Uint8Array(n);
  for (let i = 0; i < n; i++) mask[i] = (bits[i >> 3] >> (i & 7)) & 1;
  return mask;
}

/** @type {(data: Uint8Array) => string} */
export function base64Of(data) {
  let text = "";
  for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
  return btoa(text);
}

/** @type {(text: string) => Uint8Array<ArrayBuffer>} */
export function bytesOf(text) {
  const binary = atob(text),
    data = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) data[i] = binary.charCodeAt(i);
  return data;
}

const MOST_KEPT = 2e6; // bytes of values to color by that are kept
const ARRAYS = { Float32Array, Float64Array, Uint8Array, Uint16Array, Uint32Array };

/** @type {(spec: ColoringSpec) => object} */
function specText({ values, ...spec }) {
  if (!values) return spec;
  if (values.byteLength > MOST_KEPT) return { kind: "none" };
  const type = Object.keys(ARRAYS).find((name) => values instanceof ARRAYS[name]) ?? "Float32Array",
    data = ARRAYS[type].from(values);
  return { ...spec, type, data: base64Of(new Uint8Array(data.buffer)) };
}

/** @type {(saved: any) => ColoringSpec} */
const specOf = ({ data, type, ...spec }) => (data ? { ...spec, values: new ARRAYS[type](bytesOf(data).buffer) } : spec);

/** @type {(view: View) => ViewState} */
export function savedState(view) {
  return {
    version: 1,
    layout: { ...view.layout },
    settings: structuredClone(view.settings),
    panels: view.panels.map((panel) => ({
      key: panel.key,
      map: panel.map.key,
      zoomed: { ...panel.zoomed },
      solid: panel.solid,
    })),
    coloring: specText(view.coloring.spec),
    hiddenClasses: [...view.hiddenClasses],
    selection: view.selectedCount ? maskText(view.selection) : null,
    filter: view.filterMask ? maskText(view.filterMask) : null,
    shown: view.shown ? structuredClone(view.shown) : null,
    rows: view.table.n,
  };
}

// Restore what fits the table and the maps of the view; the rest is left as it is.
/** @type {(view: View, state: Partial<ViewState> | null) => Promise<void>} */
export async function restoreState(view, state) {
  if (!state || state.version !== 1) return;
  const { n } = view.table,
    same = state.rows === n;
  view.set(state.settings ?? {});
  const places = new Map((state.panels ?? []).map((panel, i) => [panel.key, i]));
  view.sort((a, b) => (places.get(a.key) ?? Infinity) - (places.get(b.key) ?? Infinity));
  for (const { key, map, zoomed, solid } of state.panels ?? []) {
    const panel = view.panelOf(key);
    if (!panel) continue;
    const shown = view.maps.find((each) => each.key === map);
    if (shown) panel.map = shown;
    panel.zoomed = { ...zoomed };
    panel.solid = panel.map.components >= 3 ? solid : null;
    panel.tell();
  }
  if (state.coloring) await view.colorBy(specOf(state.coloring));
  if (same) {
    view.filter(state.filter ? maskOf(state.filter, n) : null);
    view.hideClasses(new Set(state.hiddenClasses ?? []));
    view.select(state.selection ? maskOf(state.selection, n) : new Uint8Array(n), "new");
    view.show(state.shown ?? null);
  }
  view.arrange(state.layout ?? {});
  view.stage.ask(view.panels);
  view.emit("axes");
}
