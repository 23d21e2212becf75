// Elements, numbers and text. Data enters the page here, as text: it is never parsed as HTML.

// A name with optional line breaks before capitals and after underscores.
const parted = (name) =>
  name.split(/(?<=[a-z_])(?=[A-Z])|(?<=_)|(?==)/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));

// A long name by its beginning and its end, where names often differ.
const brief = (name, most = 26) => (name.length <= most ? name : `${name.slice(0, most - 14)}…${name.slice(-13)}`);

const find = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of [children].flat(3)) {
    if (child !== null && child !== undefined && child !== false)
      node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

// A table: headings are strings or cells, rows are elements.
const tableOf = (attributes, headings, rows) =>
  el(
    "table",
    attributes,
    el("thead", null, el("tr", null, headings.map((h) => (typeof h === "string" ? el("th", { scope: "col" }, h) : h)))),
    el("tbody", null, rows),
  );
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const unseen = (text) => el("span", { class: "unseen" }, text);
const say = (text) => {
  find("live").textContent = text;
};

function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return size < 1e4 ? String(value).replace("-", "−") : count(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [digit, power] = value.toExponential(digits - 1).split("e");
    return `${Number(digit)}e${Number(power)}`.replaceAll("-", "−"); // 6e−7, not 6.00e−7: ticks are narrow
  }
  return (size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(digits)))).replace(
    "-",
    "−",
  );
}

// Scores of one measure are compared, so trailing zeros are kept: 0.90 next to 0.91.
function score(value, digits) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return size >= 1000 || (size !== 0 && size < 5 * 10 ** -(digits + 1))
    ? number(value)
    : value.toFixed(digits).replace("-", "−");
}

const count = (value) => value.toLocaleString("en");
const some = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

function duration(seconds) {
  if (seconds === null) return "–";
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 1) return `${number(seconds * 1000, 2)} ms`;
  if (seconds < 60) return `${number(seconds, 2)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

function bytes(value) {
  if (value === null) return "–";
  const power = value < 1000 ? 0 : Math.min(Math.floor(Math.log10(value) / 3), 4);
  return `${number(value / 1000 ** power, 3)} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

const WAY = { higher: ["↑", "higher is better"], lower: ["↓", "lower is better"] };

async function copy(text, button) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const area = el("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const before = button.dataset.text || button.textContent;
  button.dataset.text = before;
  button.textContent = done ? "Copied" : "Copy failed";
  say(button.textContent);
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
}
