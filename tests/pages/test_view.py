"""The shared view in headless Chromium, as a person uses it: hovered over, dragged over, by keyboard, saved."""

import base64
import csv
import io
import json
from xml.etree import ElementTree

import pytest

from .pages import write_page

SHIFT, ALT = 8, 1
DIM = [211, 216, 223]  # of rows that are not selected, in the light theme
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def view_page(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("page"))


@pytest.fixture
def page(browser, view_page):
    """Opens the page with a view of made data, and checks at the end that there were no errors and no requests."""
    motion(browser, "no-preference")
    browser.page = view_page

    def opened(options="{}"):
        browser.open(browser.page)
        browser.run(f"window.view = lowland.synthetic({options}); view.ready")
        still(browser)
        return browser

    yield opened
    browser.run("0")  # wait for pending messages
    assert browser.problems == []
    assert browser.dialogs == []
    assert {address for address in browser.requests if not address.startswith(("data:", "blob:"))} <= {
        browser.page.as_uri()
    }


def motion(browser, wish, scheme="light"):
    features = [{"name": "prefers-reduced-motion", "value": wish}, {"name": "prefers-color-scheme", "value": scheme}]
    browser.call("Emulation.setEmulatedMedia", media="", features=features)


def still(page):
    page.settle()
    page.until("view.stage.still && !view.panels.some((panel) => panel.motion)")
    page.settle()


def places(page, panel=0):
    """Where each row is on the screen."""
    return page.run(f"""(() => {{
      const panel = view.panels[{panel}], box = panel.plot.getBoundingClientRect();
      return Array.from({{ length: view.table.n }}, (_, row) => panel.pixelOf(row))
        .map((at) => at && [box.left + at[0], box.top + at[1]]);
    }})()""")


def box_of(page, panel=0):
    sides = "(({ left, top, right, bottom }) => [left, top, right, bottom])"
    return page.run(f"{sides}(view.panels[{panel}].plot.getBoundingClientRect())")


def color_at(page, x, y, layer="points"):
    """The color on a canvas at a place on the screen: red, green, blue, opacity."""
    return page.run(f"""(() => {{
      const canvas = view.stage.{layer}, box = canvas.getBoundingClientRect(), scale = canvas.width / box.width;
      const at = [{x} - box.left, {y} - box.top].map((each) => Math.round(each * scale - 0.5));
      return [...lowland.pixelsOn(canvas, ...at, 1, 1)];
    }})()""")


def painted(page, panel=0, layer="points"):
    """How many pixels of a panel are painted, and a number that changes with the picture."""
    return page.run(f"""(() => {{
      const {{ left, top, wide, high }} = view.panels[{panel}].rect;
      const data = lowland.pixelsOn(view.stage.{layer}, left, top, wide, high);
      let many = 0, sum = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i]) {{
        many++;
        sum = (Math.imul(sum, 31) + data[i - 1] + 7 * data[i - 2] + i) | 0;
      }}
      return [many, sum];
    }})()""")


def inside(corners, x, y):
    """Even-odd rule."""
    odd = False
    for (ax, ay), (bx, by) in zip(corners, [corners[-1], *corners[:-1]], strict=True):
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            odd = not odd
    return odd


def draw_around(page, corners, modifiers=0):
    """Press, go along the corners, release."""
    page.mouse("mouseMoved", *corners[0])
    page.mouse("mousePressed", *corners[0], "left", 1, clickCount=1, modifiers=modifiers)
    for corner in corners[1:]:
        page.mouse("mouseMoved", *corner, "left", 1, modifiers=modifiers)
    page.mouse("mouseReleased", *corners[-1], "left", 0, clickCount=1, modifiers=modifiers)
    still(page)


def selected(page):
    return page.run("view.selectedRows()")


def focus(page, panel=0):
    page.run(f"view.panels[{panel}].plot.focus()")


def test_a_panel_that_is_closed_and_opened_again_at_once_is_drawn(page):
    page = page("{n: 300, maps: 2}")
    before = painted(page, 1)
    page.run("(() => { const [, map] = view.maps; view.remove(map.key); view.add(map); })()")
    still(page)
    assert painted(page, 1) == before


def test_all_panels_are_drawn_on_one_canvas(page):
    page = page("{n: 300, maps: 20, fit: 'fill'}")
    assert page.run("[...document.querySelectorAll('#view canvas.lv-canvas')].length") == 2  # points, and marks above
    assert all(painted(page, panel)[0] > 300 for panel in range(20))


def test_a_point_has_the_color_of_its_class_where_the_map_puts_it(page):
    page = page("{n: 60, maps: 1, classes: 3}")
    colors = page.run("[0, 1, 2].map((shade) => view.palette.colors[shade])")
    for row, (x, y) in enumerate(places(page)):
        covered = [(u, v) for other, (u, v) in enumerate(places(page)) if other != row and abs(u - x) + abs(v - y) < 20]
        if not covered:
            assert color_at(page, x, y)[:3] == [int(colors[row % 3][i : i + 2], 16) for i in (1, 3, 5)]


def test_a_lasso_selects_what_is_inside_in_all_panels_and_grays_the_rest(page):
    page = page("{n: 400, maps: 3, tool: 'lasso'}")
    left, top, right, bottom = box_of(page)
    shape = [(0.1, 0.2), (0.5, 0.1), (0.6, 0.55), (0.35, 0.3), (0.2, 0.7)]  # not convex
    corners = [(left + u * (right - left), top + v * (bottom - top)) for u, v in shape]
    draw_around(page, corners)
    expected = [row for row, (x, y) in enumerate(places(page)) if inside(corners, x, y)]
    assert 0 < len(expected) < 400
    assert selected(page) == expected
    assert page.run("view.selectedCount") == len(expected)
    for panel in (1, 2):
        shown = [color_at(page, x, y)[:3] for row, (x, y) in enumerate(places(page, panel)) if row in set(expected)]
        assert DIM not in shown
        rest = [color_at(page, x, y)[:3] for row, (x, y) in enumerate(places(page, panel)) if row not in set(expected)]
        assert DIM in rest
    page.until("view.live.textContent.includes('selected')")
    assert page.run("view.live.textContent") == f"{len(expected)} rows selected"


