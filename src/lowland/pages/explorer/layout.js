// The frame of the page: bar, two side panes with tabs, and the middle.

import { el } from "../view/elements.js";
import { replace, symbolButton } from "./elements.js";

const KEY = "lowland-explorer-panes";
const OVER = "(max-width: 1099px)"; // as in the style sheet

/** @type {() => Record<string, boolean>} */
function remembered() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

/** @type {(side: string, open: boolean) => void} */
function remember(side, open) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...remembered(), [side]: open }));
  } catch {
    // a browser that stores nothing: panes open as usual
  }
}

// tabs: [[key, name, element]]. Returns the pane with open(key), toggle() and count(key, n).
/** @type {(side: "left" | "right", name: string, tabs: [key: string, title: string, content: HTMLElement][]) => SidePane} */
export function sidePane(side, name, tabs) {
  const heads = new Map();
  const bodies = new Map();
  /** @type {Map<string, HTMLElement>} */
  const badges = new Map();
  const strip = el("div", { class: "tabs", role: "tablist", "aria-label": name });
  const room = el("div", { class: "pane-scroll" });
  const element = el("aside", { class: `side ${side}`, "aria-label": name }, strip, room);
  let current = null;

  function choose(key, focus = false) {
    current = key;
    for (const [each, head] of heads) {
      const on = each === key;
      head.setAttribute("aria-selected", String(on));
      head.tabIndex = on ? 0 : -1;
      bodies.get(each).hidden = !on;
      if (on && focus) head.focus();
    }
    room.scrollTop = 0;
  }
  tabs.forEach(([key, title, content], i) => {
    const badge = el("span", { class: "badge", hidden: true });
    const head = el(
      "button",
      { type: "button", role: "tab", id: `tab-${key}`, "aria-controls": `pane-${key}`, onclick: () => choose(key) },
      title,
      badge,
    );
    badges.set(key, badge);
    head.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      choose(tabs[(i + step + tabs.length) % tabs.length][0], true);
    });
    heads.set(key, head);
    bodies.set(key, el("div", { role: "tabpanel", id: `pane-${key}`, "aria-labelledby": `tab-${key}` }, content));
    strip.append(head);
    room.append(bodies.get(key));
  });
  choose(tabs[0][0]);

  const over = matchMedia(OVER); // panes lie over the maps, one at a time
  const set = (open, keep = true) => {
    document.body.classList.toggle(`${side}-closed`, !open);
    handle.setAttribute("aria-expanded", String(open));
    handle.title = `${open ? "Hide" : "Show"} the pane (${side === "left" ? "[" : "]"})`;
    if (keep && !over.matches) remember(side, open);
    if (open && over.matches) element.dispatchEvent(new CustomEvent("pane-opens", { bubbles: true, detail: side }));
  };
  const isOpen = () => !document.body.classList.contains(`${side}-closed`);
  const handle = symbolButton(side, name, () => set(!isOpen()), { class: `symbol handle ${side}` });
  const usual = () => set(!over.matches && (remembered()[side] ?? side === "left"), false);
  over.addEventListener("change", usual);
  addEventListener("pane-opens", (event) => {
    if (event instanceof CustomEvent && event.detail !== side) set(false, false);
  });
  document.addEventListener("pointerdown", (event) => {
    if (over.matches && isOpen() && event.target instanceof Element && event.target.closest(".middle"))
      set(false, false);
  });
  usual();
  return {
    element,
    handle,
    choose,
    open(key) {
      choose(key);
      if (!isOpen()) set(true);
    },
    isOpen,
    wasClosed: () => remembered()[side] === false && !over.matches, // by the person
    toggle: () => set(!isOpen()),
    get current() {
      return current;
    },
    count(key, text) {
      const badge = badges.get(key);
      if (!badge) return;
      badge.hidden = !text;
      replace(badge, text || "");
    },
  };
}
