"""States of the explorer's page that need a table or a browser of their own."""

import shutil

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("PIL")

from PIL import Image
from tests.pages.explorer_page import Person, Server
from tests.study.report.browser import Browser, chromium

from lowland.data.write import write_columns

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium: install it or name it in LOWLAND_CHROMIUM")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    write_columns({f"c{j}": rng.normal(size=50) for j in range(90)}, folder / "ninety.parquet")
    classes = np.array([f"a class with a long name, number {i % 200:03d}" for i in range(1_000)])
    remarks = np.array([f"nothing to remark about row {i}" for i in range(1_000)])
    numbers = {name: rng.normal(size=1_000) for name in "xyz"}
    write_columns({**numbers, "class": classes, "remark": remarks}, folder / "classes.parquet")
    (folder / "pictures").mkdir()
    for i in range(12):
        Image.fromarray(rng.integers(0, 255, (6, 6), dtype=np.uint8)).save(folder / "pictures" / f"{i}.png")
    server = Server(folder, tmp_path_factory.mktemp("workspace"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def person(server, tmp_path_factory):
    """The page before any table was opened; at the end, nothing was written to the console."""
    folder = tmp_path_factory.mktemp("chromium")
    browser = Browser(chromium(), folder, 1600, 1000)
    person = Person(browser)
    person.visit(server.address)
    person.sees(".empty", "Drop a file here")
    yield person
    person.run("0")
    problems = browser.problems
    browser.close()
    shutil.rmtree(folder, ignore_errors=True)
    assert problems == []


def test_a_table_that_was_opened_elsewhere_is_shown_if_the_page_shows_none(person):
    table = person.api("/tables", "POST", {"path": "ninety.parquet"})
    person.until(f"document.documentElement.dataset.ready === {table['id']!r}")
    person.sees(".table-picker", "ninety.parquet")


def test_a_row_of_many_columns_shows_its_values(person):
    person.until("document.querySelector('.lv-panel[data-drawn]')")
    person.type(".search input", "0")
    person.click(".result")
    person.sees("#pane-point .values", "c0")
    person.sees("#pane-point .note", "30 more columns")


def test_a_folder_of_images_is_opened_as_one_table(person):
    person.tab("data")
    person.type(".columns-box input", "c7")
    person.run("document.documentElement.removeAttribute('data-ready')")
    person.press("o", "KeyO")
    person.click(".file", "pictures")
    person.click(".file", "Open this folder as one table")
    person.until("document.documentElement.dataset.ready")
    person.sees(".table-summary", "12 rows")
    assert person.run("document.querySelector('.columns-box input').value") == ""


def test_a_column_of_many_long_class_names_colors_the_points(person):
    person.run("document.documentElement.removeAttribute('data-ready')")
    person.press("o", "KeyO")
    person.click(".file", "classes.parquet")
    person.until("document.documentElement.dataset.ready")
    person.click(".color-control .picker")
    person.sees(".option", "class")
    assert not person.run("[...document.querySelectorAll('.option')].some((e) => e.textContent.includes('remark'))")
    person.click(".option", "class")
    person.sees(".lv-legend", "number 000")
    person.sees(".lv-legend input[placeholder*='200 classes']")
