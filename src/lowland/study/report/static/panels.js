// All panels: drawn when they scroll into view, and redrawn only when something changes.

const panels = [];
const waiting = new Set();
let asked = false;

function redraw(panel) {
  waiting.add(panel);
  if (!asked) {
    asked = true;
    requestAnimationFrame(drawWaiting);
  }
}

// Draw as many panels per frame as time allows; the others follow in the next frames.
function drawWaiting() {
  const begun = performance.now();
  asked = false;
  for (const panel of waiting) {
    if (!panel.near) continue;
    waiting.delete(panel);
    panel.draw();
    if (performance.now() - begun > 14) break;
  }
  if (!asked && [...waiting].some((panel) => panel.near)) {
    asked = true;
    requestAnimationFrame(drawWaiting);
  }
}

function buildPanels(into) {
  const sight = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const panel = panels[target.dataset.place];
        panel.near = isIntersecting;
        if (isIntersecting && waiting.has(panel)) redraw(panel);
      }
    },
    { rootMargin: "300px" },
  );
  const sizes = new ResizeObserver((entries) =>
    entries.forEach(({ target }) => redraw(panels[target.closest("article").dataset.place])),
  );
  for (const trial of drawnTrials) {
    const panel = new LivePanel(trial);
    panel.node.dataset.place = panels.push(panel) - 1;
    into.append(panel.node);
    waiting.add(panel);
    sight.observe(panel.node);
    sizes.observe(panel.frame);
  }
  const all = () => panels.forEach(redraw);
  on("colors", all);
  on("rows", all);
  on("axes", all);
  on("row", () =>
    panels.forEach((panel) => {
      if (panel.near) panel.drawMarks();
    }),
  );
  on("trial", () => panels.forEach((panel) => panel.node.classList.toggle("lit", panel.trial === highlighted())));
}