def test_shift_adds_to_a_box_and_alt_removes_from_it(page):
    page = page("{n: 400, maps: 2, tool: 'box'}")
    left, top, right, bottom = box_of(page)
    middle = (left + right) / 2, (top + bottom) / 2
    at = places(page)
    first = {row for row, (x, y) in enumerate(at) if x <= middle[0] and y <= middle[1]}
    second = {row for row, (x, y) in enumerate(at) if x >= middle[0]}
    page.drag((left + 1, top + 1), middle)
    assert set(selected(page)) == first
    page.drag((middle[0], top + 1), (right - 1, bottom - 1), modifiers=SHIFT)
    assert set(selected(page)) == first | second
    page.drag((left + 1, top + 1), (right - 1, middle[1]), modifiers=ALT)
    assert set(selected(page)) == {row for row in first | second if at[row][1] > middle[1]}
    page.run("view.clearSelection(); view.set({tool: 'look'})")  # Shift selects a box also while looking
    page.drag((left + 1, top + 1), (middle[0], bottom - 1), modifiers=SHIFT)
    assert page.run("view.panels[0].atHome()")
    assert set(selected(page)) == {row for row, (x, _) in enumerate(at) if x <= middle[0]}


def test_the_brush_selects_what_it_goes_over(page):
    page = page("{n: 400, maps: 1, tool: 'brush'}")
    left, top, right, bottom = box_of(page)
    y = (top + bottom) / 2
    page.drag((left + 100, y), (right - 100, y), steps=4)
    still(page)
    expected = [
        row for row, at in enumerate(places(page)) if left + 100 <= at[0] <= right - 100 and abs(at[1] - y) <= 22
    ]
    assert expected
    assert set(expected) <= set(selected(page))
    assert all(abs(places(page)[row][1] - y) <= 22.01 for row in selected(page))
    x, y = places(page)[8]
    page.drag((x, y), (x, y), steps=1)  # a click: all that is under the brush
    still(page)
    assert selected(page) == [row for row, (u, v) in enumerate(places(page)) if (u - x) ** 2 + (v - y) ** 2 <= 22**2]


def test_hovering_shows_the_row_and_rings_it_in_every_panel(page):
    page = page(
        "{n: 50, maps: 2, settings: {names: false}, table: {ids: Array.from({length: 50}, (_, i) => `id-${i}`), "
        'thumbnail: (row) => \'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>\', '
        "details: async (row) => [['story', `text of ${row}`]]}}"
    )
    page.run("window.heard = []; view.on('hover', (said) => heard.push(said.row))")
    assert painted(page, 1, "marks")[0] == 0
    page.mouse("mouseMoved", *places(page)[7])
    page.until("!view.tip.node.hidden && view.tip.node.innerText.includes('text of')")
    row = page.run("view.hovered")
    tip = page.run("view.tip.node.innerText")
    for text in (f"id-{row}", f"class {row % 5}", "amount", "trustworthiness", "story", f"text of {row}"):
        assert text in tip
    assert page.run("view.tip.node.querySelector('img').naturalWidth") == 9
    assert painted(page, 0, "marks")[0] > 0
    assert painted(page, 1, "marks")[0] > 0
    assert page.run("heard") == [row]
    page.mouse("mouseMoved", 2, 2)
    page.settle()
    assert page.run("view.tip.node.hidden")
    assert painted(page, 1, "marks")[0] == 0


def test_the_keyboard_moves_zooms_selects_and_opens(page):
    page = page("{n: 100, maps: 3}")
    focus(page)
    page.press("ArrowRight")
    page.press("+", text="+")
    assert page.run("view.panels[0].zoomed.x < 0 && view.panels[0].zoomed.zoom > 1 && view.panels[1].atHome()")
    page.press("0", text="0")
    assert page.run("view.panels[0].atHome()")
    page.press("n", text="n")
    page.press("n", text="n")
    assert page.run("view.hovered") == 1
    assert "Row 1" in page.run("view.live.textContent")
    page.press(" ", text=" ")
    assert selected(page) == [1]
    page.press("Escape")
    assert selected(page) == []
    page.press("Enter", text="\r")
    still(page)
    assert page.run("view.panels.map((panel) => panel.node.hidden)") == [False, True, True]
    page.press("Enter", text="\r")
    assert page.run("view.panels.map((panel) => panel.node.hidden)") == [False, False, False]
    assert page.run("document.activeElement === view.panels[0].plot")
    for _ in range(8):  # past the buttons of the next panel
        page.press("Tab", "Tab")
        if page.run("document.activeElement.getAttribute('role') === 'application'"):
            break
    assert page.run("view.panels.findIndex((panel) => panel.plot === document.activeElement)") == 1


def test_linked_maps_zoom_together(page):
    page = page("{n: 100, maps: 3, wheel: 'zoom'}")
    x, y, *_ = box_of(page)
    page.run("view.set({linked: true})")
    page.mouse("mouseWheel", x + 60, y + 50, deltaX=0, deltaY=-200)
    page.until("view.panels[0].zoomed.zoom > 1")
    zooms = page.run("view.panels.map((panel) => JSON.stringify(panel.zoomed))")
    assert len(set(zooms)) == 1
    page.run("view.set({tool: 'look'})")
    page.drag((x + 60, y + 60), (x + 90, y + 60))
    assert page.run("view.panels[2].zoomed.x") > json.loads(zooms[0])["x"]


