// The right pane's second tab: one row, its values, and its neighbors in the data and on every map.

import { button, h, icon, replace, symbolButton } from "./elements.js";
import { cellText, counted, plainNumber } from "./words.js";
import { compareNeighbors, maskOfRows, nearestOnMap } from "./bits.js";
import { attempt } from "./notices.js";
import { colorByDistance } from "./coloring.js";
import { debounced } from "./store.js";
import { getJson } from "./api.js";
import { shownColumns } from "./filter.js";
import { valuesOf } from "./data_pane.js";

const VALUES = 60; // columns listed

export function pointPane(app) {
  const { store } = app;
  const head = h("div");
  const values = h("div");
  const near = h("div", { class: "near" });
  const pane = h("div", { class: "pane-body" }, head, near, values);
  let asked = 0;

  async function fill() {
    const { point: row, tableId, table } = store;
    const number = ++asked;
    if (row === null || !table?.columns) {
      replace(head, h("h2", null, "No point chosen"), h("p", { class: "note" }, "Click a point on a map: its values appear here, and its neighbors are drawn on all maps."));
      replace(values);
      replace(near);
      app.stage.view?.show(null);
      return;
    }
    const image = table.has_images && h("img", { class: "picture", src: `/api/tables/${tableId}/image/${row}`, alt: `Image of row ${row}` });
    const count = h("input", { type: "range", min: 3, max: 50, value: store.neighbors, "aria-label": "Number of neighbors", oninput: () => ((store.neighbors = Number(count.value)), (shown.textContent = count.value), later()) });
    const shown = h("output", null, store.neighbors);
    replace(
      head,
      h("div", { class: "row spread" }, h("h2", null, `Row ${plainNumber(row)}`), symbolButton("close", "Close this point", () => app.showPoint(null))),
      image,
      h(
        "div",
        { class: "row" },
        button("Color by distance from it", { symbol: "point", kind: "small", onclick: () => colorByDistance(app, row) }),
        button("Select its neighbors", { kind: "small", onclick: () => app.stage.view.select(maskOfRows([row, ...(store.near ?? [])], table.rows), "new") }),
      ),
      h("label", { class: "row" }, h("span", { class: "field-name" }, "Neighbors"), count, shown),
    );
    fillNeighbors(number);
    const cells = await attempt(() => valuesOf(tableId, [row], order(table)));
    if (!cells || number !== asked) return;
    const listed = order(table);
    replace(
      values,
      h("h3", null, "Values"),
      h("table", { class: "values" }, h("tbody", null, listed.map((index, i) => h("tr", null, h("th", null, table.columns[index].name), h("td", null, cells[0][i] === null ? h("i", null, "missing") : cellText(cells[0][i])))))),
      table.columns.length > listed.length && h("p", { class: "note" }, `${plainNumber(table.columns.length - listed.length)} more columns.`),
    );
  }

  const order = (table) => shownColumns(table, VALUES);
  const later = debounced(() => fillNeighbors(asked), 150);

  async function fillNeighbors(number) {
    const { point: row, tableId, neighbors: k } = store;
    const told = await attempt(() => getJson(`/tables/${tableId}/neighbors?row=${row}&k=${k}`));
    if (!told || number !== asked) return;
    store.near = told.rows;
    const byMap = drawNeighbors(app, row, told.rows);
    const maps = store.mapList().filter((map) => byMap[map.id]);
    replace(
      near,
      h("h3", null, `Its ${told.rows.length} nearest rows in the data, on the maps`),
      h("ul", { class: "key" }, h("li", { class: "kept" }, "kept: near in the data and on the map"), h("li", { class: "missed" }, "missed: near in the data, far on the map"), h("li", { class: "false" }, "false: near on the map only")),
      maps.map((map) => {
        const { kept, missed } = byMap[map.id];
        const part = h("span", { class: "kept-part" });
        part.style.width = `${(100 * kept.length) / Math.max(1, kept.length + missed.length)}%`;
        return h("div", { class: "near-line", title: `${map.name}: ${counted(kept.length, "neighbor")} kept, ${missed.length} missed, ${byMap[map.id].false.length} false` }, h("span", null, map.name), h("span", { class: "kept-room" }, part), h("small", null, `${kept.length} of ${kept.length + missed.length}`));
      }),
      !maps.length && h("p", { class: "note" }, icon("info"), "There is no finished map yet."),
      h("details", null, h("summary", null, "List of the rows"), h("div", { class: "row" }, told.rows.map((other, i) => h("button", { type: "button", class: "small", title: `distance ${plainNumber(told.distances?.[i])}`, onclick: () => app.showPoint(other) }, plainNumber(other))))),
    );
  }

  store.on("point", fill);
  store.on("current", fill);
  store.on("coordinates", () => store.point !== null && later());
  return pane;
}

// Neighbors of a row in the data, drawn on every map; those of each map are found here, from its coordinates.
function drawNeighbors(app, row, near) {
  const { stage, store } = app;
  const byMap = {};
  for (const map of store.mapList()) {
    const data = stage.mapData(map.id);
    if (!data?.coordinates || Number.isNaN(data.coordinates[row])) continue;
    byMap[map.id] = compareNeighbors(near, nearestOnMap(data.coordinates, data.components, data.n, row, near.length));
  }
  stage.view.show({ row, neighbors: { near, byMap } });
  return byMap;
}
