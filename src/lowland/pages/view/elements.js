// Elements, numbers and text. Data enters a page here, as text: it is never parsed as HTML.

/** @type {<T extends Element>(node: T, attributes: Attributes | null | undefined, children: Child[]) => T} */
export function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function")
      node.addEventListener(name.slice(2), value); // onclick
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of /** @type {(Node | string | number | false | null)[]} */ (
    /** @type {unknown[]} */ (children).flat(Infinity)
  )) {
    if (child !== null && child !== undefined && child !== false)
      node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

/** @type {<K extends keyof HTMLElementTagNameMap>(tag: K, attributes?: Attributes | null, ...children: Child[]) => HTMLElementTagNameMap[K]} */
export const el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

/** @type {<K extends keyof SVGElementTagNameMap>(tag: K, attributes?: Attributes | null, ...children: Child[]) => SVGElementTagNameMap[K]} */
export const svg = (tag, attributes, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// How to draw on a canvas. It has one kind of context, so this is never null.
/** @type {<C extends HTMLCanvasElement | OffscreenCanvas>(canvas: C, options?: CanvasRenderingContext2DSettings) => C extends HTMLCanvasElement ? CanvasRenderingContext2D : OffscreenCanvasRenderingContext2D} */
export const contextOf = (canvas, options) => /** @type {any} */ (canvas.getContext("2d", options));

/** @type {(text: string) => HTMLElement} */
export const unseen = (text) => el("span", { class: "lv-unseen" }, text);

// A table: headings are strings or cells, rows are elements.
/** @type {(attributes: Attributes | null, headings: (string | Child)[], rows: Child) => HTMLTableElement} */
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
/** @type {(options: Option[], chosen: string, onchange: (value: string) => unknown) => HTMLSelectElement} */
export function choose(options, chosen, onchange) {
  const node = el("select", { onchange: () => onchange(node.value) });
  /** @type {Map<string | null, HTMLElement>} */
  const groups = new Map([[null, node]]);
  for (const { value, text, group = null } of options) {
    let into = groups.get(group);
    if (!into) {
      into = el("optgroup", { label: group });
      groups.set(group, into);
      node.append(into);
    }
    into.append(el("option", { value }, text));
  }
  node.value = chosen;
  return node;
}

/** @type {(text: string, control: Child) => HTMLLabelElement} */
export const field = (text, control) => el("label", { class: "lv-field" }, el("span", null, text), control);

// A name with optional line breaks before capitals and after underscores.
/** @type {(name: string) => (string | HTMLElement)[]} */
export const parted = (name) =>
  name.split(/(?<=[a-z_])(?=[A-Z])|(?<=_)|(?==)/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));

// A long name by its beginning and its end, where names often differ.
/** @type {(name: string, most?: number) => string} */
export const brief = (name, most = 26) =>
  name.length <= most ? name : `${name.slice(0, most - 14)}…${name.slice(-13)}`;

/** @type {(value: number) => string} */
export const count = (value) => value.toLocaleString("en");
/** @type {(value: number, one: string, many?: string) => string} */
export const some = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** @type {(value: number | null | undefined, digits?: number) => string} */
export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [digit, power] = value.toExponential(digits - 1).split("e");
    return `${Number(digit)}e${Number(power)}`.replaceAll("-", "−"); // 6e−7, not 6.00e−7: ticks are narrow
  }
  const whole = size < 1000 ? 0 : String(Math.floor(size)).length, // no digit before the point is rounded away
    rounded = Number.isInteger(value) ? value : Number(value.toPrecision(Math.max(digits, whole)));
  return (size < 1e4 ? String(rounded) : count(rounded)).replace("-", "−");
}

// Scores of one measure are compared, so trailing zeros are kept: 0.90 next to 0.91.
/** @type {(value: number | null | undefined, digits: number) => string} */
export function score(value, digits) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return size >= 1000 || (size !== 0 && size < 5 * 10 ** -(digits + 1))
    ? number(value)
    : value.toFixed(digits).replace("-", "−");
}

/** @type {(seconds: number | null | undefined) => string} */
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

/** @type {(value: number | null | undefined) => string} */
export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const power = value < 1000 ? 0 : Math.min(Math.floor(Math.log10(value) / 3), 4);
  return `${number(value / 1000 ** power, 3)} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

// Milliseconds since 1970 as a day, or as day and time if it is not midnight.
/** @type {(value: number) => string} */
export function dateText(value) {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return "–";
  const text = date.toISOString();
  return text.slice(11, 19) === "00:00:00" ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
}

export const BETTER = { higher: ["↑", "higher is better"], lower: ["↓", "lower is better"] };

// Offer a file to save.
/** @type {(blob: Blob, name: string) => void} */
export function offer(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name, class: "lv-unseen" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