def test_a_click_in_the_legend_shows_only_a_class_and_shift_toggles(page):
    page = page("{n: 100, maps: 1, classes: 4}")
    press = "document.querySelectorAll('.lv-class')[{}].dispatchEvent(new MouseEvent('click', {{shiftKey: {}}}))"
    page.run("view.select(new Uint8Array(100).fill(1))")
    page.run(press.format(1, "false"))
    assert page.run("view.shownCount") == 25
    assert selected(page) == list(range(1, 100, 4))  # rows that are hidden are not selected
    page.run(press.format(2, "true"))
    assert page.run("view.shownCount") == 50
    assert page.run("[...document.querySelectorAll('.lv-class')].map((b) => b.getAttribute('aria-pressed'))") == [
        "false",
        "true",
        "true",
        "false",
    ]
    page.run("document.querySelector('.lv-all').click()")
    assert page.run("view.shownCount") == 100


def test_the_legend_searches_two_hundred_classes(page):
    page = page("{n: 1000, maps: 1, classes: 200}")
    assert page.run("document.querySelectorAll('.lv-class').length") == 200
    page.run(
        "(() => { const box = document.querySelector('.lv-legend input'); box.value = 'ss 17';"
        "box.dispatchEvent(new Event('input')); })()"
    )
    names = page.run("[...document.querySelectorAll('.lv-class .lv-name')].map((node) => node.textContent)")
    assert sorted(names) == sorted(["class 17", *(f"class 17{i}" for i in range(10))])
    page.run("document.querySelector('.lv-class').click()")
    assert page.run("view.shownCount") == 5


@pytest.mark.parametrize("wish", ["no-preference", "reduce"])
def test_a_morph_ends_at_the_other_map(page, wish, browser):
    page = page("{n: 300, maps: 2}")
    motion(browser, wish)
    before, target = places(page, 0), painted(page, 1)
    page.run("view.morph('m0', 'm1')")
    assert page.run("Boolean(view.panels[0].motion)") == (wish != "reduce")
    still(page)
    assert places(page, 0) != before
    assert painted(page, 0) == target
    assert page.run("view.panels[0].title.textContent") == "PCA → t-SNE"


def test_new_coordinates_move_the_points_there(page):
    page = page("{n: 300, maps: 2}")
    target = painted(page, 1)
    page.run(
        "view.update('m0', {coordinates: view.maps[1].coordinates.slice(), status: 'running',"
        "progress: {fraction: 0.5, text: 'iteration 250'}})"
    )
    assert page.run("Boolean(view.panels[0].motion)")
    still(page)
    assert painted(page, 0) == target
    assert "iteration 250" in page.run("view.panels[0].status.innerText")
    page.run("view.update('m0', {status: 'done', progress: null})")
    assert page.run("view.panels[0].status.hidden")


def test_maps_without_coordinates_say_why(page):
    page = page(
        "{n: 50, maps: 1, statusActions: () => [{text: 'Cancel', run: (map) => { window.canceled = map.key; }}]}"
    )
    page.run(
        "view.add({key: 'a', name: 'UMAP', status: 'queued'});"
        "view.add({key: 'b', name: 'LLE', status: 'failed', error: 'Choose at most 49.'}); 0"
    )
    still(page)
    said = page.run("view.panels.map((panel) => panel.node.innerText)")
    assert "Waiting to be computed" in said[1]
    assert "Choose at most 49." in said[2]
    page.run("[...view.panels[1].node.querySelectorAll('button')].find((b) => b.textContent === 'Cancel').click()")
    assert page.run("window.canceled") == "a"
    page.run("view.update('a', {coordinates: lowland.cloudsOf(50, 5, 2, 3), status: 'done'}); view.remove('b')")
    still(page)
    assert painted(page, 1)[0] > 0
    assert page.run("view.maps.map((map) => map.key)") == ["m0", "a"]


def test_three_components_turn_when_they_are_dragged(page):
    page = page("{n: 500, maps: 1, components: 3}")
    flat = painted(page)
    page.run("view.panels[0].deep.click()")
    still(page)
    solid = painted(page)
    assert solid != flat
    left, top, *_ = box_of(page)
    page.drag((left + 100, top + 100), (left + 200, top + 140))
    still(page)
    assert painted(page) != solid
    row = page.run("(() => { const panel = view.panels[0], at = panel.pixelOf(3); return panel.rowAt(...at, 2); })()")
    near = places(page)
    assert abs(near[row][0] - near[3][0]) + abs(near[row][1] - near[3][1]) < 3
    page.run("view.panels[0].deep.click()")
    still(page)
    assert painted(page) == flat


def test_axes_of_more_than_two_components_can_be_chosen(page):
    page = page("{n: 200, maps: 1, components: 4}")
    first = painted(page)
    page.run("""(() => {
      const fields = [...document.querySelectorAll('.lv-field')];
      const list = fields.find((node) => node.firstChild.textContent === 'x axis').querySelector('select');
      list.value = '2'; list.dispatchEvent(new Event('change'));
    })()""")
    still(page)
    assert page.run("view.settings.axes.x") == 2
    assert painted(page) != first
    coordinates = page.run("[...view.maps[0].component(2)]")
    xs = [x for x, _ in places(page)]
    assert sorted(range(200), key=coordinates.__getitem__) == sorted(range(200), key=xs.__getitem__)


