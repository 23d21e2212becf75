// The highlighted trial: the one under the pointer in a table, a chart or a panel, or else the one that was clicked.

const pointedAt = { trial: null, pinned: null };
const listeners = [];

export const onHighlight = (listener) => listeners.push(listener);
const tellAll = () => listeners.forEach((listener) => listener());

export function lookAt(trial) {
  if (trial === pointedAt.trial) return;
  pointedAt.trial = trial;
  tellAll();
}

export function pin(trial) {
  pointedAt.pinned = pointedAt.pinned === trial ? null : trial;
  tellAll();
}

export const isPinned = (trial) => pointedAt.pinned === trial;
export const highlighted = () => pointedAt.trial ?? pointedAt.pinned;
