"""Pictures of the pages, taken by Chromium: ``python docs/screens.py`` draws explorer.png and report.png.

``generate.py`` draws all other pictures; these two need a browser, and come from the tests' one. To look at the
explorer itself, ``python docs/screens.py FOLDER`` draws ten states of it in four sizes, light and dark.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

import numpy as np  # noqa: E402

import lowland  # noqa: E402
from lowland.data.write import write_columns  # noqa: E402

SIZES = ((1000, 700), (1440, 900), (2560, 1300), (720, 450))  # the last: the second at 200%


def main() -> None:
    """Take both pictures, or those of all states."""
    from tests.study.report.browser import fresh_browser

    browser = fresh_browser(width=1650)
    with tempfile.TemporaryDirectory() as folder:
        write_wine(Path(folder))
        if len(sys.argv) > 1:
            states(browser, Path(folder), Path(sys.argv[1]))
        else:
            explorer(browser, Path(folder))
            report(browser, Path(folder))


def write_wine(folder: Path) -> None:
    """Write the wines with their cultivars to wine.parquet."""
    wine = lowland.data.load_dataset("wine")
    columns = {name: wine.X[:, j] for j, name in enumerate(wine.names)}
    cultivars = np.array(["Barolo", "Grignolino", "Barbera"])[wine.y]
    write_columns({**columns, "cultivar": cultivars}, folder / "wine.parquet")


def explorer(browser: Any, folder: Path) -> None:
    """Four maps of wine with a selection; the columns on the left, what sets the selection apart on the right."""
    from tests.explorer.server import Explorer
    from tests.pages.explorer_page import Person

    server = Explorer(folder, folder / "workspace")
    try:
        person = Person(browser)
        browser.size(1650, 1030)
        person.visit(server.page)
        person.show("wine.parquet")
        for method in ("TSNE", "UMAP", "Isomap"):
            person.compute(method, random_state=0) if method != "Isomap" else person.compute(method, n_neighbors=12)
        person.drawn_maps(4)
        person.color_by("cultivar")
        person.select(0.45)
        person.tab("data")
        person.tab("selection")
        person.settle()
        save(browser, "explorer")
        person.leave()
    finally:
        server.stop()


def states(browser: Any, folder: Path, pictures: Path) -> None:
    """Ten states of the explorer, from an empty page to a damaged file, as STATE-WIDTH-SCHEME.png."""
    from tests.explorer.server import FOREVER, Explorer
    from tests.pages.explorer_page import Person

    (folder / "damaged.parquet").write_bytes(b"PAR1 no table")
    digits = lowland.data.load_dataset("digits")
    np.savez(folder / "digits.npz", X=digits.X, y=digits.y)
    np.save(folder / "large.npy", np.random.default_rng(0).normal(size=(6_000, 10)))
    pictures.mkdir(parents=True, exist_ok=True)
    server = Explorer(folder, folder / "workspace")
    person = Person(browser)
    ready = "document.documentElement.dataset.ready"

    def pane(key: str) -> None:
        """Open a pane, which is closed in a narrow window at first."""
        person.tab(key)
        side = f"document.getElementById('pane-{key}').closest('.side')"
        if not browser.run(f"{side}.checkVisibility({{ visibilityProperty: true }})"):
            key = browser.run(f"{side}.matches('.left') ? '[' : ']'")
            person.press(key, "", key)
        person.settle()

    def take(state: str, shown: str | None = None, act: Callable[[], None] = lambda: None) -> None:
        for width, height in reversed(SIZES):
            browser.size(width, height)
            person.settle()
            if shown is not None:
                pane(shown)
            act()
            for scheme in ("light", "dark"):
                browser.media("", scheme)
                person.settle()
                browser.picture(pictures / f"{state}-{width}-{scheme}.png")
        browser.size(*SIZES[1])

    def roles() -> None:
        person.escape()
        person.click("[aria-label^='Role of ash']")

    def zoomed() -> None:
        browser.run("document.querySelector('.lv-plot').focus()")
        person.press("0", "Digit0", "0")
        for _ in range(9):
            person.press("+", "Equal", "+")

    try:
        browser.size(*SIZES[1])
        person.visit(server.page)
        take("1-empty")
        table = person.api("/tables", "POST", {"path": "wine.parquet", "first_map": None})["id"]
        person.until(f"{ready} === {table!r}")
        take("2-read")
        take("3-roles", "data", roles)
        person.escape()
        person.show("large.npy")
        made = person.compute("TSNE", **FOREVER)
        person.asks(f"/maps/{made}", lambda one: one["version"] > 3)
        take("4-computing")
        person.api(f"/maps/{made}/cancel", "POST")
        person.show("wine.parquet")
        take("5-one-map")
        for method in ("TSNE", "UMAP"):
            person.compute(method, random_state=0)
        person.compute("Isomap", n_neighbors=12)
        person.drawn_maps(4)
        person.asks("/maps", lambda maps: all(each["measured"] for each in maps if each["status"] == "done"))
        person.color_by("cultivar")
        person.select(0.45)
        person.sees(".contrast-line")
        take("6-four-maps", "selection")
        browser.run("document.querySelector('[aria-label=\"Clear the selection\"]').click()")
        person.color_by("flavanoids")
        take("7-charts", "data", lambda: browser.run("document.querySelector('.columns-list').scrollIntoView()"))
        person.tab("maps")
        person.click(".map-name", "PCA")
        person.click(".answers button", "Test it")
        person.sees(".answers .summary")
        take("9-real", "map")
        person.show("digits.npz")
        person.click(".images button", "These are images")
        person.sees(".images", "Each row is an image of 8 × 8 pixels")
        person.drawn_maps(1)
        person.select(0.9)
        person.until("document.querySelector('.mean-image img')?.naturalWidth === 8")
        take("8-images", "selection", zoomed)
        damaged = person.api("/tables", "POST", {"path": "damaged.parquet"})["id"]
        browser.run(f"location.hash = 'table={damaged}'")
        person.sees(".empty.failed")
        take("10-damaged")
        person.leave()
    finally:
        server.stop()


def report(browser: Any, folder: Path) -> None:
    """The report of a study of wine, with rows selected in the first map."""
    from tests.pages.explorer_page import Person

    with contextlib.chdir(folder):  # the report shows the path as it was written
        study = lowland.compare("wine.parquet", "cultivar", ["pca", "tsne", "umap", "isomap", "mds", "lda"])
    study.report(folder / "report.html")
    browser.size(1650, 1030)
    browser.open(folder / "report.html")
    person = Person(browser)
    person.tool("box")
    person.path([(0.01, 0.01), (0.3, 0.5), (0.5, 0.99)])
    time.sleep(2)  # the list of what sets the rows apart is computed later
    person.settle()
    save(browser, "report")


def save(browser: Any, name: str) -> None:
    """Write what is seen in 256 colors."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        browser.picture(Path(folder) / "seen.png")
        seen = Image.open(io.BytesIO((Path(folder) / "seen.png").read_bytes())).convert("RGB")
    small = seen.quantize(256, dither=Image.Dither.NONE)
    small.save(DOCS / "pictures" / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
