// Small charts: curves over all trials, clouds of pairs, bars. Lines differ in colour and in dashes; names stand beside them.

const LARGE = { wide: 440, high: 270 },
  SMALL = { wide: 270, high: 200 },
  EDGE = { left: 52, right: 12, top: 10, bottom: 40 };

function niceTicks(low, high, wanted = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted,
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((s) => s * power >= rough) * power;
  const ticks = [];
  for (let t = Math.ceil(low / step - 1e-9); t * step <= high + step * 1e-6; t++)
    ticks.push(Number((t * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of high / low > 1000 ? [1] : [1, 2, 5]) ticks.push(step * 10 ** power);
  }
  return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

// A straight or logarithmic axis from data to pixels.
function axis(low, high, from, to, logarithmic) {
  if (low === high) {
    low -= Math.abs(low) / 2 || 0.5;
    high += Math.abs(high) / 2 || 0.5;
    logarithmic = false;
  }
  const f = logarithmic ? Math.log : (v) => v;
  return {
    at: (v) => from + ((f(v) - f(low)) / (f(high) - f(low))) * (to - from),
    ticks: logarithmic ? logTicks(low, high) : niceTicks(low, high),
  };
}

function frameOf(x, y, xName, yName, wide, high) {
  const foot = high - EDGE.bottom;
  return svg(
    "g",
    { class: "axes" },
    y.ticks.map((t) => [
      svg("line", { x1: EDGE.left, x2: wide - EDGE.right, y1: y.at(t), y2: y.at(t), class: "grid" }),
      svg("text", { x: EDGE.left - 6, y: y.at(t) + 3.5, "text-anchor": "end" }, number(t)),
    ]),
    x.ticks.map((t) => [
      svg("line", { x1: x.at(t), x2: x.at(t), y1: foot, y2: foot + 4, class: "tick" }),
      svg("text", { x: x.at(t), y: foot + 16, "text-anchor": "middle" }, number(t)),
    ]),
    svg("line", { x1: EDGE.left, x2: wide - EDGE.right, y1: foot, y2: foot, class: "tick" }),
    svg("text", { x: (EDGE.left + wide - EDGE.right) / 2, y: high - 6, "text-anchor": "middle", class: "name" }, xName),
    svg(
      "text",
      {
        x: 12,
        y: (EDGE.top + foot) / 2,
        "text-anchor": "middle",
        transform: `rotate(-90 12 ${(EDGE.top + foot) / 2})`,
        class: "name",
      },
      yName,
    ),
  );
}

function extent(arrays) {
  let low = Infinity,
    high = -Infinity;
  for (const values of arrays)
    for (const v of values)
      if (Number.isFinite(v)) {
        if (v < low) low = v;
        if (v > high) high = v;
      }
  return low <= high ? [low, high] : [0, 1];
}

const linesOf = (name, list) =>
  list.map((trial) => {
    const curve = trial.curves[name];
    return { trial, x: array(curve.x), y: array(curve.y) };
  });

// One chart of a curve for the trials of the list.
function lineChart(name, list, { wide, high } = LARGE) {
  const lines = linesOf(name, list),
    { x_name: xName, y_name: yName } = list[0].curves[name];
  const [xLow, xHigh] = extent(lines.map((line) => line.x));
  let [yLow, yHigh] = extent(lines.map((line) => line.y));
  if (yLow > 0) yLow = 0;
  const logarithmic = xLow > 0 && xHigh / xLow >= 30 && /neighbo/i.test(xName);
  const x = axis(xLow, xHigh, EDGE.left, wide - EDGE.right, logarithmic);
  const y = axis(yLow, yHigh, high - EDGE.bottom, EDGE.top, false);
  const paths = lines.map((line) => pathOf(line, x, y));
  const chart = svg(
    "svg",
    {
      viewBox: `0 0 ${wide} ${high}`,
      class: "chart",
      role: "img",
      "aria-label": `${name}: ${yName} over ${xName}, of ${list.map((t) => t.name).join(", ")}`,
    },
    frameOf(x, y, logarithmic ? `${xName} (each step a multiple)` : xName, yName, wide, high),
    paths,
  );
  const light = () => paths.forEach((path, i) => mark(path, lines[i].trial, list.length));
  on("trial", light);
  light();
  chart.addEventListener("pointermove", (event) => overLines(event, chart, lines, x, y, xName, wide));
  chart.addEventListener("pointerleave", () => {
    lookAt(null);
    showTip(null);
  });
  return chart;
}

function pathOf(line, x, y) {
  const points = [];
  let last = -Infinity;
  for (let i = 0; i < line.x.length; i++) {
    const at = x.at(line.x[i]);
    if (!Number.isFinite(line.y[i]) || !Number.isFinite(at)) {
      points.push(null);
      continue;
    }
    if (Math.abs(at - last) < 0.4 && i < line.x.length - 1) continue; // closer than can be seen
    last = at;
    points.push([at, y.at(line.y[i])]);
  }
  let down = false,
    d = "";
  for (const point of points) {
    d += point ? `${down ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}` : "";
    down = Boolean(point);
  }
  const dots = line.x.length <= 30 ? points.filter(Boolean).map(([cx, cy]) => svg("circle", { cx, cy, r: 2.2 })) : [];
  return svg("g", null, svg("path", { d, "stroke-dasharray": trialDash(line.trial) }), dots);
}

// The trial looked at stands out; without one, the trial that the study would choose.
function mark(group, trial, among) {
  const lit = highlighted();
  const strong = among === 1 || (lit ? trial === lit : study.advice[0] && trial.name === study.advice[0].trial);
  group.setAttribute(
    "class",
    `line color-${trial.index % COLORS.length}${strong ? " strong" : ""}${lit && trial !== lit && among > 1 ? " faint" : ""}`,
  );
  if (strong && among > 1 && lit) group.parentNode.append(group);
}

function overLines(event, chart, lines, x, y, xName, wide) {
  const box = chart.getBoundingClientRect(),
    scale = wide / box.width;
  const px = (event.clientX - box.left) * scale,
    py = (event.clientY - box.top) * scale;
  let best = null,
    least = 28;
  for (const line of lines) {
    const i = nearestPlace(line.x, x, px),
      far = Math.abs(y.at(line.y[i]) - py);
    if (far < least) {
      least = far;
      best = { line, i };
    }
  }
  lookAt(best && best.line.trial);
  showTip(
    best &&
      el(
        "div",
        null,
        el("b", null, best.line.trial.name),
        el("br"),
        `${number(best.line.y[best.i])} at ${xName} ${number(best.line.x[best.i])}`,
      ),
    event.clientX,
    event.clientY,
  );
}

function nearestPlace(xs, x, px) {
  let best = 0;
  for (let i = 1; i < xs.length; i++) if (Math.abs(x.at(xs[i]) - px) < Math.abs(x.at(xs[best]) - px)) best = i;
  return best;
}

// Names of trials, as buttons: looked at while the pointer is over them, pinned by a click.
function trialButtons(list) {
  const buttons = list.map((trial) => {
    const button = el(
      "button",
      {
        type: "button",
        class: "trial-button",
        "aria-pressed": "false",
        onclick: () => pin(trial),
        onpointerenter: () => lookAt(trial),
        onpointerleave: () => lookAt(null),
        onfocus: () => lookAt(trial),
        onblur: () => lookAt(null),
      },
      svg(
        "svg",
        { viewBox: "0 0 26 8", width: 26, height: 8, "aria-hidden": "true" },
        svg(
          "g",
          { class: `line strong color-${trial.index % COLORS.length}` },
          svg("path", { d: "M1 4H25", "stroke-dasharray": trialDash(trial) }),
        ),
      ),
      trial.name,
    );
    on("trial", () => {
      button.setAttribute("aria-pressed", String(state.pinned === trial));
      button.classList.toggle("lit", highlighted() === trial);
    });
    return button;
  });
  return el("div", { class: "trial-buttons", role: "group", "aria-label": "Trials in the charts" }, buttons);
}

function curvesSection(section) {
  const names = [...new Set(trials.flatMap((t) => Object.keys(t.curves)))].filter((name) =>
    trials.some((t) => t.curves[name] && t.curves[name].kind === "line"),
  );
  if (!names.length) return false;
  const having = (name) =>
    trials.filter((trial) => trial.curves[name] && trial.curves[name].kind === "line" && trial.curves[name].x);
  section.append(
    el("h2", { id: "curves-title" }, "Curves"),
    el("p", { class: "lead" }, "Point at a line or a name to see it alone; a click on a name keeps it."),
  );
  section.append(trialButtons(trials.filter((trial) => names.some((name) => having(name).includes(trial)))));
  const together = names.filter((name) => ofOneScale(name, having(name)));
  section.append(
    el(
      "div",
      { class: "charts" },
      together.map((name) => figure(titleOf(name), lineChart(name, having(name)))),
    ),
  );
  for (const name of names.filter((each) => !together.includes(each))) {
    section.append(
      el("h3", { class: "group" }, titleOf(name)),
      el("p", { class: "note" }, "The trials differ too much in scale for one chart."),
      el(
        "div",
        { class: "small-charts" },
        having(name).map((trial) => figure(trial.name, lineChart(name, [trial], SMALL))),
      ),
    );
  }
  return true;
}

const CURVES = {
  R_NX: "R_NX: neighbours kept, beyond chance",
  scree: "Scree: what each component holds",
  distortion: "Distortion: what is lost with so many components",
  "residual variance": "Residual variance: distances not explained",
};
const titleOf = (name) => CURVES[name] ?? name;

function ofOneScale(name, list) {
  const tops = linesOf(name, list)
    .map((line) => extent([line.y])[1])
    .filter((top) => top > 0);
  return list.length === 1 || !tops.length || Math.max(...tops) / Math.min(...tops) <= 20;
}

const figure = (title, drawing) => el("figure", null, el("figcaption", null, title), drawing);

// Shepard diagrams: a cloud of pairs for each trial, drawn when it comes near the view.
const clouds = [];

function cloudsSection(section) {
  const names = [
    ...new Set(trials.flatMap((t) => Object.keys(t.curves).filter((name) => t.curves[name].kind === "cloud"))),
  ];
  if (!names.length) return false;
  section.append(el("h2", { id: "distances-title" }, "Distances kept"));
  const sight = new IntersectionObserver(
    (entries) =>
      entries.forEach(({ target, isIntersecting }) => {
        const cloud = clouds[target.dataset.place];
        if (isIntersecting && !cloud.drawn) drawCloud(cloud);
      }),
    { rootMargin: "300px" },
  );
  for (const name of names) {
    section.append(
      el(
        "p",
        { class: "lead" },
        `${name} diagrams: every point is a pair of rows. The closer the cloud to a rising line, the better distances are kept.`,
      ),
    );
    const list = trials.filter((trial) => trial.curves[name] && trial.curves[name].kind === "cloud");
    section.append(
      el(
        "div",
        { class: "small-charts" },
        list.map((trial) => cloudFigure(trial, name, sight)),
      ),
    );
  }
  return true;
}

function cloudFigure(trial, name, sight) {
  const curve = trial.curves[name];
  const canvas = el("canvas", {
    class: "cloud",
    role: "img",
    "aria-label": `${name} diagram of ${trial.name}: ${curve.y_name} over ${curve.x_name}`,
  });
  const cloud = { canvas, curve, drawn: false };
  canvas.dataset.place = clouds.push(cloud) - 1;
  sight.observe(canvas);
  const node = figure(
    trial.name,
    el(
      "div",
      { class: "cloud-frame" },
      canvas,
      el("span", { class: "x-name" }, `${curve.x_name} →`),
      el("span", { class: "y-name" }, `${curve.y_name} →`),
    ),
  );
  on("trial", () => node.classList.toggle("lit", highlighted() === trial));
  return node;
}

function drawCloud(cloud) {
  const { canvas, curve } = cloud,
    x = array(curve.x),
    y = array(curve.y),
    side = 400;
  canvas.width = canvas.height = side;
  cloud.drawn = true;
  const [xLow, xHigh] = extent([x]),
    [yLow, yHigh] = extent([y]);
  const across = axis(Math.min(0, xLow), xHigh, 6, side - 6),
    up = axis(Math.min(0, yLow), yHigh, side - 6, 6);
  paint(canvas, (context) => {
    context.fillStyle = mix(classColor(0), theme().ink, 0.15);
    context.globalAlpha = Math.max(0.08, Math.min(0.7, 600 / Math.max(1, x.length)));
    for (let i = 0; i < x.length; i++) {
      if (Number.isFinite(x[i]) && Number.isFinite(y[i]))
        context.fillRect(across.at(x[i]) - 1.5, up.at(y[i]) - 1.5, 3, 3);
    }
  });
}

// Time and memory: a bar with its number beside it.
function costsSection(section) {
  const list = trials.filter((trial) => trial.seconds !== null || trial.memory !== null);
  if (!list.length) return false;
  list.sort((a, b) => (a.seconds ?? Infinity) - (b.seconds ?? Infinity));
  const most = (key) => Math.max(...list.map((trial) => trial[key] ?? 0)) || 1;
  const tops = { seconds: most("seconds"), memory: most("memory") };
  const bar = (trial, key, text) => {
    const drawn = el("span", { class: `bar ${key}` });
    drawn.style.width = `${(100 * (trial[key] ?? 0)) / tops[key]}%`;
    return el(
      "td",
      null,
      el(
        "span",
        { class: "bar-row" },
        el("span", { class: "bar-room" }, trial[key] === null ? null : drawn),
        el("span", { class: "bar-text" }, text),
      ),
    );
  };
  const rows = list.map((trial) =>
    el(
      "tr",
      { onpointerenter: () => lookAt(trial), onpointerleave: () => lookAt(null) },
      el(
        "th",
        { scope: "row" },
        trial.name,
        trial.status === "done" ? null : el("span", { class: "chip" }, trial.status),
      ),
      bar(trial, "seconds", `${duration(trial.seconds)}${trial.cached ? " *" : ""}`),
      bar(trial, "memory", bytes(trial.memory)),
    ),
  );
  section.append(
    el("h2", { id: "costs-title" }, "Time and memory"),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Time and memory" },
      el(
        "table",
        { class: "bars" },
        el(
          "thead",
          null,
          el(
            "tr",
            null,
            el("th", { scope: "col" }, "Trial"),
            el("th", { scope: "col" }, "Time of the fit"),
            el("th", { scope: "col" }, "Memory at its peak"),
          ),
        ),
        el("tbody", null, rows),
      ),
    ),
  );
  if (list.some((trial) => trial.cached))
    section.append(
      el("p", { class: "note" }, "* Read from disk: time and memory are those of the day when it was fitted."),
    );
  return true;
}