def test_far_rows_are_at_the_edge_until_all_are_shown(page):
    page = page("(() => { const options = {n: 300, maps: 1}; return options; })()")
    page.run(
        "(() => { const c = view.maps[0].coordinates.slice(); c[9] = 1e4; view.update('m0', {coordinates: c}); })()"
    )
    still(page)
    left, top, right, _ = box_of(page)
    x, y = places(page)[9]
    assert right - 0.05 * (right - left) < x < right  # near the others it would have left no room for them
    assert max(u for row, (u, _) in enumerate(places(page)) if row != 9) > left + 0.5 * (right - left)
    assert "1 row lies outside" in page.run("view.panels[0].note.textContent")
    assert page.run(f"view.panels[0].rowAt({x - left}, {y - top})") == 9
    page.run("view.panels[0].plot.dispatchEvent(new MouseEvent('dblclick'))")
    still(page)
    assert max(u for row, (u, _) in enumerate(places(page)) if row != 9) < left + 0.5 * (right - left)
    page.run("view.panels[0].plot.dispatchEvent(new MouseEvent('dblclick'))")
    still(page)
    assert page.run("view.panels[0].atHome()")


def test_neighbors_are_kept_missed_or_false_in_each_map(page):
    page = page("{n: 200, maps: 2, settings: {names: false}}")
    sets = page.run("""(() => {
      const map = view.maps[0], x = map.component(0), y = map.component(1);
      const far = (i) => Math.hypot(x[i] - x[4], y[i] - y[4]);
      const near = [...Array(200).keys()].filter((i) => i !== 4).sort((a, b) => far(a) - far(b));
      view.show({row: 4, neighbors: {near: [...near.slice(0, 5), near[150]]}});
      return [near.slice(0, 6), near[150], view.neighborSetsOf(view.panels[0])];
    })()""")  # fmt: skip
    nearest, far, said = sets
    assert sorted(said["kept"]) == sorted(nearest[:5])
    assert said["missed"] == [far]
    assert said["false"] == [nearest[5]]
    still(page)
    assert "6 neighbors: 5 kept, 1 missed, 1 false." in page.run("view.panels[0].note.textContent")
    assert painted(page, 1, "marks")[0] > 0
    assert "near on the map only" in page.run("document.querySelector('.lv-legend').innerText")
    page.run("view.show({row: 4, neighbors: {near: [1], byMap: {m0: {kept: [], missed: [1], false: [2, 3]}}}})")
    assert "0 kept, 1 missed, 2 false" in page.run("view.panels[0].note.textContent")
    page.run("view.show(null)")
    still(page)
    assert painted(page, 1, "marks")[0] == 0


def test_rows_placed_later_are_marked_and_named(page):
    page = page("{n: 100, maps: 1}")
    before = painted(page)
    page.run(
        "view.update('m0', {placed: {coordinates: new Float32Array([0, 1, 0, 1]), names: ['new one', 'new two']}})"
    )
    still(page)
    assert painted(page) != before
    left, top, *_ = box_of(page)
    x, y = page.run("view.panels[0].placedPixels(view.panels[0].wide, view.panels[0].high)[0]")
    page.mouse("mouseMoved", left + x, top + y)
    page.until("view.tip.node.innerText.includes('new one')")


def test_a_filter_hides_rows_and_takes_them_out_of_the_selection(page):
    page = page("{n: 100, maps: 2}")
    everything = painted(page, 1)[0]
    page.run("view.select(new Uint8Array(100).fill(1)); view.filter(Uint8Array.from({length: 100}, (_, i) => i < 30))")
    still(page)
    assert selected(page) == list(range(30))
    assert painted(page, 1)[0] < 0.6 * everything
    x, y = places(page)[80]
    left, top, *_ = box_of(page)
    assert page.run(f"view.panels[0].rowAt({x - left}, {y - top}, 3)") != 80
    page.run("view.filter(null); view.clearSelection()")
    still(page)
    assert painted(page, 1)[0] == everything


def test_colorings_by_column_rank_quality_and_values(page):
    page = page(
        "{n: 200, maps: 2, columns: [{name: 'late', kind: 'number',"
        "load: async () => Float32Array.from({length: 200}, (_, i) => i)}]}"
    )
    page.run("view.colorBy({kind: 'column', column: 'late'})")
    shades = """(() => {
      const out = [];
      view.coloring.shadesOf(view.maps[0]).forEach((shade, slot) => { out[view.rows.order[slot]] = shade; });
      return out;
    })()"""
    assert page.run(shades) == [round(i * 254 / 199) for i in range(200)]
    assert "199" in page.run("document.querySelector('.lv-ends').textContent")
    page.run("view.colorBy({kind: 'column', column: 'amount', byRank: true})")
    amounts, ranks = page.run("[...view.table.columns[1].values]"), page.run(shades)
    assert all(
        (a < b) <= (r <= s) for a, r in zip(amounts, ranks, strict=True) for b, s in zip(amounts, ranks, strict=True)
    )
    assert 100 < sorted(ranks)[100] < 154  # the median is in the middle of the scale
    page.run(
        "view.colorBy({kind: 'values', name: 'far', values: Float32Array.from({length: 200}, (_, i) => i || 1e6)})"
    )
    assert page.run(shades)[100] == round(99 * 254 / 198)  # one far value does not use up the scale
    assert page.run("document.querySelector('.lv-ends').lastChild.textContent") == "≥ 199"
    page.run("view.colorBy({kind: 'trust', measure: 'trustworthiness'})")
    assert page.run("view.coloring.shadesOf(view.maps[0]).join() !== view.coloring.shadesOf(view.maps[1]).join()")
    page.run("view.colorBy({kind: 'trust', measure: 'trustworthiness', map: 'm1'})")
    assert page.run("view.coloring.shadesOf(view.maps[0]).join() === view.coloring.shadesOf(view.maps[1]).join()")
    page.run(
        "view.colorBy({kind: 'values', name: 'cluster', levels: ['left', 'right'],"
        "values: Uint8Array.from({length: 200}, (_, i) => i % 2)})"
    )
    assert page.run("[...document.querySelectorAll('.lv-class .lv-name')].map((n) => n.textContent)") == [
        "left",
        "right",
    ]
    page.run("view.colorBy({kind: 'none'})")
    still(page)
    assert page.run("document.querySelector('.lv-legend').hidden")


