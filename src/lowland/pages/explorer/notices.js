// Sentences for the person: notices in the corner, and dialogs.

import { el } from "../view/elements.js";
import { ApiError, isAbort } from "./api.js";
import { button, symbolButton } from "./elements.js";

/** @type {Record<string, number>} */
const SECONDS = { info: 5, done: 5, problem: 14 };
/** @type {HTMLElement | null} */
let corner = null;

/** @type {(text: string, kind?: string, action?: [text: string, run: () => unknown] | null) => HTMLElement} */
export function notice(text, kind = "info", action = null) {
  corner ??= document.body.appendChild(el("div", { class: "notices", role: "status", "aria-live": "polite" }));
  for (const each of [...corner.children]) if (each.getAttribute("data-text") === text) each.remove();
  const box = el(
    "div",
    { class: `notice ${kind}`, "data-text": text },
    el("p", null, text),
    action && button(action[0], { kind: "small", onclick: () => (box.remove(), action[1]()) }),
    symbolButton("close", "Close this message", () => box.remove()),
  );
  corner.append(box);
  while (corner.children.length > 4) corner.firstElementChild?.remove();
  setTimeout(() => box.remove(), 1000 * SECONDS[kind]);
  return box;
}

// Tell of a failure; canceled requests are no failures.
/** @type {(error: any) => void} */
export function tellProblem(error) {
  if (isAbort(error)) return;
  if (!(error instanceof ApiError)) console.error(error.stack);
  notice(error instanceof ApiError ? error.message : `Unexpected error in the page: ${error.message}`, "problem");
}

// Run an action and tell of its failure. Returns undefined if it failed.
/** @type {<T>(action: () => Promise<T> | T) => Promise<T | undefined>} */
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    tellProblem(error);
    return undefined;
  }
}

// A dialog with a title; `content` gets the function that closes it.
/** @type {(title: string, content: (close: () => void) => Child, options?: { kind?: string, onclose?: () => void }) => HTMLDialogElement} */
export function openDialog(title, content, { kind = "", onclose } = {}) {
  const box = el("dialog", { class: `dialog ${kind}`, "aria-label": title });
  const close = () => {
    if (box.open) box.close();
  };
  box.append(
    el("header", null, el("h2", null, title), symbolButton("close", "Close", close)),
    el("div", { class: "dialog-body" }, content(close)),
  );
  box.addEventListener("close", () => {
    box.remove();
    onclose?.();
  });
  box.addEventListener("pointerdown", (event) => event.target === box && close()); // on the backdrop
  document.body.append(box);
  box.showModal();
  return box;
}

/** @type {(title: string, options?: { value?: string, name?: string, action?: string, note?: string }) => Promise<string | null>} */
export function askText(title, { value = "", name = "Name", action = "Save", note } = {}) {
  return new Promise((resolve) => {
    /** @type {string | null} */
    let answer = null;
    const input = el("input", { type: "text", value, maxlength: 200, required: true });
    openDialog(
      title,
      (close) =>
        el(
          "form",
          {
            onsubmit: (event) => {
              event.preventDefault();
              answer = input.value.trim() || null;
              close();
            },
          },
          el("label", { class: "field" }, el("span", { class: "field-name" }, name), input),
          note && el("p", { class: "note" }, note),
          el(
            "div",
            { class: "actions" },
            button("Cancel", { onclick: close }),
            el("button", { class: "main", type: "submit" }, action),
          ),
        ),
      { kind: "narrow", onclose: () => resolve(answer) },
    );
    input.select();
  });
}

/** @type {(title: string, text: string, action: string) => Promise<boolean>} */
export function askYes(title, text, action) {
  return new Promise((resolve) => {
    let answer = false;
    const yes = button(action, { kind: "main" });
    openDialog(
      title,
      (close) => {
        yes.addEventListener("click", () => ((answer = true), close()));
        return [el("p", null, text), el("div", { class: "actions" }, button("Cancel", { onclick: close }), yes)];
      },
      { kind: "narrow", onclose: () => resolve(answer) },
    );
    yes.focus();
  });
}
