// Pictures of a panel and text of rows, for files.

import { nameOfMissing } from "./colorings.js";
import { LOOKS, MISSING } from "./colors.js";
import { brief, contextOf, count, svg } from "./elements.js";
import { drawNeighbors, neighborMarks } from "./marks.js";
import { drawAxes, drawNames, placedAxes, placedLines, placedNames } from "./names.js";
import { overlayPaths } from "./overlay.js";
import { Painter } from "./painter.js";
import { HIDDEN, SELECTED } from "./rows.js";
import { CORNERS, outline, rimColor } from "./stamps.js";

const MOST_SHAPES = 20000; // points that are written as shapes; more become an image
const MOST_CLASSES = 24;
const LAYERS = 12;

/** @type {(view: View, options: PictureOptions) => PictureSizes} */
const measuresOf = (view, { width = 900, height = 760, title = true, legend = true }) => {
  const head = title ? 40 : 12,
    items = legend ? legendItems(view) : [],
    side = items.length ? 190 : 0;
  return { width, height, head, side, items, wide: width - side - 16, high: height - head - 12 };
};

// What the legend of a picture shows: a color bar or classes.
/** @type {(view: View) => LegendItem[]} */
function legendItems({ coloring, palette, hiddenClasses }) {
  if (coloring.type === "scale")
    return [{ name: coloring.name, bar: { low: coloring.ends[0], high: coloring.ends[1] } }];
  if (coloring.type !== "classes") return [];
  const { levels, counts } = coloring,
    codes = [...levels.keys()].filter((code) => counts[code] && !hiddenClasses.has(code)),
    /** @type {{ name: string, shade: number | null }[]} */
    listed = codes.slice(0, MOST_CLASSES).map((code) => ({ name: levels[code], shade: code % LOOKS }));
  if (coloring.missing) listed.push({ name: nameOfMissing(coloring), shade: MISSING });
  if (codes.length > MOST_CLASSES) listed.push({ name: `and ${count(codes.length - MOST_CLASSES)} more`, shade: null });
  return listed.map((item) => ({
    ...item,
    color: item.shade === null ? null : palette.colors[item.shade],
    shape: item.shade === null ? null : palette.shape(item.shade),
  }));
}

// Draw the points of a panel on a canvas of their own.
/** @type {(panel: Panel, wide: number, high: number, scale: number) => OffscreenCanvas} */
function pointsOf(panel, wide, high, scale) {
  const canvas = new OffscreenCanvas(Math.round(wide * scale), Math.round(high * scale)),
    context = contextOf(canvas),
    { view } = panel,
    [wideBefore, highBefore] = [panel.wide, panel.high];
  Object.assign(panel, { wide, high, sampled: null });
  panel.draw(context, new Painter(), { left: 0, top: 0, wide: canvas.width, high: canvas.height }, scale);
  if (view.shown)
    drawNeighbors(context, panel, view.shown.row, view.neighborSetsOf(panel), canvas.width, canvas.height, scale);
  Object.assign(panel, { wide: wideBefore, high: highBefore });
  return canvas;
}

/** @type {(panel: Panel, options?: PictureOptions) => Promise<Blob>} */
export async function pngOf(panel, options = {}) {
  const { view } = panel,
    { theme } = view,
    { width, height, head, side, items, wide, high } = measuresOf(view, options),
    scale = options.scale ?? 2,
    canvas = new OffscreenCanvas(width * scale, height * scale),
    context = contextOf(canvas);
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  const map = pointsOf(panel, wide, high, scale);
  for (const draw of [drawNames, drawAxes]) draw(contextOf(map), panel, map.width, map.height, scale);
  context.drawImage(map, 8 * scale, head * scale);
  context.scale(scale, scale);
  context.fillStyle = theme.ink;
  context.textBaseline = "middle";
  if (options.title !== false) {
    context.font = "600 17px system-ui, sans-serif";
    context.fillText(brief(panel.map.name, 90), 16, 22, width - 32);
  }
  context.font = "13px system-ui, sans-serif";
  items.forEach((item, i) => {
    const x = width - side + 8,
      y = head + 16 + 22 * i;
    context.fillStyle = theme.ink;
    if (item.bar) {
      context.fillText(brief(item.name, 28), x, y, side - 16);
      for (let j = 0; j < 160; j++) {
        context.fillStyle = view.palette.colors[Math.round((j * 254) / 159)];
        context.fillRect(x + j, y + 14, 1.2, 12);
      }
      context.fillStyle = theme.ink;
      context.fillText(item.bar.low, x, y + 38);
      context.textAlign = "right";
      context.fillText(item.bar.high, x + 160, y + 38);
      context.textAlign = "left";
      return;
    }
    if (item.color && item.shape) {
      outline(context, item.shape, x + 6, y, 5);
      context.fillStyle = item.color;
      context.fill();
      context.strokeStyle = rimColor(item.color, theme);
      context.stroke();
    }
    context.fillStyle = theme.ink;
    context.fillText(brief(item.name), x + 18, y, side - 34);
  });
  return canvas.convertToBlob({ type: "image/png" });
}