def test_density_is_darker_where_there_are_more_points(page):
    page = page("{n: 30000, maps: 1, classes: 2, settings: {density: true}, coloring: {kind: 'none'}}")
    opacity = page.run("""(() => {
      const { left, top, wide, high } = view.panels[0].rect, { X, Y } = view.panels[0].frame;
      const place = view.panels[0].place(wide, high);
      const data = lowland.pixelsOn(view.stage.points, left, top, wide, high), at = (slot) => {
        const x = Math.round(X[slot] * place.ax + place.bx), y = Math.round(Y[slot] * place.ay + place.by);
        return data[4 * (y * wide + x) + 3];
      };
      const far = [...X.keys()].sort((a, b) => X[a] ** 2 + Y[a] ** 2 - X[b] ** 2 - Y[b] ** 2);
      return [at(far.at(-1)), Math.max(...far.slice(0, 20000).map(at))];
    })()""")
    assert opacity[0] < 0.6 * opacity[1]


def test_pictures_of_a_panel_are_valid_files(page):
    page = page("{n: 500, maps: 1}")
    size = page.run(
        "view.png('m0').then((blob) => createImageBitmap(blob)).then((image) => [image.width, image.height])"
    )
    assert size == [1800, 1520]
    said = page.run("""view.svg('m0').then((blob) => blob.text()).then((text) => {
      const read = new DOMParser().parseFromString(text, 'image/svg+xml');
      const points = [...read.querySelectorAll('g path')].map((path) => path.getAttribute('d').split('z').length - 1);
      const { textContent } = read.documentElement;
      return [read.querySelector('parsererror') === null, read.querySelectorAll('image').length, points, textContent];
    })""")
    assert said[:2] == [True, 0]
    assert sum(said[2]) == 500
    assert "PCA" in said[3]
    assert "class 4" in said[3]
    page.run("view.show({row: 3, neighbors: {near: [4, 5]}}); view.colorBy({kind: 'column', column: 'amount'})")
    text = page.run("view.svg('m0').then((blob) => blob.text())")
    assert text.count("stroke-dasharray") == 3  # kept, missed and false
    assert text.count('height="12"') == 64  # the color bar


def test_a_picture_of_many_points_has_them_as_an_image(page):
    page = page("{n: 21000, maps: 1}")
    text = page.run("view.svg('m0').then((blob) => blob.text())")
    data = text.partition("data:image/png;base64,")[2].partition('"')[0]
    assert base64.b64decode(data).startswith(b"\x89PNG")
    assert len(text) < 3e6


def test_rows_as_comma_separated_text(page):
    page = page("{n: 20, maps: 2, levels: ['a', 'b,\"c\"', 'd', 'e', 'f']}")
    table = list(csv.reader(io.StringIO(page.run("view.csv([1, 3])"))))
    assert table[0] == ["row", "kind", "amount", "PCA 1", "PCA 2", "t-SNE 1", "t-SNE 2"]
    assert [row[:2] for row in table[1:]] == [["1", 'b,"c"'], ["3", "e"]]
    exact = page.run("[view.table.columns[1].values[3], view.maps[1].coordinates[20 + 3]]")
    assert [float(table[2][2]), float(table[2][6])] == pytest.approx(exact, rel=1e-6)


def test_hostile_names_are_text(page):
    name = json.dumps(HOSTILE)
    page = page(
        f"{{n: 50, maps: 1, levels: Array.from({{length: 5}}, (_, i) => {name} + i), "
        f"table: {{ids: Array(50).fill({name})}}, "
        f"columns: [{{name: {name}, kind: 'text', values: Array(50).fill({name})}}]}}"
    )
    page.run(
        f"view.add({{key: {name}, name: {name}, subtitle: {name}, badge: {name}, status: 'failed', error: {name}, "
        f"scores: {{[{name}]: 1}}}}); 0"
    )
    page.run(f"view.update('m0', {{name: {name}}}); view.show({{row: 1, neighbors: {{near: [2]}}}})")
    page.mouse("mouseMoved", *places(page)[7])
    page.until("!view.tip.node.hidden")
    for selector in (".lv-tip", ".lv-legend", ".lv-panels"):
        assert HOSTILE in page.run(f"document.querySelector('{selector}').textContent")
    assert page.run("document.querySelectorAll('#view img, #view script').length") == 0
    text = page.run("view.svg('m0').then((blob) => blob.text())")
    assert "<script>" not in text


