"""Journeys through the explorer's page that need other files, a second browser, or a server that fails."""

import os
import shutil

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from tests.pages.explorer_page import Person, Server
from tests.study.report.browser import Browser, chromium

from lowland.data.write import write_columns

pytestmark = pytest.mark.skipif(
    chromium() is None,
    reason="no Chromium: install it (Debian: apt-get install chromium) or name it in LOWLAND_CHROMIUM",
)
EVIL = "<img src=x onerror=alert(1)>"
CODE = "<script>alert(2)</script>"
LIMIT = ("--max-upload", "8MB")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of tables of all sorts."""
    from openpyxl import Workbook
    from PIL import Image

    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    y = np.arange(4_000) % 200
    X = rng.normal(size=(4_000, 5)) + rng.normal(size=(200, 5))[y]
    columns = {f"x{j}": X[:, j] for j in range(5)}
    write_columns({**columns, "kind": np.array([f"class {code:03d}" for code in y])}, folder / "many.parquet")
    np.save(folder / "wide.npy", rng.normal(size=(24, 10_000)).astype(np.float32))
    np.save(folder / "large.npy", rng.normal(size=(6_000, 10)))
    np.savez(folder / "arrays.npz", first=rng.normal(size=(20, 3)), second=rng.normal(size=(30, 4)))
    book = Workbook()
    for number, sheet in enumerate((book.active, book.create_sheet("Second"))):
        sheet.append([f"a{number}", f"b{number}"])
        for row in rng.normal(size=(12 + number, 2)):
            sheet.append(row.tolist())
    book.save(folder / "book.xlsx")
    (folder / "damaged.csv.gz").write_bytes(b"\x1f\x8b no archive")
    (folder / "pictures").mkdir()
    for i in range(24):
        picture = np.full((6, 6), 40 if i % 2 else 200, np.uint8) + rng.integers(0, 20, (6, 6)).astype(np.uint8)
        Image.fromarray(picture).save(folder / "pictures" / f"picture {i}.png")
    cells = np.array([f"{EVIL} {i % 3}" for i in range(60)])
    names = np.array([f"{CODE} {i}" for i in range(60)])
    evil = {CODE: rng.normal(size=60), EVIL: rng.normal(size=60), "</script>": rng.normal(size=60)}
    write_columns({"<b>name</b>": names, **evil, "<i>class</i>": cells}, folder / f"{EVIL}.parquet")
    return folder


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def server(folder, workspace, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))  # none of the person's own maps
        servers = [Server(folder, workspace, *LIMIT)]
        yield servers
        servers[-1].stop()


def started(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chromium")
    browser = Browser(chromium(), folder, 1600, 1000)
    yield browser
    browser.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from started(tmp_path_factory)


@pytest.fixture(scope="module")
def visited(browser, server):
    person = Person(browser)
    person.visit(server[0].address)
    return person


@pytest.fixture
def person(visited, browser):
    """The page; at the end, nothing was written to its console and no dialog popped up."""
    browser.problems.clear()
    browser.dialogs.clear()
    yield visited
    for each in visited.api("/maps"):
        if each["status"] in ("queued", "running"):
            visited.api(f"/maps/{each['id']}/cancel", "POST")
    told = ("status of 4", "status of 5", "ERR_")  # refused by the server and told in the page; the browser tells, too
    assert [problem for problem in browser.problems if not any(text in problem for text in told)] == []
    assert browser.dialogs == []
    visited.run("document.querySelectorAll('dialog').forEach((box) => box.close())")


def open_file(person, name):
    """Open a file of the folder; return the id of its table."""
    person.run("document.documentElement.removeAttribute('data-ready')")
    person.press("o", "KeyO")
    person.click(".file", name)
    person.until("document.documentElement.dataset.ready")
    person.tab("data")
    return person.run("document.documentElement.dataset.ready")


def first_map(person):
    """Wait until the first map is drawn."""
    person.until("document.querySelector('.lv-panel[data-status=done][data-drawn]')")
    person.settle()


def compute(person, table, method="TSNE", **parameters):
    """Start a map as a script would; without parameters, one that never ends."""
    endless = {"max_iter": 10_000_000, "n_iter_without_progress": 10_000_000, "min_grad_norm": 0.0}
    wanted = {"table": table, "method": method, "parameters": parameters or (endless if method == "TSNE" else {})}
    return person.api("/maps", "POST", wanted)["id"]


def until(person, address, holds):
    """Ask the server until something holds."""
    for _ in range(2_000):
        if holds(person.api(address)):
            return
        person.wait(0.02)
    raise AssertionError(f"{address} did not change")


def path(person, points, modifiers=0):
    """Drag along points given as fractions of the first map."""
    left, top, right, bottom = person.plot()
    places = [(left + u * (right - left), top + v * (bottom - top)) for u, v in points]
    mouse = person.browser.mouse
    mouse("mouseMoved", *places[0])
    mouse("mousePressed", *places[0], "left", 1, clickCount=1, modifiers=modifiers)
    for x, y in places[1:]:
        mouse("mouseMoved", x, y, "left", 1, modifiers=modifiers)
    mouse("mouseReleased", *places[-1], "left", 0, clickCount=1, modifiers=modifiers)


def selected(person):
    text = person.text("#pane-selection h2").split()[0].replace(",", "")
    return 0 if text == "No" else int(text)


def test_two_hundred_classes_are_selected_by_box_lasso_brush_and_legend(person):
    open_file(person, "many.parquet")
    first_map(person)
    person.click(".color-control .picker")
    person.click(".option", "kind")
    person.until("document.querySelectorAll('.lv-class').length === 200")
    person.type(".lv-legend input[type=search]", "class 137")
    person.until("document.querySelectorAll('.lv-class').length === 1")
    person.run("document.querySelector('.lv-class').dispatchEvent(new MouseEvent('click', {altKey: true}))")
    person.sees("#pane-selection h2", "20 rows selected")
    person.tool("lasso")
    path(person, [(0.05, 0.05), (0.5, 0.05), (0.5, 0.95), (0.05, 0.95), (0.05, 0.1)])
    person.until("!document.querySelector('#pane-selection h2').textContent.startsWith('20 rows')")
    half = selected(person)
    assert 200 < half < 3_800
    person.tool("box")
    path(person, [(0.5, 0.02), (0.7, 0.5), (0.98, 0.98)], modifiers=8)  # Shift adds
    person.until(f"parseInt(document.querySelector('#pane-selection h2').textContent.replace(',', '')) > {half}")
    both = selected(person)
    person.tool("brush")
    path(person, [(0.4, 0.5), (0.5, 0.5), (0.6, 0.5)], modifiers=1)  # Alt removes
    person.until(f"parseInt(document.querySelector('#pane-selection h2').textContent.replace(',', '')) < {both}")
    assert 0 < selected(person) < both
    person.click("#pane-selection button", "Export")
    person.click("[role=menuitem]", "Parquet")
    assert person.saved(".parquet").startswith("PAR1")
    person.tool("look")


def test_density_and_three_dimensions(person):
    table = person.run("document.documentElement.dataset.ready")
    points = person.drawn()
    person.run("[...document.querySelectorAll('.lv-check')].find((e) => e.textContent === 'Density').click()")
    person.until("document.querySelector('.lv-check input').checked")
    person.settle()
    assert person.drawn() != points
    person.run("[...document.querySelectorAll('.lv-check')].find((e) => e.textContent === 'Density').click()")
    compute(person, table, "PCA", n_components=3)
    person.until("document.querySelectorAll('.lv-panel[data-status=done][data-drawn]').length === 2")
    person.click(".lv-panel:nth-of-type(2) [title='Three dimensions'], .lv-icon-button[title='Three dimensions']")
    person.sees(".lv-field", "z axis")
    person.settle()
    before = person.drawn(1)
    left, top, right, bottom = person.plot(1)
    person.browser.drag(((left + right) / 2, (top + bottom) / 2), (right - 20, bottom - 20))
    person.settle()
    assert person.drawn(1) != before


def test_a_map_unfolds_in_view_and_survives_the_death_of_its_worker(person, server):
    table = open_file(person, "large.npy")
    first_map(person)
    made = compute(person, table)
    person.tab("maps")
    running = "document.querySelector('.lv-panel[data-status=running]')"
    person.until(f"Number({running}?.dataset.drawn) > 1")
    seen = person.drawn(1)
    for _ in range(400):
        if person.drawn(1) != seen:
            break
    assert person.drawn(1) != seen
    assert person.api(f"/maps/{made}")["status"] == "running"
    server[-1].busiest().kill()
    person.sees(".lv-panel[data-status=broken]", "was killed from outside")
    person.sees(".notice.problem", "The table is unharmed")
    person.click(".lv-panel[data-status=broken] button", "Run again")
    person.until(f"Number({running}?.dataset.drawn) > 1")
    person.click(".map-line [aria-label=Cancel]")
    person.until("document.querySelector('.map-line[data-status=canceled]')")
    person.click("#pane-maps button", "Remove those that failed")
    person.until("document.querySelectorAll('.map-line').length === 1")


def test_cancel_while_it_waits_is_fitted_and_is_measured(person):
    table = person.run("document.documentElement.dataset.ready")
    fitted = [compute(person, table) for _ in range(2)]
    waiting = compute(person, table, "PCA", n_components=4)
    person.tab("maps")
    person.until("document.querySelectorAll('.map-line[data-status=running]').length === 2")
    person.sees(".map-line[data-status=queued]", "Waiting for its turn")
    person.run("document.querySelector('.map-line[data-status=queued] [aria-label=Cancel]').click()")
    person.until("document.querySelectorAll('.map-line[data-status=canceled]').length === 1")
    person.click("#pane-maps button", "Cancel all 2")
    person.until("document.querySelectorAll('.map-line[data-status=canceled]').length === 3")
    assert {person.api(f"/maps/{each}")["status"] for each in (*fitted, waiting)} == {"canceled"}
    measured = compute(person, table, "ClassicalMDS")
    until(person, f"/maps/{measured}", lambda one: one["status"] == "done")
    person.api(f"/maps/{measured}/cancel", "POST")
    person.click(".map-line[data-status=done] .map-name", "ClassicalMDS")
    person.sees("#pane-map", "The quality was not measured")  # the map is kept
    assert person.api(f"/maps/{measured}")["status"] == "done"


def test_reading_is_canceled(person, folder):
    os.mkfifo(folder / "endless.csv")  # a file whose rows never come
    before = len(person.api("/tables"))
    person.press("o", "KeyO")
    person.click(".file", "endless.csv")
    person.sees(".empty h1", "Reading endless.csv")
    person.click(".empty button", "Cancel")
    person.until("!document.querySelector('.empty h1')")
    until(person, "/tables", lambda all_: len(all_) == before)
    (folder / "endless.csv").unlink()


def test_sheets_arrays_and_a_damaged_file(person):
    open_file(person, "book.xlsx")
    person.sees(".table-summary", "12 rows")
    person.click(".table-summary button", "Reading")
    person.run("document.documentElement.removeAttribute('data-ready')")
    person.run("[...document.querySelectorAll('.reading .field')].at(-1).querySelector('input').id = 'sheet'")
    person.type("#sheet", "Second")
    person.click(".reading button", "Read again")
    person.sees(".column-name", "b1")
    person.sees(".table-summary", "13 rows")
    person.press("o", "KeyO")
    person.click(".file", "arrays.npz")
    person.sees(".empty.failed", "second")  # the names of the arrays are told
    person.type(".reading input", "second")
    person.click(".reading button", "Read again")
    person.sees(".table-summary", "30 rows, 4 columns")
    person.press("o", "KeyO")
    person.click(".file", "damaged.csv.gz")
    person.sees(".empty.failed", "damaged.csv.gz could not be read")
    assert len(person.text(".empty.failed .lead")) > 20


def test_a_folder_of_images_shows_them_while_hovering(person):
    person.run("document.documentElement.removeAttribute('data-ready')")
    person.press("o", "KeyO")
    person.click(".file", "pictures")
    person.click(".folder button", "Open this folder as one table")
    person.until("document.documentElement.dataset.ready")
    person.sees(".table-summary", "24 rows")
    first_map(person)
    person.tool("look")
    person.hover()
    person.until("document.querySelector('.lv-tip img')?.naturalWidth === 6")


def test_ten_thousand_columns(person):
    open_file(person, "wide.npy")
    first_map(person)
    person.sees(".columns-list", "9,850 more columns")
    person.type("[aria-label='Find a column']", "9999")
    person.until("document.querySelectorAll('.column-line').length < 5")
    name = person.text(".column-line .column-name span")
    person.click(".color-control .picker")
    person.type(".picker-box input", name)
    person.click(".option", name)
    person.sees(".lv-legend", name)
    person.tool("box")
    path(person, [(0.02, 0.02), (0.3, 0.5), (0.55, 0.98)])
    person.sees(".contrast", "What sets them apart")
    person.until("document.querySelectorAll('.contrast-line').length >= 12")
    person.sees(".selected-rows .grid-row")
    person.tool("look")
    person.hover()


def test_hostile_names_and_cells_run_nothing_in_the_page_and_in_the_report(person, tmp_path, folder):
    table = open_file(person, EVIL)
    first_map(person)
    person.sees(".table-picker", EVIL)
    person.sees(".column-name", CODE)
    person.sees(".lv-legend", EVIL)
    person.click(".table-summary button", "Rows")
    person.sees("dialog .grid-row", CODE)
    person.escape()
    person.until("!document.querySelector('dialog')")
    person.tool("look")
    person.hover()
    person.sees(".lv-tip", CODE)
    person.type(".search input", "<script>")
    person.sees(".results", "60 rows found")
    person.click(".result", CODE)
    person.sees("#pane-point .values", EVIL)
    person.click(".color-control .picker")
    person.sees(".option", CODE)
    person.click(".option", EVIL)
    person.sees(".lv-legend", EVIL)
    person.tool("box")
    path(person, [(0.02, 0.02), (0.3, 0.5), (0.6, 0.98)])
    person.sees(".contrast-line", EVIL)
    person.click("#pane-selection button", "Save it")
    person.type("dialog input", EVIL)
    person.click("dialog button.main")
    person.sees(".saved-line", EVIL)
    person.tab("maps")
    person.run("document.querySelector('.map-line [aria-haspopup]').click()")
    person.click("[role=menuitem]", "Rename")
    person.type("dialog input", EVIL)
    person.click("dialog button.main")
    person.sees(".lv-panel h3", EVIL)
    assert person.run("document.querySelectorAll('body script, body img:not(.lv-tip img), i, [onerror]').length") == 0
    (one,) = person.api(f"/maps?table={table}")
    wanted = f"fetch('/api/tables/{table}/report', {{ method: 'POST', headers: {{'Content-Type': 'application/json'}},"
    report = person.run(f"{wanted} body: JSON.stringify({{ maps: ['{one['id']}'] }}) }}).then((a) => a.text())")
    (tmp_path / "report.html").write_text(report, encoding="utf-8")
    here = person.run("location.href")
    person.browser.open(tmp_path / "report.html")
    assert EVIL in person.run("document.body.textContent")
    assert person.run("document.querySelectorAll('img[src=x], [onerror]').length") == 0
    person.visit(here)
    person.until("document.documentElement.dataset.ready")


def test_an_upload_is_canceled_and_one_that_is_too_large_is_not_sent(person, workspace):
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1}
    before = sorted((workspace / "uploads").iterdir())
    person.browser.call("Network.emulateNetworkConditions", uploadThroughput=20_000, **slow)
    person.drop("'1,2\\n'.repeat(1e6)", "slow.csv")
    person.sees(".sending", "Sending slow.csv")
    person.click(".sending button", "Cancel")
    person.sees(".notice", "slow.csv was not sent")
    person.browser.call("Network.emulateNetworkConditions", uploadThroughput=-1, **slow)
    person.drop("'1,2\\n'.repeat(3e6)", "huge.csv")
    person.sees(".notice.problem", "At most 8 MB can be sent")
    person.until("!document.querySelector('.sending')")
    person.wait(0.2)
    assert sorted((workspace / "uploads").iterdir()) == before


def test_the_keyboard_is_enough(person):
    person.run("document.activeElement?.blur(); document.documentElement.removeAttribute('data-ready')")
    person.press("o", "KeyO")
    person.walk_to("dialog .example", "Iris")
    person.key("Enter")
    person.until("document.documentElement.dataset.ready")
    first_map(person)
    person.press("n", "KeyN")
    person.walk_to("#pane-methods input[type=search]")
    person.write("Isomap")
    person.walk_to(".method", "Isomap")
    person.key("Enter")
    person.walk_to(".start button", "Compute the map")
    person.key("Enter")
    person.until("document.querySelectorAll('.lv-panel[data-status=done][data-drawn]').length === 2")
    person.run("document.activeElement?.blur()")
    person.press("/", "Slash", "")
    person.until("document.activeElement?.matches('.search input')")
    person.write("setosa")
    person.sees(".results", "50 rows found")
    person.walk_to(".results button", "Select all")
    person.key("Enter")
    person.sees("#pane-selection h2", "50 rows selected")
    person.walk_to("#pane-selection button", "Save it")
    person.key("Enter")
    person.sees("dialog", "Save the selection")
    person.write("All of setosa")
    person.key("Enter")
    person.sees(".saved-line", "All of setosa")


def test_two_browsers_show_one_study(person, server, tmp_path_factory):
    second = started(tmp_path_factory)
    other = Person(next(second))
    try:
        other.visit(server[-1].address)
        other.table("Iris")
        other.until("document.querySelectorAll('.lv-panel[data-status=done][data-drawn]').length === 2")
        other.sees("#pane-selection h2", "50 rows selected")  # as it was kept
        table = person.run("document.documentElement.dataset.ready")
        compute(person, table, "ClassicalMDS")
        for each in (person, other):
            each.until("document.querySelectorAll('.lv-panel[data-status=done][data-drawn]').length === 3")
        other.tool("box")
        path(other, [(0.02, 0.02), (0.3, 0.5), (0.6, 0.98)])
        other.until("!document.querySelector('#pane-selection h2').textContent.startsWith('50')")
        many = selected(other)
        other.click("#pane-selection button", "Save it")
        other.type("dialog input", "Seen by both")
        other.click("dialog button.main")
        person.sees(".saved-line", "Seen by both")
        assert selected(person) == 50  # each person has a selection
        person.run("document.querySelector('[aria-label=\"Clear the selection\"]').click()")
        person.sees("#pane-selection h2", "No rows selected")
        other.wait(1.0)
        assert selected(other) == many
        assert other.browser.problems == []
    finally:
        next(second, None)


def test_a_killed_server_is_told_and_works_again_and_a_full_disk_is_told(person, server, folder, workspace):
    table = person.run("document.documentElement.dataset.ready")
    compute(person, table)
    person.until("document.querySelector('.map-line[data-status=running]')")
    port = server[-1].port
    server[-1].kill()
    person.sees(".lost", "The server does not answer")
    server.append(Server(folder, workspace, *LIMIT, "--port", port, largest=4096))
    person.sees(".lost", "Open the address")  # it has a new token
    person.browser.call("Target.createTarget", url=server[-1].address)  # another tab, as the command opens it
    person.until("!document.querySelector('.lost').checkVisibility()")
    person.sees(".lv-panel[data-status=broken]", "stopped before the map was finished")
    assert person.run("document.querySelectorAll('.lv-panel[data-status=done]').length") == 3
    person.tab("maps")
    person.click(".map-line[data-status=broken] [aria-label='Run again']")
    person.until("document.querySelector('.map-line[data-status=running]')")
    person.click(".map-line [aria-label=Cancel]")
    person.until("document.querySelector('.map-line[data-status=canceled]')")
    person.drop("'1,2\\n'.repeat(1.5e6)", "full.csv")
    person.sees(".notice.problem", "disk space")
    assert person.api("/tables")  # it goes on
