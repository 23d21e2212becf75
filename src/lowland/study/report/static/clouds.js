// Shepard diagrams: a scatter of pairs of rows for each trial, drawn when it scrolls into view.

const clouds = [];

function cloudsSection(section) {
  const names = [
    ...new Set(trials.flatMap((t) => Object.keys(t.curves).filter((name) => t.curves[name].kind === "cloud"))),
  ];
  if (!names.length) return false;
  section.append(el("h2", { id: "distances-title" }, "Shepard diagrams"));
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
        "Each point is a pair of rows. The closer the points are to an increasing line, the better the distances are preserved.",
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
    "aria-label": `${name} diagram of ${trial.name}: ${curve.y_name} against ${curve.x_name}`,
  });
  const cloud = { canvas, curve, drawn: false };
  canvas.dataset.place = clouds.push(cloud) - 1;
  sight.observe(canvas);
  const node = figure(
    parted(trial.name),
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
