// Curves of the best trials, and of all on request. Lines differ in color and dash pattern.

import { COLORS } from "../view/colors.js";
import { brief, el, number, parted, svg } from "../view/elements.js";
import { EDGE, LARGE, SMALL, axis, extent, frameOf } from "../view/axes.js";
import { highlighted, isPinned, lookAt, onHighlight, pin } from "./highlight.js";
import { aScore, array, byMeasure, deciding, inOrder, isAdvised, trials } from "./study.js";
import { showTip } from "./tip.js";

const DASHES = [null, "6 3", "2 2.5", "8 3 2 3"];
/** @type {(trial: Trial) => string | null} */
const trialDash = (trial) => DASHES[Math.floor(trial.look / COLORS.length) % DASHES.length];

const BEST = 5; // curves drawn at first
const RANKED_BY = aScore("area under R_NX") ? "area under R_NX" : deciding;

// The trials whose curves are drawn at first: the best and the advised one. Two more than that are drawn as well.
/** @type {(list: Trial[]) => Set<Trial>} */
function firstShown(list) {
  if (list.length <= BEST + 2) return new Set(list);
  const ordered = inOrder(list, byMeasure(RANKED_BY), aScore(RANKED_BY)?.better === "higher");
  return new Set([...ordered.slice(0, BEST), ...list.filter(isAdvised)]);
}

/** @type {(name: string, list: Trial[]) => TrialLine[]} */
const linesOf = (name, list) =>
  list.map((trial) => {
    const curve = trial.curves[name];
    return { trial, x: array(curve.x), y: array(curve.y) };
  });

// One chart of a curve for the trials of the list.
/** @type {(name: string, list: Trial[], size?: { wide: number, high: number }) => SVGElement} */
function lineChart(name, list, { wide, high } = LARGE) {
  const lines = linesOf(name, list),
    { x_name: xName, y_name: yName } = list[0].curves[name],
    first = firstShown(list);
  const [xLow, xHigh] = extent(lines.map((line) => line.x));
  let [yLow, yHigh] = extent(lines.map((line) => line.y));
  if (yLow > 0) yLow = 0;
  const logarithmic = xLow > 0 && xHigh / xLow >= 30 && /neighbo/i.test(xName);
  const whole = lines.every((line) => line.x.every(Number.isInteger));
  const x = axis(xLow, xHigh, EDGE.left, wide - EDGE.right, { logarithmic, whole });
  const y = axis(yLow, yHigh, high - EDGE.bottom, EDGE.top);
  const paths = lines.map((line) => lineOfTrial(line, x, y));
  const chart = svg(
    "svg",
    {
      viewBox: `0 0 ${wide} ${high}`,
      class: "chart",
      role: "img",
      "aria-label": `${name}: ${yName} against ${xName} for ${list.map((t) => t.name).join(", ")}`,
    },
    frameOf(x, y, logarithmic ? `${xName} (log scale)` : xName, yName, wide, high),
    paths,
  );
  const light = () => paths.forEach((path, i) => mark(path, lines[i].trial, list.length, first));
  onHighlight(light);
  light();
  chart.addEventListener("pointermove", (event) => {
    const drawn = lines.filter((_, i) => getComputedStyle(paths[i]).display !== "none");
    overLines(event, chart, drawn, x, y, xName, wide);
  });
  chart.addEventListener("pointerleave", () => {
    lookAt(null);
    showTip(null);
  });
  return chart;
}

/** @type {(line: TrialLine, x: ChartAxis, y: ChartAxis) => SVGElement} */
function lineOfTrial(line, x, y) {
  const points = /** @type {(Point | null)[]} */ ([]);
  let last = -Infinity;
  for (let i = 0; i < line.x.length; i++) {
    const at = x.at(line.x[i]);
    if (!Number.isFinite(line.y[i]) || !Number.isFinite(at)) {
      points.push(null);
      continue;
    }
    if (Math.abs(at - last) < 0.4 && i < line.x.length - 1) continue; // closer than a pixel
    last = at;
    points.push([at, y.at(line.y[i])]);
  }
  let down = false,
    d = "";
  for (const point of points) {
    d += point ? `${down ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}` : "";
    down = Boolean(point);
  }
  const dots = line.x.length <= 30 ? points.filter(Boolean).map(([cx, cy]) => svg("circle", { cx, cy, r: 2.2 })) : [];
  return svg("g", null, svg("path", { d, "stroke-dasharray": trialDash(line.trial) }), dots);
}

// The highlighted trial stands out; without one, the advised trial.
/** @type {(group: SVGElement, trial: Trial, among: number, first: Set<Trial>) => void} */
function mark(group, trial, among, first) {
  const lit = highlighted();
  const strong = among === 1 || (lit ? trial === lit : isAdvised(trial));
  const faint = lit && trial !== lit && among > 1;
  group.setAttribute(
    "class",
    [
      "line",
      `color-${trial.look % COLORS.length}`,
      strong && "strong",
      faint && "faint",
      !strong && !first.has(trial) && "rest",
    ]
      .filter(Boolean)
      .join(" "),
  );
  if (strong && among > 1 && lit) group.parentNode?.append(group);
}

