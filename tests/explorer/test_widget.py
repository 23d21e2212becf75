"""The widget: its traits in Python, and its page in headless Chromium with a model like a notebook's."""

import base64
import json

import numpy as np
import pandas as pd
import pytest

from lowland.data import load_dataset
from lowland.explorer.panels import Panels
from lowland.explorer.widget import MapsWidget

from .widget_page import receive, send, show, write_page

IRIS = load_dataset("iris")
N = len(IRIS.X)
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def made(y=IRIS.y, **options):
    maps = {"petals": IRIS.X[:, 2:], "sepals": IRIS.X[:, :2]}
    return MapsWidget(Panels.of_maps(IRIS.X, y, maps), **options)


# --- traits ---


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ([5, 3, 3], [3, 5]),
        (np.arange(N) < 2, [0, 1]),
        (pd.Series(np.arange(N) == 7), [7]),
        (range(2), [0, 1]),
        ([], []),
        (None, []),
    ],
)
def test_rows_are_selected_by_number_or_by_mask(given, numbers):
    widget = made()
    widget.selection = [100]
    widget.selection = given
    assert widget.selection.tolist() == numbers
    assert widget.selection.dtype == np.int64
    np.testing.assert_array_equal(widget.selected, IRIS.X[numbers])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([N], "from 0 to 149"),
        ([-1], "from 0"),
        ([True, False], "2 values.*150 rows"),
        ([0.5], "row numbers"),
        (3, "mask"),
    ],
)
def test_a_selection_that_is_none_is_refused(given, said):
    widget = made()
    widget.selection = [4]
    with pytest.raises(ValueError, match=said):
        widget.selection = given
    assert widget.selection.tolist() == [4]


def test_a_selection_is_observed_when_it_changes():
    widget, seen = made(), []
    widget.observe(lambda change: seen.append(change["new"].tolist()), "selection")
    widget.selection = [1, 2]
    widget.selection = [2, 1]  # the same rows
    widget.selection = []
    assert seen == [[1, 2], []]
    with pytest.raises(ValueError, match="read-only"):
        widget.selection[...] = 0


def test_what_the_page_sends_becomes_row_numbers():
    widget, seen = made(), []
    widget.observe(lambda change: seen.append(change["new"].tolist()), "selection")
    bits = np.packbits(np.isin(np.arange(N), [0, 8, 149]), bitorder="little").tobytes()
    widget.set_state({"selection": memoryview(bits)})
    assert widget.selection.tolist() == [0, 8, 149]
    assert bytes(widget.get_state()["selection"]) == bits
    assert seen == [[0, 8, 149]]


def test_rows_that_are_not_shown_are_not_selected():
    whole = Panels.of_maps(IRIS.X[::3], IRIS.y[::3], {"petals": IRIS.X[::3, 2:]})
    panels = Panels(whole.table, whole.maps, whole.columns, np.arange(0, N, 3), N, IRIS.X)
    widget = MapsWidget(panels)
    widget.selection = np.ones(N, dtype=bool)
    assert widget.selection.tolist() == list(range(0, N, 3))
    widget.set_state({"selection": memoryview(b"\x02" + bytes(6))})  # the second row shown
    assert widget.selection.tolist() == [3]
    np.testing.assert_array_equal(widget.selected, IRIS.X[[3]])


def test_data_is_sent_once(monkeypatch):
    widget, sent = made(), []
    monkeypatch.setattr(widget, "_send", lambda message, buffers=None: sent.append((message, buffers)))
    widget.selection = IRIS.y == 1
    widget.color = None
    names = [[*message["state"], *(path[0] for path in message["buffer_paths"])] for message, _ in sent]
    assert names == [["selection"], ["_coloring"]]
    assert sum(len(each) for _, buffers in sent for each in buffers) == (N + 7) // 8