/** @type {(panel: Panel, options?: PictureOptions) => Promise<Blob>} */
export async function svgOf(panel, options = {}) {
  const { view } = panel,
    { theme } = view,
    { width, height, head, side, items, wide, high } = measuresOf(view, options),
    shapes = panel.map.n <= MOST_SHAPES && !view.settings.density,
    points = shapes ? vectorPoints(panel, wide, high, head) : await imagePoints(panel, wide, high, head);
  const words = { fill: theme.ink, "font-family": "system-ui, sans-serif" };
  const root = svg(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    svg("rect", { width, height, fill: theme.paper }),
    svg("clipPath", { id: "map" }, svg("rect", { x: 8, y: head, width: wide, height: high })),
    options.title !== false &&
      svg("text", { x: 16, y: 28, "font-size": 17, "font-weight": 600, ...words }, brief(panel.map.name, 90)),
    svg("g", { "clip-path": "url(#map)" }, points, vectorNames(panel, wide, high, head)),
    items.map((item, i) => legendItem(item, view, width - side + 8, head + 16 + 22 * i, words)),
  );
  return new Blob([new XMLSerializer().serializeToString(root)], { type: "image/svg+xml" });
}

/** @type {(item: LegendItem, view: View, x: number, y: number, words: Attributes) => Child[]} */
function legendItem(item, { palette, theme }, x, y, words) {
  const text = { "font-size": 13, ...words };
  if (item.bar) {
    const steps = Array.from({ length: 64 }, (_, i) =>
      svg("rect", {
        x: x + 2.5 * i,
        y: y + 14,
        width: 2.7,
        height: 12,
        fill: palette.colors[Math.round((i * 254) / 63)],
      }),
    );
    return [
      svg("text", { x, y: y + 4, ...text }, brief(item.name, 28)),
      steps,
      svg("text", { x, y: y + 42, ...text }, item.bar.low),
      svg("text", { x: x + 160, y: y + 42, "text-anchor": "end", ...text }, item.bar.high),
    ];
  }
  return [
    item.color &&
      item.shape &&
      svg("path", {
        d: pathOf(item.shape, x + 6, y, 5),
        fill: item.color,
        stroke: rimColor(item.color, theme),
        "stroke-width": 0.8,
      }),
    svg("text", { x: x + 18, y: y + 4, ...text }, brief(item.name)),
  ];
}

/** @type {(shape: Shape, x: number, y: number, r: number) => string} */
function pathOf(shape, x, y, r) {
  const at = (value) => Math.round(value * 100) / 100;
  if (!CORNERS[shape])
    return `M${at(x - r)} ${at(y)}a${at(r)} ${at(r)} 0 1 0 ${at(2 * r)} 0a${at(r)} ${at(r)} 0 1 0 ${at(-2 * r)} 0z`;
  return `M${CORNERS[shape].map(([dx, dy]) => `${at(x + dx * r)} ${at(y + dy * r)}`).join("L")}z`;
}

// The rows that are not selected first, then the others in some layers, so that no class covers all others. In each layer
// there is one path per color and shape.
/** @type {(panel: Panel, wide: number, high: number, head: number) => Child[]} */
function vectorPoints(panel, wide, high, head) {
  const { view } = panel,
    { flags, selected } = view.rows,
    { theme, palette } = view,
    { X, Y, Z } = panel.plane,
    shades = view.coloring.shadesOf(panel.map),
    scene = panel.scene(wide, high, 1, Infinity),
    { place, radius } = scene,
    edges = new Map(panel.edgeSlots(place, wide, high).map((each) => [each.slot, each.at])),
    groups = new Map(),
    slots = Array.from({ length: X.length }, (_, slot) => slot);
  if (Z) slots.sort((a, b) => Z[a] - Z[b]);
  slots.forEach((slot, at) => {
    if (flags[slot] & HIDDEN || X[slot] !== X[slot]) return;
    const [x, y] = edges.get(slot) ?? [X[slot] * place.ax + place.bx, Y[slot] * place.ay + place.by];
    if (x < 0 || y < 0 || x > wide || y > high) return;
    const pale = selected && !(flags[slot] & SELECTED),
      shade = shades ? shades[slot] : MISSING,
      group = pale ? -1 : 256 * Math.floor((LAYERS * at) / slots.length) + shade;
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(pathOf(pale ? "disc" : palette.shape(shade), x + 8, y + head, radius));
  });
  const drawn = [...groups]
    .sort(([a], [b]) => a - b)
    .map(([group, paths]) => {
      const color = group < 0 ? theme.dim : palette.colors[group % 256];
      return svg("path", {
        d: paths.join(""),
        fill: color,
        stroke: group < 0 ? "none" : rimColor(color, theme),
        "stroke-width": Math.max(0.3, radius / 6),
      });
    });
  const placed = panel.placedPixels(wide, high).filter(Boolean);
  if (placed.length)
    drawn.push(
      svg("path", {
        d: placed.map(([x, y]) => pathOf("star", x + 8, y + head, radius + 2.5)).join(""),
        fill: theme.mark,
        stroke: rimColor(theme.mark, theme),
      }),
    );
  const over = overlayPaths(panel, wide, high, 1).map(({ d, stroke, fill, width, opacity }) =>
    svg("path", {
      d,
      stroke: stroke ?? "none",
      fill: fill ?? "none",
      "stroke-width": width ?? 0,
      opacity,
      transform: `translate(8 ${head})`,
    }),
  );
  return [...drawn, ...over, vectorNeighbors(panel, wide, high, head)];
}

