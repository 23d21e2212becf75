"""Timings of the shared view in headless Chromium, without a GPU: python -m benchmarks.pages.

First picture, frames while the map is moved and zoomed, lasso, hover, and the memory of the page, for one map of
1,000,000 rows and for 20 linked maps of 50,000.
"""

from __future__ import annotations

import math
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

WATCH = """(() => {
  window.gaps = []; window.watching = true; let last = performance.now();
  const tick = (now) => { gaps.push(now - last); last = now; if (watching) requestAnimationFrame(tick); };
  requestAnimationFrame(tick); view.stage.frames.length = 0;
})()"""


def memory(browser) -> tuple[float, float]:
    """Objects and arrays of the page, and its whole process, in MB."""
    browser.call("HeapProfiler.collectGarbage")
    usage = browser.call("Runtime.getHeapUsage")
    heap = (usage["usedSize"] + usage.get("backingStorageSize", 0)) / 1e6
    resident = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            same = (
                int((folder / "stat").read_text().rpartition(")")[2].split()[3]) == browser.process.pid
            )  # the session
            if same and "--type=renderer" in (folder / "cmdline").read_text():
                lines = (folder / "smaps_rollup").read_text().splitlines()
                resident = max(resident, *(int(line.split()[1]) / 1e3 for line in lines if line.startswith("Pss:")))
        except (OSError, IndexError, ValueError):
            continue  # it has ended
    return heap, resident


def still(browser) -> None:
    browser.until("view.stage.still")


def frames(browser, name: str, act) -> None:
    """Do something and say how long the frames took meanwhile."""
    browser.run(WATCH)
    act()
    browser.run("window.watching = false")
    gaps = browser.run("gaps.slice(1)")
    spent = browser.run("view.stage.frames.filter((f) => f.moving).map((f) => f.spent)")
    points = browser.run("view.stage.frames.filter((f) => f.moving).map((f) => f.written)")
    still(browser)
    full = browser.run("view.stage.frames.filter((f) => !f.moving).map((f) => f.spent)")
    print(
        f"  {name}: {len(spent)} frames drawn, {statistics.median(spent or [0]):.0f} ms median and "
        f"{max(spent or [0]):.0f} ms at most for {statistics.median(points or [0]):,.0f} points; "
        f"longest time between frames {max(gaps):.0f} ms; then all points in {sum(full):.0f} ms"
    )


def circle(browser, middle, radius, steps=60) -> None:
    x, y = middle
    at = [
        (x + radius * math.cos(2 * math.pi * i / steps), y + radius * math.sin(2 * math.pi * i / steps))
        for i in range(steps)
    ]
    browser.mouse("mouseMoved", *at[0])
    browser.mouse("mousePressed", *at[0], "left", 1, clickCount=1)
    for place in at[1:]:
        browser.mouse("mouseMoved", *place, "left", 1)
    began = time.perf_counter()
    browser.mouse("mouseReleased", *at[-1], "left", 0, clickCount=1)
    browser.until("view.selectedCount > 0")
    still(browser)
    print(
        f"  lasso: {browser.run('view.selectedCount'):,} rows selected and drawn {time.perf_counter() - began:.2f} s "
        "after the button is released"
    )


def clock(browser, code: str) -> float:
    """How long a statement takes in the page, in milliseconds."""
    return browser.run(f"(async () => {{ const b = performance.now(); {code}; return performance.now() - b; }})()")


def measure(browser, page, options: str) -> None:
    browser.open(page)
    # Data first; the clock starts when it is there.
    browser.run(f"window.data = lowland.data({options}); 0")
    took = browser.run(
        "(async () => { const began = performance.now(); window.view = lowland.viewOf(data);"
        "await view.ready; await new Promise((done) => {"
        "const look = () => view.stage.still ? done() : setTimeout(look, 2); setTimeout(look, 2); });"
        "await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));"
        "return performance.now() - began; })()"
    )
    print(f"  first picture: {took / 1000:.2f} s")
    still(browser)
    box = browser.run(
        "(({ left, top, width, height }) => [left + width / 2, top + height / 2, Math.min(width, height) / 3])"
        "(view.panels[0].plot.getBoundingClientRect())"
    )
    middle, radius = (box[0], box[1]), box[2]
    frames(browser, "move", lambda: browser.drag(middle, (middle[0] + radius, middle[1] + radius / 2), steps=60))

    def wheel(by):
        for _ in range(20):
            browser.mouse("mouseWheel", *middle, deltaX=0, deltaY=by, modifiers=2)

    frames(browser, "zoom in", lambda: wheel(-40))
    frames(browser, "zoom out", lambda: wheel(40))
    browser.run("view.set({tool: 'lasso'}); view.panels[0].goHome()")
    still(browser)
    circle(browser, middle, radius)
    browser.run("view.clearSelection()")
    still(browser)
    first, then = (
        clock(browser, f"{what}view.panels[0].rowAt(200, 200)") for what in ("view.panels[0].grid = null; ", "")
    )
    colored = clock(browser, "await view.colorBy({ kind: 'column', column: 1 })")
    print(f"  hover: {first:.0f} ms at first, then {then:.1f} ms; color by a column: {colored:.0f} ms and a picture")
    still(browser)
    frames(browser, "morph", lambda: (browser.run("view.morph('m0', view.maps.at(-1).key)"), time.sleep(1)))
    heap, resident = memory(browser)
    print(f"  memory: {heap:.0f} MB of objects and arrays, {resident:.0f} MB of the whole process of the page")


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from tests.pages.pages import write_page
    from tests.study.report.browser import Browser, chromium

    folder = Path(tempfile.mkdtemp())
    browser = Browser(chromium(), folder / "profile")
    try:
        page = write_page(folder)
        for name, options in (
            (
                "one map of 1,000,000 rows",
                "{n: 1e6, maps: 2, classes: 20, fit: 'fill', layout: {mode: 'single', key: 'm0'}}",
            ),
            ("20 linked maps of 50,000 rows", "{n: 5e4, maps: 20, classes: 20, fit: 'fill', settings: {linked: true}}"),
            ("one map of 5,000 rows", "{n: 5e3, maps: 1, classes: 20, fit: 'fill'}"),
        ):
            browser.size(1400, 1000)
            print(name)
            measure(browser, page, options)
        if browser.problems:
            raise SystemExit(f"Problems in the page: {browser.problems}")
    finally:
        browser.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