def test_points_are_colored_by_label_column_measure_or_values():
    frame = pd.DataFrame(IRIS.X, columns=IRIS.names).assign(species=[IRIS.label_names[i] for i in IRIS.y])
    panels = Panels.of_maps(frame, "species", {"petals": IRIS.X[:, 2:]})
    panels.maps[0]["trust"] = {"trustworthiness": {}}
    widget = MapsWidget(panels)
    assert widget.color == "label"
    for name, spec in (
        (IRIS.names[1], {"kind": "column", "column": 2}),
        ("trustworthiness", {"kind": "trust", "measure": "trustworthiness"}),
        (None, {"kind": "none"}),
    ):
        widget.color = name
        assert widget._coloring == spec
        assert widget.color == name
    widget.color = pd.Series(IRIS.y * 2, name="clusters")
    assert widget.color == "clusters"
    assert widget._coloring["levels"] == ["0", "2", "4"]
    widget.color = IRIS.X[:, 0]
    assert widget._coloring["levels"] is None
    with pytest.raises(ValueError, match=r"'speces'.*'species'"):
        widget.color = "speces"
    with pytest.raises(ValueError, match="one value per row"):
        widget.color = [1, 2]
    assert made(None).color is None


# --- the page ---


@pytest.fixture
def page(browser, tmp_path):
    """Opens a page with widgets, and checks at the end that there were no errors, no dialogs and no requests."""

    def opened(*widgets, paper="#ffffff"):
        browser.open(write_page(tmp_path, MapsWidget._css, paper))
        for widget in widgets:
            show(browser, widget)
        browser.settle()
        return browser

    yield opened
    browser.run("0")  # wait for pending messages
    assert browser.problems == []
    assert browser.dialogs == []
    assert not [address for address in browser.requests if not address.startswith(("file:", "data:", "blob:"))]


def plot_box(page, panel=0, cell=0):
    return page.run(f"""(() => {{
      const plot = cells[{cell}].el.querySelectorAll(".lv-plot")[{panel}];
      const {{ left, top, right, bottom }} = plot.getBoundingClientRect();
      return [left, top, right, bottom];
    }})()""")


def choose_tool(page, tool, cell=0):
    page.run(f"cells[{cell}].el.querySelector('.lv-tools input[value={tool}]').click()")


def texts(page, selector, cell=0):
    return page.run(f"[...cells[{cell}].el.querySelectorAll({json.dumps(selector)})].map((node) => node.textContent)")


def test_rows_selected_in_the_page_come_back(page):
    widget, seen = made(), []
    widget.observe(lambda change: seen.append(change["new"]), "selection")
    page = page(widget)
    choose_tool(page, "box")
    left, top, right, bottom = plot_box(page)
    page.drag((left + 2, top + 2), ((left + right) / 2 - 60, bottom - 2))
    page.settle()
    assert len(page.run("cells[0].model.sent")) == 1  # not while dragging
    send(page, 0, widget)
    assert widget.selection.tolist() == np.flatnonzero(IRIS.y == 0).tolist()  # their petals are small
    assert len(seen) == 1
    assert "50 of 150 rows selected" in texts(page, ".lowland-view > .lv-note")[0]
    page.press("Escape")
    page.settle()
    send(page, 0, widget)
    assert widget.selection.size == 0


def test_rows_selected_in_python_are_selected_in_the_page(page):
    widget = made()
    widget.selection = [1, 2]
    page = page(widget)
    assert texts(page, ".lowland-view > .lv-note")[0].startswith("2 of 150 rows")
    widget.selection = IRIS.y == 2
    receive(page, 0, widget, "selection")
    assert texts(page, ".lowland-view > .lv-note")[0].startswith("50 of 150 rows")
    assert page.run("cells[0].model.sent") == []  # nothing is sent back


