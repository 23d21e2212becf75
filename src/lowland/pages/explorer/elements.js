// Controls, icons and popovers of the page.

import { el, filled, svg } from "../view/elements.js";

/** @type {<T extends Element>(parent: T, ...children: Child[]) => T} */
export function replace(parent, ...children) {
  parent.replaceChildren();
  return filled(parent, null, children);
}

/** @type {Record<string, string>} */
const GLYPHS = {
  add: "M8 3v10M3 8h10",
  arrow: "M3 8h10M9 4l4 4-4 4",
  back: "M10 3 5 8l5 5",
  check: "M3 8.5 6.5 12 13 4.5",
  close: "M4 4l8 8M12 4l-8 8",
  code: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  down: "M4 6l4 4 4-4",
  download: "M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10",
  dots: "M3.5 7.6v.8M8 7.6v.8M12.5 7.6v.8",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z",
  file: "M4 1.8h5l3 3v9.4H4zM9 1.8v3h3",
  filter: "M2 3h12L9.5 8.2v4.6l-3-1.6v-3z",
  folder: "M1.8 4h4.4l1.4 1.6h6.6v7H1.8z",
  help: "M6 6a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.4M8 11.8h.01M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z",
  info: "M8 7.2v4M8 4.8h.01M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z",
  left: "M2 2.8h12v10.4H2zM6 2.8v10.4",
  pen: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3zM9.6 4.1l2.3 2.3",
  play: "M4.5 2.8v10.4L13 8z",
  point: "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM8 1v2M8 13v2M1 8h2M13 8h2",
  redo: "M13 8a5 5 0 1 1-1.6-3.7M13 2v3.2H9.8",
  right: "M2 2.8h12v10.4H2zM10 2.8v10.4",
  save: "M2.5 2.5h8.6l2.4 2.4v8.6h-11zM5 2.5v3.4h5V2.5M4.8 13.5V9h6.4v4.5",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14",
  stop: "M4 4h8v8H4z",
  trash: "M3 4.5h10M6 4.5V2.8h4v1.7M4.4 4.5l.6 8.8h6l.6-8.8",
  undo: "M3 8a5 5 0 1 0 1.6-3.7M3 2v3.2h3.2",
  upload: "M8 11V3M4.5 6.5 8 3l3.5 3.5M3 13.5h10",
  warning: "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6h.01",
};

/** @type {(name: string) => SVGElement} */
export function glyph(name) {
  return svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, svg("path", { d: GLYPHS[name] }));
}

/** @type {(text: string, options?: ButtonOptions) => HTMLButtonElement} */
export function button(text, { symbol, onclick, title, kind = "", disabled = false, ...more } = {}) {
  const props = { type: "button", class: kind, onclick, title, disabled, ...more };
  return el("button", props, symbol && glyph(symbol), text && el("span", null, text));
}

// A button that shows only a symbol: its name is read by screen readers and shown when hovered.
/** @type {(symbol: string, name: string, onclick: (event: MouseEvent) => unknown, more?: Attributes) => HTMLButtonElement} */
export function symbolButton(symbol, name, onclick, more = {}) {
  return el(
    "button",
    { type: "button", class: "symbol", title: name, "aria-label": name, onclick, ...more },
    glyph(symbol),
  );
}

/** @type {(name: string, control: Child, note?: string) => HTMLLabelElement} */
export function labeled(name, control, note) {
  return el(
    "label",
    { class: "field" },
    el("span", { class: "field-name" }, name),
    control,
    note && el("small", null, note),
  );
}

/** @type {(options: (string | [key: string, text: string])[], value: string, onchange?: (value: string) => unknown, more?: Attributes) => HTMLSelectElement} */
export function choice(options, value, onchange, more = {}) {
  const made = el(
    "select",
    { onchange: () => onchange?.(made.value), ...more },
    options.map((option) => {
      const [key, text] = Array.isArray(option) ? option : [option, option];
      return el("option", { value: key, selected: key === value }, text);
    }),
  );
  return made;
}

