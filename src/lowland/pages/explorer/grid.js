// A table of many rows and columns of which only the visible cells exist. Rows are fetched in blocks as they come into view.

import { el } from "../view/elements.js";
import { replace } from "./elements.js";
import { cellText } from "./words.js";

const ROW = 26;
const NUMBERS = 74; // width of the column of row numbers
const BLOCK = 100;
const COLUMNS = 40; // fetched at once
const TALLEST = 12e6; // pixels: higher elements are cut by browsers

// rows: how many; names: of the columns; fetchBlock(from, count, columns) -> rows of cells; rowNumber(i) -> number shown.
/** @type {(options: GridOptions) => { element: HTMLElement, draw: () => void }} */
export function createGrid({
  rows,
  names,
  numeric = () => false,
  fetchBlock,
  rowNumber = (i) => i,
  onrow,
  label,
  wide = 132,
}) {
  const blocks = new Map();
  const scroll = el("div", {
    class: "grid-scroll",
    tabIndex: 0,
    role: "grid",
    "aria-label": label,
    "aria-rowcount": rows,
    "aria-colcount": names.length,
  });
  const room = el("div", { class: "grid-room" });
  const head = el("div", { class: "grid-head", role: "row" });
  const body = el("div", { class: "grid-body" });
  scroll.append(head, room);
  room.append(body);
  const high = Math.min(rows * ROW, TALLEST);
  scroll.style.setProperty("--cell", `${wide}px`);
  room.style.height = `${high}px`;
  room.style.width = head.style.width = `${NUMBERS + names.length * wide}px`;
  let waiting = false;

  // Ask for the block of a row and a range of columns; draw again once it is there.
  const cells = (row, strip) => {
    const key = `${Math.floor(row / BLOCK)}:${strip}`;
    if (!blocks.has(key)) {
      blocks.set(key, null);
      const from = Math.floor(row / BLOCK) * BLOCK;
      const columns = [];
      for (let c = strip * COLUMNS; c < Math.min(names.length, (strip + 1) * COLUMNS); c++) columns.push(c);
      fetchBlock(from, Math.min(BLOCK, rows - from), columns).then(
        (found) => {
          blocks.set(key, found);
          draw();
        },
        () => setTimeout(() => blocks.delete(key), 3000),
      );
      if (blocks.size > 200) blocks.delete(blocks.keys().next().value);
    }
    return blocks.get(key)?.[row % BLOCK];
  };

  const drawNow = () => {
    waiting = false;
    const seen = Math.ceil(scroll.clientHeight / ROW) + 1;
    const first = Math.max(
      0,
      Math.min(
        rows - seen,
        Math.floor((scroll.scrollTop / Math.max(1, high - scroll.clientHeight)) * Math.max(0, rows - seen + 1)),
      ),
    );
    const left = Math.max(0, Math.floor((scroll.scrollLeft - NUMBERS) / wide));
    const right = Math.min(names.length, left + Math.ceil(scroll.clientWidth / wide) + 2);
    const exact = rows * ROW <= TALLEST;
    const top = exact ? Math.floor(scroll.scrollTop / ROW) : first;
    const start = Math.max(0, Math.min(top, rows - 1));
    const at = (c) => `${NUMBERS + c * wide}px`;
    const place = (node, c) => {
      node.style.left = at(c);
      return node;
    };
    const titles = [];
    for (let c = left; c < right; c++) {
      const title = el(
        "div",
        { class: `cell title ${numeric(c) ? "figure" : ""}`, role: "columnheader", title: names[c] },
        names[c],
      );
      titles.push(place(title, c));
    }
    replace(head, el("div", { class: "cell number" }, ""), titles);
    const lines = [];
    for (let row = start; row < Math.min(rows, start + seen); row++) {
      const line = el("div", {
        class: "grid-row",
        role: "row",
        "aria-rowindex": row + 1,
        onclick: onrow && (() => onrow(row)),
      });
      line.style.top = `${exact ? row * ROW : scroll.scrollTop + (row - start) * ROW}px`;
      line.append(el("div", { class: "cell number", role: "rowheader" }, rowNumber(row)));
      for (let c = left; c < right; c++) {
        const found = cells(row, Math.floor(c / COLUMNS));
        const value = found?.[c % COLUMNS];
        const kind = found === undefined || found === null ? "loading" : value === null ? "missing" : "";
        const figure = numeric(c) || typeof value === "number" ? "figure" : "";
        const text = found ? (value === null ? "missing" : cellText(value)) : "";
        line.append(
          place(
            el(
              "div",
              { class: `cell ${kind} ${figure}`, role: "gridcell", title: text.length > 14 ? text : null },
              text,
            ),
            c,
          ),
        );
      }
      lines.push(line);
    }
    replace(body, lines);
  };
  const draw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(drawNow);
  };
  scroll.addEventListener("scroll", draw);
  new ResizeObserver(draw).observe(scroll);
  scroll.addEventListener("keydown", (event) => {
    const page = scroll.clientHeight - 2 * ROW;
    const move = {
      ArrowDown: [0, ROW],
      ArrowUp: [0, -ROW],
      PageDown: [0, page],
      PageUp: [0, -page],
      ArrowRight: [wide, 0],
      ArrowLeft: [-wide, 0],
      Home: [0, -1e9],
      End: [0, 1e9],
    }[event.key];
    if (!move) return;
    event.preventDefault();
    scroll.scrollBy(...move);
  });
  return { element: scroll, draw };
}
