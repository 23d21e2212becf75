// The left pane's second tab: choose a method, set its parameters, see what it will cost, and start it.

import { ApiError, postJson } from "./api.js";
import { asBytes, asTime, counted } from "./words.js";
import { button, h, icon, replace } from "./elements.js";
import { attempt, notice } from "./notices.js";
import { debounced } from "./store.js";
import { parameterForm } from "./form.js";

export const USUAL = ["pca", "tsne", "umap", "isomap", "spectral-embedding"];
const GROUPS = ["Linear", "Distances", "Manifolds", "Neighbor embeddings", "Features and nets"];
const OF_GROUP = {
  Linear: ["pca", "truncated-svd", "incremental-pca", "factor-analysis", "fast-ica", "projection-pursuit", "lda", "whitening", "linear-autoencoder", "ca", "mca", "famd"],
  Distances: ["classical-mds", "mds", "sammon"],
  Manifolds: ["isomap", "locally-linear-embedding", "spectral-embedding", "diffusion-map", "kernel-pca"],
  "Neighbor embeddings": ["tsne", "umap", "pacmap", "localmap"],
};
const groupOf = (method) => method.group || GROUPS.find((name) => OF_GROUP[name]?.includes(method.verb)) || GROUPS.at(-1);

// The summary without the name in front of it.
const shortSummary = (method) => {
  const at = method.summary.indexOf(": ");
  const text = at > 0 && at < 60 ? method.summary.slice(at + 2) : method.summary;
  return text.charAt(0).toUpperCase() + text.slice(1);
};

export function methodsPane(app) {
  const { store } = app;
  const list = h("div", { class: "methods", role: "list" });
  const search = h("input", { type: "search", placeholder: "Find a method", "aria-label": "Find a method", oninput: () => fillList() });
  const usual = h("div", { class: "usual" });
  const chooser = h("div", { class: "chooser" }, usual, search, list);
  const chosen = h("div", { class: "chosen", hidden: true });
  const pane = h("div", { class: "pane-body" }, chooser, chosen);

  function fillUsual() {
    const known = USUAL.map((verb) => store.method(verb)).filter(Boolean);
    const cost = h("p", { class: "note cost" });
    replace(
      usual,
      h("div", { class: "card" }, h("b", null, "The usual maps"), h("p", { class: "note" }, known.map((method) => method.name).join(", ")), cost, button(`Compute ${known.length} usual maps`, { symbol: "play", kind: "main wide", onclick: () => startUsual(known) })),
    );
    if (store.table?.status === "ready") estimateAll(known, cost);
  }

  async function estimateAll(known, cost) {
    const table = store.tableId;
    const all = await Promise.all(known.map((method) => postJson("/estimates", { table, method: method.verb, parameters: {} }).catch(() => null)));
    if (table !== store.tableId) return;
    const told = all.filter((each) => Number.isFinite(each?.seconds));
    if (told.length) cost.textContent = `About ${asTime(told.reduce((sum, each) => sum + each.seconds, 0))} in all, at most ${asBytes(Math.max(...told.map((each) => each.bytes ?? 0)))} of memory.`;
  }

  async function startUsual(known) {
    let begun = 0;
    for (const method of known) if (await startMap(app, method, {})) begun++;
    if (begun) notice(`${counted(begun, "map")} started.`);
  }

  function fillList() {
    const words = search.value.trim().toLowerCase();
    const fits = (method) => !words || `${method.name} ${method.verb} ${method.summary}`.toLowerCase().includes(words);
    const named = [...new Set([...GROUPS, ...store.methods.map(groupOf)])];
    const parts = named.map((name) => {
      const members = store.methods.filter((method) => groupOf(method) === name && fits(method));
      return members.length ? [h("div", { class: "group-name" }, name), members.map(methodLine)] : null;
    });
    replace(list, parts.some(Boolean) ? parts : h("p", { class: "note" }, "No method has this word in its name or summary."));
  }

  const hasLabel = () => store.table?.columns?.some((column) => column.role === "label");
  function methodLine(method) {
    const lacking = method.needs_labels && !hasLabel();
    return h(
      "button",
      { type: "button", class: "method", role: "listitem", title: lacking ? `${method.name} needs a label column: give one column the role label.` : method.summary, onclick: () => choose(method) },
      h("b", null, method.name, method.live && h("span", { class: "chip", title: "You see the map unfold" }, "live"), method.needs_labels && h("span", { class: "chip" }, "needs labels")),
      h("small", null, shortSummary(method)),
    );
  }

  function choose(method, values = {}) {
    chooser.hidden = true;
    chosen.hidden = false;
    const cost = h("div", { class: "estimate", role: "status" });
    const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
    const name = h("input", { type: "text", placeholder: method.name, "aria-label": "Name of the map", maxlength: 120 });
    const start = button("Compute the map", { symbol: "play", kind: "main wide", onclick: () => begin() });
    const form = parameterForm(method, { values, onchange: () => changed() });
    const estimate = debounced(() => showEstimate(app, method, form, cost), 250);
    const changed = () => {
      wrong.hidden = true;
      start.disabled = form.problems().length > 0;
      estimate();
    };
    const begin = async () => {
      start.disabled = true;
      try {
        await startMap(app, method, form.values(), name.value.trim() || undefined, true);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        wrong.textContent = error.message;
        wrong.hidden = false;
      }
      start.disabled = false;
    };
    replace(
      chosen,
      h("button", { type: "button", class: "link back", onclick: close }, icon("back"), "All methods"),
      h("h2", null, method.name),
      h("p", { class: "note" }, method.summary),
      method.needs_labels && !hasLabel() && h("p", { class: "warning" }, icon("warning"), h("span", null, "This method needs labels: give one column the role label first.")),
      form.element,
      h("label", { class: "parameter" }, h("span", { class: "field-name" }, "name of the map"), name),
      h("div", { class: "start" }, cost, wrong, start),
    );
    app.chosenMethod = method.verb;
    pane.parentNode?.scrollTo?.(0, 0);
    changed();
  }

  function close() {
    chooser.hidden = false;
    chosen.hidden = true;
    replace(chosen);
    app.chosenMethod = null;
  }

  store.on("methods", fillList);
  let seen = "";
  const refresh = () => {
    pane.hidden = store.table?.status !== "ready";
    const now = `${store.tableId} ${store.table?.status} ${store.table?.columns?.map((column) => column.role).join()}`;
    if (now === seen) return;
    seen = now;
    fillUsual();
    fillList();
  };
  store.on("table", refresh);
  store.on("current", refresh);
  app.chooseMethod = (verb, values) => {
    const method = store.method(verb);
    if (method) choose(method, values);
  };
  return pane;
}

