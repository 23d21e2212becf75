"""The explorer as a person has it: the real server with its workers, and a browser that is driven by the tests."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

# What the page offers to save is kept instead: [{name, text}].
KEEP_FILES = """(() => {
  const blobs = new Map(), make = URL.createObjectURL;
  window.saved = [];
  URL.createObjectURL = (blob) => { const address = make.call(URL, blob); blobs.set(address, blob); return address; };
  const click = HTMLAnchorElement.prototype.click;
  HTMLAnchorElement.prototype.click = function () {
    if (!this.download) return click.call(this);
    const file = { name: this.download, size: blobs.get(this.href).size };
    window.saved.push(file);
    blobs.get(this.href).text().then((text) => { file.text = text.slice(0, 5000); });
  };
})()"""

# The pixels of a map, read from a copy.
COPY = """(() => {
  const plot = document.querySelectorAll('.lv-plot')[%d].getBoundingClientRect();
  const canvas = [...document.querySelectorAll('.view-room canvas')].find((c) => c.width > 300);
  const box = canvas.getBoundingClientRect(), scale = canvas.width / box.width;
  const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  copy.canvas.width = plot.width * scale;
  copy.canvas.height = plot.height * scale;
  copy.drawImage(canvas, (box.left - plot.left) * scale, (box.top - plot.top) * scale);
  return copy.getImageData(0, 0, copy.canvas.width, copy.canvas.height);
})()"""


class Server:
    """``lowland explore`` in a process of its own."""

    def __init__(self, folder, workspace, *more, largest=None):
        """``largest``: kilobytes of a file at most, as on a disk that is full."""
        limit = ["bash", "-c", f'ulimit -f {largest}; exec "$@"', "_"] if largest else []
        explore = [sys.executable, "-m", "lowland", "explore"]
        command = [*limit, *explore, "--folder", str(folder), "--workspace", str(workspace)]
        self.process = subprocess.Popen(
            [*command, "--no-open", *more], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True,
        )  # fmt: skip
        line = self.process.stdout.readline()
        self.address = re.search(r"http://\S+", line)[0]

    @property
    def port(self):
        return re.search(r":(\d+)/", self.address)[1]

    def kill(self):
        """End the server at once, as a crash would."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def busiest(self):
        """The worker that computes most at this time."""
        workers = psutil.Process(self.process.pid).children()
        before = [sum(worker.cpu_times()[:2]) for worker in workers]
        time.sleep(0.5)
        after = [sum(worker.cpu_times()[:2]) for worker in workers]
        return workers[max(range(len(workers)), key=lambda i: after[i] - before[i])]

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.process.stdout.close()


