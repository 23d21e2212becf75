// The box of a panel: heading, buttons, menu, status and notes around the plot.

import { choose, el, field, parted, score, some, unseen } from "./elements.js";
import { icon } from "./icons.js";

export const HOME = { zoom: 1, x: 0, y: 0 }; // the zoom at first
/** @type {Record<string, string>} */
const STATUS = {
  queued: "Waiting to be computed",
  running: "Being computed",
  failed: "Failed",
  canceled: "Canceled",
  broken: "Stopped before it was finished",
};

export class PanelBox {
  /** @type {Zoomed} */
  zoomed = { ...HOME };
  /** @type {Angles | null} */
  solid = null;
  /** @type {Motion | null} */
  motion = null;
  /** @type {Rect | null} */
  rect = null;
  wide = 0; // of the plot
  high = 0;
  outside = 0; // rows beyond the axes
  radius = 3; // of a point
  /** @type {number | null} */
  sampled = null; // how many points are drawn while something moves
  /** @type {Gestures | null} */
  gestures = null;
  /** @type {Point | null} */
  brushAt = null;
  /** @type {Point[] | null} */
  trail = null; // of a box, a lasso or a brush
  trailTool = "";
  /** @type {Anchors | null} */
  anchors = null; // of the names of the classes

  /** @param {View} view @param {MapData} map */
  constructor(view, map) {
    this.view = view;
    this.key = map.key;
    this.map = map;
    this.plot = el("div", { class: "lv-plot", tabindex: "0", role: "application", "aria-roledescription": "map" });
    this.status = el("div", { class: "lv-status", hidden: true });
    this.note = el("p", { class: "lv-note", hidden: true });
    this.title = el("h3", null);
    this.facts = el("p", { class: "lv-facts" });
    this.reset = this.button("home", "Reset the zoom", () => this.panel.goHome());
    this.deep = this.button("solid", "Three dimensions", () =>
      this.panel.setSolid(this.solid ? null : { yaw: 0.6, pitch: 0.4 }),
    );
    this.larger = this.button("large", "Open large", () => this.enlarge());
    this.menu = this.menuOf();
    this.buttons = el("span", { class: "lv-buttons" }, this.reset, this.deep, this.larger, this.menu);
    this.node = el(
      "article",
      { class: "lv-panel" },
      el("header", null, el("div", { class: "lv-heading" }, this.title, this.facts), this.buttons),
      el("div", { class: "lv-frame" }, this.plot, this.status),
      this.note,
    );
    this.tell();
  }

  // The class that extends this one.
  get panel() {
    return /** @type {Panel} */ (/** @type {unknown} */ (this));
  }

  /** @type {(name: string, text: string, onclick: () => void) => HTMLButtonElement} */
  button(name, text, onclick) {
    return el("button", { type: "button", class: "lv-icon-button", title: text, onclick }, icon(name), unseen(text));
  }

  // Alone, or back; where one panel is large and the others are beside it, this one becomes the large one.
  enlarge() {
    const { view } = this,
      { mode, key } = view.layout;
    if (mode === "focus" && (key ?? view.panels[0].key) !== this.key) view.arrange({ key: this.key });
    else view.open(mode === "single" ? null : this.key);
  }

