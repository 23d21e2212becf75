"""The explorer in headless Chromium: what is kept, two browsers, the keyboard, narrow screens, a server that fails."""

import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tests.study.report.browser import fresh_browser

from .explorer_page import Person


def test_what_was_seen_is_found_again_after_a_reload(iris):
    many = iris.select(0.4)
    iris.color_by("measure 2")
    iris.sees(".lv-legend", "measure 2")
    iris.click(".bar button", "Filter")
    iris.type(".condition input", "4.5")
    iris.sees(".chips", "rows shown")
    iris.escape()
    table = iris.api("/tables")[0]["id"]
    iris.asks(f"/tables/{table}/state", lambda state: state.get("conditions"))
    many = iris.selected()
    iris.reload()
    iris.sees(".lv-legend", "measure 2")
    iris.sees(".chips", "measure 0 > 4.5")
    iris.sees("#pane-selection h2", f"{many} rows selected")


def test_a_selection_stays_when_the_maps_are_built_again(iris):
    iris.run("""(() => {
      const slow = window.fetch;
      window.fetch = async (address, options) => {
        if (options?.method === 'PUT') await new Promise((done) => setTimeout(done, 4000));
        return slow(address, options);
      };
    })()""")
    many = iris.select(0.4)
    table = iris.run("document.documentElement.dataset.ready")
    iris.run("document.documentElement.removeAttribute('data-ready')")
    iris.api(f"/tables/{table}", "PATCH", {"roles": {"species": "keep", "measure 0": "label"}})
    iris.until("document.documentElement.dataset.ready")
    iris.sees("#pane-selection h2", f"{many} rows selected")


def test_the_session_is_saved_to_a_file_and_opened_again(iris):
    iris.compute("ClassicalMDS")
    iris.drawn_maps(2)
    many = iris.select()
    iris.click("#pane-selection button", "Save it")
    iris.type("dialog input", "On the left")
    iris.click("dialog button.main")
    iris.sees(".saved-line", "On the left")
    table = iris.api("/tables")[0]["id"]
    iris.click(".bar button", "Save")
    iris.click("[role=menuitem]", "Session")
    iris.until("window.saved.length")
    iris.drop("window.saved[0].blob", "mine.lowland-session")
    iris.until(f"location.hash !== '#table={table}'")
    iris.drawn_maps(2)
    iris.sees(".saved-line", "On the left")
    iris.sees("#pane-selection h2", f"{many} rows selected")
    iris.sees(".selected-rows .grid-row", "flower")
    copy = iris.run("location.hash")
    iris.click(".table-summary button", "Remove")
    iris.click("dialog button.main", "Remove")
    iris.until(f"location.hash !== {copy!r} && document.documentElement.dataset.ready === {table!r}")


def test_the_report_is_written_as_one_file(iris):
    iris.click(".bar button", "Save")
    iris.click("[role=menuitem]", "Report")
    assert "<!doctype html>" in iris.saved(".html").lower()


def test_the_maps_are_printed_as_pictures_on_white(iris, tmp_path):
    iris.compute("PCA", n_components=3)
    iris.drawn_maps(2)
    iris.browser.media("print", "dark")
    iris.run("dispatchEvent(new Event('beforeprint'))")
    widths = "[...document.querySelectorAll('.lv-pictures canvas')].map((e) => e.getBoundingClientRect().width)"
    assert min(iris.run(widths)) > 100
    assert len(iris.run(widths)) == 2
    seen = "[...document.querySelectorAll('.bar, .side, .lv-panel, .lv-legend, .lv-pictures figcaption')]"
    shown = iris.run(f"{seen}.filter((e) => e.checkVisibility()).map((e) => e.textContent)")
    assert [text[:7] for text in shown] == ["species", "PCA", "PCA"]
    assert (
        iris.run("getComputedStyle(document.querySelector('.lv-legend')).color") == "rgb(32, 36, 43)"
    )  # also at night
    iris.run("dispatchEvent(new Event('afterprint'))")
    iris.browser.media()
    assert iris.run(widths) == []
    iris.browser.paper(tmp_path / "maps.pdf")
    assert (tmp_path / "maps.pdf").read_bytes().count(b"/Type /Page\n") == 1


