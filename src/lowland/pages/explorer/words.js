// Numbers, sizes and times as people read them.

export const plainNumber = (value) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US").replace("-", "−");
  const size = Math.abs(value);
  const text = size >= 1e6 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
  return text.replace("e+", "e").replaceAll("-", "−");
};

export const counted = (n, noun, plural = `${noun}s`) => `${plainNumber(n)} ${n === 1 ? noun : plural}`;

export function asBytes(bytes) {
  if (!Number.isFinite(bytes)) return "–";
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit && size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

export function asTime(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 0.95) return "less than 1 s";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Number((seconds / 3600).toPrecision(2))} h`;
}

export const asPercent = (fraction) => `${Math.round(100 * fraction)}%`;

// A cell of a table as text.
export const cellText = (value) => (value === null || value === undefined ? "" : typeof value === "number" ? plainNumber(value) : String(value));

// A parameter's value as it is written in Python.
export function asPython(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(asPython).join(", ")}]`;
  return String(value);
}
