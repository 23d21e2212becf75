// The right pane's first tab: the selected rows, what sets them apart, and what can be done with them.

import { contrastBars } from "../view/contrast.js";
import { count, el, offer, some } from "../view/elements.js";
import { maskOf, maskText } from "../view/saving.js";
import { ApiError, deleteAt, getFile, getJson, postJson, sentenceOf, valuesOf } from "./api.js";
import { isNumeric } from "./data_pane.js";
import { actionMenu, button, replace, symbolButton } from "./elements.js";
import { keepSelected, shownColumns } from "./filter.js";
import { createGrid } from "./grid.js";
import { askText, attempt, notice } from "./notices.js";
import { debounced } from "./store.js";

const BUSY = 409; // the status of an answer while a table is read, as after a change of roles
const PATIENCE = 120; // seconds to wait for it

/** @type {(app: App) => HTMLElement} */
export function selectionPane(app) {
  const { store } = app;
  const head = el("div");
  const contrast = el("div", { class: "contrast" });
  const table = el("div", { class: "selected-rows" });
  const saved = el("div", { class: "saved" });
  const mean = el("figure", { class: "mean-image", hidden: true });
  const pane = el(
    "div",
    { class: "pane-body" },
    head,
    mean,
    contrast,
    table,
    el("h3", null, "Saved selections"),
    saved,
  );

  function fill() {
    const { selected } = store;
    if (!selected || !store.table?.rows) {
      replace(
        head,
        el("h2", null, "No rows selected"),
        el(
          "p",
          { class: "note" },
          "Choose Box, Lasso or Brush above the maps and drag over points. Shift adds, Alt removes, Esc clears.",
        ),
      );
      replace(contrast);
      replace(table);
      mean.hidden = true;
      average.cancel();
      compare.cancel();
      list.cancel();
      return;
    }
    const save = button("Export", { symbol: "download", kind: "small", "aria-haspopup": "menu" });
    save.addEventListener("click", () =>
      actionMenu(save, [
        ["CSV", () => exportRows("csv")],
        ["Parquet", () => exportRows("parquet")],
      ]),
    );
    replace(
      head,
      el(
        "div",
        { class: "row spread" },
        el("h2", null, `${some(selected, "row")} selected`),
        symbolButton("close", "Clear the selection", () => app.stage.view?.clearSelection()),
      ),
      el(
        "p",
        { class: "note" },
        `${Number(((100 * selected) / store.table.rows).toPrecision(2))}% of ${some(store.table.rows, "row")}`,
      ),
      el(
        "div",
        { class: "row" },
        button("Save it", {
          symbol: "save",
          kind: "small",
          title: "Give the selection a name and keep it",
          onclick: nameIt,
        }),
        save,
        button("New table", {
          symbol: "add",
          kind: "small",
          title: "A new table of these rows, to be embedded again",
          onclick: newTable,
        }),
        button("Show only these", { symbol: "filter", kind: "small", onclick: () => keepSelected(app) }),
      ),
    );
    waited = 0;
    compare();
    list();
    mean.hidden = !store.table.has_images;
    if (store.table.has_images) average();
  }

  // The mean of the selected images.
  const average = debounced(async () => {
    const { tableId, selection } = store;
    const made = await attempt(() =>
      getFile(`/tables/${tableId}/image`, "mean.png", { method: "POST", json: { mask: maskText(selection) } }),
    );
    if (!made || tableId !== store.tableId || selection !== store.selection) return;
    const address = URL.createObjectURL(made.blob);
    replace(
      mean,
      el("img", {
        class: "picture",
        src: address,
        alt: "Mean of the selected images",
        onload: () => URL.revokeObjectURL(address),
      }),
      el("figcaption", { class: "note" }, "Mean of the selected images"),
    );
  }, 250);

  const nameIt = async () => {
    const name = await askText("Save the selection", {
      name: "Name",
      value: `Selection ${store.selections.length + 1}`,
    });
    if (!name) return;
    const made = await attempt(() =>
      postJson(`/tables/${store.tableId}/selections`, { name, mask: maskText(store.selection) }),
    );
    if (made) loadSaved();
  };
  const newTable = async () => {
    const name = await askText("New table of the selected rows", {
      value: `${store.table?.name}, ${count(store.selected)} rows`,
      action: "Create",
      note: "It gets maps of its own, computed from these rows only.",
    });
    if (!name) return;
    const made = await attempt(() =>
      postJson(`/tables/${store.tableId}/subset`, { name, mask: maskText(store.selection) }),
    );
    if (made) await app.showTable(made);
  };
  const exportRows = (format) =>
    attempt(async () => {
      const maps = store
        .mapList()
        .filter((map) => map.status === "done")
        .map((map) => map.id);
      const { blob, name } = await getFile(`/tables/${store.tableId}/export`, `${store.table?.name}.${format}`, {
        method: "POST",
        json: { mask: maskText(store.selection), format, maps },
      });
      offer(blob, name);
      notice(`${some(store.selected, "row")} written to ${name}.`, "done");
    });

  // Which columns set the selection apart. Only once it has been still for a moment: the server reads all columns.
  let waited = 0; // seconds
  const compare = debounced(async () => {
    const { tableId, table, selection, selected } = store;
    if (!selected || !table) return;
    if (selected === table.rows) {
      replace(contrast, el("p", { class: "note" }, "All rows are selected: there is nothing to compare them with."));
      return;
    }
    let reply;
    try {
      reply = await postJson(`/tables/${tableId}/contrast`, { mask: maskText(selection) });
    } catch (error) {
      if (tableId !== store.tableId) return;
      replace(contrast, el("p", { class: "note" }, sentenceOf(error)));
      if (error instanceof ApiError && error.status === BUSY && selection === store.selection && waited++ < PATIENCE)
        setTimeout(compare, 1000);
      return;
    }
    if (tableId !== store.tableId || selection !== store.selection || selected !== store.selected) return;
    if (waited) list(); // its rows were not there either
    waited = 0;
    replace(
      contrast,
      el("h3", null, "What sets them apart"),
      contrastBars(reply.columns, table.columns, (column) => app.colorBy({ kind: "column", column })),
    );
  }, 250);

  const list = debounced(() => {
    if (!store.selected || !store.table || !app.stage.view) return; // another table is shown meanwhile
    const rows = app.stage.view.selectedRows();
    const { columns, id } = store.table;
    const order = shownColumns(store.table, columns.length); // name, label and shown columns first
    const all = order.map((index) => columns[index]);
    const grid = createGrid({
      rows: rows.length,
      names: all.map((column) => column.name),
      numeric: (c) => isNumeric(all[c]),
      label: "Selected rows",
      wide: 98, // two columns beside the numbers in the narrowest pane
      rowNumber: (i) => rows[i],
      fetchBlock: (from, many, shown) =>
        valuesOf(
          id,
          rows.slice(from, from + many),
          shown.map((c) => order[c]),
        ),
      onrow: (i) => app.showPoint(rows[i]),
    });
    replace(table, el("h3", null, "Rows"), grid.element);
    grid.draw();
  }, 150);

  async function loadSaved() {
    const { tableId } = store;
    if (!tableId || store.table?.status !== "ready") return;
    const reply = await attempt(() => getJson(`/tables/${tableId}/selections`));
    if (!reply || tableId !== store.tableId) return;
    store.selections = reply;
    replace(
      saved,
      !reply.length && el("p", { class: "note" }, "None yet. Select rows and save them under a name."),
      reply.map((each) =>
        el(
          "div",
          { class: "row spread saved-line" },
          el(
            "button",
            { type: "button", class: "link", title: "Select these rows", onclick: () => select(each) },
            each.name,
          ),
          el("small", null, some(each.count, "row")),
          symbolButton("trash", `Delete ${each.name}`, () =>
            attempt(async () => (await deleteAt(`/tables/${tableId}/selections/${each.id}`), loadSaved())),
          ),
        ),
      ),
    );
  }
  const select = ({ mask }) => app.stage.view?.select(maskOf(mask, store.table?.rows ?? 0), "new");
  store.on("selection", fill);
  store.on("current", () => (fill(), loadSaved()));
  store.on("saved", loadSaved); // here or in another browser
  return pane;
}
