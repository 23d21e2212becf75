// A button with a searchable list: for columns, tables and colorings, also if there are ten thousand of them.

import { count, el } from "../view/elements.js";
import { closePopover, glyph, popover, replace } from "./elements.js";

const MOST = 200; // items shown at once; the search finds the others

// groups(): [{ name, items: [{ key, text, note }] }]; onpick(key).
/** @type {(options: { name: string, groups: () => PickerGroup[], onpick: (key: string) => unknown, text?: string, kind?: string }) => { element: HTMLElement, show: (words: string) => void }} */
export function picker({ name, groups, onpick, text = "", kind = "" }) {
  const shown = el("span", { class: "picked" }, text);
  const anchor = el(
    "button",
    {
      type: "button",
      class: `picker ${kind}`,
      "aria-haspopup": "listbox",
      "aria-expanded": "false",
      "aria-label": name,
      title: name,
    },
    shown,
    glyph("down"),
  );
  anchor.addEventListener("click", () => openList(anchor, name, groups, onpick));
  return {
    element: anchor,
    show(words) {
      shown.textContent = words;
      anchor.setAttribute("aria-label", `${name}: ${words}`);
    },
  };
}

/** @type {(anchor: HTMLElement, name: string, groups: () => PickerGroup[], onpick: (key: string) => unknown) => void} */
function openList(anchor, name, groups, onpick) {
  const all = groups();
  const total = all.reduce((sum, group) => sum + group.items.length, 0);
  const search = el("input", {
    type: "search",
    placeholder: "Search",
    "aria-label": `Search: ${name}`,
    autocomplete: "off",
    spellcheck: "false",
  });
  const list = el("div", { class: "picker-list", role: "listbox", "aria-label": name });
  /** @type {HTMLElement[]} */
  let options = [];
  let at = 0;

  const mark = (to) => {
    options[at]?.setAttribute("aria-selected", "false");
    at = Math.max(0, Math.min(to, options.length - 1));
    options[at]?.setAttribute("aria-selected", "true");
    options[at]?.scrollIntoView({ block: "nearest" });
  };
  const pick = (key) => {
    closePopover(true);
    onpick(key);
  };
  const fill = () => {
    const words = search.value.trim().toLowerCase();
    options = [];
    let left = 0;
    const parts = all.map((group) => {
      const found = words
        ? group.items.filter((item) => `${item.text} ${item.note ?? ""}`.toLowerCase().includes(words))
        : group.items;
      const room = Math.max(0, MOST - options.length);
      left += Math.max(0, found.length - room);
      const nodes = found.slice(0, room).map((item) => {
        const node = el(
          "div",
          {
            class: "option",
            role: "option",
            "aria-selected": "false",
            onclick: () => pick(item.key),
          },
          el("span", { class: "option-text" }, item.text),
          item.note && el("small", null, item.note),
        );
        options.push(node);
        return node;
      });
      return nodes.length ? [group.name && el("div", { class: "group-name" }, group.name), nodes] : null;
    });
    replace(
      list,
      parts,
      !options.length && el("p", { class: "note" }, "Nothing found."),
      left > 0 && el("p", { class: "note" }, `${count(left)} more: search for them.`),
    );
    mark(0);
  };
  search.addEventListener("input", fill);
  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step) {
      event.preventDefault();
      mark(at + step);
    } else if (event.key === "Enter") {
      event.preventDefault();
      options[at]?.click();
    }
  };
  fill();
  const box = el("div", { class: "picker-box", onkeydown: keys }, total > 8 ? search : null, list);
  if (total <= 8) list.tabIndex = 0;
  if (popover(anchor, box, { kind: "list" }) && total <= 8) list.focus();
}
