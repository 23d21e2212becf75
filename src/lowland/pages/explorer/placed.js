// New rows, placed on a finished map by its model.

import { el, some } from "../view/elements.js";
import { deleteAt, getFloats, getJson, postJson, sendFile } from "./api.js";
import { button, replace, symbolButton } from "./elements.js";
import { attempt, notice, openDialog } from "./notices.js";
import { folderList } from "./open.js";

let placedAsked = {}; // the latest question
const waiting = new Set(); // ids of rows that are being placed for this page

/** @type {(app: App, map: MapRecord, box: HTMLElement) => Promise<void>} */
export async function fillPlaced(app, map, box) {
  replace(box, el("h3", null, "New rows"));
  if (!map.has_transform) {
    box.append(el("p", { class: "note" }, "This method cannot place new rows on a finished map."));
    return;
  }
  const asked = (placedAsked = {});
  const reply = await attempt(() => getJson(`/maps/${map.id}/placed`));
  if (!reply || app.store.focus !== map.id || asked !== placedAsked) return; // or a later question is under way
  for (const each of reply) tookPlace(app, each); // the event may have come before the rows were known to be placed
  const again = () => fillPlaced(app, map, box);
  const place = async (sent) => {
    const made = await attempt(sent);
    if (!made) return;
    waiting.add(made.id);
    await again();
  };
  const input = el("input", {
    type: "file",
    class: "unseen",
    "aria-label": "File of new rows",
    onchange: () => {
      const file = input.files?.[0];
      if (file) place(() => sendFile(`/maps/${map.id}/place`, file).done);
    },
  });
  const fromFolder = () =>
    openDialog("Place new rows", (close) =>
      folderList(app, (path) => {
        close();
        place(() => postJson(`/maps/${map.id}/place`, { path }));
      }),
    );
  replace(
    box,
    el("h3", null, "New rows"),
    el("p", { class: "note" }, "Place rows of another file, with the same columns, on this map."),
    reply.map((each) =>
      el(
        "div",
        { class: "row spread saved-line" },
        el(
          "button",
          {
            type: "button",
            class: "link",
            disabled: each.status !== "done",
            title: "Draw these rows on the map",
            onclick: () => showPlaced(app, map, each),
          },
          each.name,
        ),
        el("small", null, each.status === "done" ? some(each.n, "row") : each.error || "being placed"),
        symbolButton("trash", `Remove ${each.name}`, () =>
          attempt(
            async () => (
              await deleteAt(`/maps/${map.id}/placed/${each.id}`),
              app.stage.view?.update(map.id, { placed: null }),
              again()
            ),
          ),
        ),
      ),
    ),
    el(
      "div",
      { class: "row" },
      input,
      button("Choose a file", { symbol: "upload", kind: "small", onclick: () => input.click() }),
      button("From the folder", { symbol: "folder", kind: "small", onclick: fromFolder }),
      reply.length > 0 &&
        button("Hide", {
          kind: "small",
          title: "Do not draw new rows",
          onclick: () => app.stage.view?.update(map.id, { placed: null }),
        }),
    ),
  );
}

/** @type {(app: App, map: MapRecord, each: PlacedRecord) => Promise<void>} */
async function showPlaced(app, map, each) {
  await attempt(async () => {
    const [coordinates, names] = await Promise.all([
      getFloats(`/maps/${map.id}/placed/${each.id}`),
      getJson(`/maps/${map.id}/placed/${each.id}/names`),
    ]);
    app.stage.view?.update(map.id, {
      placed: { coordinates, names: names ?? Array.from({ length: each.n }, (_, i) => `${each.name}, row ${i}`) },
    });
    notice(`${some(each.n, "new row")} drawn on ${map.name} as stars.`, "done");
  });
}

// The server tells that rows have been placed, or why not.
/** @type {(app: App, each: PlacedRecord) => void} */
export function tookPlace(app, each) {
  const map = app.store.maps.get(each.map);
  if (!map || !waiting.has(each.id) || ["queued", "running"].includes(each.status)) return;
  waiting.delete(each.id);
  if (each.status === "done") showPlaced(app, map, each);
  else notice(`${each.name}: ${each.error}`, "problem");
  app.store.emit("placed", each.map);
}
