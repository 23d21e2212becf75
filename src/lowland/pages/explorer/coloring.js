// What the colors mean: labels, a column, clusters, quality of every point, or the distance from a point in the data.

import { el } from "../view/elements.js";
import { bytesOf } from "../view/saving.js";
import { answerColoring, answerWords, isAnswered } from "./answers.js";
import { getFloats, postJson } from "./api.js";
import { button, choice, labeled } from "./elements.js";
import { attempt, openDialog } from "./notices.js";
import { picker } from "./picker.js";

// The question that each quality measure of a point answers.
/** @type {Record<string, string>} */
const MEASURES = {
  trustworthiness: "are neighbors on the map true ones?",
  continuity: "are true neighbors still near?",
  "neighbors preserved": "how many neighbors are the same?",
};

/** @type {(app: App) => HTMLElement} */
export function coloringPicker(app) {
  const { store } = app;
  const control = picker({ name: "Color by", kind: "wide", groups, onpick });

  function groups() {
    const table = /** @type {TableRecord} */ (store.table);
    const label = table.columns.find((column) => column.role === "label");
    const measures = new Map(
      store.mapList().flatMap((map) => (map.measures ?? []).map((measure) => [measure.name, measure])),
    );
    const columns = table.columns
      .map((column, index) => ({ key: `column:${index}`, text: column.name, note: column.kind, kind: column.kind }))
      .filter(
        (item, index) =>
          !["id", "missing", "drop"].includes(item.kind) && app.stage.table?.columns[index].kind !== "text",
      );
    const own = [
      ...(label ? [{ key: "label", text: label.name, note: "label" }] : []),
      { key: "none", text: "One color" },
    ];
    const computed = [
      ...store.clusterings.map((each, i) => ({ key: `cluster:${i}`, text: each.name, note: "clusters" })),
      { key: "clusters", text: "Clusters…", note: "find groups of rows" },
      {
        key: "distance",
        text: store.point === null ? "Distance from a point (click one first)" : `Distance from row ${store.point}`,
        note: "in the data, not on the map",
      },
    ];
    const trust = [...measures.keys()].map((name) => ({
      key: `trust:${name}`,
      text: name,
      note: MEASURES[name] ?? "quality of every point",
    }));
    const real = store
      .mapList()
      .filter((map) => isAnswered(map))
      .map((map) => ({ key: `answer:${map.id}`, text: `Reliability of ${map.name}`, note: "is it real?" }));
    return [
      { name: "", items: own },
      { name: "Trust", items: [...real, ...trust] },
      { name: "Computed", items: computed },
      { name: "Columns", items: columns },
    ];
  }

  async function onpick(key) {
    const at = key.indexOf(":");
    const kind = at < 0 ? key : key.slice(0, at);
    const rest = key.slice(at + 1);
    if (kind === "clusters") clusterDialog(app, (coloring) => colorBy(app, coloring));
    else if (kind === "distance") await colorByDistance(app);
    else if (kind === "column") await colorBy(app, { kind, column: Number(rest) });
    else if (kind === "answer") await colorBy(app, { kind, map: rest, value: "class" });
    else if (kind === "trust") await colorBy(app, { kind, measure: rest });
    else if (kind === "cluster") await colorBy(app, { kind, index: Number(rest) });
    else await colorBy(app, { kind });
  }

  const words = () => {
    const { coloring, table } = store;
    if (!table?.columns) return "";
    if (coloring.kind === "label") return table.columns.find((column) => column.role === "label")?.name ?? "One color";
    if (coloring.kind === "column") return table.columns[coloring.column ?? -1]?.name ?? "";
    if (coloring.kind === "answer") return answerWords(store, coloring);
    if (coloring.kind === "trust") return `Trust: ${coloring.measure}`;
    if (coloring.kind === "cluster") return store.clusterings[coloring.index ?? -1]?.name ?? "Clusters";
    if (coloring.kind === "distance") return `Distance from row ${coloring.row}`;
    return "One color";
  };
  store.on("coloring", () => control.show(words()));
  store.on("current", () => control.show(words()));
  store.on("table", () => control.show(words()));
  return control.element;
}

