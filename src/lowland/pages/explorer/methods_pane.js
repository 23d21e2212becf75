// The left pane's second tab: choose a method, set its parameters, see what it will cost, and start it.

import { bytes, duration, el, some } from "../view/elements.js";
import { ApiError, postJson, sentenceOf } from "./api.js";
import { canStartFrom, earlierMap, shownVersion, undoChange } from "./edits.js";
import { button, glyph, replace } from "./elements.js";
import { parameterForm } from "./form.js";
import { attempt, notice } from "./notices.js";
import { debounced, isActive } from "./store.js";

// The summary without the name in front of it.
/** @type {(method: MethodRecord) => string} */
const shortSummary = (method) => {
  const at = method.summary.indexOf(": ");
  const text = at > 0 && at < 60 ? method.summary.slice(at + 2) : method.summary;
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** @type {(app: App) => HTMLElement} */
export function methodsPane(app) {
  const { store } = app;
  const list = el("div", { class: "methods" });
  const search = el("input", {
    type: "search",
    placeholder: "Find a method",
    "aria-label": "Find a method",
    oninput: () => fillList(),
  });
  const usual = el("div", { class: "usual" });
  const chooser = el("div", { class: "chooser" }, usual, search, list);
  const chosen = el("div", { class: "chosen", hidden: true });
  const pane = el("div", { class: "pane-body" }, chooser, chosen);
  /** @type {(() => Promise<void>) | null} */
  let estimated = null; // estimates of the usual maps: made when the pane is seen
  new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && estimated?.()).observe(pane);

  function fillUsual() {
    const made = new Set(
      store
        .mapList()
        .filter((map) => !Object.keys(map.parameters ?? {}).length)
        .map((map) => map.method),
    );
    const known = store.methods.filter((method) => method.usual && !made.has(method.name));
    if (!known.length) {
      replace(usual);
      return;
    }
    const cost = el("p", { class: "note cost" });
    replace(
      usual,
      el(
        "div",
        { class: "card" },
        el("b", null, "The usual maps"),
        el("p", { class: "note" }, known.map((method) => method.title).join(", ")),
        cost,
        button(`Compute ${some(known.length, "usual map")}`, {
          symbol: "play",
          kind: "main wide",
          onclick: () => startUsual(known),
        }),
      ),
    );
    estimated = () => estimateAll(known, cost);
    if (pane.offsetParent) estimated();
  }

  async function estimateAll(known, cost) {
    const table = store.tableId;
    estimated = null;
    const reply = [];
    for (const method of known) {
      if (store.table?.status !== "ready" || !cost.isConnected) return; // it is being prepared: estimated again after that
      const each = await postJson("/estimates", { table, method: method.verb, parameters: {} }).catch(() => null);
      if (table !== store.tableId || !cost.isConnected) return;
      if (Number.isFinite(each?.seconds)) reply.push(each);
    }
    if (reply.length)
      cost.textContent = `About ${duration(reply.reduce((sum, each) => sum + each.seconds, 0))} in all, at most ${bytes(Math.max(...reply.map((each) => each.bytes ?? 0)))} of memory.`;
  }

  async function startUsual(known) {
    let begun = 0;
    for (const method of known) if (await startMap(app, method, {})) begun++;
    if (begun) notice(`${some(begun, "map")} started.`);
  }

  function fillList() {
    const words = search.value.trim().toLowerCase();
    const fits = (method) =>
      !words || `${method.title} ${method.name} ${method.verb} ${method.summary}`.toLowerCase().includes(words);
    const named = [...new Set(store.methods.map((method) => method.group))];
    const parts = named.map((name) => {
      const members = store.methods.filter((method) => method.group === name && fits(method));
      return members.length ? [el("div", { class: "group-name" }, name), members.map(methodLine)] : null;
    });
    replace(
      list,
      parts.some(Boolean) ? parts : el("p", { class: "note" }, "No method has this word in its name or summary."),
    );
  }

  const hasLabel = () => store.table?.columns?.some((column) => column.role === "label");
  function methodLine(method) {
    const lacking = method.needs_labels && !hasLabel();
    return el(
      "button",
      {
        type: "button",
        class: "method",
        title: lacking ? `${method.title} needs a label column: give one column the role label.` : method.summary,
        onclick: () => choose(method),
      },
      el(
        "b",
        null,
        method.title,
        method.live && el("span", { class: "chip", title: "The map is shown while it is computed" }, "live"),
        method.needs_labels && el("span", { class: "chip" }, "needs labels"),
      ),
      el("small", null, shortSummary(method)),
    );
  }

  // `changed`: the map whose parameters are to be changed.
  /** @type {(method: MethodRecord, values?: Record<string, unknown>, changed?: MapRecord | null) => void} */
  function choose(method, values = {}, changed = null) {
    chooser.hidden = true;
    chosen.hidden = false;
    const cost = el("div", { class: "estimate", role: "status" });
    const wrong = el("p", { class: "wrong", role: "alert", hidden: true });
    const name = el("input", {
      type: "text",
      placeholder: method.title,
      "aria-label": "Name of the map",
      maxlength: 120,
    });
    const warm = el("input", { type: "checkbox", checked: true });
    const canStart = changed !== null && canStartFrom(store, changed);
    const starts = changed
      ? [
          button("Change the map", { symbol: "play", kind: "main wide", onclick: () => begin(true) }),
          button("Compute the map beside it", { kind: "wide", onclick: () => begin(false) }),
        ]
      : [button("Compute the map", { symbol: "play", kind: "main wide", onclick: () => begin(false) })];
    const disable = (disabled) => starts.forEach((each) => (each.disabled = disabled));
    const form = parameterForm(method, { values, onchange: () => heed() });
    const estimate = debounced(() => showEstimate(app, method, form, cost), 250);
    const heed = () => {
      wrong.hidden = true;
      disable(form.problems().length > 0);
      estimate();
    };
    // The map that is to be replaced: a change that is not finished yet is undone first.
    const replaced = (/** @type {MapRecord} */ last) => {
      const now = shownVersion(store, last);
      return isActive(now) && earlierMap(store, now) ? undoChange(app, now) : now;
    };
    const begin = async (inPlace) => {
      disable(true);
      try {
        const before = inPlace && changed ? replaced(changed) : null;
        const more = before && { replaces: before.id, warm: warm.checked && canStartFrom(store, before), throws: true };
        const words = name.value.trim() || before?.name;
        const map = await startMap(app, method, form.values(), words, more ?? { throws: true });
        if (before && map) {
          changed = map;
          notice(`${map.name} is changed.`, "info", ["Undo", () => undoChange(app, shownVersion(store, map))]);
        }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        wrong.textContent = error.message;
        wrong.hidden = false;
      }
      disable(false);
    };
    form.element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target instanceof HTMLInputElement && !starts[0].disabled) starts[0].click();
    });
    replace(
      chosen,
      el("button", { type: "button", class: "link back", onclick: close }, glyph("back"), "All methods"),
      el("h2", null, method.title),
      el("p", { class: "note" }, changed ? `Changes ${changed.name}, in its place.` : method.summary),
      method.needs_labels &&
        !hasLabel() &&
        el(
          "p",
          { class: "warning" },
          glyph("warning"),
          el("span", null, "This method needs labels: give one column the role label first."),
        ),
      form.element,
      el("label", { class: "parameter" }, el("span", { class: "field-name" }, "name of the map"), name),
      el(
        "div",
        { class: "start" },
        canStart &&
          el(
            "label",
            { class: "check" },
            warm,
            el(
              "span",
              null,
              "Start from the present map",
              el("small", null, "It moves from where it is, and depends on the present map."),
            ),
          ),
        cost,
        wrong,
        starts,
      ),
    );
    pane.parentElement?.scrollTo(0, 0);
    heed();
  }

  function close() {
    chooser.hidden = false;
    chosen.hidden = true;
    replace(chosen);
  }

  store.on("methods", fillList);
  let seen = "";
  const refresh = () => {
    pane.hidden = !store.table?.columns?.length;
    const now = `${[...store.maps.keys()]} ${store.tableId} ${store.table?.status} ${store.table?.columns?.map((column) => column.role).join()}`;
    if (now === seen) return;
    seen = now;
    fillUsual();
    fillList();
  };
  store.on("table", refresh);
  store.on("current", refresh);
  store.on("maps", refresh);
  app.chooseMethod = (verb, values, changed) => {
    const method = store.method(verb);
    if (method) choose(method, values, changed);
  };
  return pane;
}

