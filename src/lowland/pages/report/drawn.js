// Columns over the maps: arrows in the direction in which they grow, and contours where they are large.

import { choose, field, number } from "../view/elements.js";
import { arrowsOf, contoursOf } from "../view/overlay.js";
import { keyOf } from "./convert.js";
import { decode, drawnTrials } from "./study.js";

const ARROWS = "arrows";
const CONTOURS = "contours ";

// A surface as the overlay reads it: rows of heights, null where there is none.
/** @type {(surface: Omit<StudySurface, "heights">, heights: NumberArray) => SurfaceRecord} */
const surfaceOf = (surface, heights) => ({
  ...surface,
  heights: surface.y.map((_, row) =>
    surface.x.map((__, column) => {
      const height = heights[row * surface.x.length + column];
      return Number.isNaN(height) ? null : height;
    }),
  ),
});

// The contours of a column over a map, made when they are first shown.
/** @type {(trial: Trial, name: string, components: number, made: Map<string, Contour[]>) => Contour[] | null} */
function contours(trial, name, components, made) {
  const surface = trial.drawn?.surfaces.find((each) => each.name === name),
    key = `${trial.index} ${name}`;
  if (!surface) return null;
  const found = made.get(key) ?? contoursOf(surfaceOf(surface, decode(surface.heights)), components);
  made.set(key, found);
  return found;
}

// What can be drawn over the maps, to choose from; none if no map has columns.
/** @type {(view: View) => HTMLElement | null} */
export function drawnField(view) {
  const having = drawnTrials.filter((trial) => trial.drawn),
    surfaces = [...new Set(having.flatMap((trial) => trial.drawn?.surfaces.map(({ name }) => name) ?? []))],
    made = /** @type {Map<string, Contour[]>} */ (new Map());
  if (!having.length) return null;
  const draw = (/** @type {string} */ value) => {
    for (const trial of having) {
      const components = view.mapOf(keyOf(trial))?.components ?? 2,
        name = value.startsWith(CONTOURS) ? value.slice(CONTOURS.length) : null;
      view.update(keyOf(trial), {
        overlay: {
          arrows: value === ARROWS && trial.drawn ? arrowsOf(trial.drawn, components) : null,
          contours: name === null ? null : contours(trial, name, components, made),
        },
      });
    }
  };
  const node = field(
    "Over the maps",
    choose(
      [
        { value: "", text: "nothing" },
        { value: ARROWS, text: "arrows of columns" },
        ...surfaces.map((name) => ({ value: CONTOURS + name, text: name, group: "Contours, on the leading maps" })),
      ],
      "",
      draw,
    ),
  );
  node.title = "Which columns the axes follow: r² and p-values are in the trial details";
  return node;
}

// The columns that follow the axes of a map most, in words.
/** @type {(trial: Trial) => string | null} */
export function columnsInWords({ drawn }) {
  if (!drawn?.columns.length) return null;
  const said = drawn.columns
    .slice(0, 5)
    .map(({ name, r2, p_value: p }) => `${name} (r² ${number(r2, 2)}, p ${number(p, 2)})`);
  return `${said.join(", ")}. The p-values are evidence only for columns that did not make the map.`;
}
