// Small charts beside a map: lines (scree, R_NX), bars (loadings) and clouds of pairs (Shepard diagram).

const CHART_SPACE = "http://www.w3.org/2000/svg";
const CHART_EDGE = { left: 46, right: 8, top: 8, bottom: 34 };
const CLOUD_MOST = 3000; // pairs drawn

/** @type {<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string | number | null>, ...children: any[]) => SVGElementTagNameMap[K]} */
function chartPart(tag, attributes, ...children) {
  const made = document.createElementNS(CHART_SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, String(value));
  made.append(...children.flat(2));
  return made;
}

/** @type {(value: number) => string} */
const chartNumber = (value) => String(Number(value.toPrecision(3))).replace("-", "−");

/** @type {(low: number, high: number, most?: number) => number[]} */
function chartTicks(low, high, most = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((each) => each * power >= 0.7 * rough) ?? 10) * power;
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-6; at++)
    ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

/** @type {(low: number, high: number) => number[]} */
function chartLogTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const step of high / low > 100 ? [1] : [1, 2, 5]) ticks.push(step * 10 ** power);
  return ticks.filter((tick) => tick >= 0.999 * low && tick <= 1.001 * high);
}

/** @type {(values: Iterable<number>) => [number, number]} */
function chartExtent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

/** @type {(range: [number, number], from: number, to: number, logarithmic?: boolean) => ChartAxis} */
function chartScale([low, high], from, to, logarithmic = false) {
  const f = logarithmic ? Math.log : (value) => value;
  const span = f(high) - f(low) || 1;
  return {
    at: (value) => from + ((f(value) - f(low)) / span) * (to - from),
    ticks: logarithmic ? chartLogTicks(low, high) : chartTicks(low, high),
  };
}

/** @type {(x: ChartAxis, y: ChartAxis, curve: Curve, wide: number, high: number) => SVGElement} */
function chartFrame(x, y, curve, wide, high) {
  const foot = high - CHART_EDGE.bottom;
  const middle = (CHART_EDGE.left + wide - CHART_EDGE.right) / 2;
  const center = (CHART_EDGE.top + foot) / 2;
  return chartPart(
    "g",
    { class: "chart-axes" },
    y.ticks.map((tick) => [
      chartPart("line", {
        x1: CHART_EDGE.left,
        x2: wide - CHART_EDGE.right,
        y1: y.at(tick),
        y2: y.at(tick),
        class: "chart-grid",
      }),
      chartPart("text", { x: CHART_EDGE.left - 5, y: y.at(tick) + 3.5, "text-anchor": "end" }, chartNumber(tick)),
    ]),
    x.ticks.map((tick) =>
      chartPart(
        "text",
        { x: Math.min(x.at(tick), wide - 12), y: foot + 13, "text-anchor": "middle" },
        chartNumber(tick),
      ),
    ),
    chartPart("line", { x1: CHART_EDGE.left, x2: wide - CHART_EDGE.right, y1: foot, y2: foot, class: "chart-foot" }),
    chartPart("text", { x: middle, y: high - 4, "text-anchor": "middle", class: "chart-name" }, curve.x_name ?? ""),
    chartPart(
      "text",
      { x: 10, y: center, "text-anchor": "middle", transform: `rotate(-90 10 ${center})`, class: "chart-name" },
      curve.y_name ?? "",
    ),
  );
}

// A curve { x, y, x_name, y_name, kind: "line" | "cloud" | "bars" } as an SVG element.
/** @type {(curve: Curve, options?: { name?: string, wide?: number, high?: number }) => SVGElement} */
export function curveChart(curve, { name = "", wide = 300, high = 190 } = {}) {
  const kind =
    curve.kind === "cloud" ? "cloud" : curve.kind === "bars" || typeof curve.x?.[0] === "string" ? "bars" : "line";
  const chart = chartPart("svg", {
    viewBox: `0 0 ${wide} ${high}`,
    class: `small-chart ${kind}`,
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
  const xExtent = chartExtent(xs);
  let yExtent = chartExtent(curve.y);
  if (yExtent[0] > 0) yExtent = [0, yExtent[1]];
  if (yExtent[0] === yExtent[1]) yExtent = [yExtent[0] - 0.5, yExtent[1] + 0.5];
  const logarithmic =
    kind === "line" && xExtent[0] > 0 && xExtent[1] / xExtent[0] >= 30 && /neighbo/i.test(curve.x_name ?? "");
  const x = chartScale(
    kind === "cloud" && xExtent[0] > 0 ? [0, xExtent[1]] : xExtent,
    CHART_EDGE.left,
    wide - CHART_EDGE.right,
    logarithmic,
  );
  const y = chartScale(yExtent, high - CHART_EDGE.bottom, CHART_EDGE.top);
  chart.append(chartFrame(x, y, curve, wide, high));
  const places = [];
  const step = kind === "cloud" ? Math.max(1, Math.ceil(xs.length / CLOUD_MOST)) : 1;
  for (let i = 0; i < xs.length; i += step)
    if (Number.isFinite(xs[i]) && Number.isFinite(curve.y[i]))
      places.push([x.at(xs[i]).toFixed(1), y.at(curve.y[i]).toFixed(1)]);
  if (kind === "cloud") {
    chart.append(chartPart("path", { d: places.map(([u, v]) => `M${u} ${v}h.01`).join(""), class: "chart-cloud" }));
    return;
  }
  chart.append(
    chartPart("path", { d: places.map(([u, v], i) => `${i ? "L" : "M"}${u} ${v}`).join(""), class: "chart-line" }),
  );
  if (places.length <= 30)
    chart.append(...places.map(([cx, cy]) => chartPart("circle", { cx, cy, r: 2.2, class: "chart-dot" })));
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
      chartPart(
        "text",
        { x: names - 6, y: i * 16 + 15, "text-anchor": "end" },
        text.length > 20 ? `${text.slice(0, 19)}…` : text,
      ),
      chartPart(
        "rect",
        {
          x: value < 0 ? zero - long : zero,
          y: i * 16 + 5,
          width: long,
          height: 11,
          rx: 2,
          class: value < 0 ? "chart-bar less" : "chart-bar",
        },
        chartPart("title", {}, `${text}: ${chartNumber(value)}`),
      ),
    );
  });
  chart.append(chartPart("line", { x1: zero, x2: zero, y1: 2, y2: shown.length * 16 + 6, class: "chart-foot" }));
}
