// Small charts beside a map: lines (scree, R_NX), bars (loadings) and clouds of pairs (Shepard diagram).

import { axis, extent, frameOf } from "./axes.js";
import { number, svg } from "./elements.js";

const SMALL_EDGE = { left: 46, right: 8, top: 8, bottom: 34 };
const CLOUD_MOST = 3000; // pairs drawn

// A curve { x, y, x_name, y_name, kind: "line" | "cloud" | "bars" } as an SVG element.
/** @type {(curve: Curve, options?: { name?: string, wide?: number, high?: number }) => SVGElement} */
export function curveChart(curve, { name = "", wide = 300, high = 190 } = {}) {
  const kind =
    curve.kind === "cloud" ? "cloud" : curve.kind === "bars" || typeof curve.x?.[0] === "string" ? "bars" : "line";
  const chart = svg("svg", {
    viewBox: `0 0 ${wide} ${high}`,
    class: `chart ${kind}`,
    role: "img",
    "aria-label": `${name}: ${curve.y_name ?? ""} against ${curve.x_name ?? ""}`,
  });
  if (kind === "bars") drawBars(chart, curve, wide);
  else drawXY(chart, curve, kind, wide, high);
  return chart;
}

/** @type {(chart: SVGElement, curve: Curve, kind: string, wide: number, high: number) => void} */
function drawXY(chart, curve, kind, wide, high) {
  const xs = curve.x ? Array.from(curve.x, Number) : Array.from(curve.y, (_, i) => i + 1);
  const [xLow, xHigh] = extent([xs]);
  const [yLow, yHigh] = extent([curve.y]);
  const logarithmic = kind === "line" && xLow > 0 && xHigh / xLow >= 30 && /neighbo/i.test(curve.x_name ?? "");
  const x = axis(kind === "cloud" ? Math.min(0, xLow) : xLow, xHigh, SMALL_EDGE.left, wide - SMALL_EDGE.right, {
    logarithmic,
    whole: xs.every(Number.isInteger),
  });
  const y = axis(Math.min(0, yLow), yHigh, high - SMALL_EDGE.bottom, SMALL_EDGE.top);
  chart.append(frameOf(x, y, curve.x_name ?? "", curve.y_name ?? "", wide, high, SMALL_EDGE));
  const places = [];
  const step = kind === "cloud" ? Math.max(1, Math.ceil(xs.length / CLOUD_MOST)) : 1;
  for (let i = 0; i < xs.length; i += step)
    if (Number.isFinite(xs[i]) && Number.isFinite(curve.y[i]))
      places.push([x.at(xs[i]).toFixed(1), y.at(curve.y[i]).toFixed(1)]);
  if (kind === "cloud") {
    chart.append(svg("path", { d: places.map(([u, v]) => `M${u} ${v}h.01`).join(""), class: "chart-cloud" }));
    return;
  }
  chart.append(
    svg("path", { d: places.map(([u, v], i) => `${i ? "L" : "M"}${u} ${v}`).join(""), class: "chart-line" }),
  );
  if (places.length <= 30)
    chart.append(...places.map(([cx, cy]) => svg("circle", { cx, cy, r: 2.2, class: "chart-dot" })));
}

// Horizontal bars around zero: one per column, the largest first.
/** @type {(chart: SVGElement, curve: Curve, wide: number) => void} */
function drawBars(chart, curve, wide) {
  const bars = Array.from(curve.x ?? [], (text, i) => /** @type {const} */ ([String(text), curve.y[i]])).filter(
    ([, value]) => Number.isFinite(value),
  );
  bars.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const shown = bars.slice(0, 15);
  const top = Math.max(...shown.map(([, value]) => Math.abs(value)), 1e-12);
  const names = wide * 0.42;
  const zero = names + (wide - names) / 2;
  const half = (wide - names) / 2 - 6;
  chart.setAttribute("viewBox", `0 0 ${wide} ${shown.length * 16 + 8}`);
  shown.forEach(([text, value], i) => {
    const long = (Math.abs(value) / top) * half;
    chart.append(
      svg(
        "text",
        { x: names - 6, y: i * 16 + 15, "text-anchor": "end" },
        text.length > 20 ? `${text.slice(0, 19)}…` : text,
      ),
      svg(
        "rect",
        {
          x: value < 0 ? zero - long : zero,
          y: i * 16 + 5,
          width: long,
          height: 11,
          rx: 2,
          class: value < 0 ? "chart-bar less" : "chart-bar",
        },
        svg("title", null, `${text}: ${number(value)}`),
      ),
    );
  });
  chart.append(svg("line", { x1: zero, x2: zero, y1: 2, y2: shown.length * 16 + 6, class: "tick" }));
}
