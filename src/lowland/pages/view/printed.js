// Maps on paper: pictures with captions replace the panels, whose points are drawn on one canvas behind all of them.

import { contextOf, el, score } from "./elements.js";

/** @type {(view: View) => HTMLElement} */
export function printedMaps(view) {
  view.print(true);
  const { points, marks } = view.stage;
  const pictures = view.panels
    .filter((panel) => panel.rect)
    .map(({ map, note, rect: { left, top, wide, high } }) => {
      const picture = el("canvas", { width: wide, height: high });
      for (const layer of [points, marks]) contextOf(picture).drawImage(layer, left, top, wide, high, 0, 0, wide, high);
      const [[name, said] = []] = Object.entries(map.scores ?? {});
      const value = name && `${name} ${score(typeof said === "number" ? said : said?.value, 3)}`;
      return el(
        "figure",
        null,
        el("figcaption", null, map.name, map.badge && el("span", { class: "lv-badge" }, map.badge)),
        [map.subtitle, value].filter(Boolean).map((fact) => el("p", { class: "note" }, fact)),
        picture,
        !note.hidden && el("p", { class: "note" }, note.textContent.replace(" Double-click to show all rows.", "")),
      );
    });
  return el("div", { class: "lv-pictures" }, pictures);
}
