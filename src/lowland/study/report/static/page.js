// The page from top to bottom.

const PURPOSES = { visualize: "Visualization", compress: "Compression", classify: "Classification" };

// An ISO time such as 2026-11-15T19:49:37+00:00 in a readable form; other text is unchanged.
const started = () =>
  study.started.replace(
    /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*(\+00:00|Z)?/,
    (_, day, time, zone) => `${day} ${time}${zone ? " UTC" : ""}`,
  );

// Number of trials by status.
function outcomes() {
  const counts = new Map(["done", "failed", "timed out", "stopped", "left out"].map((status) => [status, 0]));
  for (const { status } of trials) counts.set(status, (counts.get(status) ?? 0) + 1);
  const listed = [...counts].filter(([, many]) => many).map(([status, many]) => `${count(many)} ${status}`);
  return [some(trials.length, "trial"), listed.join(", ")].filter(Boolean).join(": ");
}

function header() {
  const labeled = !table.label ? "" : table.label.name === "label" ? ", with labels" : `, label ${table.label.name}`;
  document.title = `Study of ${table.source}`;
  find("top").append(
    el("p", { class: "brand" }, "Lowland study"),
    el("h1", null, table.source),
    el(
      "p",
      { class: "lead" },
      `${some(table.rows, "row")} × ${some(table.columns, "column")}${labeled}`,
      `${table.scaled ? "; columns standardized" : ""}. ${outcomes()}, in ${duration(study.seconds)}. `,
      el("span", { class: "fact" }, `${started()}.`),
    ),
  );
  if (!study.complete)
    find("top").append(
      el(
        "p",
        { class: "warning", role: "note" },
        "This study was stopped early. The report shows the trials completed by then.",
      ),
    );
}

function adviceSection(section) {
  section.append(el("h2", { id: "advice-title" }, "Advice"));
  if (!study.advice.length) section.append(el("p", null, "No advice is available."));
  const cards = study.advice.map((advice, i) => {
    const trial = trialOf(advice),
      what = trial?.name ?? advice.method ?? advice.trial,
      name = trial?.Z ? el("a", { href: `#panel-${trial.index}` }, what) : (what ?? "No recommendation"),
      within = what && advice.n_components !== null ? ` in ${some(advice.n_components, "dimension")}` : "";
    return el(
      "article",
      { class: i ? "card" : "card first" },
      el("p", { class: "purpose" }, PURPOSES[advice.purpose] ?? advice.purpose),
      el("h3", null, name, within),
      el("p", { class: "words" }, advice.text),
      advice.evidence.length
        ? el(
            "ul",
            null,
            advice.evidence.map((sentence) => el("li", null, sentence)),
          )
        : null,
    );
  });
  if (cards.length) section.append(cards[0], el("div", { class: "cards" }, cards.slice(1)));
  return true;
}

// The definition of a measure is below the table of scores; here only if it differs between trials.
function scoreInWords(name, { value, low, high, about }) {
  const interval = low !== null && high !== null ? ` (95% confidence interval ${number(low, 4)} to ${number(high, 4)})` : "";
  const own = trials.some((trial) => trial.scores[name] && trial.scores[name].about !== about);
  return `${number(value, 4)}${interval}${own ? `. ${about}` : ""}`;
}

const fact = (name, said) => el("div", null, el("dt", null, name), el("dd", null, said));

function detailsSection(section) {
  section.append(el("h2", { id: "details-title" }, "Trial details"));
  for (const trial of trials) {
    const settings = Object.entries(trial.parameters),
      warned = trial.warnings.length;
    section.append(
      el(
        "details",
        { class: "trial", id: `trial-${trial.index}` },
        el(
          "summary",
          null,
          el("b", null, trial.name),
          el("span", { class: "chip" }, trial.status),
          warned ? el("span", { class: "chip warned" }, some(warned, "warning")) : null,
        ),
        el(
          "dl",
          null,
          trial.error !== null && fact("Reason", trial.error),
          fact("Method", trial.method),
          fact(
            "Parameters",
            settings.length
              ? settings.map(([name, value]) => [el("code", null, `${name}=${JSON.stringify(value)}`), " "])
              : "all at their defaults",
          ),
          (trial.seconds !== null || trial.memory !== null) &&
            fact("Time and peak memory", `${duration(trial.seconds)}, ${bytes(trial.memory)}${trial.cached ? ", from the cache" : ""}`),
          Object.entries(trial.scores).map(([name, said]) => fact(name, scoreInWords(name, said))),
          warned
            ? fact(
                "Warnings",
                el(
                  "ul",
                  null,
                  trial.warnings.map((text) => el("li", null, text)),
                ),
              )
            : null,
        ),
      ),
    );
  }
  return trials.length > 0;
}

function repeatSection(section) {
  const button = el("button", { type: "button", onclick: () => copy(study.command, button) }, "Copy");
  const pairs = (title, values) =>
    el(
      "div",
      null,
      el("h3", null, title),
      el(
        "table",
        { class: "pairs" },
        el(
          "tbody",
          null,
          Object.entries(values).map(([name, value]) =>
            el("tr", null, el("th", { scope: "row" }, name), el("td", null, value)),
          ),
        ),
      ),
    );
  section.append(
    el("h2", { id: "repeat-title" }, "Reproduce"),
    el("div", { class: "command" }, el("pre", null, el("code", null, study.command)), button),
    el(
      "div",
      { class: "columns" },
      pairs("Versions", study.versions),
      pairs("Machine", study.machine),
      pairs("Data", {
        Source: table.source,
        Rows: count(table.rows),
        Columns: count(table.columns),
        Fingerprint: table.fingerprint,
        Started: started(),
      }),
    ),
  );
  return true;
}

// Line colors are CSS variables, so that charts need no redrawing for dark, light and print.
function nameColors() {
  COLORS.forEach((_, i) => document.documentElement.style.setProperty(`--color-${i}`, classColor(i)));
}

function themeChanged() {
  nameColors();
  state.palette = palette(state.choice);
  notify("colors");
  clouds.forEach((cloud) => {
    if (cloud.drawn) drawCloud(cloud);
  });
}

function drawAllForPrint() {
  printing = true;
  themeChanged();
  for (const panel of panels) {
    waiting.delete(panel);
    panel.draw();
  }
  clouds.forEach(drawCloud);
  document.querySelectorAll("details").forEach((node) => {
    node.dataset.was = node.open ? "open" : "";
    node.open = true;
  });
}

function afterPrint() {
  printing = false;
  document.querySelectorAll("details").forEach((node) => {
    node.open = node.dataset.was === "open";
  });
  themeChanged();
}

// A link to a collapsed section expands it.
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}

nameColors();
header();
const sections = [
  ["advice", "Advice", adviceSection],
  ["scores", "Scores", scoresSection],
  ["embeddings", "Embeddings", embeddingsSection],
  ["curves", "Curves", curvesSection],
  ["distances", "Shepard diagrams", cloudsSection],
  ["costs", "Time and memory", costsSection],
  ["details", "Trial details", detailsSection],
  ["repeat", "Reproduce", repeatSection],
];
for (const [id, title, build] of sections) {
  if (build(find(id))) find("contents").append(el("a", { href: `#${id}` }, title));
  else find(id).remove();
}
night.addEventListener("change", themeChanged);
addEventListener("hashchange", openTarget);
addEventListener("beforeprint", drawAllForPrint);
addEventListener("afterprint", afterPrint);
addEventListener("keydown", (event) => {
  if (event.key === "Escape") showTip(null);
});
document.documentElement.dataset.ready = String(Math.round(performance.now()));
