// The right pane's second tab: one row, its values, and its neighbors in the data and on every map.

import { count, el, number, some } from "../view/elements.js";
import { neighborSets } from "../view/neighbors.js";
import { getJson, sentenceOf, valuesOf } from "./api.js";
import { colorByDistance } from "./coloring.js";
import { button, glyph, replace, symbolButton } from "./elements.js";
import { shownColumns } from "./filter.js";
import { attempt } from "./notices.js";
import { debounced } from "./store.js";
import { cellText } from "./words.js";

const VALUES = 60; // columns listed

/** @type {(app: App) => HTMLElement} */
export function pointPane(app) {
  const { store } = app;
  const head = el("div");
  const values = el("div");
  const near = el("div", { class: "near" });
  const pane = el("div", { class: "pane-body" }, head, near, values);
  let asked = 0;

  async function fill() {
    const { point: row, tableId, table } = store;
    const turn = ++asked;
    if (row === null || !table?.columns) {
      replace(
        head,
        el("h2", null, "No point chosen"),
        el(
          "p",
          { class: "note" },
          "Click a point on a map: its values appear here, and its neighbors are drawn on all maps.",
        ),
      );
      replace(values);
      replace(near);
      app.stage.view?.show(null);
      return;
    }
    const image =
      table.has_images &&
      el("img", { class: "picture", src: `/api/tables/${tableId}/image/${row}`, alt: `Image of row ${row}` });
    const slider = el("input", {
      type: "range",
      min: 3,
      max: 50,
      value: store.neighbors,
      "aria-label": "Number of neighbors",
      oninput: () => ((store.neighbors = Number(slider.value)), (shown.textContent = slider.value), later()),
    });
    const shown = el("output", null, store.neighbors);
    replace(
      head,
      el(
        "div",
        { class: "row spread" },
        el("h2", null, `Row ${row}`),
        symbolButton("close", "Close this point", () => app.showPoint(null)),
      ),
      image,
      el(
        "div",
        { class: "row" },
        button("Color by distance from it", {
          symbol: "point",
          kind: "small",
          onclick: () => colorByDistance(app, row),
        }),
        button("Select its neighbors", {
          kind: "small",
          onclick: () => app.stage.view?.selectRows([row, ...(store.near ?? [])]),
        }),
      ),
      el("label", { class: "row" }, el("span", { class: "field-name" }, "Neighbors"), slider, shown),
    );
    fillNeighbors(turn);
    const cells = await attempt(() => valuesOf(tableId, [row], order(table)));
    if (!cells || turn !== asked) return;
    const listed = order(table);
    replace(
      values,
      el("h3", null, "Values"),
      el(
        "table",
        { class: "values" },
        el(
          "tbody",
          null,
          listed.map((index, i) =>
            el(
              "tr",
              null,
              el("th", null, table.columns[index].name),
              el("td", null, cells[0][i] === null ? el("i", null, "missing") : cellText(cells[0][i])),
            ),
          ),
        ),
      ),
      table.columns.length > listed.length &&
        el("p", { class: "note" }, `${count(table.columns.length - listed.length)} more columns.`),
    );
  }

  const order = (table) => shownColumns(table, VALUES);
  const later = debounced(() => fillNeighbors(asked), 150);

  async function fillNeighbors(turn) {
    const { point: row, table, tableId, neighbors: k } = store;
    if (row === null || !table) return;
    await store.settled();
    let reply;
    try {
      reply = await getJson(`/tables/${tableId}/neighbors?row=${row}&k=${k}`);
    } catch (error) {
      if (turn === asked) replace(near, el("p", { class: "note" }, sentenceOf(error)));
      return;
    }
    if (turn !== asked) return;
    const names = await namesOf(table, reply.rows);
    if (turn !== asked) return;
    store.near = reply.rows;
    const byMap = showNeighbors(app, row, reply.rows);
    const maps = store.mapList().filter((map) => byMap[map.id]);
    replace(
      near,
      el("h3", null, `Its ${reply.rows.length} nearest rows in the data, on the maps`),
      maps.map((map) => {
        const { kept, missed } = byMap[map.id];
        const part = el("span", { class: "kept-part" });
        part.style.width = `${(100 * kept.length) / Math.max(1, kept.length + missed.length)}%`;
        return el(
          "div",
          {
            class: "near-line",
            title: `${map.name}: ${some(kept.length, "neighbor")} kept, ${missed.length} missed, ${byMap[map.id].false.length} false`,
          },
          el("span", null, map.name),
          el("span", { class: "kept-room" }, part),
          el("small", null, `${kept.length} of ${kept.length + missed.length}`),
        );
      }),
      !maps.length && el("p", { class: "note" }, glyph("info"), "There is no finished map yet."),
      el(
        "details",
        null,
        el("summary", null, "List of the rows"),
        el(
          "div",
          { class: "row" },
          reply.rows.map((other, i) =>
            el(
              "button",
              {
                type: "button",
                class: "small",
                title: `distance ${number(reply.distances?.[i], 4)}`,
                onclick: () => app.showPoint(other),
              },
              names[i],
            ),
          ),
        ),
      ),
    );
  }

  store.on("point", fill);
  store.on("current", fill);
  store.on("coordinates", () => store.point !== null && later());
  // After a change of roles other rows may be the nearest.
  store.on("table", () => store.point !== null && store.table?.status === "ready" && later());
  return pane;
}

// The ids of some rows, or their numbers.
/** @type {(table: TableRecord, rows: number[]) => Promise<string[]>} */
async function namesOf(table, rows) {
  const id = table.columns.findIndex((column) => column.role === "id");
  const cells = id >= 0 && rows.length ? await attempt(() => valuesOf(table.id, rows, [id])) : null;
  return rows.map((row, i) => String(cells?.[i]?.[0] ?? row));
}

// Neighbors of a row in the data, drawn on every map; those of each map are found here, from its coordinates.
/** @type {(app: App, row: number, near: number[]) => Record<string, NeighborSets>} */
function showNeighbors(app, row, near) {
  const { stage, store } = app;
  /** @type {Record<string, NeighborSets>} */
  const byMap = {};
  for (const map of store.mapList()) {
    const data = stage.mapData(map.id);
    const sets = data && neighborSets(data, { row, neighbors: { near } });
    if (sets) byMap[map.id] = sets;
  }
  stage.view?.show({ row, neighbors: { near, byMap } });
  return byMap;
}