def test_a_state_is_restored_in_a_new_view(page):
    options = "{n: 150, maps: 3, components: 3}"
    page = page(options)
    page.run("""(async () => {
      await view.colorBy({kind: 'values', name: 'x', values: Float32Array.from({length: 150}, (_, i) => i)});
      view.set({tool: 'lasso', size: 1.96, linked: false, axes: {x: 1, y: 2, z: 0}});
      view.select(Uint8Array.from({length: 150}, (_, i) => i % 7 === 0));
      view.zoomTo(view.panels[1], {zoom: 3, x: 0.1, y: -0.2});
      view.morph('m2', 'm0');
      view.arrange({mode: 'focus', key: 'm1'});
      view.show({row: 3, neighbors: {near: [4, 5]}});
    })()""")
    still(page)
    saved = json.dumps(page.run("view.save()"))
    pictures = [painted(page, panel) for panel in range(3)]
    page.open(page.page)
    page.run(f"window.view = lowland.synthetic({options}); view.ready.then(() => view.restore({saved}))")
    still(page)
    assert [painted(page, panel) for panel in range(3)] == pictures
    assert selected(page) == list(range(0, 150, 7))
    assert json.loads(json.dumps(page.run("view.save()"))) == json.loads(saved)
    assert page.run("[...document.querySelectorAll('.lv-tools input')].find((radio) => radio.checked).value") == "lasso"


def test_dark_and_light_and_two_views_on_a_page(page, browser):
    page = page("{n: 80, maps: 1}")
    light = painted(page)
    motion(browser, "no-preference", "dark")
    still(page)
    assert page.run("document.getElementById('view').dataset.theme") == "dark"
    assert painted(page) != light
    motion(browser, "no-preference", "light")
    page.run("""(() => {
      const root = document.createElement('div'); document.body.append(root);
      window.other = lowland.createView(root, {...lowland.data({n: 80, maps: 1}), theme: 'dark'});
      return other.ready;
    })()""")
    page.run("other.select(new Uint8Array(80).fill(1))")
    still(page)
    assert page.run("[view.selectedCount, other.selectedCount, view.theme.name, other.theme.name]") == [
        0,
        80,
        "light",
        "dark",
    ]
    assert painted(page) == light


def test_panels_out_of_sight_are_drawn_when_they_are_scrolled_to(page):
    page = page("{n: 100, maps: 30, layout: {mode: 'grid', size: 'large'}}")
    assert page.run("view.stage.points.height < view.host.clientHeight")
    assert page.run("view.panels[29].rect === null")
    page.run("view.panels[29].node.scrollIntoView()")
    still(page)
    assert painted(page, 29)[0] > 100
    x, y = places(page, 29)[5]
    assert page.run(f"document.elementFromPoint({x}, {y}) === view.panels[29].plot")
    assert color_at(page, x, y)[3] == 255


def test_masks_are_bits_with_the_least_significant_first(page):
    page = page("{n: 20}")
    text = page.run("lowland.maskText(Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0, 1, 1]))")
    assert base64.b64decode(text) == bytes([1, 3])
    assert page.run(f"[...lowland.maskOf('{text}', 10)]") == [1, 0, 0, 0, 0, 0, 0, 0, 1, 1]


def test_a_search_finds_numbers_ids_and_texts(page):
    page = page("{n: 30, table: {ids: Array.from({length: 30}, (_, i) => `sample ${i + 100}`)}}")
    assert page.run("view.search('12').rows") == [12, *range(20, 30)]  # the row with this number first, then ids
    assert page.run("view.search('CLASS 3').rows") == list(range(3, 30, 5))
    assert page.run("view.search('nothing').total") == 0


EDGES = {
    "one row": "{n: 1, maps: 1}",
    "no rows": "{n: 0, maps: 1}",
    "no maps": "{n: 10, maps: 0}",
    "one component": "{n: 50, maps: 1, components: 1}",
    "five thousand columns": "{n: 9, columns: Array.from({length: 5000}, (_, i) => ({name: `${i}`, kind: 'number'}))}",
}


@pytest.mark.parametrize("options", EDGES.values(), ids=EDGES)
def test_tables_at_the_edge_are_drawn(page, options):
    page = page(options)
    page.run("view.set({density: true})")
    page.run("view.select(new Uint8Array(view.table.n).fill(1))")
    still(page)
    page.run("view.set({density: false})")
    still(page)
    assert selected(page) == list(range(page.run("view.table.n")))
    if page.run("view.table.n * view.maps.length"):
        assert painted(page)[0] > 0


@pytest.mark.parametrize("values", ["NaN", "1e30", "Infinity", "5"])
def test_coordinates_that_are_missing_huge_or_equal(page, values):
    page = page("{n: 40, maps: 2}")
    page.run(f"view.update('m0', {{coordinates: new Float32Array(80).fill({values})}}); 0")
    still(page)
    on_map = values in ("1e30", "5")
    assert (painted(page)[0] > 0) == on_map
    assert ("No row has coordinates" in page.run("view.panels[0].note.textContent")) == (not on_map)
    page.run("view.morph('m1', 'm0')")
    still(page)
    assert page.run("view.png('m0').then((blob) => blob.size)") > 0
    assert "<svg" in page.run("view.svg('m0').then((blob) => blob.text())")


def test_a_map_of_another_table_is_refused(page):
    page = page("{n: 40, maps: 1}")
    said = page.run("""(() => {
      try { view.add({key: 'x', coordinates: new Float32Array(20)}); } catch (error) { return error.message; }
    })()""")
    assert "10 rows" in said
    assert "40" in said


def test_a_column_that_cannot_be_loaded_leaves_the_colors(page):
    page = page("{n: 40, columns: [{name: 'gone', kind: 'number', load: async () => { throw new Error('404'); }}]}")
    page.run("window.said = []; view.on('problem', ({text}) => said.push(text))")
    page.run("view.colorBy({kind: 'column', column: 2})")
    assert "could not be loaded" in page.run("said[0]")
    assert page.run("view.coloring.spec.kind") == "label"