/** @type {(app: App, row?: number | null) => Promise<void>} */
export async function colorByDistance(app, row = app.store.point) {
  if (row === null) {
    app.notice("Click a point first. Its distance from all others in the data then gives their colors.");
    return;
  }
  await colorBy(app, { kind: "distance", row });
}

// Apply a coloring; what it needs is loaded first.
/** @type {(app: App, coloring: PageColoring) => Promise<void>} */
export async function colorBy(app, coloring) {
  const { store, stage } = app;
  const { view } = stage;
  if (!view) return;
  if (coloring.kind === "answer" && !isAnswered(store.maps.get(coloring.map ?? ""))) coloring = { kind: "label" };
  const done = await attempt(async () => {
    if (coloring.kind === "answer") {
      await view.colorBy(await answerColoring(store, coloring));
    } else if (coloring.kind === "trust" && coloring.measure) {
      await stage.loadTrust(coloring.measure);
      await view.colorBy({ kind: "trust", measure: coloring.measure });
    } else if (coloring.kind === "cluster") {
      const { name, codes, levels } = store.clusterings[coloring.index ?? -1];
      await view.colorBy({ kind: "values", name, values: codes, levels });
    } else if (coloring.kind === "distance") {
      const values = await getFloats(`/tables/${store.tableId}/distances?row=${coloring.row}`);
      await view.colorBy({ kind: "values", name: `distance from row ${coloring.row} in the data`, values });
    } else if (coloring.kind === "column") {
      await view.colorBy({ kind: "column", column: coloring.column });
    } else if (coloring.kind === "label" && stage.table?.label === null) {
      await view.colorBy({ kind: "none" });
    } else await view.colorBy({ kind: coloring.kind });
    return true;
  });
  if (!done || view !== stage.view) return;
  store.set("coloring", { coloring });
}

/** @type {(reply: { codes: string, levels: string[], kind?: string }, name: string) => Clustering} */
export function readClusters(reply, name) {
  const bytes = bytesOf(reply.codes);
  const wide = reply.kind === "u2" || reply.levels.length > 254;
  return { name, codes: wide ? new Uint16Array(bytes.buffer) : bytes, levels: reply.levels, text: reply.codes };
}

/** @type {(app: App, done: (coloring: PageColoring) => unknown) => void} */
function clusterDialog(app, done) {
  const { store } = app;
  const asked = { clusters: 8, algorithm: "k-means", map: "" };
  const maps = store.mapList().filter((map) => map.status === "done");
  const number = el("input", {
    type: "number",
    min: 2,
    max: 200,
    value: 8,
    oninput: () => (asked.clusters = Number(number.value)),
  });
  /** @type {[string, string][]} */
  const places = [
    ["", "The data (all features)"],
    ...maps.map((map) => /** @type {[string, string]} */ ([map.id, `The map ${map.name}`])),
  ];
  openDialog(
    "Color by clusters",
    (close) => {
      const go = button("Find clusters", { kind: "main" });
      go.addEventListener("click", async () => {
        go.disabled = true;
        const reply = await attempt(() =>
          postJson(`/tables/${store.tableId}/clusters`, { ...asked, map: asked.map || null }),
        );
        go.disabled = false;
        if (!reply) return;
        const where = asked.map ? store.mapName(asked.map) : "the data";
        store.clusterings.push(readClusters(reply, `${reply.levels.length} clusters of ${where}`));
        close();
        done({ kind: "cluster", index: store.clusterings.length - 1 });
      });
      return [
        el(
          "div",
          { class: "fields" },
          labeled(
            "Of",
            choice(places, "", (value) => (asked.map = value)),
          ),
          labeled(
            "Algorithm",
            choice(
              [
                ["k-means", "k-means: compact groups"],
                ["density", "Density (HDBSCAN): groups of any shape. Rows in sparse regions belong to none"],
              ],
              "k-means",
              (value) => (asked.algorithm = value),
            ),
          ),
          labeled("Number of clusters", number),
        ),
        el(
          "p",
          { class: "note" },
          "Clusters of the data do not depend on a map. Clusters of a map show what the picture suggests, true or not.",
        ),
        el("div", { class: "actions" }, button("Cancel", { onclick: close }), go),
      ];
    },
    { kind: "narrow" },
  );
}
