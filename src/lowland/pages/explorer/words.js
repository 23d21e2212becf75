// Values as people read them.

import { number } from "../view/elements.js";

export const DAY = 86400000; // milliseconds
/** @type {(fraction: number) => string} */
export const asPercent = (fraction) => `${Math.round(100 * fraction)}%`;

// A cell of a table as text.
/** @type {(value: unknown) => string} */
export const cellText = (value) =>
  value === null || value === undefined ? "" : typeof value === "number" ? number(value, 5) : String(value);

// A parameter's value as it is written in Python.
/** @type {(value: unknown) => string} */
export function asPython(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(asPython).join(", ")}]`;
  return String(value);
}
