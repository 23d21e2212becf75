// What the sections of the report share besides the elements of the view.

import { el } from "../view/elements.js";

/** @type {(id: string) => HTMLElement} */
export const find = (id) => /** @type {HTMLElement} */ (document.getElementById(id)); // every id is in the page

/** @type {(text: string) => void} */
export const say = (text) => {
  find("live").textContent = text;
};

/** @type {(text: string, button: HTMLButtonElement) => Promise<void>} */
export const copyText = async (text, button) => {
  let done;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const area = el("textarea", { class: "lv-unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const before = button.dataset.text || button.textContent || "";
  button.dataset.text = before;
  button.textContent = done ? "Copied" : "Copy failed";
  say(button.textContent);
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
};
