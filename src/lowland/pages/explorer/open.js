// Opening data: a file of the folder, a file from elsewhere (sent to the server), an example, or a saved session.

import { bytes, el } from "../view/elements.js";
import { getJson, isAbort, postJson, sendFile } from "./api.js";
import { button, glyph, replace } from "./elements.js";
import { attempt, notice, openDialog, tellProblem } from "./notices.js";
import { asPercent } from "./words.js";

const ARCHIVE = ".lowland-session";

// Send a file, with its progress shown and a button to cancel; then open the table.
/** @type {(app: App, file: File) => Promise<void>} */
async function sendData(app, file) {
  const { session } = app.store;
  const limit = session?.limits?.upload_bytes;
  if (limit && file.size > limit) {
    notice(
      `${file.name} has ${bytes(file.size)}. At most ${bytes(limit)} can be sent: put it into ${session?.folder} and open it there.`,
      "problem",
    );
    return;
  }
  const bar = el("progress", { max: 1, value: 0 });
  const words = el("span", null, `Sending ${file.name} (${bytes(file.size)})`);
  const isArchive = file.name.toLowerCase().endsWith(ARCHIVE);
  const { done, cancel } = sendFile(isArchive ? "/archives" : "/uploads", file, (fraction) => {
    bar.value = fraction;
    words.textContent = fraction < 1 ? `Sending ${file.name}: ${asPercent(fraction)}` : `Reading ${file.name}`;
  });
  const box = el(
    "div",
    { class: "sending", role: "status" },
    words,
    bar,
    button("Cancel", { kind: "small", onclick: cancel }),
  );
  app.sendings.append(box);
  try {
    const table = await done;
    await app.showTable(table);
  } catch (error) {
    if (isAbort(error)) notice(`${file.name} was not sent.`);
    else tellProblem(error);
  } finally {
    box.remove();
  }
}

/** @type {(app: App, path: string, read?: object) => Promise<TableRecord | undefined>} */
async function openPath(app, path, read = {}) {
  const table = await attempt(() => postJson("/tables", { path, read }));
  if (table) await app.showTable(table);
  return table;
}

/** @type {(app: App, name: string) => Promise<void>} */
async function openExample(app, name) {
  const table = await attempt(() => postJson("/examples", { name }));
  if (table) await app.showTable(table);
}

/** @type {(app: App, close?: () => void) => void} */
function chooseFile(app, close) {
  const input = el("input", { type: "file", class: "unseen", multiple: true });
  input.addEventListener("change", () => {
    close?.();
    for (const file of input.files ?? []) sendData(app, file);
    input.remove();
  });
  document.body.append(input);
  input.click();
}

// The browser of the folder.
/** @type {(app: App, onopen: (path: string) => unknown) => HTMLElement} */
export function folderList(app, onopen) {
  const list = el("div", { class: "files", role: "list", "aria-label": "Files in the folder" });
  const trail = el("div", { class: "trail" });
  const enter = async (path) => {
    const found = await attempt(() => getJson(`/files?path=${encodeURIComponent(path)}`));
    if (!found) return;
    const parts = found.path ? found.path.split("/").filter((part) => part && part !== ".") : [];
    replace(
      trail,
      el("button", { type: "button", class: "link", onclick: () => enter("") }, app.store.session?.folder),
      parts.map((part, i) => [
        " / ",
        el("button", { type: "button", class: "link", onclick: () => enter(parts.slice(0, i + 1).join("/")) }, part),
      ]),
    );
    const inside = (name) => [...parts, name].join("/");
    const entries = [...found.entries].sort((a, b) =>
      a.kind === b.kind ? a.name.localeCompare(b.name) : a.kind === "folder" ? -1 : 1,
    );
    replace(
      list,
      found.readable &&
        parts.length > 0 &&
        el(
          "button",
          { type: "button", class: "file whole", role: "listitem", onclick: () => onopen(parts.join("/")) },
          glyph("folder"),
          el("b", null, "Open this folder as one table"),
        ),
      entries.map((entry) =>
        el(
          "button",
          {
            type: "button",
            class: "file",
            role: "listitem",
            disabled: entry.kind !== "folder" && !entry.readable,
            title: entry.kind !== "folder" && !entry.readable ? "This file alone is not a table." : entry.name,
            onclick: () => (entry.kind === "folder" ? enter(inside(entry.name)) : onopen(inside(entry.name))),
          },
          glyph(entry.kind === "folder" ? "folder" : "file"),
          el("span", null, entry.name),
          entry.kind !== "folder" && el("small", null, bytes(entry.bytes)),
        ),
      ),
      !entries.length &&
        el("p", { class: "note" }, "This folder is empty. Put a table into it, or drop a file onto this page."),
    );
  };
  enter("");
  return el("div", { class: "folder" }, trail, list);
}

/** @type {(app: App) => void} */
export function openData(app) {
  openDialog("Open data", (close) => [
    folderList(app, (path) => {
      close();
      openPath(app, path);
    }),
    el(
      "div",
      { class: "row" },
      button("Choose a file from elsewhere", { symbol: "upload", onclick: () => chooseFile(app, close) }),
      el("span", { class: "note" }, `or drop it anywhere on the page. A ${ARCHIVE} file opens a saved session.`),
    ),
    el("h3", null, "Examples"),
    exampleButtons(app, close),
  ]);
}

/** @type {(app: App, close?: () => void) => HTMLElement} */
function exampleButtons(app, close) {
  const box = el("div", { class: "examples" });
  attempt(async () =>
    replace(
      box,
      (await getJson("/examples")).map(({ name, title, about }) =>
        el(
          "button",
          { type: "button", class: "example", onclick: () => (close?.(), openExample(app, name)) },
          el("b", null, title),
          el("small", null, about),
        ),
      ),
    ),
  );
  return box;
}

// What a person sees before any data is open.
/** @type {(app: App) => HTMLElement} */
export function emptyState(app) {
  return el(
    "div",
    { class: "empty" },
    el("h1", null, "See your data as maps"),
    el(
      "p",
      { class: "lead" },
      "Open a table. Each row becomes a point, and similar rows lie close together. Compare maps of many methods, and see where each of them can be trusted.",
    ),
    el(
      "div",
      { class: "drop-zone" },
      glyph("upload"),
      el("p", null, el("b", null, "Drop a file here")),
      el("p", { class: "note" }, "CSV, Parquet, Excel, Arrow, NumPy and more. It stays on this machine."),
      el(
        "div",
        { class: "row center" },
        button("Choose a file", { kind: "main", onclick: () => chooseFile(app) }),
        button("Open from the folder", { symbol: "folder", onclick: () => openData(app) }),
      ),
    ),
    el("h2", null, "Or start with an example"),
    exampleButtons(app),
  );
}

// Files may be dropped anywhere.
/** @type {(app: App) => void} */
export function acceptDrops(app) {
  const veil = el(
    "div",
    { class: "veil", hidden: true },
    el("div", null, glyph("upload"), el("b", null, "Drop the file to open it")),
  );
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
    for (const file of event.dataTransfer?.files ?? []) sendData(app, file);
  });
}