class Person:
    """What a person does in the page: clicks on words, types, and waits until something is seen."""

    def __init__(self, browser):
        self.browser = browser
        self.run, self.press, self.settle = browser.run, browser.press, browser.settle

    def until(self, code, seconds=60):
        try:
            self.browser.until(code, seconds)
        except TimeoutError:
            if os.environ.get("LOWLAND_PICTURES"):
                self.browser.picture(Path(os.environ["LOWLAND_PICTURES"]) / f"failed-{time.time():.0f}.png")
            raise

    def visit(self, address):
        self.browser.call("Page.navigate", url=address)
        self.until("document.documentElement?.dataset.started")
        self.run(KEEP_FILES)

    def reload(self):
        self.run("document.documentElement.removeAttribute('data-ready')")
        self.browser.call("Page.reload")
        self.until("document.documentElement?.dataset.ready")
        self.run(KEEP_FILES)

    def click(self, selector, text=""):
        """Click the first visible element of a selector that contains a text, as soon as there is one."""
        find = (
            f"[...document.querySelectorAll({json.dumps(selector)})].find((e) => e.checkVisibility() && !e.disabled "
            f"&& e.textContent.includes({json.dumps(text)}))"
        )
        self.until(find)
        self.run(f"{find}.click()")

    def type(self, selector, text):
        """Write a text into a field."""
        self.until(f"document.querySelector({json.dumps(selector)})", 30)
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(text)};"
            "e.dispatchEvent(new Event('input', { bubbles: true }));"
            "e.dispatchEvent(new Event('change', { bubbles: true })); })()"
        )

    def choose(self, selector, value):
        """Choose a value of a list."""
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
            "e.dispatchEvent(new Event('change', { bubbles: true })); })()"
        )

    def drop(self, content, name):
        """Drop a file; ``content`` is an expression: a string or a blob."""
        self.run(
            f"(() => {{ const data = new DataTransfer(); data.items.add(new File([{content}], {json.dumps(name)}));"
            "dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true })); })()"
        )

    def text(self, selector):
        """The text of the first element of a selector."""
        return self.run(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''")

    def sees(self, selector, text="", seconds=60):
        """Wait until a visible element of a selector contains a text."""
        self.until(
            f"[...document.querySelectorAll({json.dumps(selector)})].some((e) => e.checkVisibility() && "
            f"e.textContent.includes({json.dumps(text)}))",
            seconds,
        )

    def tab(self, key):
        """Open a tab of a side pane."""
        self.run(f"document.getElementById('tab-{key}').click()")

    def table(self, name):
        """Show one of the open tables."""
        if self.text(".table-picker .picked") != name:
            self.run("document.documentElement.removeAttribute('data-ready')")
            self.click(".table-picker")
            self.click(".option", name)
            self.until("document.documentElement.dataset.ready")

    def api(self, path, method="GET", body=None):
        """Ask the server as a script would."""
        more = (
            f", body: {json.dumps(json.dumps(body))}, headers: {{'Content-Type': 'application/json'}}" if body else ""
        )
        return self.run(f"fetch('/api{path}', {{ method: '{method}'{more} }}).then((a) => a.json())")

    def tool(self, name):
        """Choose a tool of the maps."""
        self.run(f"document.querySelector('.lv-tools input[value={name}]').click()")

    def plot(self, number=0):
        """Left, top, right and bottom of a map on the screen."""
        return self.run(
            f"(() => {{ const r = document.querySelectorAll('.lv-plot')[{number}].getBoundingClientRect();"
            "return [r.left, r.top, r.right, r.bottom]; })()"
        )

    def key(self, name):
        """Press a key as the browser's own controls need it: Escape closes, Tab moves on, Enter presses a button."""
        code, text = {"Escape": (27, ""), "Tab": (9, ""), "Enter": (13, "\r")}[name]
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.browser.call(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **more
            )

    def escape(self):
        """Press Escape."""
        self.key("Escape")

    def walk_to(self, selector, text=""):
        """Press Tab until an element of a selector that contains a text has the focus."""
        here = (
            f"document.activeElement?.matches({json.dumps(selector)}) && "
            f"document.activeElement.textContent.includes({json.dumps(text)})"
        )
        for _ in range(150):
            if self.run(f"Boolean({here})"):
                return
            self.key("Tab")
        raise AssertionError(f"Tab does not lead to {selector} {text}")

    def write(self, text):
        """Type a text where the focus is."""
        self.browser.call("Input.insertText", text=text)

    def drawn(self, number=0):
        """A number that changes when the picture of a map changes."""
        return self.run(
            f"(() => {{ const {{ data }} = {COPY % number};"
            "let sum = 0; for (let i = 0; i < data.length; i++) sum = (sum * 31 + data[i]) | 0; return sum; })()"
        )

    def hover(self, number=0):
        """Move the pointer over a point of a map."""
        left, top, right, _ = self.plot(number)
        at, wide = self.run(
            f"(() => {{ const {{ data, width }} = {COPY % number};"
            "let i = 3; while (i < data.length && data[i] < 200) i += 4; return [i >> 2, width]; })()"
        )
        x, y = left + at % wide * (right - left) / wide, top + at // wide * (right - left) / wide
        self.browser.mouse("mouseMoved", x - 2, y)
        self.browser.mouse("mouseMoved", x, y + 5)  # from its upper edge towards its middle
        self.sees(".lv-tip")

    def saved(self, ending):
        """The text of a file that the page offered to save."""
        find = f"window.saved.find((f) => f.name.endsWith({json.dumps(ending)}) && f.text !== undefined)"
        self.until(find)
        text = self.run(f"{find}.text")
        self.run("window.saved.length = 0")
        return text

    def wait(self, seconds):
        """Let a moment pass."""
        time.sleep(seconds)
