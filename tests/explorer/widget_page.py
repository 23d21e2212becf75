"""A page that shows widgets as a notebook does: models with the traits that Python sent, and anywidget's call."""

import base64
import json
from pathlib import Path

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Notebook</title>
<style>body { margin: 0; padding: 16px; background: %(paper)s; } .cell { max-width: 1000px; margin-bottom: 24px;
  transform: translateY(0); }</style>
<style>%(css)s</style></head><body>
<script>
// Bytes as they come in a message: a view into a larger buffer, at an odd place.
function bytesAt(text) {
  const binary = atob(text), buffer = new ArrayBuffer(binary.length + 3), view = new Uint8Array(buffer, 3);
  for (let i = 0; i < binary.length; i++) view[i] = binary.charCodeAt(i);
  return new DataView(buffer, 3, binary.length);
}
const revive = (_, value) => (typeof value?.bytes === "string" ? bytesAt(value.bytes) : value);

// A model as anywidget passes it: get, set, on, off, save_changes. receive() is a message from Python.
class FakeModel {
  constructor(state) { Object.assign(this, { state, listeners: {}, sent: [], changed: new Set() }); }
  get(name) { return this.state[name]; }
  set(name, value) { this.changed.add(name); this.receive({ [name]: value }); }
  receive(state) {
    Object.assign(this.state, state);
    for (const name of Object.keys(state)) for (const f of this.listeners[`change:${name}`] ?? []) f();
  }
  on(event, f) { (this.listeners[event] ??= new Set()).add(f); }
  off(event, f) { this.listeners[event]?.delete(f); }
  save_changes() {
    this.sent.push(Object.fromEntries([...this.changed].map((name) => [name, plain(this.state[name])])));
    this.changed.clear();
  }
}
const plain = (value) => value instanceof DataView
  ? { bytes: btoa(String.fromCharCode(...new Uint8Array(value.buffer, value.byteOffset, value.byteLength))) } : value;

window.cells = [];
async function show(text, model = new FakeModel(JSON.parse(text, revive))) {
  const url = URL.createObjectURL(new Blob([model.get("_esm")], { type: "text/javascript" })),
    widget = (await import(url)).default, el = document.createElement("div");
  el.className = "cell";
  document.body.append(el);
  cells.push({ model, el, close: await widget.render({ model, el }) });
  await new Promise((done) => setTimeout(done, 300));
}
const receive = (cell, text) => cells[cell].model.receive(JSON.parse(text, revive));
document.documentElement.dataset.ready = "1";
</script></body></html>
"""


def as_text(state):
    """The state of a widget as JSON, bytes in base64."""
    return json.dumps(state, default=lambda value: {"bytes": base64.b64encode(bytes(value)).decode("ascii")})


def from_text(state):
    """What the page sent, as ``set_state`` takes it."""
    return {
        name: memoryview(base64.b64decode(value["bytes"])) if isinstance(value, dict) and "bytes" in value else value
        for name, value in state.items()
    }


def write_page(folder, css, paper="#ffffff"):
    """Write the page and return its path."""
    path = Path(folder) / "notebook.html"
    path.write_text(PAGE % {"css": css, "paper": paper}, encoding="utf-8")
    return path


def show(browser, widget):
    """Show a widget in a new cell."""
    state = {name: value for name, value in widget.get_state().items() if not name.startswith(("layout", "tooltip"))}
    browser.run(f"show({json.dumps(as_text(state))})")


def receive(browser, cell, widget, *names):
    """Send traits of a widget to the page, as Python does when they change."""
    browser.run(f"receive({cell}, {json.dumps(as_text(widget.get_state(names)))})")


def send(browser, cell, widget):
    """Let Python take what the page has sent since."""
    for state in browser.run(f"cells[{cell}].model.sent.splice(0)"):
        widget.set_state(from_text(state))