  menuOf() {
    const list = el("div", { class: "lv-menu-list" });
    const node = el(
      "details",
      { class: "lv-menu" },
      el("summary", { class: "lv-icon-button", title: "More" }, icon("more"), unseen("More")),
      list,
    );
    node.addEventListener("toggle", () => {
      if (!node.open) return;
      const items = [
        { text: "Save as PNG", run: () => this.view.savePicture(this.key, "png") },
        { text: "Save as SVG", run: () => this.view.savePicture(this.key, "svg") },
        this.outside > 0 && { text: "Show all rows", run: () => this.panel.showAll() },
        ...this.view.actions(this.map),
      ].filter(Boolean);
      const others = this.view.maps.filter((map) => map.coordinates && map !== this.map),
        options = [
          { value: "", text: "another map" },
          ...others.map((map, i) => ({ value: String(i), text: map.name })),
        ];
      const morph = choose(options, "", (value) => {
        node.open = false;
        if (value !== "") this.view.morph(this.key, others[Number(value)].key);
      });
      list.replaceChildren(
        ...(others.length && this.map.coordinates ? [field("Move the points to", morph)] : []),
        ...items.map(({ text, run }) =>
          el(
            "button",
            {
              type: "button",
              onclick: () => {
                node.open = false;
                run(this.map);
              },
            },
            text,
          ),
        ),
      );
    });
    node.addEventListener("focusout", (event) => {
      if (!node.contains(/** @type {Node | null} */ (event.relatedTarget))) node.open = false;
    });
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !node.open) return;
      event.stopPropagation(); // this closes the menu, and nothing else
      node.open = false;
      node.querySelector("summary")?.focus();
    });
    return node;
  }

  // Whether the panel is alone, and whether there are others.
  /** @type {(alone: boolean, others: boolean) => void} */
  tellSize(alone, others) {
    const text = alone ? "Show all maps" : "Open large";
    this.larger.replaceChildren(icon(alone ? "small" : "large"), unseen(text));
    this.larger.title = text;
    this.larger.hidden = !others;
  }

  // Heading, buttons and status, after a change of the map.
  tell() {
    const { map, view } = this,
      waiting = !map.coordinates;
    const own = view.mapOf(this.key)?.name ?? map.name,
      name = this.key === map.key ? map.name : `${own} → ${map.name}`; // its points have moved to another map
    this.title.replaceChildren(
      ...parted(name),
      ...(map.badge ? [el("span", { class: "lv-badge" }, map.badge)] : []),
      ...(map.badge && map.status === "done" ? view.statusActions(map).map((each) => this.badgeButton(each)) : []),
    );
    this.node.setAttribute("aria-label", name);
    this.title.title = name;
    this.plot.setAttribute(
      "aria-label",
      `${map.name}: map of ${some(waiting ? 0 : map.onMap, "row")}. ${map.subtitle}`,
    );
    const scores = Object.entries(map.scores ?? {}).slice(0, 2);
    this.facts.replaceChildren(
      ...[
        map.subtitle && el("span", { class: "lv-fact" }, map.subtitle),
        ...scores.map(([name, said]) =>
          el(
            "span",
            { class: "lv-fact" },
            `${name} `,
            el("b", null, score(typeof said === "number" ? said : said?.value, 3)),
          ),
        ),
      ].filter(Boolean),
    );
    this.facts.hidden = !this.facts.childNodes.length;
    this.deep.hidden = waiting || map.components < 3;
    this.deep.setAttribute("aria-pressed", String(Boolean(this.solid)));
    this.reset.hidden = this.panel.atHome();
    this.tellStatus(waiting);
    this.tellNote();
    view.stage?.askMarks();
  }

  // What can be done about what the badge says.
  /** @type {(action: Action) => HTMLButtonElement} */
  badgeButton({ text, run }) {
    const press = (event) => {
      event.stopPropagation(); // the heading has a click of its own
      run(this.map);
    };
    return el("button", { type: "button", class: "lv-badge", onclick: press }, text);
  }

  /** @type {(waiting: boolean) => void} */
  tellStatus(waiting) {
    const { status, progress, error } = this.map,
      busy = status === "queued" || status === "running",
      fraction = progress?.fraction;
    this.status.hidden = status === "done" && !waiting;
    this.status.classList.toggle("lv-over", !waiting); // a live map stays in sight
    this.node.dataset.status = status;
    this.status.replaceChildren(
      ...[
        el("strong", null, STATUS[status] ?? (waiting ? "No map yet" : "")),
        progress?.text && el("span", null, progress.text),
        error && el("span", { class: "lv-error" }, error),
        busy && el("progress", Number.isFinite(fraction) ? { max: "1", value: String(fraction) } : null),
        ...(waiting || status !== "done"
          ? this.view
              .statusActions(this.map)
              .map(({ text, run }) => el("button", { type: "button", onclick: () => run(this.map) }, text))
          : []),
      ].filter(Boolean),
    );
  }

  // How many rows are beyond the axes.
  /** @type {(many: number) => void} */
  tellOutside(many) {
    if (many === this.outside) return;
    this.outside = many;
    this.tellNote();
  }

  tellNote() {
    const { map } = this,
      parts = [];
    const said = this.view.neighborNote(this.panel);
    if (said) parts.push(said);
    if (map.coordinates) {
      const gone = map.n - map.onMap;
      if (gone) parts.push(gone === map.n ? "No row has coordinates." : `${some(gone, "row")} without coordinates.`);
      if (map.components === 1) parts.push("One component, on the horizontal axis. Vertical positions are jitter.");
      if (this.outside)
        parts.push(
          `${some(this.outside, "row lies", "rows lie")} outside of the axes, marked at the edge. Double-click to show all rows.`,
        );
    }
    this.note.hidden = !parts.length;
    this.note.textContent = parts.join(" ");
  }
}
