// Sentences for the person: notices in the corner, and dialogs.

import { el } from "../view/elements.js";
import { ApiError } from "./api.js";
import { button, symbolButton } from "./elements.js";

const SECONDS = { info: 5, done: 5, problem: 14 };
let corner = null;

export function notice(text, kind = "info", action = null) {
  corner ??= document.body.appendChild(el("div", { class: "notices", role: "status", "aria-live": "polite" }));
  const same = [...corner.children].find((each) => each.dataset.text === text);
  same?.remove();
  const box = el(
    "div",
    { class: `notice ${kind}`, "data-text": text },
    el("p", null, text),
    action && button(action[0], { kind: "small", onclick: () => (box.remove(), action[1]()) }),
    symbolButton("close", "Close this message", () => box.remove()),
  );
  corner.append(box);
  while (corner.children.length > 4) corner.firstChild.remove();
  setTimeout(() => box.remove(), 1000 * SECONDS[kind]);
  return box;
}

// Tell of a failure; canceled requests are no failures.
export function tellProblem(error) {
  if (error?.name === "AbortError") return;
  if (!(error instanceof ApiError)) console.error(error.stack);
  notice(error instanceof ApiError ? error.message : `Unexpected error in the page: ${error.message}`, "problem");
}

// Run an action and tell of its failure. Returns undefined if it failed.
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    tellProblem(error);
    return undefined;
  }
}

// A dialog with a title; `content` gets the function that closes it.
export function openDialog(title, content, { kind = "", onclose } = {}) {
  const box = el("dialog", { class: `dialog ${kind}`, "aria-label": title });
  const close = () => box.open && box.close();
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

export function askText(title, { value = "", name = "Name", action = "Save", note } = {}) {
  return new Promise((resolve) => {
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
