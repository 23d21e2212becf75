// Points on a canvas: as shapes if there are few, as pixels of an image if there are many.

const FEW = 8000;

// While printing, a browser records every drawing command: points are then drawn as one image.
function paint(canvas, draw) {
  const context = canvas.getContext("2d");
  if (!printing) {
    draw(context);
    return;
  }
  const image = el("canvas", { width: canvas.width, height: canvas.height });
  draw(image.getContext("2d"));
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0);
}

function radius() {
  const fitting = M <= 200 ? 4 : M <= 1000 ? 3.2 : M <= 3000 ? 2.4 : M <= FEW ? 1.9 : M <= 30000 ? 1.3 : 0.9;
  return fitting * state.size;
}

// place: { X, Y, ax, bx, ay, by } with the pixel of a row at X[row] * ax + bx and Y[row] * ay + by.
function drawPoints(context, width, height, place, shades, scale) {
  const draw = M <= FEW ? drawShapes : drawPixels;
  draw(context, width, height, place, shades, scale * radius());
}

function drawShapes(context, width, height, place, shades, r) {
  context.clearRect(0, 0, width, height);
  const { X, Y, ax, bx, ay, by } = place,
    { flags } = state;
  const full = new Map();
  const dim = stamp("disc", theme().dim, r * 0.85, false);
  const stampOf = (shade) => {
    if (!full.has(shade)) full.set(shade, stamp(state.palette.shape(shade), state.palette.colors[shade], r, r >= 3));
    return full.get(shade);
  };
  for (const pass of state.selected ? ["rest", "chosen"] : ["all"]) {
    for (const row of ORDER) {
      const flag = flags[row];
      if (X[row] === 65535 || flag & HIDDEN || (pass === "rest" && flag) || (pass === "chosen" && !flag)) continue;
      const image = pass === "rest" ? dim : stampOf(shades ? shades[row] : MISSING);
      context.drawImage(image, X[row] * ax + bx - image.width / 2, Y[row] * ay + by - image.height / 2);
    }
  }
}

function stamp(shape, color, r, outlined) {
  const side = Math.ceil(2 * r + 4),
    middle = side / 2;
  const canvas = el("canvas", { width: side, height: side });
  const context = canvas.getContext("2d");
  outline(context, shape, middle, middle, r);
  context.fillStyle = color;
  context.fill();
  if (outlined) {
    context.strokeStyle = mix(color, theme() === THEMES.dark ? theme().paper : theme().ink, 0.45);
    context.lineWidth = Math.max(0.75, r / 6);
    context.stroke();
  }
  return canvas;
}

// Shapes of about equal area.
function outline(context, shape, x, y, r) {
  const corners = {
    square: [
      [-0.88, -0.88],
      [0.88, -0.88],
      [0.88, 0.88],
      [-0.88, 0.88],
    ],
    triangle: [
      [0, -1.25],
      [1.15, 0.8],
      [-1.15, 0.8],
    ],
    diamond: [
      [0, -1.3],
      [1.1, 0],
      [0, 1.3],
      [-1.1, 0],
    ],
    wedge: [
      [0, 1.25],
      [1.15, -0.8],
      [-1.15, -0.8],
    ],
    cross: [
      [-0.45, -1.2],
      [0.45, -1.2],
      [0.45, -0.45],
      [1.2, -0.45],
      [1.2, 0.45],
      [0.45, 0.45],
      [0.45, 1.2],
      [-0.45, 1.2],
      [-0.45, 0.45],
      [-1.2, 0.45],
      [-1.2, -0.45],
      [-0.45, -0.45],
    ],
  }[shape];
  context.beginPath();
  if (!corners) context.arc(x, y, r, 0, 2 * Math.PI);
  else
    corners.forEach(([dx, dy], i) =>
      i ? context.lineTo(x + dx * r, y + dy * r) : context.moveTo(x + dx * r, y + dy * r),
    );
  context.closePath();
}

function drawPixels(context, width, height, place, shades, r) {
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const { X, Y, ax, bx, ay, by } = place,
    { flags } = state;
  const colors = state.palette.packed,
    dim = packed(theme().dim),
    side = Math.max(1, Math.round(2 * r)),
    shift = side / 2,
    rims = Array.from({ length: side }, (_, y) => Math.round(shift - Math.sqrt(shift ** 2 - (y + 0.5 - shift) ** 2))); // round
  for (const pass of state.selected ? [1, 2] : [0]) {
    for (let i = 0; i < M; i++) {
      const row = ORDER[i],
        flag = flags[row];
      if (X[row] === 65535 || flag & HIDDEN || (pass === 1 && flag) || (pass === 2 && !flag)) continue;
      const left = Math.round(X[row] * ax + bx - shift),
        top = Math.round(Y[row] * ay + by - shift);
      if (left < 0 || top < 0 || left + side > width || top + side > height) continue;
      const color = pass === 1 ? dim : colors[shades ? shades[row] : MISSING];
      for (let y = 0, at = top * width + left; y < side; y++, at += width) {
        for (let x = rims[y]; x < side - rims[y]; x++) pixels[at + x] = color;
      }
    }
  }
  context.putImageData(image, 0, 0);
}