/** @type {(event: PointerEvent, chart: SVGElement, lines: TrialLine[], x: ChartAxis, y: ChartAxis, xName: string, wide: number) => void} */
function overLines(event, chart, lines, x, y, xName, wide) {
  const box = chart.getBoundingClientRect(),
    scale = wide / box.width;
  const px = (event.clientX - box.left) * scale,
    py = (event.clientY - box.top) * scale;
  /** @type {{ line: TrialLine, i: number } | null} */
  let best = null;
  let least = 28;
  for (const line of lines) {
    const i = nearestPlace(line.x, x, px),
      far = Math.abs(y.at(line.y[i]) - py);
    if (far < least) {
      least = far;
      best = { line, i };
    }
  }
  lookAt(best && best.line.trial);
  showTip(
    best &&
      el(
        "div",
        null,
        el("b", null, best.line.trial.name),
        el("br"),
        `${number(best.line.y[best.i])} at ${xName} ${number(best.line.x[best.i])}`,
      ),
    event.clientX,
    event.clientY,
  );
}

/** @type {(xs: NumberArray, x: ChartAxis, px: number) => number} */
function nearestPlace(xs, x, px) {
  let best = 0;
  for (let i = 1; i < xs.length; i++) if (Math.abs(x.at(xs[i]) - px) < Math.abs(x.at(xs[best]) - px)) best = i;
  return best;
}

// Buttons with the names of trials: hover highlights, click pins.
/** @type {(list: Trial[], first: Set<Trial>) => HTMLElement} */
function trialButtons(list, first) {
  const buttons = list.map((trial) => {
    const button = el(
      "button",
      {
        type: "button",
        class: first.has(trial) ? "trial-button" : "trial-button rest",
        "aria-pressed": "false",
        onclick: () => pin(trial),
        onpointerenter: () => lookAt(trial),
        onpointerleave: () => lookAt(null),
        onfocus: () => lookAt(trial),
        onblur: () => lookAt(null),
        title: trial.name,
      },
      svg(
        "svg",
        { viewBox: "0 0 26 8", width: 26, height: 8, "aria-hidden": "true" },
        svg(
          "g",
          { class: `line strong color-${trial.look % COLORS.length}` },
          svg("path", { d: "M1 4H25", "stroke-dasharray": trialDash(trial) }),
        ),
      ),
      el("span", null, brief(trial.name, 36)),
    );
    onHighlight(() => {
      button.setAttribute("aria-pressed", String(isPinned(trial)));
      button.classList.toggle("lit", highlighted() === trial);
    });
    return button;
  });
  return el("div", { class: "trial-buttons", role: "group", "aria-label": "Trials in the charts" }, buttons);
}

/** @type {(section: HTMLElement) => boolean} */
export function curvesSection(section) {
  const names = [...new Set(trials.flatMap((t) => Object.keys(t.curves)))].filter((name) =>
    trials.some((t) => t.curves[name] && t.curves[name].kind === "line"),
  );
  if (!names.length) return false;
  const having = (name) =>
    trials.filter((trial) => trial.curves[name] && trial.curves[name].kind === "line" && trial.curves[name].x);
  const together = names.filter((name) => ofOneScale(name, having(name)));
  const listed = trials.filter((trial) => names.some((name) => having(name).includes(trial)));
  const first = new Set(
    names.flatMap((name) => [...(together.includes(name) ? firstShown(having(name)) : having(name))]),
  );
  section.append(el("h2", { id: "curves-title" }, "Curves"));
  const someHidden = together.some((name) => firstShown(having(name)).size < having(name).length);
  const box = el("input", { type: "checkbox", onchange: () => section.classList.toggle("every", box.checked) });
  section.append(
    el(
      "p",
      { class: "lead" },
      someHidden && [
        `The ${BEST} best trials by ${RANKED_BY}, and the recommended one. `,
        el("label", { class: "screen" }, box, "Show all trials. "),
      ],
      el(
        "span",
        { class: "screen" },
        "Point at a line or a name to highlight it. Click a name to keep it highlighted.",
      ),
    ),
    trialButtons(listed, first),
  );
  section.append(
    el(
      "div",
      { class: "charts" },
      together.map((name) => figure(titleOf(name, having(name)), lineChart(name, having(name)))),
    ),
  );
  for (const name of names.filter((each) => !together.includes(each))) {
    section.append(
      el("h3", { class: "group" }, titleOf(name)),
      el("p", { class: "note" }, "The scales of the trials differ too much for one chart."),
      el(
        "div",
        { class: "small-charts" },
        having(name).map((trial) => figure(parted(trial.name), lineChart(name, [trial], SMALL))),
      ),
    );
  }
  return true;
}

/** @type {Record<string, string>} */
const CURVES = {
  R_NX: "R_NX: neighborhood preservation beyond chance",
  scree: "Scree plot: explained variance ratio",
  distortion: "Distortion: reconstruction error",
  "residual variance": "Residual variance of the distances, 1 − r²",
};
/** @type {(name: string, list?: Trial[]) => string} */
const titleOf = (name, list = []) => `${CURVES[name] ?? name}${list.length === 1 ? ` (${list[0].name})` : ""}`;

/** @type {(name: string, list: Trial[]) => boolean} */
function ofOneScale(name, list) {
  const tops = linesOf(name, list)
    .map((line) => extent([line.y])[1])
    .filter((top) => top > 0);
  const one = list.length === 1 || name === "R_NX"; // R_NX is a fraction: its curves are comparable in any case
  return one || !tops.length || Math.max(...tops) / Math.min(...tops) <= 20;
}

/** @type {(title: Child, drawing: Child) => HTMLElement} */
export const figure = (title, drawing) => el("figure", null, el("figcaption", null, title), drawing);