let estimateAsked = {}; // the latest question

// Time and memory of a map before it starts, and a warning beyond the limits.
/** @type {(app: App, method: MethodRecord, form: ParameterForm, cost: HTMLElement) => Promise<void>} */
async function showEstimate(app, method, form, cost) {
  const { session, tableId } = app.store;
  if (form.problems().length || app.store.table?.status !== "ready") {
    replace(cost);
    return;
  }
  const asked = (estimateAsked = {});
  cost.classList.add("asking");
  if (!cost.firstChild) replace(cost, el("small", { class: "doc" }, "Time and memory are being estimated."));
  let reply;
  try {
    reply = await postJson("/estimates", { table: tableId, method: method.verb, parameters: form.values() });
  } catch (error) {
    if (asked === estimateAsked) replace(cost, el("p", { class: "wrong" }, sentenceOf(error)));
    return;
  } finally {
    if (asked === estimateAsked) cost.classList.remove("asking");
  }
  if (asked !== estimateAsked) return; // a later question is under way
  if (reply.reason) {
    replace(cost, el("p", { class: "wrong" }, reply.reason));
    return;
  }
  const range =
    Number.isFinite(reply.low) && reply.high > 1.5 * Math.max(1, reply.low)
      ? `${duration(reply.low)} to ${duration(reply.high)}`
      : duration(reply.seconds);
  const longest = session?.limits?.seconds ?? Infinity;
  const largest = session?.limits?.memory_bytes ?? Infinity;
  const tooLong = reply.seconds > longest;
  const tooLarge = reply.bytes > largest;
  replace(
    cost,
    el(
      "div",
      { class: "figures" },
      el("span", null, el("small", null, "Time"), el("b", null, range)),
      el("span", null, el("small", null, "Memory"), el("b", null, bytes(reply.bytes))),
    ),
    reply.basis && el("small", { class: "doc" }, reply.basis),
    tooLong &&
      el(
        "p",
        { class: "warning" },
        glyph("warning"),
        el(
          "span",
          null,
          `Longer than the limit of ${duration(longest)}: it would be stopped. Choose a quicker method, or a part of the rows.`,
        ),
      ),
    tooLarge &&
      el(
        "p",
        { class: "warning" },
        glyph("warning"),
        el(
          "span",
          null,
          `More than the limit of ${bytes(largest)} of memory: it would be stopped. Choose another method, or a part of the rows.`,
        ),
      ),
  );
}

// Begin a map, as soon as the rows are prepared; it may replace another one. Problems are shown, or thrown if the caller
// shows them.
/** @type {(app: App, method: MethodRecord | string, parameters: Record<string, unknown>, name?: string, options?: { throws?: boolean, replaces?: string | null, warm?: boolean }) => Promise<MapRecord | undefined>} */
export async function startMap(app, method, parameters, name, { throws = false, replaces = null, warm = false } = {}) {
  await app.store.settled();
  const verb = typeof method === "string" ? method : method.verb;
  /** @type {Record<string, unknown>} */
  const body = { table: app.store.tableId, method: verb, parameters, replaces, warm };
  if (name) body.name = name;
  const map = throws ? await postJson("/maps", body) : await attempt(() => postJson("/maps", body));
  if (map && !app.store.maps.has(map.id)) app.takeMap(map); // events are newer than this answer
  return map;
}
