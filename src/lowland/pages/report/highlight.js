// The highlighted trial: the one under the pointer in a table, a chart or a panel, or else the one that was clicked.

/** @type {{ trial: Trial | null, pinned: Trial | null }} */
const pointedAt = { trial: null, pinned: null };
/** @type {(() => void)[]} */
const listeners = [];

/** @type {(listener: () => void) => void} */
export const onHighlight = (listener) => listeners.push(listener);
const tellAll = () => listeners.forEach((listener) => listener());

/** @type {(trial: Trial | null) => void} */
export function lookAt(trial) {
  if (trial === pointedAt.trial) return;
  pointedAt.trial = trial;
  tellAll();
}

/** @type {(trial: Trial) => void} */
export function pin(trial) {
  pointedAt.pinned = pointedAt.pinned === trial ? null : trial;
  tellAll();
}

/** @type {(trial: Trial) => boolean} */
export const isPinned = (trial) => pointedAt.pinned === trial;
/** @type {() => Trial | null} */
export const highlighted = () => pointedAt.trial ?? pointedAt.pinned;
