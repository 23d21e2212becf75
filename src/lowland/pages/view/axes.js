// Axes of small charts.

import { number, svg } from "./elements.js";

export const LARGE = { wide: 440, high: 270 };
export const SMALL = { wide: 270, high: 200 };
export const EDGE = { left: 68, right: 12, top: 10, bottom: 40 };

// Ticks of an axis; integers if all values are integers.
/** @type {(low: number, high: number, whole?: boolean) => number[]} */
function niceTicks(low, high, whole = false) {
  if (!(high > low)) return [low];
  const rough = (high - low) / 5,
    power = 10 ** Math.floor(Math.log10(rough));
  const nice = ([1, 2, 5].find((s) => s * power >= 0.7 * rough) ?? 10) * power,
    step = whole ? Math.max(1, nice) : nice;
  const ticks = [];
  for (let t = Math.ceil(low / step - 1e-9); t * step <= high + step * 1e-6; t++)
    ticks.push(Number((t * step).toPrecision(12)));
  return ticks;
}

/** @type {(low: number, high: number) => number[]} */
function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of high / low > 1000 ? [1] : [1, 2, 5]) ticks.push(step * 10 ** power);
  }
  return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

// A linear or logarithmic axis from data to pixels.
/** @type {(low: number, high: number, from: number, to: number, options?: { logarithmic?: boolean, whole?: boolean }) => ChartAxis} */
export function axis(low, high, from, to, { logarithmic = false, whole = false } = {}) {
  if (low === high) {
    low -= Math.abs(low) / 2 || 0.5;
    high += Math.abs(high) / 2 || 0.5;
    logarithmic = false;
  }
  const f = logarithmic ? Math.log : (v) => v;
  return {
    at: (v) => from + ((f(v) - f(low)) / (f(high) - f(low))) * (to - from),
    ticks: logarithmic ? logTicks(low, high) : niceTicks(low, high, whole),
  };
}

// Position of a tick label: centered, unless it would be cut off at the right edge.
/** @type {(x: number, text: string, wide: number) => Attributes} */
const besideTick = (x, text, wide) =>
  x + 3.4 * text.length > wide - 2 ? { x: wide - 2, "text-anchor": "end" } : { x, "text-anchor": "middle" };

/** @type {(x: ChartAxis, y: ChartAxis, xName: string, yName: string, wide: number, high: number, edge?: typeof EDGE) => SVGElement} */
export function frameOf(x, y, xName, yName, wide, high, edge = EDGE) {
  const foot = high - edge.bottom,
    middle = (edge.top + foot) / 2;
  return svg(
    "g",
    { class: "axes" },
    y.ticks.map((t) => [
      svg("line", { x1: edge.left, x2: wide - edge.right, y1: y.at(t), y2: y.at(t), class: "grid" }),
      svg("text", { x: edge.left - 6, y: y.at(t) + 3.5, "text-anchor": "end" }, number(t)),
    ]),
    x.ticks.map((t) => [
      svg("line", { x1: x.at(t), x2: x.at(t), y1: foot, y2: foot + 4, class: "tick" }),
      svg("text", { ...besideTick(x.at(t), number(t), wide), y: foot + 16 }, number(t)),
    ]),
    svg("line", { x1: edge.left, x2: wide - edge.right, y1: foot, y2: foot, class: "tick" }),
    svg("text", { x: (edge.left + wide - edge.right) / 2, y: high - 6, "text-anchor": "middle", class: "name" }, xName),
    svg(
      "text",
      {
        x: 13,
        y: middle,
        "text-anchor": "middle",
        transform: `rotate(-90 13 ${middle})`,
        class: "name",
      },
      yName,
    ),
  );
}

/** @type {(arrays: Iterable<number>[]) => [number, number]} */
export function extent(arrays) {
  let low = Infinity,
    high = -Infinity;
  for (const values of arrays)
    for (const v of values)
      if (Number.isFinite(v)) {
        if (v < low) low = v;
        if (v > high) high = v;
      }
  return low <= high ? [low, high] : [0, 1];
}
