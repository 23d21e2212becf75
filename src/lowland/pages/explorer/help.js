// The keys and gestures, in a dialog.

import { el } from "../view/elements.js";
import { openDialog } from "./notices.js";

/** @type {[title: string, keys: [key: string, does: string][]][]} */
const HELP_KEYS = [
  [
    "Maps, once one has the focus",
    [
      ["Arrow keys", "move the map"],
      ["+ and −, or the wheel", "zoom"],
      ["0", "whole map"],
      ["Tab", "next panel"],
      ["N and P", "next and previous row"],
      ["Enter", "values and neighbors of the row, or without one, large panel and back"],
      ["Space", "select the row"],
    ],
  ],
  [
    "Selection",
    [
      ["Drag with Box, Lasso or Brush", "select rows"],
      ["Shift + drag", "add to the selection"],
      ["Alt + drag", "remove from it"],
      ["Esc", "clear the selection"],
      ["Click a point", "its values and neighbors"],
    ],
  ],
  [
    "Page",
    [
      ["/", "search rows"],
      ["O", "open data"],
      ["M", "new map"],
      ["Ctrl + Z, Ctrl + Shift + Z", "undo and redo the change of a map"],
      ["[ and ]", "left and right pane"],
      ["?", "this help"],
    ],
  ],
];

export function showHelp() {
  openDialog(
    "Keys and gestures",
    () => [
      el(
        "div",
        { class: "help" },
        HELP_KEYS.map(([title, lines]) =>
          el(
            "section",
            null,
            el("h3", null, title),
            el(
              "dl",
              { class: "keys" },
              lines.map(([key, does]) => el("div", null, el("dt", null, el("kbd", null, key)), el("dd", null, does))),
            ),
          ),
        ),
      ),
      el("h3", null, "What can be trusted"),
      el(
        "p",
        null,
        "Every map in two dimensions distorts. Color by trust to see where: trustworthiness, or the neighbors that are preserved. Click a point: its true neighbors are drawn on all maps, and false ones are marked. A structure that several maps of different methods share is likely to be in the data.",
      ),
    ],
    { kind: "medium" },
  );
}

// Keys of the page; those of the maps belong to the view.
/** @type {(actions: Record<string, () => unknown>) => void} */
export function pageKeys(actions) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return; // a key of the maps
    const at = event.target instanceof Element ? event.target : null;
    const writing = at?.closest("input, textarea, select, [contenteditable]");
    const field = at?.closest("input:not([type=checkbox], [type=radio], [type=range]), textarea");
    const clears = event.key === "Escape" && !(field && "value" in field && field.value); // a first Esc empties a field
    if ((writing && !clears) || event.altKey || document.querySelector("dialog[open]")) return;
    const held = event.ctrlKey || event.metaKey ? `Ctrl+${event.shiftKey ? "Shift+" : ""}` : "";
    const action = (!held && actions[event.key]) || actions[held + event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
