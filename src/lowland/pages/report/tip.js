// The tooltip of the charts.

import { find } from "./words.js";

/** @type {(content: Node | null, x?: number, y?: number) => void} */
export function showTip(content, x = 0, y = 0) {
  const tip = find("tip");
  tip.hidden = !content;
  if (!content) return;
  tip.replaceChildren(content);
  const { offsetWidth: width, offsetHeight: height } = tip,
    room = document.documentElement.clientWidth;
  const left = x + 16 + width > room ? Math.max(4, x - 16 - width) : x + 16;
  tip.style.left = `${Math.min(left, Math.max(4, room - width - 4))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - height - 4))}px`;
}