def test_panes_close_and_the_keys_are_explained(iris):
    iris.press("?", "Slash", "?")
    iris.sees("dialog", "Keys and gestures")
    keys = iris.run("[...document.querySelectorAll('dialog kbd')].map((e) => e.textContent)")
    keys = [key for line in keys for key in re.split(" and |, ", line)]
    assert len(keys) == len(set(keys)) > 15  # no key has two meanings
    iris.escape()
    iris.until("!document.querySelector('dialog')")
    for key, side, states in (("[", "left", ("< 2", "> 200")), ("]", "right", ("> 200", "< 2"))):
        for state in states:  # at first, only the left one is open
            iris.press(key, "", key)
            iris.until(f"document.querySelector('.side.{side}').getBoundingClientRect().width {state}")


def test_nothing_is_cut_off_from_1000_to_3000_pixels(iris):
    parts = "[...document.querySelectorAll('.bar, .strip, .side .pane-body, .lv-panel header')]"
    too_wide = "e.checkVisibility({ visibilityProperty: true }) && e.scrollWidth > e.clientWidth + 1"
    iris.select()  # opens the right pane
    for width in (1000, 1600, 3000):
        iris.browser.size(width, 900)
        iris.settle()
        assert iris.run(f"{parts}.filter((e) => {too_wide}).map((e) => e.className)") == []
        assert iris.run("document.documentElement.scrollWidth") <= width


def test_the_bar_stays_in_sight_and_parts_of_the_legend_apart(iris):
    iris.click_point()
    iris.sees(".lv-legend", "Neighbors of Row")
    apart = """(() => {
      const boxes = [...document.querySelectorAll('.lv-legend :is(h4, .lv-class, li, .lv-bar, .lv-check)')]
        .map((e) => [e.textContent, e.getBoundingClientRect()]);
      const meet = ([, a], [, b]) => a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 1 && b.top < a.bottom - 1;
      return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => meet(a, b)).map((b) => [a[0], b[0]]));
    })()"""
    for width in (1000, 1440, 3000):
        iris.browser.size(width, 900)
        iris.settle()
        assert iris.run(apart) == []
    iris.browser.size(1440, 900)
    iris.tab("maps")
    iris.click(".map-name", "PCA")
    iris.sees("#pane-map figcaption", "R_NX")
    iris.run("[...document.querySelectorAll('#pane-map figure')].at(-1).scrollIntoView()")
    assert iris.run("document.querySelector('.bar').getBoundingClientRect().top") == 0


