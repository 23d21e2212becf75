"""The explorer as a person has it: the real server with its workers, and a browser that is driven by the tests."""

import csv
import json
import os
import time
from pathlib import Path

import numpy as np
from tests.explorer.server import FOREVER
from tests.study.report.browser import PATIENCE

from lowland.data import load_dataset
from lowland.data.write import write_columns

SCRIPT = "<script>alert(1)</script>"  # as a name, it must run nothing
IMAGE = "<img src=x onerror=alert(2)>"
TRIES = (2, 5, 20, PATIENCE)  # seconds to wait for what a gesture does, before it is made again

# What the page offers to save is kept instead: [{name, text}].
KEEP_FILES = """(() => {
  const blobs = new Map(), make = URL.createObjectURL;
  window.saved = [];
  URL.createObjectURL = (blob) => { const address = make.call(URL, blob); blobs.set(address, blob); return address; };
  const click = HTMLAnchorElement.prototype.click;
  HTMLAnchorElement.prototype.click = function () {
    if (!this.download) return click.call(this);
    const file = { name: this.download, blob: blobs.get(this.href) };
    window.saved.push(file);
    file.blob.text().then((text) => { file.text = text.slice(0, 5000); });
  };
})()"""

# Answers to requests that change something at an address are held back until the test lets them go.
HOLD_ANSWERS = """(() => {
  const ask = window.fetch;
  window.fetch = async (path, options) => {
    const answer = await ask(path, options);
    if (options?.method !== 'POST' || path !== %r) return answer;
    await new Promise((done) => (window.letAnswer = done));
    return answer;
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


def write_tables(folder):
    """A folder of tables of all sorts: small, wide, with many classes, damaged, with hostile names, of images."""
    from openpyxl import Workbook
    from PIL import Image

    rng = np.random.default_rng(0)
    iris = load_dataset("iris")
    columns = {f"measure {j}": iris.X[:, j] for j in range(4)}
    names = np.array([f"flower {i}" for i in range(150)])
    write_columns({"flower": names, **columns, "species": np.array(iris.label_names)[iris.y]}, folder / "iris.parquet")
    write_columns({name: values[:20] + 0.05 for name, values in columns.items()}, folder / "new.parquet")
    long = np.array([f"a class with a long name, number {i % 200:03d}" for i in range(1_000)])
    remarks = np.array([f"nothing to remark about row {i}" for i in range(1_000)])
    numbers = {name: rng.normal(size=1_000) for name in "xyz"}
    write_columns({**numbers, "class": long, "remark": remarks}, folder / "classes.parquet")
    write_columns({f"c{j}": rng.normal(size=50) for j in range(90)}, folder / "ninety.parquet")
    np.save(folder / "wide.npy", rng.normal(size=(24, 10_000)).astype(np.float32))
    np.save(folder / "large.npy", rng.normal(size=(6_000, 10)))
    np.savez(folder / "arrays.npz", first=rng.normal(size=(20, 3)), second=rng.normal(size=(30, 4)))
    book = Workbook()
    for number, sheet in enumerate((book.active, book.create_sheet("Second"))):
        sheet.append([f"a{number}", f"b{number}"])
        for row in rng.normal(size=(12 + number, 2)):
            sheet.append(row.tolist())
    book.save(folder / "book.xlsx")
    with (folder / "people.csv").open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow(["person", "joined", "age", "height", "remark"])
        words = ["tall", "short", "quick", "calm", "loud", "shy", "keen", "bold"]
        for i in range(60):
            remark = " ".join(rng.choice(words, 5)) + f" {i}"
            age, height = 20 + 30 * (i % 2) + rng.normal(), 170 + rng.normal()
            write.writerow([f"P{i:03d}", f"20{10 + 10 * (i % 2)}-03-{1 + i % 28:02d}", age, height, remark])
    (folder / "european.csv").write_text("a;b\n" + "\n".join(f"{i},5;{i * i % 7}" for i in range(12)) + "\n")
    (folder / "damaged.parquet").write_bytes(b"PAR1 no table")
    (folder / "damaged.csv.gz").write_bytes(b"\x1f\x8b no archive")
    with (folder / "hostile.csv").open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow([SCRIPT, "x", "class"])
        for i in range(40):
            write.writerow([*rng.normal(size=2).round(3), f"{IMAGE} {i % 2}"])
    hostile = {SCRIPT: rng.normal(size=60), IMAGE: rng.normal(size=60), "</script>": rng.normal(size=60)}
    cells = np.array([f"{IMAGE} {i % 3}" for i in range(60)])
    names = np.array([f"{SCRIPT} {i}" for i in range(60)])
    write_columns({"<b>name</b>": names, **hostile, "<i>class</i>": cells}, folder / f"{IMAGE}.parquet")
    (folder / "pictures").mkdir()
    for i in range(24):
        picture = np.full((6, 6), 40 if i % 2 else 200, np.uint8) + rng.integers(0, 20, (6, 6)).astype(np.uint8)
        Image.fromarray(picture).save(folder / "pictures" / f"picture {i}.png")
    return folder


class Person:
    """What a person does in the page: clicks on words, types, and waits until something is seen."""

    def __init__(self, browser):
        self.browser = browser
        self.expected = ()  # parts of what the browser may write to its console: the page tells it, too
        self.run, self.press, self.settle = browser.run, browser.press, browser.settle

    def until(self, code, seconds=PATIENCE):
        """Wait until an expression is true; else keep a picture of what was seen, where LOWLAND_PICTURES says."""
        try:
            self.browser.until(code, seconds)
        except TimeoutError:
            if os.environ.get("LOWLAND_PICTURES"):
                self.browser.picture(Path(os.environ["LOWLAND_PICTURES"]) / f"failed-{time.time():.0f}.png")
            raise

    def until_it_works(self, act, code):
        """Do again what may miss, since scores or a badge in its heading move a map, until an expression is true."""
        for seconds in TRIES:
            done = act()
            try:
                self.browser.until(code, seconds)
            except TimeoutError:
                continue
            return done
        self.until(code, 0)

    def visit(self, address):
        """Load the page."""
        self.browser.call("Page.navigate", url="about:blank")
        self.browser.call("Page.navigate", url=address)
        self.until("document.documentElement?.dataset.started")
        self.run(KEEP_FILES)

    def open_tab(self, address):
        """Open an address in another tab, close it, and come back."""
        tab = self.browser.tab(address)
        self.browser.call("Page.bringToFront")  # a page behind another one draws nothing and hears nothing
        self.until("!document.querySelector('.lost').checkVisibility()")
        self.browser.call("Target.closeTarget", targetId=tab)

    def answer_late(self, path):
        """From now on, answers to POST at this address wait until ``let_answer``: events about them come first."""
        self.run(HOLD_ANSWERS % path)

    def let_answer(self):
        """Let the answer that is held back reach the page."""
        self.until("window.letAnswer")
        self.run("window.letAnswer()")
        self.settle()

    def leave(self):
        """Close the page; what it wrote to the console is known."""
        self.run("0")
        self.browser.call("Page.navigate", url="about:blank")

    def show(self, name):
        """Open a file of the folder, as a script would, and wait for its first map; return the id of its table."""
        table = self.api("/tables", "POST", {"path": name})["id"]
        if self.run(f"location.hash !== '#table={table}'"):
            self.run(f"location.hash = 'table={table}'")
        self.until(f"document.documentElement.dataset.ready === {table!r}")
        self.drawn_maps(1)
        return table

    def open(self, name):
        """Open a file of the folder by the keyboard and the mouse; return the id of its table."""
        self.run("document.documentElement.removeAttribute('data-ready')")
        self.press("o", "KeyO")
        self.click(".file", name)
        self.until("document.documentElement.dataset.ready")
        return self.run("document.documentElement.dataset.ready")

    def drawn_maps(self, number):
        """Wait until so many finished maps are drawn."""
        self.until(f"document.querySelectorAll('.lv-panel[data-status=done][data-drawn]').length === {number}")
        self.settle()

    def compute(self, method="TSNE", **parameters):
        """Start a map of the table that is shown, as a script would; t-SNE without parameters never ends."""
        table = self.run("document.documentElement.dataset.ready")
        wanted = parameters or (FOREVER if method == "TSNE" else {})
        return self.api("/maps", "POST", {"table": table, "method": method, "parameters": wanted})["id"]

    def asks(self, address, holds):
        """Ask the server until something holds and return the answer."""
        return self.waits(lambda: self.api(address), holds)

    def waits(self, look, holds):
        """Look again and again until something holds and return what was seen."""
        end = time.monotonic() + PATIENCE
        while not holds(found := look()):
            assert time.monotonic() < end, f"{found!r} did not change"
            time.sleep(0.02)
        return found

    def choose_method(self, name):
        """Open the form of a method."""
        self.tab("methods")
        self.run("document.querySelector('.chosen:not([hidden]) .back')?.click()")
        self.type("#pane-methods input[type=search]", "")
        self.click(".method", name)
        self.sees(".chosen h2", name)

    def color_by(self, name):
        """Choose what the colors show; the list is opened again while the trust of the points is being measured."""
        option = f"[...document.querySelectorAll('.option')].some((e) => e.textContent.includes({json.dumps(name)}))"

        def open_list():
            if self.run("document.querySelector('.picker-box') !== null"):
                self.escape()
            self.click(".color-control .picker")

        self.until_it_works(open_list, option)
        self.click(".option", name)

    def path(self, points, modifiers=0):
        """Drag along points given as fractions of the first map."""
        left, top, right, bottom = self.plot()
        places = [(left + u * (right - left), top + v * (bottom - top)) for u, v in points]
        mouse = self.browser.mouse
        mouse("mouseMoved", *places[0])
        mouse("mousePressed", *places[0], "left", 1, clickCount=1, modifiers=modifiers)
        for x, y in places[1:]:
            mouse("mouseMoved", x, y, "left", 1, modifiers=modifiers)
        mouse("mouseReleased", *places[-1], "left", 0, clickCount=1, modifiers=modifiers)

    def select(self, fraction=0.5):
        """Select the rows on the left of the first map; return how many they are."""
        path = [(0.01, 0.01), (fraction / 2, 0.5), (fraction, 0.99)]
        selected = "/^\\d.*selected/.test(document.querySelector('#pane-selection h2').textContent)"
        self.until_it_works(lambda: (self.tool("box"), self.path(path)), selected)
        self.tool("look")
        return self.selected()

    def selected(self):
        """How many rows are selected."""
        text = self.text("#pane-selection h2").split()[0].replace(",", "")
        return 0 if text == "No" else int(text)

    def click_point(self):
        """Click on a row of the first map; return its number."""
        self.tool("look")

        def click():
            x, y = self.hover()
            for kind in ("mousePressed", "mouseReleased"):
                self.browser.mouse(kind, x, y, "left", int(kind == "mousePressed"), clickCount=1)

        self.until_it_works(click, "document.querySelector('#pane-point h2').textContent.startsWith('Row')")
        return int(self.text("#pane-point h2").split()[1])

    def reload(self):
        """Load the page again."""
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
        self.until(f"document.querySelector({json.dumps(selector)})")
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

    def sees(self, selector, text="", seconds=PATIENCE):
        """Wait until a visible element of a selector contains a text."""
        self.until(
            f"[...document.querySelectorAll({json.dumps(selector)})].some((e) => e.checkVisibility() && "
            f"e.textContent.includes({json.dumps(text)}))",
            seconds,
        )

    def tab(self, key):
        """Open a tab of a side pane."""
        self.run(f"document.getElementById('tab-{key}').click()")

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

    def at_rest(self, number=0):
        """The same once the quality of all maps is known, which is in their headings, and nothing moves."""
        self.asks("/maps", lambda maps: all(each["measured"] for each in maps))
        self.until(
            "[...document.querySelectorAll('.lv-panel')].every((e) => e.querySelectorAll('.lv-facts b').length === 2)"
        )
        before, picture = None, self.drawn(number)
        while picture != before:
            self.settle()
            before, picture = picture, self.drawn(number)
        return picture

    def hover(self, number=0):
        """Move the pointer over a point of a map; return where it is."""

        def move():
            left, top, right, _ = self.plot(number)
            at, wide = self.run(
                f"(() => {{ const {{ data, width }} = {COPY % number};"
                "let i = 3; while (i < data.length && data[i] < 200) i += 4; return [i >> 2, width]; })()"
            )
            x, y = left + at % wide * (right - left) / wide, top + at // wide * (right - left) / wide
            self.browser.mouse("mouseMoved", x - 2, y)
            self.browser.mouse("mouseMoved", x, y + 5)  # from its upper edge towards its middle
            return x, y + 5

        return self.until_it_works(move, "document.querySelector('.lv-tip')?.checkVisibility()")

    def colored(self, number=0):
        """How many pixels of a map are neither white nor gray."""
        return self.run(
            f"(() => {{ const {{ data }} = {COPY % number}; let many = 0; for (let i = 0; i < data.length; i += 4)"
            "if (data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) - "
            "Math.min(data[i], data[i + 1], data[i + 2]) > 60) many++; return many; })()"
        )

    def saved(self, ending):
        """The text of a file that the page offered to save."""
        find = f"window.saved.find((f) => f.name.endsWith({json.dumps(ending)}) && f.text !== undefined)"
        self.until(find)
        text = self.run(f"{find}.text")
        self.run("window.saved.length = 0")
        return text