def test_one_panel_is_large_and_another_takes_its_place(page):
    page = page("{n: 100, maps: 5, fit: 'fill', layout: 'focus'}")
    areas = "view.panels.map((panel) => panel.wide * panel.high)"
    assert page.run(areas)[0] > 3 * max(page.run(areas)[1:])
    page.run("view.panels[3].larger.click()")
    still(page)
    assert page.run(areas)[3] > 3 * max(page.run(areas)[:3])
    page.run("view.panels[3].larger.click()")
    still(page)
    assert page.run("view.panels.map((panel) => panel.node.hidden)") == [True, True, True, False, True]
    page.run("view.panels[3].larger.click()")
    still(page)
    assert page.run("view.layout.mode") == "focus"


def test_the_menu_of_a_panel_lies_above_the_maps_and_moves_the_points(page):
    page = page("{n: 100, maps: 6, fit: 'fill'}")
    page.run("view.panels[0].menu.querySelector('summary').click()")
    page.settle()
    on_top = """[...view.panels[0].menu.querySelectorAll('button, select')].every((node) => {
      const box = node.getBoundingClientRect();
      return document.elementFromPoint(box.left + 9, box.top + 9) === node;
    })"""
    assert page.run(on_top)
    assert "Save as PNG" in page.run("view.panels[0].menu.innerText")
    page.run("""(() => {
      const list = view.panels[0].menu.querySelector('select');
      list.value = [...list.options].find((option) => option.textContent === 'UMAP').value;
      list.dispatchEvent(new Event('change'));
    })()""")
    still(page)
    assert page.run("view.panels[0].map.key") == "m2"
    assert page.run("!view.panels[0].menu.open")


# --- names


def names_on(page, panel=0):
    """The names that are written on a panel, with their boxes: name, left, top, right, bottom."""
    return page.run(f"""(() => {{
      const panel = view.panels[{panel}], {{ wide, high }} = panel.rect;
      return lowland.placedNames(panel, wide, high, view.stage.scale)
        .map(({{ lines, x, y, w, h }}) => [lines.join(' '), x - w, y - h, x + w, y + h]);
    }})()""")


def overlap(a, b):
    return a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]


