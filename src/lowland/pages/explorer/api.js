// The server's HTTP API. Every failure becomes an ApiError whose message is a sentence for the person.

export const NO_ANSWER = "The server does not answer. It may have been stopped: start lowland explore again.";
const NO_TOKEN = "The server does not accept the token of this page. Open the address that lowland explore printed.";

export class ApiError extends Error {
  constructor(sentence, type, status) {
    super(sentence);
    this.type = type;
    this.status = status;
  }
}

function failure(status, text) {
  if (status === 401) return new ApiError(NO_TOKEN, "Unauthorized", status);
  try {
    const reply = JSON.parse(text);
    if (typeof reply.error === "string") return new ApiError(reply.error, reply.type, status);
    if (reply.detail)
      return new ApiError(`The server refused this: ${JSON.stringify(reply.detail)}`, "Refused", status);
  } catch {
    // no JSON: the sentence below
  }
  return new ApiError(`The server answered with error ${status}. Its terminal may say more.`, "Error", status);
}

const asked = new Map(); // requests under way: what aborts them -> path

// Nothing under this path is wanted any more.
export function abandon(path) {
  for (const [aborts, each] of asked) if (each === path || each.startsWith(`${path}/`)) aborts.abort();
}

async function ask(method, path, { json, form } = {}) {
  const aborts = new AbortController();
  const options = { method, signal: aborts.signal, credentials: "same-origin" };
  if (json !== undefined) {
    options.body = JSON.stringify(json);
    options.headers = { "Content-Type": "application/json" };
  }
  if (form) options.body = form;
  let answer;
  asked.set(aborts, path);
  try {
    answer = await fetch(`/api${path}`, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(NO_ANSWER, "NoAnswer", 0);
  } finally {
    asked.delete(aborts);
  }
  if (!answer.ok) throw failure(answer.status, await answer.text());
  return answer;
}

async function received(answer, how) {
  try {
    return await answer[how]();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(NO_ANSWER, "NoAnswer", 0);
  }
}

const jsonOf = async (answer) => (answer.status === 204 ? null : received(answer, "json"));

export const getJson = async (path, more) => jsonOf(await ask("GET", path, more));
export const postJson = async (path, json = {}, more = {}) => jsonOf(await ask("POST", path, { json, ...more }));
export const putJson = async (path, json) => jsonOf(await ask("PUT", path, { json }));
export const patchJson = async (path, json) => jsonOf(await ask("PATCH", path, { json }));
export const deleteAt = async (path) => jsonOf(await ask("DELETE", path));
export const getFloats = async (path) => new Float32Array(await received(await ask("GET", path), "arrayBuffer"));

// A file made by the server, and its name.
export async function getFile(path, fallback, { method = "GET", json } = {}) {
  const answer = await ask(method, path, { json });
  const reply = /filename\*?=(?:UTF-8'')?"?([^";]+)"?/i.exec(answer.headers.get("Content-Disposition") ?? "");
  const name = reply ? decodeURIComponent(reply[1]) : fallback;
  return { blob: await received(answer, "blob"), name };
}

// The latest snapshot of a map that is being computed.
export async function getLive(map) {
  const answer = await ask("GET", `/maps/${map}/live`);
  const version = Number(answer.headers.get("X-Lowland-Version"));
  return { coordinates: new Float32Array(await received(answer, "arrayBuffer")), version };
}

// A column: 4 bytes length, header (JSON), padding to 8, then the values.
export async function getColumn(table, index) {
  const buffer = await received(await ask("GET", `/tables/${table}/columns/${index}`), "arrayBuffer");
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const start = Math.ceil((4 + length) / 8) * 8;
  const Kind = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array }[header.kind];
  return { ...header, values: new Kind(buffer, start) };
}

// Send a file with its progress (fraction 0 to 1). Returns { done: promise, cancel }.
export function sendFile(path, file, onprogress, fields = {}) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append("file", file, file.name);
    request.open("POST", `/api${path}`);
    request.upload.addEventListener(
      "progress",
      (event) => event.lengthComputable && onprogress?.(event.loaded / event.total),
    );
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300) resolve(JSON.parse(request.responseText || "null"));
      else reject(failure(request.status, request.responseText));
    });
    request.addEventListener("error", () => reject(new ApiError(NO_ANSWER, "NoAnswer", 0)));
    request.addEventListener("abort", () => reject(new DOMException("canceled", "AbortError")));
    request.send(form);
  });
  return { done, cancel: () => request.abort() };
}

const SILENCE = 40; // seconds without an event, of which the server sends one every 15, after which it is asked again

// Events of the server. They are asked for again after an interruption; `onstate(connected, sentence)` says which it is:
// a server that was started again has a new token, which this page has once its address was opened in any tab.
// A browser allows six connections to a server, so a hidden page listens to nothing and catches up when it is seen again.
export function listen(handlers, onstate) {
  let source = null;
  let waiting = null;
  let again = null;
  let heard = 0;
  const why = () =>
    getJson("/session").then(
      () => NO_ANSWER,
      (error) => error.message,
    );
  const hear = () => (heard = performance.now());
  const stop = () => {
    source?.close();
    source = null;
    clearTimeout(waiting);
    clearTimeout(again);
    waiting = null;
  };
  const lose = () => (waiting ??= setTimeout(() => onstate(false, NO_ANSWER), 1200)); // a restart of less than that is not worth a word
  const start = () => {
    clearTimeout(again);
    source?.close();
    hear();
    const mine = (source = new EventSource("/api/events"));
    mine.addEventListener("open", () => {
      clearTimeout(waiting);
      waiting = null;
      hear();
      onstate(true);
    });
    mine.addEventListener("error", () => {
      if (mine !== source) return;
      lose();
      if (mine.readyState !== EventSource.CLOSED) return;
      why().then((sentence) => waiting && onstate(false, sentence));
      again = setTimeout(start, 2000);
    });
    mine.addEventListener("alive", hear);
    for (const [name, handler] of Object.entries(handlers))
      mine.addEventListener(name, (event) => {
        hear();
        handler(JSON.parse(event.data));
      });
  };
  setInterval(() => {
    if (!source || performance.now() - heard < 1000 * SILENCE) return;
    lose();
    start();
  }, 5000);
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
  addEventListener("pagehide", stop);
  if (!document.hidden) start();
}
