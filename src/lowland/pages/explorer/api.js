// The server's HTTP API. Every failure becomes an ApiError whose message is a sentence for the person.

export const NO_ANSWER = "The server does not answer. If it was stopped, start it again with “lowland explore”.";
const NO_TOKEN = "The server does not accept the token of this page. Open the address that lowland explore printed.";

export class ApiError extends Error {
  /** @param {string} sentence @param {string} type @param {number} status */
  constructor(sentence, type, status) {
    super(sentence);
    this.type = type;
    this.status = status;
  }
}

/** @type {(status: number, text: string) => ApiError} */
function failure(status, text) {
  if (status === 401) return new ApiError(NO_TOKEN, "Unauthorized", status);
  try {
    const reply = JSON.parse(text);
    if (typeof reply.error === "string") return new ApiError(reply.error, reply.type, status);
  } catch {
    // no JSON: the sentence below
  }
  return new ApiError(`The server answered with error ${status}. Its terminal may say more.`, "Error", status);
}

const KEPT_ALIVE = 16_000; // characters: browsers send up to 64 kB after the page has gone

/** @type {Map<AbortController, string>} */
const asked = new Map(); // requests under way: what aborts them -> path

// Whether an error says that a request was canceled.
/** @type {(error: unknown) => boolean} */
export const isAbort = (error) => error instanceof Error && error.name === "AbortError";

// What an error says.
/** @type {(error: unknown) => string} */
export const sentenceOf = (error) => (error instanceof Error ? error.message : String(error));

// Nothing under this path is wanted any more.
/** @type {(path: string) => void} */
export function abandon(path) {
  for (const [aborts, each] of asked) if (each === path || each.startsWith(`${path}/`)) aborts.abort();
}

/** @type {(method: string, path: string, body?: { json?: unknown }) => Promise<Response>} */
async function ask(method, path, { json } = {}) {
  const aborts = new AbortController();
  /** @type {RequestInit} */
  const options = { method, signal: aborts.signal, credentials: "same-origin" };
  if (json !== undefined) {
    options.body = JSON.stringify(json);
    options.headers = { "Content-Type": "application/json" };
    options.keepalive = method === "PUT" && options.body.length < KEPT_ALIVE; // the state of a page that is left
  }
  let answer;
  asked.set(aborts, path);
  try {
    answer = await fetch(`/api${path}`, options);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(NO_ANSWER, "NoAnswer", 0);
  } finally {
    asked.delete(aborts);
  }
  if (!answer.ok) throw failure(answer.status, await answer.text());
  return answer;
}

/** @type {(answer: Response, how: "json" | "arrayBuffer" | "blob") => Promise<any>} */
async function received(answer, how) {
  try {
    return await answer[how]();
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(NO_ANSWER, "NoAnswer", 0);
  }
}

/** @type {(method: string, path: string, json?: unknown) => Promise<any>} */
const askJson = async (method, path, json) => received(await ask(method, path, { json }), "json");
/** @type {(path: string) => Promise<any>} */
export const getJson = (path) => askJson("GET", path);
/** @type {(path: string, json?: unknown) => Promise<any>} */
export const postJson = (path, json = {}) => askJson("POST", path, json);
/** @type {(path: string, json: unknown) => Promise<any>} */
export const putJson = (path, json) => askJson("PUT", path, json);
/** @type {(path: string, json: unknown) => Promise<any>} */
export const patchJson = (path, json) => askJson("PATCH", path, json);
/** @type {(path: string) => Promise<any>} */
export const deleteAt = (path) => askJson("DELETE", path);
/** @type {(path: string) => Promise<Float32Array>} */
export const getFloats = async (path) => new Float32Array(await received(await ask("GET", path), "arrayBuffer"));

// Cells of chosen rows and columns.
/** @type {(table: string | null, rows: number[], columns?: number[]) => Promise<unknown[][]>} */
export async function valuesOf(table, rows, columns) {
  const chosen = columns ? `&columns=${columns.join(",")}` : "";
  return (await getJson(`/tables/${table}/values?rows=${rows.join(",")}${chosen}`)).rows;
}

// A file made by the server, and its name.
/** @type {(path: string, fallback: string, options?: { method?: string, json?: unknown }) => Promise<{ blob: Blob, name: string }>} */
export async function getFile(path, fallback, { method = "GET", json } = {}) {
  const answer = await ask(method, path, { json });
  const reply = /filename\*?=(?:UTF-8'')?"?([^";]+)"?/i.exec(answer.headers.get("Content-Disposition") ?? "");
  const name = reply ? decodeURIComponent(reply[1]) : fallback;
  return { blob: await received(answer, "blob"), name };
}

// A column: 4 bytes length, header (JSON), padding to 8, then the values.
/** @type {(table: string, index: number) => Promise<{ values: NumberArray, levels?: string[] }>} */
export async function getColumn(table, index) {
  const buffer = await received(await ask("GET", `/tables/${table}/columns/${index}`), "arrayBuffer");
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const start = Math.ceil((4 + length) / 8) * 8;
  /** @type {Record<string, Float32ArrayConstructor | Uint8ArrayConstructor | Uint16ArrayConstructor>} */
  const kinds = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array };
  const Kind = kinds[header.kind];
  return { ...header, values: new Kind(buffer, start) };
}

// Send a file with its progress (fraction 0 to 1). Returns { done: promise, cancel }.
/** @type {(path: string, file: File, onprogress?: (fraction: number) => void) => { done: Promise<any>, cancel: () => void }} */
export function sendFile(path, file, onprogress) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    const form = new FormData();
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
/** @type {(handlers: Record<string, (record: any) => unknown>, onstate: (connected: boolean, sentence?: string) => void) => void} */
export function listen(handlers, onstate) {
  /** @type {EventSource | null} */
  let source = null;
  let waiting = 0;
  let again = 0;
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
    waiting = 0;
  };
  const lose = () => (waiting ||= setTimeout(() => onstate(false, NO_ANSWER), 1200)); // a restart of less than that is not worth a word
  const start = () => {
    clearTimeout(again);
    source?.close();
    hear();
    const mine = (source = new EventSource("/api/events"));
    mine.addEventListener("open", () => {
      clearTimeout(waiting);
      waiting = 0;
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
