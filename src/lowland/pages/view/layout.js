// Where the panels are: a grid, one large panel with the others beside it, or one panel alone.

const GAP = 10;
const LOW = 220; // height of a panel below which its scores give way to the map
const LEAST = 170; // height of a panel in a grid that fills its room; smaller ones scroll

// layout: { mode: "grid" | "focus" | "single", key, size: "small" | "medium" | "large" }.
// fit: "fill" (all panels within the height of the view) or "flow" (as high as they need to be).
/** @type {(view: View) => void} */
export function arrange(view) {
  const { layout, fit, host, scroller, panels } = view,
    many = panels.length,
    large = panels.find((panel) => panel.key === layout.key) ?? panels[0],
    mode = many > 1 ? layout.mode : fit === "fill" ? "grid" : layout.mode === "single" ? "single" : "grid";
  host.dataset.mode = mode;
  host.dataset.fit = fit;
  host.dataset.size = layout.size ?? "medium";
  for (const panel of panels) {
    const open = mode !== "grid" && panel === large;
    panel.node.hidden = mode === "single" && !open;
    panel.node.classList.toggle("lv-large", open);
    panel.tellSize(mode === "single", many > 1);
  }
  host.style.gridTemplateColumns = host.style.gridAutoRows = "";
  for (const panel of panels) panel.node.style.gridRow = "";
  if (fit === "fill") fillRoom(view, mode, large, scroller.clientWidth, scroller.clientHeight);
}

/** @type {(view: View, mode: string, large: Panel, wide: number, high: number) => void} */
function fillRoom({ host, panels, layout }, mode, large, wide, high) {
  if (!(wide > 0 && high > 0)) return;
  if (mode === "single" || panels.length === 1) {
    setGrid(host, "minmax(0, 1fr)", high);
    return;
  }
  if (mode === "grid") {
    const { columns, height } = gridFor(panels.length, wide, high, { small: 130, large: 330 }[layout.size] ?? LEAST);
    setGrid(host, `repeat(${columns}, minmax(0, 1fr))`, height);
    return;
  }
  const others = panels.length - 1,
    strip = stripFor(others, wide, high);
  setGrid(host, `minmax(0, 1fr) repeat(${strip.columns}, ${strip.width}px)`, strip.height);
  large.node.style.gridRow = `1 / span ${strip.lines}`;
}

/** @type {(host: HTMLElement, columns: string, height: number) => void} */
function setGrid(host, columns, height) {
  host.style.gridTemplateColumns = columns;
  host.style.gridAutoRows = `${Math.floor(height)}px`;
  host.toggleAttribute("data-low", height < LOW);
}

// The number of columns with the largest panels, a little wider than high.
/** @type {(many: number, wide: number, high: number, least: number) => { columns: number, height: number }} */
export function gridFor(many, wide, high, least) {
  /** @type {{ columns: number, height: number, size: number } | null} */
  let best = null;
  for (let columns = 1; columns <= many; columns++) {
    const lines = Math.ceil(many / columns),
      width = (wide - GAP * (columns - 1)) / columns,
      room = (high - GAP * (lines - 1)) / lines,
      height = Math.max(least, Math.min(room, 1.45 * width + 30)),
      size = Math.min(width, 1.25 * (height - 40)) * (room < least ? room / least : 1);
    if (width >= Math.min(least, wide) && (!best || size > best.size)) best = { columns, height, size };
  }
  return best ?? { columns: 1, height: least };
}

/** @type {(many: number, wide: number, high: number) => { columns: number, lines: number, width: number, height: number }} */
function stripFor(many, wide, high) {
  for (let columns = 1; ; columns++) {
    const lines = Math.ceil(many / columns),
      height = (high - GAP * (lines - 1)) / lines,
      width = Math.max(110, Math.min(0.28 * wide, 1.1 * height, (0.5 * wide) / columns));
    if (height >= 130 || (columns + 1) * 120 > 0.5 * wide)
      return { columns, lines, width: Math.floor(width), height: Math.max(110, height) };
  }
}
