// Shepard diagrams: a scatter of pairs of rows for each trial, drawn when it scrolls into view.

import { classColor, mix } from "../view/colors.js";
import { contextOf, el, parted, some } from "../view/elements.js";
import { axis, extent } from "../view/axes.js";
import { highlighted, onHighlight } from "./highlight.js";
import { figure } from "./lines.js";
import { array, drawnTrials, trials } from "./study.js";
import { pageTheme } from "./theme.js";

const PRINTED = 8; // diagrams on paper, as in the style
/** @type {Cloud[]} */
const clouds = [];

/** @type {(section: HTMLElement) => boolean} */
export function cloudsSection(section) {
  const names = [
    ...new Set(trials.flatMap((t) => Object.keys(t.curves).filter((name) => t.curves[name].kind === "cloud"))),
  ];
  if (!names.length) return false;
  section.append(el("h2", { id: "distances-title" }, "Shepard diagrams"));
  const sight = new IntersectionObserver(
    (entries) =>
      entries.forEach(({ target, isIntersecting }) => {
        const cloud = clouds[Number(target.getAttribute("data-place"))];
        if (isIntersecting && !cloud.drawn) drawCloud(cloud);
      }),
    { rootMargin: "300px" },
  );
  for (const name of names) {
    section.append(
      el(
        "p",
        { class: "lead" },
        "Each point is a pair of rows. The closer the points are to an increasing line, the better the distances are preserved.",
      ),
    );
    const list = [...new Set([...drawnTrials, ...trials])].filter((trial) => trial.curves[name]?.kind === "cloud"); // best first
    if (list.length > PRINTED)
      section.append(el("p", { class: "note paper" }, `The best ${PRINTED} trials are printed.`));
    section.append(
      el(
        "div",
        { class: "small-charts" },
        list.map((trial) => cloudFigure(trial, name, sight)),
      ),
    );
  }
  return true;
}

/** @type {(trial: Trial, name: string, sight: IntersectionObserver) => HTMLElement} */
function cloudFigure(trial, name, sight) {
  const curve = trial.curves[name];
  const canvas = el("canvas", {
    class: "cloud",
    role: "img",
    "aria-label": `${name} diagram of ${trial.name}: ${curve.y_name} against ${curve.x_name}`,
  });
  const note = el("p", { class: "note", hidden: true });
  const cloud = { canvas, curve, note, drawn: false };
  canvas.dataset.place = String(clouds.push(cloud) - 1);
  sight.observe(canvas);
  const node = figure(
    parted(trial.name),
    el(
      "div",
      { class: "cloud-frame" },
      canvas,
      el("span", { class: "x-name" }, `${curve.x_name} →`),
      el("span", { class: "y-name" }, `${curve.y_name} →`),
    ),
  );
  node.append(note);
  onHighlight(() => node.classList.toggle("lit", highlighted() === trial));
  return node;
}

// The end of an axis of distances: without the largest 2%, the pairs of a few outliers, if they are far from the others.
/** @type {(values: NumberArray) => number} */
function bulkEnd(values) {
  const sorted = values.filter(Number.isFinite).sort(),
    largest = sorted.at(-1) ?? 1,
    end = 1.6 * (sorted[Math.floor(0.98 * (sorted.length - 1))] ?? 1);
  return end > 0 && largest > 3 * end ? end : largest;
}

/** @type {(cloud: Cloud) => void} */
function drawCloud(cloud) {
  const { canvas, curve, note } = cloud,
    x = array(curve.x),
    y = array(curve.y),
    side = 400;
  canvas.width = canvas.height = side;
  cloud.drawn = true;
  const xHigh = bulkEnd(x),
    yHigh = bulkEnd(y);
  const across = axis(Math.min(0, extent([x])[0]), xHigh, 6, side - 6),
    up = axis(Math.min(0, extent([y])[0]), yHigh, side - 6, 6);
  let outside = 0;
  for (let i = 0; i < x.length; i++) if (x[i] > xHigh || y[i] > yHigh) outside++;
  note.hidden = !outside;
  note.textContent = `${some(outside, "pair")} with a larger distance ${outside === 1 ? "is" : "are"} at the edge.`;
  // Into an image first: while printing, a browser records every drawing command of a canvas in the page.
  const image = el("canvas", { width: side, height: side }),
    context = contextOf(image);
  context.fillStyle = mix(classColor(0), pageTheme().ink, 0.15);
  context.globalAlpha = Math.max(0.08, Math.min(0.7, 600 / Math.max(1, x.length)));
  for (let i = 0; i < x.length; i++) {
    if (Number.isFinite(x[i]) && Number.isFinite(y[i]))
      context.fillRect(across.at(Math.min(x[i], xHigh)) - 1.5, up.at(Math.min(y[i], yHigh)) - 1.5, 3, 3);
  }
  contextOf(canvas).drawImage(image, 0, 0);
}

// Draw the diagrams again in the colors of the theme: all of them, or those that were drawn.
/** @type {(all: boolean) => void} */
export function drawClouds(all) {
  for (const cloud of clouds) if (all || cloud.drawn) drawCloud(cloud);
}
