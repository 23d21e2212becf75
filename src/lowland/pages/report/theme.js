// The theme of the charts: light or dark as the system, and light on paper.

import { COLORS, THEMES } from "../view/colors.js";

const night = matchMedia("(prefers-color-scheme: dark)");
const onPaper = matchMedia("print");
const paper = { printing: false };
/** @type {(() => void)[]} */
const themeListeners = [];

/** @type {() => Theme} */
export const pageTheme = () => (night.matches && !paper.printing && !onPaper.matches ? THEMES.dark : THEMES.light);

// Colors of lines are CSS variables, so that charts need no redrawing for dark, light and print.
export function nameColors() {
  COLORS.forEach((color, i) => document.documentElement.style.setProperty(`--color-${i}`, color));
}

const changeTheme = () => themeListeners.forEach((listener) => listener());
/** @type {(listener: () => void) => void} */
export const onTheme = (listener) => themeListeners.push(listener);

/** @type {(printing: boolean) => void} */
export function setPrinting(printing) {
  paper.printing = printing;
  changeTheme();
}

night.addEventListener("change", changeTheme);