// Time and memory of a map before it starts, and a warning beyond the limits.
async function showEstimate(app, method, form, cost) {
  const { session, tableId } = app.store;
  if (form.problems().length || !tableId) {
    replace(cost);
    return;
  }
  const asked = (showEstimate.asked = {});
  cost.classList.add("asking");
  let told;
  try {
    told = await postJson("/estimates", { table: tableId, method: method.verb, parameters: form.values() });
  } catch (error) {
    if (asked === showEstimate.asked) replace(cost, h("p", { class: "wrong" }, error.message));
    return;
  } finally {
    if (asked === showEstimate.asked) cost.classList.remove("asking");
  }
  if (asked !== showEstimate.asked) return; // a later question is under way
  const range = Number.isFinite(told.low) && told.high > 1.5 * Math.max(1, told.low) ? `${asTime(told.low)} to ${asTime(told.high)}` : asTime(told.seconds);
  const tooLong = session.limits?.seconds && told.seconds > session.limits.seconds;
  const tooLarge = session.limits?.memory_bytes && told.bytes > session.limits.memory_bytes;
  replace(
    cost,
    h("div", { class: "figures" }, h("span", null, h("small", null, "Time"), h("b", null, range)), h("span", null, h("small", null, "Memory"), h("b", null, asBytes(told.bytes)))),
    told.basis && h("small", { class: "doc" }, told.basis),
    tooLong && h("p", { class: "warning" }, icon("warning"), h("span", null, `Longer than the limit of ${asTime(session.limits.seconds)}: it would be stopped. Choose a quicker method, or a part of the rows.`)),
    tooLarge && h("p", { class: "warning" }, icon("warning"), h("span", null, `More than the limit of ${asBytes(session.limits.memory_bytes)} of memory: it would be stopped. Choose another method, or a part of the rows.`)),
  );
}

// Begin a map. Problems are told, or thrown if the caller shows them.
export async function startMap(app, method, parameters, name, throws = false) {
  const body = { table: app.store.tableId, method: method.verb ?? method, parameters };
  if (name) body.name = name;
  const map = throws ? await postJson("/maps", body) : await attempt(() => postJson("/maps", body));
  if (map) app.takeMap(map);
  return map;
}