/** @type {(panel: Panel, wide: number, high: number, head: number) => Child[]} */
function vectorNeighbors(panel, wide, high, head) {
  const { shown, theme } = panel.view,
    marks = shown && neighborMarks(panel, shown.row, panel.view.neighborSetsOf(panel), wide, high);
  if (!marks) return [];
  const [u, v] = marks.center,
    rim = { stroke: theme.paper, "stroke-width": 1.5 };
  const lines = marks.groups.map(({ color, dash, places }) =>
    svg("path", {
      d: places.map(([x, y]) => `M${u + 8} ${v + head}L${x + 8} ${y + head}`).join(""),
      stroke: color,
      "stroke-width": 1.2,
      "stroke-dasharray": dash.join(" ") || "none",
    }),
  );
  const points = marks.groups.map(({ shape, color, places }) =>
    svg("path", {
      d: places.map(([x, y]) => pathOf(shape, x + 8, y + head, marks.radius)).join(""),
      fill: color,
      ...rim,
    }),
  );
  return [
    lines,
    points,
    svg("path", { d: pathOf("star", u + 8, v + head, 1.25 * marks.radius), fill: theme.ink, ...rim }),
  ];
}

/** @type {(panel: Panel, wide: number, high: number, head: number) => SVGElement[]} */
function vectorNames(panel, wide, high, head) {
  const { theme } = panel.view,
    look = {
      "font-family": "system-ui, sans-serif",
      stroke: theme.paper,
      "paint-order": "stroke",
      "stroke-linejoin": "round",
    },
    bold = { ...look, "font-weight": 600, "text-anchor": "middle", fill: theme.ink, "stroke-width": 3.5 };
  const names = placedNames(panel, wide, high, 1).flatMap((name) =>
    placedLines(name).map(({ line, x, y }) =>
      svg("text", { x: x + 8, y: y + head + 0.35 * name.size, "font-size": name.size, ...bold }, line),
    ),
  );
  const axes = placedAxes(panel, wide, high, 1).map(({ text, x, y, size, anchor, turned }) =>
    svg(
      "text",
      {
        ...look,
        "font-size": size,
        "text-anchor": anchor,
        fill: theme.soft,
        "stroke-width": 3,
        transform: `translate(${x + 8} ${y + head})${turned ? " rotate(-90)" : ""}`,
      },
      text,
    ),
  );
  return [...names, ...axes];
}

/** @type {(panel: Panel, wide: number, high: number, head: number) => Promise<SVGElement>} */
async function imagePoints(panel, wide, high, head) {
  const blob = await pointsOf(panel, wide, high, 2).convertToBlob({ type: "image/png" }),
    data = await new Promise((done, fail) => {
      const reader = new FileReader();
      reader.onload = () => done(reader.result);
      reader.onerror = () => fail(reader.error);
      reader.readAsDataURL(blob);
    });
  return svg("image", { x: 8, y: head, width: wide, height: high, href: data });
}

// Row number, id, loaded columns and coordinates of rows, as comma-separated text.
/** @type {(view: { table: Table, maps: MapData[] }, rows: Iterable<number>) => string} */
export function csvOf({ table, maps }, rows) {
  const columns = table.columns.filter((column) => column.loaded),
    drawn = maps.filter((map) => map.coordinates),
    head = ["row", ...(table.ids ? ["id"] : []), ...columns.map((column) => column.name)];
  for (const map of drawn) for (let c = 0; c < map.components; c++) head.push(`${map.name} ${c + 1}`);
  const lines = [head.map(quoted).join(",")];
  for (const row of rows) {
    const cells = [
      String(table.numberOf(row)),
      ...(table.ids ? [String(table.ids[row])] : []),
      ...columns.map((column) => column.exactTextOf(row)),
    ];
    for (const map of drawn) {
      for (let c = 0; c < map.components; c++) {
        const value = map.component(c)[row];
        cells.push(Number.isNaN(value) ? "" : String(Number(value.toPrecision(7))));
      }
    }
    lines.push(cells.map(quoted).join(","));
  }
  return `${lines.join("\n")}\n`;
}

/** @type {(text: string) => string} */
const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
