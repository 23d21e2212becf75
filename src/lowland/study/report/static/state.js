// The shared state of the page: row under the pointer, selected rows, hidden classes, coloring.

const HIDDEN = 1,
  SELECTED = 2;
const state = {
  flags: new Uint8Array(M),
  selected: 0,
  row: -1, // under the pointer
  trial: null, // under the pointer, in a table or a chart
  pinned: null, // the trial that was clicked
  choices: colorChoices(),
  choice: null,
  palette: null,
  tool: matchMedia("(pointer: coarse)").matches ? "look" : "box",
  x: 0, // components on the axes
  y: 1,
  evenAxes: true,
  evenColors: false, // by rank instead of value
  size: 1, // of points, relative to the default for their number
  hiddenClasses: new Set(),
};
state.choice = state.choices[0];
state.palette = palette(state.choice);

const listeners = { colors: [], rows: [], row: [], trial: [], axes: [] };
const on = (event, listener) => listeners[event].push(listener);
const notify = (event) => {
  for (const listener of listeners[event]) listener();
};

function colorBy(key) {
  state.choice = state.choices.find((choice) => choice.key === key);
  state.palette = palette(state.choice);
  notify("colors");
}

function pointAt(row) {
  if (row === state.row) return;
  state.row = row;
  notify("row");
}

function lookAt(trial) {
  if (trial === state.trial) return;
  state.trial = trial;
  notify("trial");
}

function pin(trial) {
  state.pinned = state.pinned === trial ? null : trial;
  notify("trial");
}

const highlighted = () => state.trial ?? state.pinned;

// Select the rows for which inside(row) is true; how: "new", "add" or "take" (remove). Hidden rows are never selected.
function select(inside, how, before) {
  const { flags } = state;
  let selected = 0;
  for (let i = 0; i < M; i++) {
    const was = before ? before[i] & SELECTED : 0;
    const hit = !(flags[i] & HIDDEN) && inside(i);
    const now = how === "new" ? hit : how === "add" ? was || hit : was && !hit;
    if (now) {
      flags[i] |= SELECTED;
      selected++;
    } else flags[i] &= ~SELECTED;
  }
  state.selected = selected;
  notify("rows");
}

const clearSelection = () => select(() => false, "new");

function selectedRows(most = Infinity) {
  const rows = [];
  for (let i = 0; i < M && rows.length < most; i++) if (state.flags[i] & SELECTED) rows.push(i);
  return rows;
}

function hideClasses(hidden) {
  const codes = array(table.label),
    classes = table.label.classes.length;
  state.hiddenClasses = hidden;
  for (let i = 0; i < M; i++) {
    if (hidden.has(codes[i] < classes ? codes[i] : classes)) state.flags[i] = HIDDEN;
    else state.flags[i] &= ~HIDDEN;
  }
  state.selected = state.flags.reduce((sum, flag) => sum + (flag & SELECTED ? 1 : 0), 0);
  notify("rows");
}
