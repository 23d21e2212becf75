// Opening data: a file of the folder, a file from elsewhere (sent to the server), an example, or a saved session.

import { asBytes, asPercent } from "./words.js";
import { button, h, icon, replace } from "./elements.js";
import { getJson, postJson, sendFile } from "./api.js";
import { attempt, notice, openDialog, tellProblem } from "./notices.js";

export const EXAMPLES = [
  ["iris", "Iris", "150 flowers, 4 measurements, 3 species"],
  ["wine", "Wine", "178 wines, 13 chemical measurements, 3 cultivars"],
  ["digits", "Digits", "1,797 images of handwritten digits, 8 × 8 pixels"],
  ["swiss_roll", "Swiss roll", "a rolled-up surface in three dimensions"],
];
const ARCHIVE = ".lowland-session";

// Send a file, with its progress shown and a button to cancel; then open the table.
export async function sendData(app, file) {
  const { session } = app.store;
  const limit = session?.limits?.upload_bytes;
  if (limit && file.size > limit) {
    notice(`${file.name} has ${asBytes(file.size)}. At most ${asBytes(limit)} can be sent: put it into ${session.folder} and open it there.`, "problem");
    return;
  }
  const bar = h("progress", { max: 1, value: 0 });
  const words = h("span", null, `Sending ${file.name} (${asBytes(file.size)})`);
  const isArchive = file.name.toLowerCase().endsWith(ARCHIVE);
  const { done, cancel } = sendFile(isArchive ? "/archives" : "/uploads", file, (fraction) => {
    bar.value = fraction;
    words.textContent = fraction < 1 ? `Sending ${file.name}: ${asPercent(fraction)}` : `Reading ${file.name}`;
  });
  const box = h("div", { class: "sending", role: "status" }, words, bar, button("Cancel", { kind: "small", onclick: cancel }));
  app.sendings.append(box);
  try {
    const table = await done;
    await app.showTable(table);
  } catch (error) {
    if (error.name === "AbortError") notice(`${file.name} was not sent.`);
    else tellProblem(error);
  } finally {
    box.remove();
  }
}

export async function openPath(app, path, read = {}) {
  const table = await attempt(() => postJson("/tables", { path, read }));
  if (table) await app.showTable(table);
  return table;
}

export async function openExample(app, name) {
  const table = await attempt(() => postJson("/tables", { example: name }));
  if (table) await app.showTable(table);
}

function chooseFile(app, close) {
  const input = h("input", { type: "file", class: "unseen", multiple: true });
  input.addEventListener("change", () => {
    close?.();
    for (const file of input.files) sendData(app, file);
    input.remove();
  });
  document.body.append(input);
  input.click();
}

// The browser of the folder.
export function folderList(app, onopen) {
  const list = h("div", { class: "files", role: "list", "aria-label": "Files in the folder" });
  const trail = h("div", { class: "trail" });
  const enter = async (path) => {
    const found = await attempt(() => getJson(`/files?path=${encodeURIComponent(path)}`));
    if (!found) return;
    const parts = found.path ? found.path.split("/").filter((part) => part && part !== ".") : [];
    replace(
      trail,
      h("button", { type: "button", class: "link", onclick: () => enter("") }, app.store.session.folder),
      parts.map((part, i) => [" / ", h("button", { type: "button", class: "link", onclick: () => enter(parts.slice(0, i + 1).join("/")) }, part)]),
    );
    const inside = (name) => [...parts, name].join("/");
    const entries = [...found.entries].sort((a, b) => (a.kind === b.kind ? a.name.localeCompare(b.name) : a.kind === "folder" ? -1 : 1));
    replace(
      list,
      entries.map((entry) =>
        h(
          "button",
          {
            type: "button",
            class: "file",
            role: "listitem",
            disabled: entry.kind !== "folder" && !entry.readable,
            title: entry.kind !== "folder" && !entry.readable ? "Lowland does not read this kind of file." : entry.name,
            onclick: () => (entry.kind === "folder" ? enter(inside(entry.name)) : onopen(inside(entry.name))),
          },
          icon(entry.kind === "folder" ? "folder" : "file"),
          h("span", null, entry.name),
          entry.kind !== "folder" && h("small", null, asBytes(entry.bytes)),
        ),
      ),
      !entries.length && h("p", { class: "note" }, "This folder is empty. Put a table into it, or drop a file onto this page."),
    );
  };
  enter("");
  return h("div", { class: "folder" }, trail, list);
}

export function openData(app) {
  openDialog("Open data", (close) => [
    folderList(app, (path) => {
      close();
      openPath(app, path);
    }),
    h(
      "div",
      { class: "row" },
      button("Choose a file from elsewhere", { symbol: "upload", onclick: () => chooseFile(app, close) }),
      h("span", { class: "note" }, `or drop it anywhere on the page. A ${ARCHIVE} file opens a saved session.`),
    ),
    h("h3", null, "Examples"),
    exampleButtons(app, close),
  ]);
}

function exampleButtons(app, close) {
  return h(
    "div",
    { class: "examples" },
    EXAMPLES.map(([name, title, note]) =>
      h(
        "button",
        {
          type: "button",
          class: "example",
          onclick: () => {
            close?.();
            openExample(app, name);
          },
        },
        h("b", null, title),
        h("small", null, note),
      ),
    ),
  );
}

// What a person sees before any data is open.
export function emptyState(app) {
  return h(
    "div",
    { class: "empty" },
    h("h1", null, "See your data as maps"),
    h("p", { class: "lead" }, "Open a table. Each row becomes a point; rows that are alike lie close together. Compare maps of many methods, and see where each of them can be trusted."),
    h(
      "div",
      { class: "drop-zone" },
      icon("upload"),
      h("p", null, h("b", null, "Drop a file here")),
      h("p", { class: "note" }, "CSV, Parquet, Excel, Arrow, NumPy and more. It stays on this machine."),
      h("div", { class: "row center" }, button("Choose a file", { kind: "main", onclick: () => chooseFile(app) }), button("Open from the folder", { symbol: "folder", onclick: () => openData(app) })),
    ),
    h("h2", null, "Or start with an example"),
    exampleButtons(app),
  );
}

// Files may be dropped anywhere.
export function acceptDrops(app) {
  const veil = h("div", { class: "veil", hidden: true }, h("div", null, icon("upload"), h("b", null, "Drop the file to open it")));
  document.body.append(veil);
  let depth = 0;
  const holdsFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (!holdsFiles(event)) return;
    depth++;
    veil.hidden = false;
  });
  addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    if (!depth) veil.hidden = true;
  });
  addEventListener("dragover", (event) => holdsFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    for (const file of event.dataTransfer.files) sendData(app, file);
  });
}
