// Elements, numbers and text. Data enters a page here, as text: it is never parsed as HTML.

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of [children].flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false)
      node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

export const unseen = (text) => el("span", { class: "lv-unseen" }, text);

// A table: headings are strings or cells, rows are elements.
export const tableOf = (attributes, headings, rows) =>
  el(
    "table",
    attributes,
    el(
      "thead",
      null,
      el(
        "tr",
        null,
        headings.map((h) => (typeof h === "string" ? el("th", { scope: "col" }, h) : h)),
      ),
    ),
    el("tbody", null, rows),
  );

// A list to choose from: options are { value, text, group }.
export function choose(options, chosen, onchange) {
  const node = el("select", { onchange: (event) => onchange(event.target.value) });
  const groups = new Map([[null, node]]);
  for (const { value, text, group = null } of options) {
    if (!groups.has(group)) {
      groups.set(group, el("optgroup", { label: group }));
      node.append(groups.get(group));
    }
    groups.get(group).append(el("option", { value }, text));
  }
  node.value = chosen;
  return node;
}

export const field = (text, control) => el("label", { class: "lv-field" }, el("span", null, text), control);

// A name with optional line breaks before capitals and after underscores.
export const parted = (name) =>
  name.split(/(?<=[a-z_])(?=[A-Z])|(?<=_)|(?==)/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));

// A long name by its beginning and its end, where names often differ.
export const brief = (name, most = 26) =>
  name.length <= most ? name : `${name.slice(0, most - 14)}…${name.slice(-13)}`;

export const count = (value) => value.toLocaleString("en");
export const some = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6)
    return size < 1e4 ? String(value).replace("-", "−") : count(value).replace("-", "−");
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
export function score(value, digits) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return size >= 1000 || (size !== 0 && size < 5 * 10 ** -(digits + 1))
    ? number(value)
    : value.toFixed(digits).replace("-", "−");
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 1) return `${number(seconds * 1000, 2)} ms`;
  if (seconds < 60) return `${number(seconds, 2)} s`;
  const whole = Math.round(seconds),
    minutes = Math.round(seconds / 60);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const power = value < 1000 ? 0 : Math.min(Math.floor(Math.log10(value) / 3), 4);
  return `${number(value / 1000 ** power, 3)} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

// Milliseconds since 1970 as a day, or as day and time if it is not midnight.
export function dateText(value) {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return "–";
  const text = date.toISOString();
  return text.slice(11, 19) === "00:00:00" ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
}

export const BETTER = { higher: ["↑", "higher is better"], lower: ["↓", "lower is better"] };

// Offer a file to save.
export function offer(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name, class: "lv-unseen" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
