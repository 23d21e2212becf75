// A table and maps made in the page, for tests and timings: classes as normal clouds around random centers.
// It runs after the modules of the view, in the same function.

function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

function normal(random) {
  let sum = 0;
  for (let i = 0; i < 6; i++) sum += random();
  return (sum - 3) * Math.SQRT2;
}

function cloudsOf(n, classes, components, seed, spread = 0.8) {
  const random = generator(seed),
    centers = Array.from({ length: classes * components }, () => 10 * random() - 5),
    coordinates = new Float32Array(n * components);
  for (let c = 0; c < components; c++)
    for (let i = 0; i < n; i++)
      coordinates[c * n + i] = centers[(i % classes) * components + c] + spread * normal(random);
  return coordinates;
}

// The options of a view with made data. options: n, maps, classes, components, and those of the view.
function data({ n = 1000, maps = 2, classes = 5, components = 2, levels = null, columns = [], ...options } = {}) {
  const codes = classes < 255 ? new Uint8Array(n) : new Uint16Array(n),
    values = new Float32Array(n),
    random = generator(7);
  for (let i = 0; i < n; i++) {
    codes[i] = i % classes;
    values[i] = Math.exp(1.5 * normal(random));
  }
  const table = new Table({
    n,
    name: "synthetic",
    columns: [
      new Column({
        name: "kind",
        kind: "category",
        values: codes,
        levels: levels ?? Array.from({ length: classes }, (_, i) => `class ${i}`),
      }),
      new Column({ name: "amount", kind: "number", values }),
      ...columns.map((column) => new Column(column)),
    ],
    label: 0,
    ...options.table,
  });
  const list = Array.from({ length: maps }, (_, i) => {
    const coordinates = cloudsOf(n, classes, components, 11 + i, 0.5 + 0.1 * (i % 5)),
      trust = new Float32Array(n);
    for (let row = 0; row < n; row++) trust[row] = Math.max(0, 1 - Math.abs(coordinates[row]) / 8);
    return new MapData({
      key: `m${i}`,
      name: ["PCA", "t-SNE", "UMAP", "Isomap", "LLE"][i % 5] + (i < 5 ? "" : ` ${i}`),
      subtitle: `${components} components`,
      coordinates,
      components,
      n,
      trust: { trustworthiness: { values: trust, low: 0, high: 1, better: "higher" } },
      scores: { trustworthiness: 0.9 - 0.01 * i },
    });
  });
  return { ...options, table, maps: list };
}

function viewOf(options) {
  const root = document.getElementById("view");
  root.className = options.fit === "fill" ? "fill" : "";
  return createView(root, options);
}

const synthetic = (options) => viewOf(data(options));

// Pixels of a canvas, read from a copy: reading the canvas itself would change how the browser draws on it.
function pixelsOn(canvas, left, top, wide, high) {
  const context = new OffscreenCanvas(wide, high).getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, -left, -top);
  return context.getImageData(0, 0, wide, high).data;
}

window.lowland = {
  pixelsOn,
  synthetic,
  data,
  viewOf,
  cloudsOf,
  createView,
  Table,
  Column,
  MapData,
  maskOf,
  maskText,
  bulkRange,
  randomOrder,
  gridFor,
  placedNames,
};
document.documentElement.dataset.ready = "1";
