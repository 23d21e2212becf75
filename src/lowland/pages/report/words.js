// What the sections of the report share besides the elements of the view.

import { el } from "../view/elements.js";

export const find = (id) => document.getElementById(id);

export const say = (text) => {
  find("live").textContent = text;
};

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
  const before = button.dataset.text || button.textContent;
  button.dataset.text = before;
  button.textContent = done ? "Copied" : "Copy failed";
  say(button.textContent);
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
};
