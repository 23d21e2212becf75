// The bar at the top: the table that is shown, and what is saved of it.

import { count } from "../view/elements.js";
import { actionMenu, button } from "./elements.js";
import { saveReport } from "./map_pane.js";
import { openData } from "./open.js";
import { picker } from "./picker.js";
import { saveArchive } from "./session.js";

/** @type {(app: App) => { element: HTMLElement, show: (words: string) => void }} */
export function tableChoice(app) {
  const { store } = app;
  const note = (table) => (table.status === "ready" ? `${count(table.rows)} rows` : table.status);
  return picker({
    name: "Table",
    kind: "table-picker",
    groups: () => [
      {
        name: "Tables",
        items: [...store.tables.values()].map((table) => ({ key: table.id, text: table.name, note: note(table) })),
      },
      { name: "", items: [{ key: "+", text: "Open other data…" }] },
    ],
    onpick: (key) => {
      const table = store.tables.get(key);
      if (table) app.showTable(table);
      else openData(app);
    },
  });
}

/** @type {(app: App) => HTMLElement} */
export function saveButton(app) {
  const anchor = button("Save", {
    symbol: "save",
    "aria-haspopup": "menu",
    title: "Save the session, or write a report",
  });
  anchor.addEventListener("click", () =>
    actionMenu(anchor, [
      ["Session: table, maps, selections (one file)", () => saveArchive(app), { symbol: "save" }],
      ["Report of the maps shown (HTML, works offline)", () => saveReport(app), { symbol: "file" }],
    ]),
  );
  return anchor;
}