def test_colors_go_both_ways(page):
    widget = made()
    page = page(widget)
    assert texts(page, ".lv-panel h3") == ["petals", "sepals"]
    assert texts(page, ".lv-class .lv-name") == ["0", "1", "2"]
    widget.color = np.repeat(["one", "two"], N // 2)
    receive(page, 0, widget, "_coloring")
    page.settle()
    assert texts(page, ".lv-class .lv-name") == ["one", "two"]
    assert page.run("cells[0].model.sent") == []
    page.run("""(() => {
      const list = cells[0].el.querySelector(".lv-field select");
      list.value = [...list.options].find((option) => option.text === "x1").value;
      list.dispatchEvent(new Event("change"));
    })()""")
    page.settle()
    send(page, 0, widget)
    assert widget.color == "x1"


def test_the_tooltip_is_at_the_pointer_in_a_cell_that_is_moved(page):
    page = page(made())
    page.run("cells[0].el.style.transform = 'translate(0, 120px)'")
    page.settle()
    left, top, right, bottom = plot_box(page)
    at = None
    for step in range(30):
        at = (left + (right - left) * step / 30, bottom - (bottom - top) * (0.2 + 0.6 * step / 30))
        page.mouse("mouseMoved", *at)
        page.settle()
        if page.run("!document.querySelector('.lv-tip').hidden"):
            break
    box = page.run("(({ left, top }) => [left, top])(document.querySelector('.lv-tip').getBoundingClientRect())")
    assert np.abs(np.array(box) - at).max() < 40


def test_two_widgets_on_one_page_do_not_disturb_each_other(page):
    first, second = made(), made(None)
    page = page(first, second)
    choose_tool(page, "box", 0)
    choose_tool(page, "brush", 1)
    checked = "[...document.querySelectorAll('.lv-tools input:checked')].map((input) => input.value)"
    assert page.run(checked) == ["box", "brush"]
    ids = page.run("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(set(ids)) == len(ids)
    first.selection = [3]
    receive(page, 0, first, "selection")
    assert texts(page, ".lowland-view > .lv-note", 0)[0].startswith("1 of")
    assert texts(page, ".lowland-view > .lv-note", 1)[0].startswith("No rows")


def test_a_widget_shown_twice_is_linked(page):
    page = page(made())
    page.run("show(null, cells[0].model)")
    page.run("cells[1].el.querySelector('.lv-plot').focus()")
    for key in ("n", " "):
        page.press(key, text=key)
    page.settle()
    assert texts(page, ".lowland-view > .lv-note", 0)[0].startswith("1 of")


def test_keys_belong_to_the_maps(page):
    page = page(made())
    page.run("window.heard = []; document.addEventListener('keydown', (event) => heard.push(event.key))")
    page.run("cells[0].el.querySelector('.lv-plot').focus()")
    page.press("0", text="0")
    assert page.run("heard") == []
    assert page.run("cells[0].el.firstChild.hasAttribute('data-lm-suppress-shortcuts')")


def test_the_theme_is_that_of_the_notebook(page):
    page = page(made(), paper="#111111")
    assert page.run("cells[0].el.firstChild.dataset.theme") == "dark"
    page.run("document.body.style.background = 'white'")
    page.until("cells[0].el.firstChild.dataset.theme === 'light'")


def test_a_closed_widget_leaves_nothing_behind(page):
    widget = made()
    page = page(widget)
    page.run("cells[0].close()")
    assert page.run("document.querySelectorAll('.lowland-view, .lv-tip, .lv-canvas').length") == 0
    widget.selection = [1]
    receive(page, 0, widget, "selection")
    page.run("document.body.className = 'other'")


def test_the_height_is_that_asked_for(page):
    page = page(made(height=380))
    assert page.run("cells[0].el.firstChild.getBoundingClientRect().height") == 380


def test_a_page_without_a_kernel_shows_a_picture():
    widget = MapsWidget(Panels.of_maps(IRIS.X, IRIS.y, {"a": IRIS.X[:, :2], "line": IRIS.X[:, :1]}))
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    picture = base64.b64decode(data["image/png"])
    assert picture.startswith(b"\x89PNG")
    widget.color = None
    assert base64.b64decode(widget._repr_mimebundle_()[0]["image/png"]) != picture  # it has the colors of the page
