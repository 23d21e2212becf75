"""The explorer's page in headless Chromium, against the real server and its workers: a journey per feature."""

import csv
import shutil

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from tests.pages.explorer_page import Person, Server
from tests.study.report.browser import Browser, chromium

from lowland.data import load_dataset
from lowland.data.write import write_columns

pytestmark = pytest.mark.skipif(
    chromium() is None,
    reason="no Chromium: install it (Debian: apt-get install chromium) or name it in LOWLAND_CHROMIUM",
)
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of tables: iris with and without its species, a file with hostile names, one that is damaged."""
    folder = tmp_path_factory.mktemp("tables")
    iris = load_dataset("iris")
    columns = {f"measure {j}": iris.X[:, j] for j in range(4)}
    species = np.array(iris.label_names)[iris.y]
    names = np.array([f"flower {i}" for i in range(150)])
    write_columns({"flower": names, **columns, "species": species}, folder / "iris.parquet")
    write_columns({name: values[:20] + 0.05 for name, values in columns.items()}, folder / "new.parquet")
    rng = np.random.default_rng(0)
    with (folder / "hostile.csv").open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow([HOSTILE, "x", "class"])
        for i in range(40):
            write.writerow([*rng.normal(size=2).round(3), f"<img src=x onerror=alert({i % 2})>"])
    (folder / "damaged.parquet").write_bytes(b"PAR1 no table")
    (folder / "european.csv").write_text("a;b\n" + "\n".join(f"{i},5;{i * i % 7}" for i in range(12)) + "\n")
    return folder


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    server = Server(folder, tmp_path_factory.mktemp("workspace"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chromium")
    browser = Browser(chromium(), folder, 1600, 1000)
    yield browser
    browser.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def opened(browser, server):
    """The page with iris and two maps of it."""
    person = Person(browser)
    person.visit(server.address)
    person.sees(".empty", "Drop a file here")
    person.click(".empty button", "Open from the folder")
    person.click(".file", "iris.parquet")
    person.until("document.documentElement.dataset.ready")
    person.tab("methods")
    person.click(".method", "ClassicalMDS")
    person.click(".start button", "Compute the map")
    person.tab("maps")
    person.until("document.querySelectorAll('.map-line[data-status=done]').length === 2")
    person.until("document.querySelectorAll('.lv-panel[data-drawn]').length === 2")
    return person


@pytest.fixture
def person(opened, browser):
    """The page with iris as it was opened; at the end, nothing was written to the console and no dialog popped up."""
    browser.problems.clear()
    browser.dialogs.clear()
    opened.table("iris.parquet")
    yield opened
    opened.run("0")
    assert browser.problems == []
    assert browser.dialogs == []
    opened.run("document.querySelectorAll('dialog').forEach((box) => box.close())")


def select(person, fraction=0.5):
    """Select the rows on the left of the first map."""
    person.tool("box")
    left, top, right, bottom = person.plot()
    person.browser.drag((left + 3, top + 3), (left + fraction * (right - left), bottom - 3))
    person.tool("look")
    person.sees("#pane-selection h2", "selected")
    return int(person.text("#pane-selection h2").split()[0])


def choose_method(person, name):
    """Open the form of a method."""
    person.tab("methods")
    person.run("document.querySelector('.chosen:not([hidden]) .back')?.click()")
    person.type("#pane-methods input[type=search]", "")
    person.click(".method", name)
    person.sees(".chosen h2", name)


def click_point(person, panel=0):
    """Click on a row of a map; return its number."""
    left, top, right, bottom = person.plot(panel)
    person.tool("look")
    for i in range(1, 40):
        for j in range(1, 40):
            x, y = left + i * (right - left) / 40, top + j * (bottom - top) / 40
            person.browser.mouse("mouseMoved", x, y)
            if person.run("document.querySelector('.lv-tip:not([hidden])')?.textContent.includes('Row') ?? false"):
                for kind in ("mousePressed", "mouseReleased"):
                    person.browser.mouse(kind, x, y, "left", int(kind == "mousePressed"), clickCount=1)
                person.sees("#pane-point h2", "Row")
                return int(person.text("#pane-point h2").split()[1])
    raise AssertionError("no point was found")


def test_a_table_shows_its_columns_and_what_was_found(person):
    person.tab("data")
    person.sees(".table-summary", "150 rows, 6 columns")
    assert person.run("document.querySelectorAll('.column-line').length") == 6
    assert "label" in person.run("document.querySelector('.role.label').closest('.column-line').textContent")
    person.sees(".findings", "finding")
    person.sees(".lv-legend", "setosa")


def test_rows_are_looked_at_without_loading_all_of_them(person):
    person.tab("data")
    person.click(".table-summary button", "Rows")
    person.sees("dialog .grid-row", "5.1")
    assert person.run("document.querySelectorAll('dialog .grid-row').length") < 60
    person.run("document.querySelector('dialog .grid-scroll').scrollTop = 1e6")
    person.sees("dialog .grid-row", "149")
    person.run("document.querySelector('dialog').close()")


def test_a_role_is_changed_by_a_menu(person):
    person.tab("data")
    person.click("[aria-label^='Role of measure 3']")
    person.click("[role=menuitemradio]", "Only shown")
    person.sees("[aria-label='Role of measure 3: shown']")
    person.until("!document.querySelector('.table-summary progress')")
    table = person.api("/tables")[0]
    assert {c["name"]: c["role"] for c in table["columns"]}["measure 3"] == "keep"
    person.click("[aria-label^='Role of measure 3']")
    person.click("[role=menuitemradio]", "Feature")
    person.until("!document.querySelector('.table-summary progress')")
    person.sees("[aria-label='Role of measure 3: feature']")


def test_a_file_that_cannot_be_read_says_why_and_how_to_go_on(person):
    person.press("o", "KeyO")
    person.click(".file", "damaged.parquet")
    person.sees(".empty.failed", "not a valid Parquet file")
    person.click(".empty.failed button", "Remove")
    person.click("dialog button.main", "Remove")
    person.sees(".table-picker", "iris.parquet")


def test_the_decimal_mark_is_set_when_a_file_was_misread(person):
    person.press("o", "KeyO")
    person.click(".file", "european.csv")
    person.sees(".table-summary", "12 rows")
    person.click(".table-summary button", "Reading")
    person.choose(".reading select", ";")
    person.click(".reading button", "Read again")
    person.until("document.querySelector('.column-line')?.textContent.includes('0.5 to 11.5')")


def test_a_dropped_file_is_sent_and_its_names_run_nothing(person, folder):
    text = (folder / "hostile.csv").read_text()
    person.drop(repr(text), "dropped.csv")
    person.sees(".table-picker", "dropped.csv")
    person.sees(".column-name", HOSTILE)
    person.sees(".lv-legend", "<img src=x")
    person.until("document.querySelector('.map-line[data-status=done]')")
    assert person.browser.dialogs == []
    assert person.run("document.querySelectorAll('body script, body img:not(.picture)').length") == 0


def test_a_method_is_found_and_wrong_values_are_told_beside_the_field(person):
    person.tab("methods")
    person.run("document.querySelector('.chosen:not([hidden]) .back')?.click()")
    person.type("#pane-methods input[type=search]", "neighbor")
    person.sees(".method", "UMAP")
    person.until("![...document.querySelectorAll('.method b')].some((e) => e.textContent === 'PCA')")
    choose_method(person, "Isomap")
    person.type("input[name=n_neighbors]", "many")
    person.sees(".parameter .wrong", "n_neighbors must be an integer")
    assert person.run("document.querySelector('.start .main').disabled")
    person.type("input[name=n_neighbors]", "7")
    person.sees(".estimate .figures", "Memory")
    person.sees(".estimate .figures", "Time")
    assert not person.run("document.querySelector('.start .main').disabled")


def test_a_map_is_computed_with_parameters_renamed_and_removed(person):
    choose_method(person, "PCA")
    person.type("input[name=n_components]", "3")
    person.click(".start button", "Compute the map")
    person.tab("maps")
    person.until("document.querySelectorAll('.map-line[data-status=done]').length === 3")
    person.sees(".map-line", "n_components=3")
    person.sees(".lv-icon-button[title='Three dimensions']")
    person.run("[...document.querySelectorAll('.map-line')].at(-1).querySelector('[aria-haspopup]').click()")
    person.click("[role=menuitem]", "Rename")
    person.type("dialog input", "In space")
    person.click("dialog button.main")
    person.sees(".lv-panel h3", "In space")
    person.run("[...document.querySelectorAll('.map-line')].at(-1).querySelector('[aria-haspopup]').click()")
    person.click("[role=menuitem]", "Remove")
    person.click("dialog button.main", "Remove")
    person.until("document.querySelectorAll('.lv-panel').length === 2")


def test_a_map_that_fails_says_why_and_can_be_removed(person):
    choose_method(person, "Isomap")
    person.type("input[name=n_neighbors]", "600")
    person.click(".start button", "Compute the map")
    person.tab("maps")
    person.sees(".map-line[data-status=failed]", "n_neighbors=600")
    person.sees(".notice.problem", "n_neighbors")
    person.sees(".lv-panel[data-status=failed]", "150")
    person.click("#pane-maps button", "Remove those that failed")
    person.until("document.querySelectorAll('.lv-panel').length === 2")


def test_a_map_unfolds_in_view_and_is_canceled(person):
    choose_method(person, "TSNE")
    person.click(".further summary")
    person.type("input[name=max_iter]", "100000")
    person.click(".start button", "Compute the map")
    person.tab("maps")
    person.until("Number(document.querySelector('.lv-panel[data-status=running]')?.dataset.drawn) > 2")
    person.click(".map-line [aria-label=Cancel]")
    person.until("document.querySelector('.map-line[data-status=canceled]')")
    person.click("#pane-maps button", "Remove those that failed")
    person.until("document.querySelectorAll('.map-line').length === 2")


def test_colors_show_a_column_trust_clusters_and_distances_in_the_data(person):
    person.click(".color-control .picker")
    person.click(".option", "measure 0")
    person.sees(".lv-legend", "measure 0")
    person.click(".color-control .picker")
    person.click(".option", "trustworthiness")
    person.sees(".lv-legend", "trustworthiness")
    person.click(".color-control .picker")
    person.click(".option", "Clusters…")
    person.type("dialog input[type=number]", "4")
    person.click("dialog button.main", "Find clusters")
    person.sees(".lv-legend", "cluster 4")
    row = click_point(person)
    person.click("#pane-point button", "Color by distance")
    person.sees(".lv-legend", f"distance from row {row}")
    person.click(".color-control .picker")
    person.click(".option", "species")
    person.sees(".lv-legend", "setosa")


def test_neighbors_of_a_point_are_counted_on_all_maps(person):
    row = click_point(person)
    person.until("document.querySelectorAll('.near-line').length === 2")
    found = person.api(f"/tables/{person.api('/tables')[0]['id']}/neighbors?row={row}&k=12")["rows"]
    assert len(found) == 12
    assert all(
        " of 12" in text
        for text in person.run("[...document.querySelectorAll('.near-line small')].map((e) => e.textContent)")
    )
    person.sees(".lv-panel", "12 neighbors")
    person.sees(".values", "measure 3")


def test_rows_are_searched_and_filtered(person):
    person.type(".search input", "flower 77")
    person.click(".result", "flower 77")
    person.sees("#pane-point h2", "Row 77")
    person.type(".search input", "virginica")
    person.sees(".results", "50 rows found")
    person.click(".results button", "Select all")
    person.sees("#pane-selection h2", "50 rows selected")
    person.click(".bar button", "Filter")
    person.type(".condition input", "6")
    person.sees(".chips", "rows shown")
    person.escape()
    iris = load_dataset("iris").X
    person.sees(".chips", f"{(iris[:, 0] > 6).sum()} of 150 rows")
    person.click(".chips .symbol")
    person.until("!document.querySelector('.chips').checkVisibility()")


def test_a_selection_is_compared_saved_exported_and_embedded_anew(person):
    many = select(person)
    assert 10 < many < 150
    person.sees(".contrast", "What sets them apart")
    person.until("document.querySelectorAll('.contrast-line').length >= 4")
    sizes = [
        abs(float(t.replace("−", "-")))
        for t in person.run("[...document.querySelectorAll('.effect-size')].map((e) => e.textContent)")
    ]
    assert sizes == sorted(sizes, reverse=True)
    person.sees(".selected-rows .grid-row", "flower")
    person.click("#pane-selection button", "Save it")
    person.type("dialog input", "On the left")
    person.click("dialog button.main")
    person.sees(".saved-line", "On the left")
    person.click("#pane-selection button", "Export")
    person.click("[role=menuitem]", "CSV")
    lines = person.saved(".csv").splitlines()
    assert len(lines) == many + 1 or sum(map(len, lines)) > 4000
    assert "PCA 1" in lines[0]
    person.run("document.querySelector('[aria-label=\"Clear the selection\"]').click()")
    person.sees("#pane-selection h2", "No rows selected")
    person.click(".saved-line .link", "On the left")
    person.sees("#pane-selection h2", f"{many} rows selected")
    person.click("#pane-selection button", "New table")
    person.type("dialog input", "Left half")
    person.click("dialog button.main", "Create")
    person.sees(".table-picker", "Left half")
    person.sees(".table-summary", f"{many} rows")
    person.sees(".table-summary", "A part of")


def test_a_map_shows_scores_and_charts_and_is_exported(person):
    person.tab("maps")
    person.click(".map-name", "PCA")
    person.sees("#pane-map .figures-list", "trustworthiness")
    person.sees("#pane-map figcaption", "Scree")
    person.sees("#pane-map figcaption", "Loadings of component 1")
    person.sees("#pane-map figcaption", "Shepard")
    person.sees("#pane-map figcaption", "R_NX")
    person.click("#pane-map button", "Code")
    person.sees("dialog pre", "import lowland")
    person.sees("dialog pre", "lowland ")
    person.run("document.querySelector('dialog').close()")
    for item, ending, start in (
        ("PNG", ".png", "\ufffdPNG"),
        ("SVG", ".svg", "<svg"),
        ("Model", ".lowland", "lowland"),
    ):
        person.click("#pane-map button", "Export")
        person.click("[role=menuitem]", item)
        assert start in person.saved(ending)[:300]


def test_a_panel_morphs_to_another_map_and_back(person):
    person.tab("maps")
    person.click(".map-name", "PCA")
    person.sees("#pane-map select")
    other = person.run("document.querySelector('#pane-map select').options[1].value")
    person.choose("#pane-map select", other)
    person.until("[...document.querySelectorAll('.lv-panel h3')].every((e) => e.textContent === 'ClassicalMDS')")
    person.choose("#pane-map select", "")
    person.until("document.querySelector('.lv-panel h3').textContent === 'PCA'")


def test_new_rows_are_placed_on_a_map(person):
    person.tab("maps")
    person.click(".map-name", "PCA")
    person.click("#pane-map button", "From the folder")
    person.click("dialog .file", "new.parquet")
    person.sees(".notice", "20 new rows drawn on PCA")
    person.sees("#pane-map .saved-line", "20 rows")


def test_what_was_seen_is_found_again_after_a_reload(person):
    many = select(person, 0.4)
    person.click(".color-control .picker")
    person.click(".option", "measure 2")
    person.click(".bar button", "Filter")
    person.type(".condition input", "4.5")
    person.sees(".chips", "rows shown")
    person.escape()
    many = int(person.text("#pane-selection h2").split()[0])
    person.wait(1.5)
    person.reload()
    person.sees(".lv-legend", "measure 2")
    person.sees(".chips", "measure 0 > 4.5")
    person.sees("#pane-selection h2", f"{many} rows selected")
    person.click(".chips .symbol")
    person.click(".color-control .picker")
    person.click(".option", "species")
    person.sees(".lv-legend", "setosa")


def test_the_session_is_saved_to_a_file_and_opened_again(person):
    person.run(
        "window.archive = null; (async () => { const [table] = await fetch('/api/tables').then((a) => a.json());"
        "const answer = await fetch(`/api/tables/${table.id}/archive`); window.archive = await answer.blob(); })()"
    )
    person.until("window.archive")
    before = person.run("location.hash")
    person.drop("window.archive", "mine.lowland-session")
    person.until(f"location.hash !== {before!r}")
    person.tab("maps")
    person.until("document.querySelectorAll('.map-line[data-status=done]').length === 2")
    person.tab("data")
    copy = person.run("location.hash")
    person.sees("#pane-selection", "Saved selections")
    person.wait(1.5)  # what is seen is asked for: it would be gone
    person.click(".table-summary button", "Remove")
    person.click("dialog button.main", "Remove")
    person.until(f"location.hash !== {copy!r} && document.documentElement.dataset.ready")


def test_the_report_is_written_as_one_file(person):
    person.click(".bar button", "Save")
    person.click("[role=menuitem]", "Report")
    assert "<!doctype html>" in person.saved(".html").lower()


def test_an_example_and_the_usual_maps_are_one_click_away(person):
    person.click(".bar button", "iris.parquet")
    person.click(".option", "Open other data")
    person.click("dialog .example", "Iris")
    person.sees(".table-picker", "Iris")
    person.until("document.querySelector('.map-line[data-status=done]')")
    person.tab("methods")
    person.run("document.querySelector('.chosen:not([hidden]) .back')?.click()")
    person.click(".usual button", "Compute 4 usual maps")
    person.tab("maps")
    person.until("document.querySelectorAll('.map-line').length === 5")
    person.click("#pane-maps button", "Cancel all")
    person.until("!document.querySelector('.map-line[data-status=running], .map-line[data-status=queued]')")


def test_panes_close_and_the_keys_are_explained(person):
    person.press("?", "Slash", "?")
    person.sees("dialog", "Keys and gestures")
    person.escape()
    person.until("!document.querySelector('dialog')")
    for key, side in (("[", "left"), ("]", "right")):
        person.press(key, "", key)
        person.until(f"document.querySelector('.side.{side}').getBoundingClientRect().width < 2")
        person.press(key, "", key)
        person.until(f"document.querySelector('.side.{side}').getBoundingClientRect().width > 200")


@pytest.mark.parametrize("width", [1000, 1600, 3000])
def test_nothing_is_cut_off(person, width):
    person.browser.size(width, 900)
    person.settle()
    try:
        wide = "[...document.querySelectorAll('.bar, .strip, .side .pane-body, .lv-panel header')]"
        cut = person.run(
            f"{wide}.filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.className)"
        )
        assert cut == []
        assert person.run("document.documentElement.scrollWidth") <= width
    finally:
        person.browser.size(1600, 1000)
        person.settle()


def test_a_stopped_server_is_told(browser, opened, server):
    server.stop()
    opened.sees(".lost", "The server does not answer. It may have been stopped: start lowland explore again.")