# Texts with a contrast of less than 4.5 to what is behind them (WCAG 2.2, level AA).
FAINT = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const painted = (...colors) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const [color, opacity] of colors) {
      canvas.globalAlpha = opacity;
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
    }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255);
  };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (rgb) => rgb.map(linear).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0.05);
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || node.closest(':disabled, option, svg')) continue;
    if (!node.checkVisibility({ visibilityProperty: true })) continue;
    const above = [];
    for (let each = node; each; each = each.parentElement) above.unshift(getComputedStyle(each));
    const behind = [['#fff', 1], ...above.map((style) => [style.backgroundColor, 1])];
    const opacity = above.reduce((product, style) => product * Number(style.opacity), 1);
    const colors = [painted(...behind), painted(...behind, [above.at(-1).color, opacity])];
    const [low, high] = colors.map(light).sort((a, b) => a - b);
    if (high / low < 4.5) faint.push([node.className, texts.currentNode.textContent, high / low]);
  }
  return faint;
})()"""


def test_all_texts_can_be_read_in_light_and_dark(person):
    for scheme in ("light", "dark"):
        person.browser.media("", scheme)
        person.settle()
        assert person.run(FAINT) == []
    person.show("people.csv")
    person.api("/tables/" + person.run("document.documentElement.dataset.ready"), "PATCH", {"roles": {"age": "drop"}})
    person.sees(".column-line.dropped")
    person.select()
    person.sees(".contrast-line")
    person.click_point()
    person.sees(".near-line")
    person.choose_method("t-SNE")
    person.sees(".estimate .figures", "Memory")
    for scheme in ("light", "dark"):
        person.browser.media("", scheme)
        for key in ("data", "maps", "methods", "selection", "map", "point"):
            person.tab(key)
            person.settle()
            assert person.run(FAINT) == [], (scheme, key)


def test_the_keyboard_is_enough(person):
    person.press("o", "KeyO")
    person.walk_to("dialog .example", "Iris")
    person.key("Enter")
    person.until("document.documentElement.dataset.ready")
    person.drawn_maps(1)
    person.press("m", "KeyM")
    person.walk_to("#pane-methods input[type=search]")
    person.write("Isomap")
    person.walk_to(".method", "Isomap")
    person.key("Enter")
    person.walk_to(".start button", "Compute the map")
    person.key("Enter")
    person.drawn_maps(2)
    person.tool("box")  # the keyboard opens a row with every tool
    person.run("document.querySelector('.lv-plot').focus()")
    person.press("n", "KeyN", "n")
    person.sees(".lv-tip", "Row 0")
    person.key("Enter")
    person.sees("#pane-point .values", "setosa")
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


def test_two_browsers_show_one_study(iris, server):
    many = iris.select()
    table = iris.api("/tables")[0]["id"]
    iris.asks(f"/tables/{table}/state", lambda state: state.get("view", {}).get("selection"))
    other = Person(fresh_browser(1, width=1600))
    other.visit(server.page)
    other.drawn_maps(1)
    other.sees("#pane-selection h2", f"{many} rows selected")  # as it was kept
    iris.compute("ClassicalMDS")
    for each in (iris, other):
        each.drawn_maps(2)
    other.tool("box")
    other.path([(0.5, 0.02), (0.7, 0.5), (0.98, 0.98)])
    other.until(f"!document.querySelector('#pane-selection h2').textContent.startsWith('{many} ')")
    others = other.selected()
    other.click("#pane-selection button", "Save it")
    other.type("dialog input", "Seen by both")
    other.click("dialog button.main")
    iris.sees(".saved-line", "Seen by both")
    assert iris.selected() == many  # each person has a selection
    iris.run("document.querySelector('[aria-label=\"Clear the selection\"]').click()")
    iris.sees("#pane-selection h2", "No rows selected")
    other.settle()
    assert other.selected() == others
    other.leave()
    assert other.browser.problems == []


@pytest.fixture
def own(explorers, folder, tmp_path):
    """An explorer of a test's own; called again, it starts on the same workspace and port."""
    with socket.socket() as free:  # a port that other tests, whose explorers choose theirs, do not take meanwhile
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    return lambda **options: explorers(folder, tmp_path / "workspace", "--port", port, **options)


def test_a_killed_server_is_told_and_works_again_and_a_full_disk_is_told(visitor, own):
    person = visitor
    person.expected = ("status of 4", "status of 5", "ERR_")  # the server does not answer, or knows no token
    first = own()
    person.visit(first.page)
    person.show("iris.parquet")
    person.compute()
    person.tab("maps")
    person.until("document.querySelector('.map-line[data-status=running]')")
    first.kill()
    person.sees(".lost", "The server does not answer")
    second = own(largest=4096)
    person.sees(".lost", "Open the address")  # it has a new token
    person.open_tab(second.page)  # as the command does it
    person.until("!document.querySelector('.lost').checkVisibility()")
    person.sees(".lv-panel[data-status=broken]", "stopped before the map was finished")
    assert person.run("document.querySelectorAll('.lv-panel[data-status=done]').length") == 1
    person.click(".map-line[data-status=broken] [aria-label='Run again']")
    person.until("document.querySelector('.map-line[data-status=running]')")
    person.click(".map-line [aria-label=Cancel]")
    person.until("document.querySelector('.map-line[data-status=canceled]')")
    person.drop("'1,2\\n'.repeat(1.5e6)", "full.csv")
    person.sees(".notice.problem", "disk space")
    assert person.api("/tables")  # it goes on
    second.stop()
    person.sees(".lost", "The server does not answer. If it was stopped, start it again with “lowland explore”.")


def test_a_damaged_state_is_repaired(iris):
    table = iris.run("document.documentElement.dataset.ready")
    damaged = {"hidden": 5, "clusterings": {"a": 1}, "conditions": 3, "coloring": 7, "view": 4, "neighbors": "x"}
    iris.run("sessionStorage.clear()")
    iris.api(f"/tables/{table}/state", "PUT", damaged)
    iris.reload()
    iris.drawn_maps(1)
    assert iris.colored() > 0