def test_classes_are_named_at_their_medians_without_overlap_and_more_of_them_when_zoomed_in(page):
    page = page("{n: 3000, maps: 1, classes: 30}")
    found = names_on(page)
    assert 10 < len(found) < 30  # some have no room
    assert not any(overlap(a, b) for i, a in enumerate(found) for b in found[:i])
    left, top, *_ = box_of(page)
    at = places(page)
    for name, *box in found:
        own = [at[row] for row in range(int(name.split()[1]), 3000, 30)]
        x, y = (sorted(each)[len(own) // 2] for each in zip(*own, strict=True))
        assert abs((box[0] + box[2]) / 2 - (x - left)) < 20
        assert abs((box[1] + box[3]) / 2 - (y - top)) < 40
    assert painted(page, 0, "marks")[0] > 500
    page.run("view.zoomTo(view.panels[0], {zoom: 4, x: 0, y: 0})")
    still(page)
    shown = {name for name, *_ in names_on(page)}
    inside = page.run("""(() => {
      const panel = view.panels[0], { ax, bx, ay, by } = panel.place(), { X, Y } = panel.frame, seen = new Set();
      X.forEach((x, slot) => {
        const [u, v] = [x * ax + bx, Y[slot] * ay + by];
        if (u > 0 && v > 0 && u < panel.wide && v < panel.high) seen.add(view.rows.order[slot] % 30);
      });
      return [...seen].map((code) => `class ${code}`);
    })()""")
    assert shown <= set(inside)
    assert shown - {name for name, *_ in found}  # names that had no room before


def test_a_name_does_not_cover_a_small_class(page):
    page = page("{n: 300, maps: 1, classes: 3}")
    page.run("""view.update('m0', {coordinates: Float32Array.from({length: 600},
      (_, i) => i < 300 ? i % 3 : [0, 1, 0][i % 3])})""")  # each class in one place
    still(page)
    left, top, *_ = box_of(page)
    at = places(page)
    found = names_on(page)
    assert len(found) == 3
    for name, a, b, c, d in found:
        x, y = at[int(name.split()[1])]
        assert a < x - left < c
        assert y - top < b or y - top > d


def test_names_follow_the_filter_the_coloring_and_the_switch(page):
    page = page("{n: 600, maps: 1, classes: 3, columns: [{name: 'many', kind: 'category', "
                "values: Array.from({length: 600}, (_, i) => `v${i % 61}`)}]}")  # fmt: skip
    assert {name for name, *_ in names_on(page)} == {"class 0", "class 1", "class 2"}
    page.run("view.hideClasses(new Set([1]))")
    assert {name for name, *_ in names_on(page)} == {"class 0", "class 2"}
    page.run("view.colorBy({kind: 'column', column: 'many'})")
    still(page)
    assert not page.run("view.isOn('names')")  # more classes than markers
    assert names_on(page) == []
    page.run("[...document.querySelectorAll('.lv-check')].find((e) => e.textContent === 'Names').click()")
    assert names_on(page)
    page.run("view.colorBy({kind: 'column', column: 'amount'})")
    still(page)
    assert names_on(page) == []  # a scale has no classes


def test_names_and_axes_are_in_saved_pictures(page):
    page = page("{n: 300, maps: 1, classes: 3}")
    page.run("""view.update('m0', {axes: [{name: 'PC1', share: 0.553, columns: ['width', '−height']},
      {name: 'PC2', share: 0.2, columns: []}]})""")  # fmt: skip
    text = page.run("view.svg('m0').then((blob) => blob.text())")
    texts = [e.text for e in ElementTree.fromstring(text).findall(".//{*}g/{*}text")]
    assert {"class 0", "class 1", "class 2", "PC1 (55%): width, −height →", "PC2 (20%) →"} == set(texts)
    sizes = page.run("""(async () => {
      const found = [];
      for (const names of [true, false]) {
        view.set({names});
        found.push((await view.png('m0', {legend: false})).size);
      }
      return found;
    })()""")
    assert sizes[0] != sizes[1]


ARROWS = """(() => {
  const tips = [[9, 9.2], [9, 9], [9, -9], [-9, 9], [-9, -9]], columns = tips.map((_, i) => `a column of length ${i}`);
  const coordinates = new Float32Array([0, ...tips.map(([x]) => x), 0, ...tips.map(([, y]) => y)]);
  view.update('m0', { overlay: { arrows: { coordinates, names: columns } } });
})()"""


@pytest.mark.parametrize("size", [(1000, 700), (600, 500)])
def test_the_names_of_arrows_lie_inside_of_the_map_and_over_no_other_name(page, browser, size):
    browser.size(*size)
    page = page("{n: 300, maps: 1, classes: 3, fit: 'fill'}")
    page.run(ARROWS)
    still(page)
    found = names_on(page)
    wide, high = page.run("[view.panels[0].rect.wide, view.panels[0].rect.high]")
    assert sum(name.startswith("a column") for name, *_ in found) == 5
    assert all(x >= 0 and y >= 0 and u <= wide and v <= high for _, x, y, u, v in found)
    assert not any(overlap(a, b) for i, a in enumerate(found) for b in found[:i])


def test_arrows_are_in_saved_pictures(page):
    page = page("{n: 300, maps: 1, classes: 3}")
    page.run(ARROWS)
    drawn = ElementTree.fromstring(page.run("view.svg('m0').then((blob) => blob.text())"))
    lines = [e for e in drawn.findall(".//{*}path") if e.get("stroke-width") == "1.8"]
    assert [e.get("d").count("M") for e in lines] == [5]
    assert "a column of length 3" in [e.text for e in drawn.findall(".//{*}text")]


def test_no_point_lies_under_the_name_of_an_axis(page, browser):
    browser.size(600, 500)  # a small panel
    page = page("{n: 300, maps: 1, classes: 3, fit: 'fill'}")
    page.run("""view.update('m0', {axes: [{name: 'PC1', share: 0.5, columns: ['one', 'two', 'three']},
      {name: 'PC2', share: 0.2, columns: []}]})""")  # fmt: skip
    still(page)
    nearest = page.run("""(() => {
      const panel = view.panels[0], at = Array.from({ length: 300 }, (_, row) => panel.pixelOf(row));
      return [Math.min(...at.map(([x]) => x)), panel.high - Math.max(...at.map(([, y]) => y))];
    })()""")
    assert min(nearest) > 18  # letters of 11 pixels, 7 from the edge


def test_many_points_are_a_density_unless_the_user_chose(page):
    page = page("{n: 120000, maps: 1, classes: 4, spread: 1}")
    density = "view.panels[0].scene(800, 600, 1, Infinity).density"
    assert page.run(density)
    assert page.run("view.isOn('density')")
    sizes = page.run("[view.panels[0].scene(800, 600, 1, Infinity).radius]")
    page.run("view.zoomTo(view.panels[0], {zoom: 60, x: 0.1, y: 0.1})")
    still(page)
    assert not page.run(density)  # few are in sight: points
    assert page.run("view.panels[0].scene(800, 600, 1, Infinity).radius") > sizes[0]
    page.run("view.panels[0].goHome(); view.set({density: false})")
    assert not page.run(density)
    page.run("window.kept = view.save(); view.set({density: null}); view.restore(kept)")
    assert not page.run(density)  # the choice is kept


def test_a_row_without_a_level_has_a_missing_value_not_no_label(page):
    page = page("{n: 6, maps: 1, classes: 3, columns: [{name: 'sex', kind: 'category', "
                "values: ['a', 'b', null, 'a', 'b', 'a']}]}")  # fmt: skip
    page.run("view.colorBy({kind: 'column', column: 'sex'})")
    still(page)
    said = page.run("document.querySelector('.lv-legend').innerText")
    assert "missing value" in said
    assert "no label" not in said


@pytest.mark.parametrize(("width", "height"), [(1000, 700), (600, 900)])
def test_thirty_classes_can_be_reached_in_the_legend_and_their_counts_follow_the_filter(page, browser, width, height):
    browser.size(width, height)
    page = page("{n: 3000, maps: 1, classes: 30, fit: 'fill'}")
    reached = page.run("""[...document.querySelectorAll('.lv-class')].filter((button) => {
      button.scrollIntoView({ block: 'nearest' });
      const { left, top, width, height } = button.getBoundingClientRect();
      return button.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    }).length""")
    assert reached == 30
    page.run("view.filter(Uint8Array.from({ length: 3000 }, (_, row) => row % 30 === 7 || row < 30))")
    counts = page.run("[...document.querySelectorAll('.lv-count')].map((e) => e.textContent)")
    assert counts == ["100" if code == 7 else "1" for code in range(30)]


def test_a_year_is_written_without_a_comma_in_the_hover_and_in_files(page):
    page = page(
        "{n: 4, maps: 1, columns: [{name: 'year', kind: 'number', values: new Float32Array([2008, 9, -3, 1])}]}"
    )
    assert ["year", "2008"] in page.run("view.tip.linesOf(0, view.panels[0])")
    head, first, *_ = csv.reader(io.StringIO(page.run("view.csv([0, 1])")))
    assert first[head.index("year")] == "2008"