// Name and value pairs.
/** @type {(pairs: ([name: Child, value: Child] | null)[], kind?: string) => HTMLElement} */
export function facts(pairs, kind = "") {
  return el(
    "dl",
    { class: `facts ${kind}` },
    pairs.filter(Boolean).map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))),
  );
}

// Copy a text; the button says that it was copied.
/** @type {(text: string, name?: string) => HTMLButtonElement} */
export function copyButton(text, name = "Copy") {
  const made = button(name, { symbol: "copy", kind: "small" });
  made.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = el("textarea", { class: "unseen" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const words = made.querySelector("span");
    words?.replaceChildren("Copied");
    setTimeout(() => words?.replaceChildren(name), 1500);
  });
  return made;
}

/** @type {{ box: HTMLElement, anchor: HTMLElement, onclose?: () => void } | null} */
let openPopover = null;

/** @type {(back?: boolean) => void} */
export function closePopover(back = false) {
  if (!openPopover) return;
  const { box, anchor, onclose } = openPopover;
  openPopover = null;
  box.remove();
  anchor.setAttribute("aria-expanded", "false");
  onclose?.();
  if (back) anchor.focus();
}

// A box beside a button. It closes with Escape, with a click elsewhere, and when the focus leaves it.
/** @type {(anchor: HTMLElement, content: Child, options?: { onclose?: () => void, kind?: string }) => HTMLElement | null} */
export function popover(anchor, content, { onclose, kind = "" } = {}) {
  const again = openPopover?.anchor === anchor;
  closePopover();
  if (again) return null;
  const box = el("div", { class: `popover ${kind}` }, content);
  (anchor.closest("dialog") ?? document.body).append(box);
  openPopover = { box, anchor, onclose };
  anchor.setAttribute("aria-expanded", "true");
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: wide, offsetHeight: high } = box;
  const below = window.innerHeight - at.bottom - 8;
  const top = high <= below || below > at.top ? at.bottom + 4 : Math.max(8, at.top - high - 4);
  box.style.left = `${Math.max(8, Math.min(at.left, window.innerWidth - wide - 8))}px`;
  box.style.top = `${top}px`;
  box.style.maxHeight = `${Math.max(120, (top > at.top ? window.innerHeight - top : at.top) - 8)}px`;
  box.querySelector("input, button, select")?.focus();
  return box;
}

document.addEventListener("pointerdown", (event) => {
  const at = /** @type {Node} */ (event.target);
  if (openPopover && !openPopover.box.contains(at) && !openPopover.anchor.contains(at)) closePopover();
});
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Escape" || !openPopover) return;
    event.stopPropagation();
    event.preventDefault();
    closePopover(true);
  },
  true,
);

// A menu of actions: items are [text, action, { symbol, disabled, checked }], or null for a line.
/** @type {(anchor: HTMLElement, items: (MenuItem | null)[]) => HTMLElement | null} */
export function actionMenu(anchor, items) {
  const list = el(
    "div",
    { class: "menu", role: "menu" },
    items.map((item) => {
      if (!item) return el("hr");
      const [text, action, { symbol, disabled, checked } = {}] = item;
      return el(
        "button",
        {
          type: "button",
          role: checked === undefined ? "menuitem" : "menuitemradio",
          "aria-checked": checked === undefined ? null : String(checked),
          disabled: Boolean(disabled),
          onclick: () => {
            closePopover(true);
            action();
          },
        },
        symbol
          ? glyph(symbol)
          : checked === undefined
            ? null
            : el("span", { class: "tick-room" }, checked ? glyph("check") : ""),
        el("span", null, text),
      );
    }),
  );
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...list.querySelectorAll("button:not(:disabled)")];
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    buttons[(at + step + buttons.length) % buttons.length]?.focus();
  });
  return popover(anchor, list);
}
