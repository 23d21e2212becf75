"""Pictures of the pages, taken by Chromium: ``python docs/screens.py`` draws explorer.png and report.png.

``generate.py`` draws all other pictures; these two need a browser, and come from the tests' one.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

import numpy as np  # noqa: E402

import lowland  # noqa: E402
from lowland.data.write import write_columns  # noqa: E402


def main() -> None:
    """Take both pictures."""
    from tests.study.report.browser import fresh_browser

    browser = fresh_browser(width=1650)
    with tempfile.TemporaryDirectory() as folder:
        write_wine(Path(folder))
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