def test_the_printed_address_is_opened_from_a_page_of_another_site(visitor, server):
    """As from a terminal in a notebook on localhost; the browser sends no cookie of ours with the first request."""

    class Notebook(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<link rel="icon" href="data:,"><a href="{server.page}">open</a>'.encode())

        def log_message(self, *_):
            pass

    other = HTTPServer(("127.0.0.1", 0), Notebook)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        for _ in range(2):  # without a cookie, and with the one that the first visit got
            visitor.browser.call("Page.navigate", url=f"http://localhost:{other.server_port}/")
            visitor.click("a", "open")
            visitor.sees(".empty", "Drop a file here")
            assert visitor.run("location.href") == f"{server.address}/"  # the token is not left in the address
    finally:
        other.shutdown()
        other.server_close()


def test_rarely_used_switches_are_in_one_menu(iris):
    menu = ".lv-view-menu"
    iris.browser.size(1000, 800)
    switches = f"[...document.querySelectorAll('{menu} :is(label, button)')]"
    assert iris.run(f"{switches}.filter((e) => e.checkVisibility()).length") == 0
    iris.click(f"{menu} summary")
    iris.sees(menu, "Names")
    iris.sees(menu, "Density")
    inside = "(({ left, right, bottom }) => left >= 0 && right <= innerWidth && bottom <= innerHeight)"
    assert iris.run(f"{switches}.every((e) => {inside}(e.getBoundingClientRect()))")


def test_seven_tabs_do_not_block_each_other(iris, server):
    tabs = [iris.browser.tab(server.page) for _ in range(7)]
    for tab in tabs:
        iris.browser.call("Target.activateTarget", targetId=tab)
    try:
        assert len(iris.api("/tables")) == 1
        iris.browser.call("Page.bringToFront")
        iris.compute("ClassicalMDS")
        iris.drawn_maps(2)
    finally:
        for tab in tabs:
            iris.browser.call("Target.closeTarget", targetId=tab)


def test_the_right_pane_opens_with_the_first_selection_and_stays_closed_if_it_was_closed(iris):
    closed = "!document.querySelector('.side.right').checkVisibility({ visibilityProperty: true })"
    assert iris.run(closed)
    iris.select()
    assert not iris.run(closed)
    iris.press("]", "", "]")
    iris.escape()
    iris.reload()
    iris.drawn_maps(1)
    iris.select(0.3)
    assert iris.run(closed)


def test_in_a_small_window_panes_lie_over_the_maps(iris):
    wide = "document.querySelector('.lv-panel').getBoundingClientRect()"
    closed = "!document.querySelector('.side.{}').checkVisibility()"
    for width, height, least in ((1000, 800, 700), (720, 450, 600)):  # the second: 200% of 1,440 × 900 pixels
        iris.browser.size(width, height)
        iris.reload()
        iris.drawn_maps(1)
        assert iris.run(f"{closed.format('left')} && {closed.format('right')}")
        assert iris.run(f"{wide}.width") > least
        assert iris.run("document.querySelector('.lv-plot').getBoundingClientRect().height") > 150
        assert iris.run("document.querySelector('.strip').getBoundingClientRect().height") < 70  # one line
        iris.click(".handle.left")
        iris.sees(".side.left", "Data")
        iris.run("document.querySelector('.view-room').dispatchEvent(new Event('pointerdown', { bubbles: true }))")
        assert iris.run(closed.format("left"))
        iris.select()
        iris.sees(".side.right", "rows selected")
        iris.run("document.querySelector('[aria-label=\"Clear the selection\"]').click()")


def test_in_a_low_window_scores_give_way_to_the_maps_and_no_button_covers_another(iris):
    for k in (3, 4):
        iris.compute("PCA", n_components=k)
    iris.drawn_maps(3)
    iris.at_rest()
    iris.browser.size(720, 450)
    iris.settle()
    heights = "[...document.querySelectorAll('.lv-plot')].map((e) => e.getBoundingClientRect().height)"
    assert min(iris.run(heights)) > 120
    iris.browser.size(500, 450)
    iris.settle()
    assert iris.run(
        "document.querySelector('.tools').lastElementChild.getBoundingClientRect().right <= "
        "document.querySelector('.bar-end').getBoundingClientRect().left"
    )


def test_the_heading_of_a_long_legend_is_in_sight(person):
    person.show("classes.parquet")
    person.color_by("class")
    person.sees(".lv-legend h4", "class")
    for width in (1000, 1440):
        person.browser.size(width, 900)
        person.settle()
        inside = "(e, of) => e.top >= of.top - 1 && e.bottom <= of.bottom + 1"
        box = "document.querySelector('.lv-legend{}').getBoundingClientRect()"
        for part in (" h4", " input"):
            assert person.run(f"({inside})({box.format(part)}, {box.format('')})")
