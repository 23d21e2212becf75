"""The report in headless Chromium, as a person uses it: opened from disk, hovered over, dragged over, printed."""

import base64
import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from lowland.plots.style import COLORS
from lowland.study.report import write_report
from lowland.study.result import Advice, Curve, Score
from lowland.study.table import thumbnails_of

from . import results

DIM = "211,216,223"  # of rows that are not selected

# What a layer of the shared canvas (0: points, 1: marks) shows in a panel: how many pixels are painted, and where the
# first of them is on the screen.
SEEN = """(panel, layer) => {
  const plot = document.querySelectorAll('.lv-plot')[panel], canvas = document.querySelectorAll('.lv-canvas')[layer];
  const box = plot.getBoundingClientRect(), whole = canvas.getBoundingClientRect(), scale = canvas.width / whole.width;
  const wide = Math.round(box.width * scale), high = Math.round(box.height * scale);
  const copy = new OffscreenCanvas(wide, high);
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, Math.round((whole.left - box.left) * scale), Math.round((whole.top - box.top) * scale));
  const { data } = context.getImageData(0, 0, wide, high);
  let painted = 0, first = null, sum = 0; const colors = {}, ends = [Infinity, -Infinity];
  for (let i = 3; i < data.length; i += 4) if (data[i] === 255) {
    ends[0] = Math.min(ends[0], (i >> 2) % wide); ends[1] = Math.max(ends[1], (i >> 2) % wide);
    painted++; first ??= [(i >> 2) % wide, Math.floor((i >> 2) / wide)];
    const color = [data[i - 3], data[i - 2], data[i - 1]].join(","); colors[color] = (colors[color] ?? 0) + 1;
    sum = (Math.imul(sum, 31) + data[i - 3] + 256 * data[i - 2] + 65536 * data[i - 1] + i) | 0;
  }
  const at = first && [box.left + (first[0] + .5) / scale, box.top + (first[1] + .5) / scale];
  const across = ends.map((end) => end / wide); // of the painted pixels, as fractions of the width
  return { painted, at, sum, colors, across, box: [box.left, box.top, box.right, box.bottom] };
}"""


@pytest.fixture
def page(browser, tmp_path):
    """Opens the report of a study, and checks at the end that there were no errors and no requests."""

    def opened(result, name="report.html"):
        path = write_report(result, tmp_path / name)
        browser.open(path)
        browser.path = path.resolve().as_uri()
        return browser

    yield opened
    browser.run("0")  # wait for pending messages
    assert browser.problems == []
    assert browser.dialogs == []
    assert set(browser.requests) <= {browser.path}


def show_panels(page):
    """Wait until the first map is drawn and the page has been laid out."""
    page.until("document.querySelector('.lv-panel').dataset.drawn")
    box = None
    while box != (box := seen(page, 0)["box"]):  # a busy machine is still laying out the page
        page.settle()


def show_panel(page, i):
    page.run(f"document.querySelectorAll('.lv-panel')[{i}].scrollIntoView()")
    page.settle()


def seen(page, panel, layer="points"):
    return page.run(f"({SEEN})({panel}, {('points', 'marks').index(layer)})")


def choose(page, label, text):
    """Choose from the list with this label."""
    page.run(f"""(() => {{
      const fields = [...document.querySelectorAll('.lv-field')];
      const list = fields.find((field) => field.firstChild.textContent === {label!r}).querySelector('select');
      list.value = [...list.options].find((option) => option.textContent === {text!r}).value;
      list.dispatchEvent(new Event('change'));
    }})()""")
    page.settle()


def click(page, text, within="document"):
    """Click the first visible button whose text begins so."""
    page.run(f"""[...{within}.querySelectorAll('button')].find((button) =>
      button.checkVisibility() && button.textContent.startsWith({text!r})).click()""")
    page.settle()


def search(page, text, where=""):
    """Type into the search of rows, in a place of the list."""
    page.run(f"""(() => {{
      const list = document.querySelector('.search select'), input = document.querySelector('.search input');
      const place = [...list.options].find((option) => option.textContent === {where!r});
      if (place) {{ list.value = place.value; list.dispatchEvent(new Event('change')); }}
      input.value = {text!r};
      input.dispatchEvent(new Event('input'));
    }})()""")
    page.until("document.getElementById('found').textContent !== '' || !document.querySelector('.search input').value")
    page.run("new Promise((done) => setTimeout(done, 200))")
    page.settle()


def saved(page, action):
    """Run an action that offers a file; return the name and the bytes of the file."""
    page.run("""(() => {
      const made = URL.createObjectURL;
      window.offered = null;
      URL.createObjectURL = (blob) => { window.blob = blob; return made.call(URL, blob); };
      HTMLAnchorElement.prototype.click = function () {
        window.blob.arrayBuffer().then((data) => {
          const text = Array.from(new Uint8Array(data), (c) => String.fromCharCode(c)).join('');
          window.offered = [this.download, btoa(text)];
        });
      };
    })()""")
    action()
    page.until("window.offered")
    name, data = page.run("window.offered")
    return name, base64.b64decode(data)


def press_enter(page):
    """Select the rows that were found."""
    page.run("document.querySelector('.search input').focus()")
    page.press("Enter", "Enter")
    page.settle()


def selected(page):
    return page.run("document.getElementById('selected').textContent")


def titles(page):
    return page.run("[...document.querySelectorAll('.lv-panel h3')].map((h) => h.title)")


def test_the_sections_come_in_order_from_the_title_to_the_command(page):
    page = page(results.study())
    text = page.run("document.getElementById('top').innerText + document.querySelector('main').innerText")
    order = ["iris.csv", "150 rows × 4 columns", "2026-11-15", "For visualization: PCA in 2 dimensions", "Color by",
             "Find rows", "No rows selected", "PCA with 2 dimensions preserves", "Trustworthiness 0.97, the best",
             "Scores", "Curves", "Shepard", "lowland compare iris.csv", "scikit-learn", "x86_64, 2 cores"]  # fmt: skip
    assert sorted(order, key=text.index) == order
    assert page.run("document.title") == "Study of iris.csv"
    assert "†" not in text  # nothing is marked without supervised methods


@pytest.mark.parametrize(("width", "height"), [(1000, 700), (3000, 1600)])
def test_maps_are_in_sight_at_once(page, browser, width, height):
    browser.size(width, height)
    page = page(replace(results.study(n_trials=18), advice=results.study().advice * 2))
    show_panels(page)
    assert page.run("scrollY") == 0
    boxes = page.run("""[...document.querySelectorAll('.lv-panel')].map((panel) => panel.getBoundingClientRect())
      .map(({ left, top, right, bottom }) => [left, top, right, bottom])""")
    assert sum(bottom <= height and right <= width for _, _, right, bottom in boxes) >= (2 if height > 800 else 1)
    assert boxes[0][1] <= 330  # title, advice and controls above
    assert page.run("document.querySelector('.toolbar').offsetHeight") < 75  # one line
    assert seen(page, 0)["painted"] > 500
    beside = page.run("document.querySelector('.side').getBoundingClientRect().left")
    assert beside >= max(right for _, _, right, _ in boxes)  # legend, search and selection
    assert page.run("document.documentElement.scrollWidth") <= width


def test_the_reason_for_the_advice_opens_and_closes(page):
    page = page(results.study())
    reason = "document.querySelector('.why-text')"
    assert not page.run(f"{reason}.checkVisibility()")
    page.run("document.querySelector('.why summary').focus()")
    page.press("Enter", "Enter", "\r")
    page.settle()
    assert page.run(f"{reason}.checkVisibility()")
    assert "Trustworthiness 0.97, the best of 6 trials" in page.run(f"{reason}.innerText")
    page.press("Escape", "Escape")
    assert not page.run(f"{reason}.checkVisibility()")


@pytest.mark.parametrize("width", [500, 1400])
def test_nothing_moves_while_rows_are_selected(page, browser, width):
    browser.size(width, 1000)
    page = page(results.nasty())
    show_panels(page)
    left, top, right, bottom = seen(page, 0)["box"]
    page.drag((left + 2, top + 2), (right - 2, bottom - 2))
    page.settle()
    assert selected(page).startswith("60 rows")
    assert seen(page, 0)["box"] == [left, top, right, bottom]


def test_a_box_selects_rows_in_every_panel(page):
    page = page(results.study())
    show_panels(page)
    assert page.run("[...document.querySelectorAll('.lv-panel .lv-note')].every((note) => note.hidden)")  # no outliers
    before = [seen(page, i) for i in range(3)]
    left, top, right, bottom = before[0]["box"]
    page.drag((left + 2, top + 2), (right - 2, (top + bottom) / 2))
    page.settle()
    assert 0 < int(selected(page).split()[0]) < 150
    for i in range(3):
        assert seen(page, i)["colors"].get(DIM, 0) > 100, i  # the others are dimmed in every panel
        assert DIM not in before[i]["colors"]
    page.drag((left + 2, (top + bottom) / 2), (right - 2, bottom - 2), modifiers=8)  # with Shift: added
    page.settle()
    assert selected(page).startswith("150 rows selected, by species: setosa (50 rows)")
    click(page, "Clear")
    page.settle()
    assert selected(page).startswith("No rows")
    assert [seen(page, i)["sum"] for i in range(3)] == [each["sum"] for each in before]


def test_colors_by_column_by_trustworthiness_and_without_colors(page):
    page = page(results.study())
    show_panels(page)
    sums = {seen(page, 1)["sum"]}
    for text in ("petal width", "trustworthiness", "Single color"):
        choose(page, "Color by", text)
        sums.add(seen(page, 1)["sum"])
    assert len(sums) == 4
    colors = seen(page, 1)["colors"]
    assert max(colors, key=colors.get) == ",".join(str(int(COLORS[0][i : i + 2], 16)) for i in (1, 3, 5))
    choose(page, "Color by", "continuity")
    assert "higher is better" in page.run("document.querySelector('.lv-legend').innerText")


@pytest.mark.parametrize("labeled", [True, False])
def test_a_tested_report_opens_with_the_label_and_without_one_with_the_reliability(page, labeled):
    study = results.study()
    first, second = study.trials[:2]
    codes = (np.arange(len(second.Z)) % 3).astype(np.float32)
    tested = replace(second, per_row={**second.per_row, "reliability": codes})
    table = study.table if labeled else replace(study.table, labels=None)
    page = page(replace(study, table=table, trials=(first, tested, *study.trials[2:])))
    show_panels(page)
    heading = page.run("document.querySelector('.lv-legend h4').firstChild.textContent")
    assert heading == ("species" if labeled else f"Reliability: {second.name}")
    if not labeled:
        listed = page.run("[...document.querySelectorAll('.lv-class .lv-name')].map((name) => name.textContent)")
        assert listed == ["reliable", "uncertain", "unreliable"]
        blue, yellow, red = (",".join(str(int(COLORS[i][j : j + 2], 16)) for j in (1, 3, 5)) for i in (0, 2, 1))
        assert {blue, yellow, red} <= set(seen(page, 1)["colors"])


def test_arrows_and_contours_of_columns_are_drawn_over_the_maps(page):
    study = results.study(300, 3)
    trials = tuple(replace(t, scores={**t.scores, "stability": Score(0.9, "higher", "")}) for t in study.trials)
    browser = page(replace(study, trials=trials))
    show_panels(browser)
    plain = seen(browser, 0)["painted"], seen(browser, 0)["sum"]
    for drawn in ("arrows of columns", study.table.names[0]):
        choose(browser, "Over the maps", drawn)
        assert (seen(browser, 0, "marks")["sum"], seen(browser, 0)["sum"]) != (0, plain[1]), drawn
    assert "r²" in browser.run("document.getElementById('details').textContent")
    choose(browser, "Over the maps", "nothing")
    assert seen(browser, 0)["sum"] == plain[1]


def test_the_report_can_be_used_by_keyboard(page):
    page = page(results.study())
    show_panels(page)
    page.run("document.querySelector('.lv-plot').focus({ preventScroll: true })")
    for _ in range(3):
        page.press("n", "KeyN", "n")
    page.settle()
    assert "Row 2" in page.run("document.querySelector('.lv-tip').innerText")
    assert "Row 2" in page.run("document.querySelector('.lowland-view [role=status]').textContent")
    assert seen(page, 3, "marks")["painted"] > 20
    page.press(" ", "Space", " ")
    assert selected(page).startswith("1 row selected")
    before = seen(page, 0)["sum"]
    page.press("+", "Equal", "+")
    page.settle()
    assert seen(page, 0)["sum"] != before
    page.press("0", "Digit0", "0")
    page.press("Escape", "Escape")
    page.settle()
    assert selected(page).startswith("No rows")


def test_axes_are_fitted_to_the_bulk_and_outliers_marked_at_the_edge(page):
    page = page(results.outlier(1e9))
    show_panels(page)
    near = seen(page, 0)
    left, top, right, bottom = near["box"]
    assert near["painted"] > 1500  # 200 separate points, not a dot
    assert page.run("document.querySelector('.lv-panel .lv-note').textContent").startswith("1 row lies outside")
    # the arrow is in the corner of the outlier: to the lower right
    assert near["across"][1] > 0.95
    page.mouse("mouseMoved", right - 0.025 * (bottom - top), bottom - 0.025 * (bottom - top))
    page.settle()
    assert "Row 7" in page.run("document.querySelector('.lv-tip').innerText")

    def double_click():
        for count in (1, 2):
            for kind in ("mousePressed", "mouseReleased"):
                pressed = int(kind == "mousePressed")
                page.mouse(kind, (left + right) / 2, (top + bottom) / 2, "left", pressed, clickCount=count)
        page.settle()

    double_click()  # all rows: the others are a dot, the outlier a point
    all_rows = seen(page, 0)
    assert all_rows["painted"] < near["painted"] / 4
    assert all_rows["across"][1] - all_rows["across"][0] > 0.5
    double_click()
    assert seen(page, 0)["painted"] == near["painted"]
    page.run("document.querySelector('.lv-menu summary').click()")
    page.settle()
    click(page, "Show all rows")
    assert seen(page, 0)["painted"] < near["painted"] / 4


def test_the_legend_of_a_scale_names_missing_values_only_where_a_point_has_none(page):
    legend = "document.querySelector('.lv-legend').innerText"
    whole = page(results.study())
    for text in ("petal width", "trustworthiness"):
        choose(whole, "Color by", text)
        assert "missing value" not in whole.run(legend)
    result = results.gaps()
    holed = page(replace(result, trials=result.trials[:3]))
    choose(holed, "Color by", "sepal width")  # every third is missing
    assert "missing value" in holed.run(legend)
    choose(holed, "Color by", "petal length")
    assert "missing value" not in holed.run(legend)
    choose(holed, "Color by", "trustworthiness")  # missing for rows without coordinates
    assert "missing value" not in holed.run(legend)
    choose(page(result), "Color by", "trustworthiness")  # one trial has none at all, but no point either
    assert "missing value" not in holed.run(legend)


@pytest.mark.parametrize("width", [360, 700])
def test_the_reason_for_an_omitted_trial_stays_visible_when_scores_are_scrolled(page, browser, width):
    browser.size(width, 900)
    page = page(results.study())
    page.run("document.getElementById('scores-table').scrollLeft = 1000")
    page.settle()
    assert page.run("document.getElementById('scores-table').scrollLeft") > 50
    edges = page.run("""[...document.querySelectorAll('.without')].map((row) => [
      row.querySelector('th').getBoundingClientRect().right,
      row.querySelector('td > span').getBoundingClientRect().left,
      row.querySelector('td > span').getBoundingClientRect().right,
      document.getElementById('scores-table').getBoundingClientRect().right])""")
    assert len(edges) == 3
    for name, start, end, table in edges:
        assert name <= start < end <= table


def test_columns_of_the_table_can_be_chosen(page):
    page = page(results.study())
    headings = "[...document.querySelectorAll('.scores thead button')].map((b) => b.textContent)"
    assert not any(text.startswith("dimensions") for text in page.run(headings))  # 2 for all: in a sentence instead
    assert "Same for all trials: dimensions 2." in page.run("document.getElementById('scores').innerText")
    box = "[...document.querySelectorAll('.boxes label')].find((l) => l.textContent === '{}').firstChild.click()"
    page.run(box.format("dimensions"))
    page.run(box.format("stress"))
    assert any(text.startswith("dimensions") for text in page.run(headings))
    assert not any(text.startswith("stress") for text in page.run(headings))


def test_the_table_sorts_and_marks_the_best(page):
    page = page(results.study())
    first = "document.querySelector('.scores tbody th a').textContent"
    assert page.run("document.querySelectorAll('.scores td.best').length") >= 6
    click = "[...document.querySelectorAll('.scores thead button')].find((b) => b.innerText.startsWith('{}')).click()"
    page.run(click.format("stress"))
    trials = sorted(results.study().trials[:6], key=lambda trial: trial.scores["stress"].value)
    assert page.run(first) == trials[0].title  # the best first
    page.run(click.format("stress"))
    assert page.run(first) == trials[-1].title
    assert page.run("document.querySelectorAll('th[aria-sort=descending]').length") == 1
    text = page.run("document.querySelector('.scores').innerText")
    assert "Choose at most 149." in text  # trials without a result stay, with their sentence
    assert "timed out" in text


def test_scores_of_supervised_methods_on_training_labels_are_marked_and_never_best(page):
    a, b, c = results.study().trials[:3]
    for trial, value in ((a, 0.7), (b, 0.99), (c, 0.8)):
        score = Score(
            value, "higher", "Fraction of rows classified correctly.", value - 0.3, 1.0, labels_seen=trial is b
        )
        trial.scores.clear()
        trial.scores["hit"] = score
    page = page(replace(results.study(), trials=(a, b, c), advice=()))
    names = "[...document.querySelectorAll('.scores tbody th a')].map((a) => a.textContent)"
    cells = "[...document.querySelectorAll('.scores tbody tr')].map((tr) => tr.cells[1].innerText.split('\\n')[0])"
    assert page.run(names) == [c.title, a.title, b.title]
    assert page.run(cells) == ["★", "≈", "0.990†"]
    assert "optimistic" in page.run("document.getElementById('scores').innerText")
    assert titles(page) == page.run(names)
    assert "hit † 0.990" in page.run("document.querySelectorAll('.lv-panel')[2].innerText")
    page.run("document.querySelectorAll('.scores thead button')[1].click()")  # the worst first
    assert page.run(names) == [a.title, c.title, b.title]
    choose(page, "Sort by", "name")
    choose(page, "Sort by", "hit")
    assert titles(page) == [c.title, a.title, b.title]


def test_one_trial_has_no_superfluous_text(page):
    result = results.study(n_trials=1, without=False)
    page = page(result)
    text = page.run("document.body.innerText")
    assert "false" not in text
    assert "null" not in text
    assert "undefined" not in text
    assert "1 trial: 1 done" in text
    assert "★" not in text  # no best of a single trial


def test_the_header_counts_every_outcome(page):
    stopped = replace(results.WITHOUT[0], name="stopped", status="stopped")
    result = results.study()
    page = page(replace(result, trials=(*result.trials, stopped, replace(stopped, name="too")), complete=False))
    message = page.run("document.getElementById('top').innerText")
    assert "11 trials: 6 done, 1 failed, 1 timed out, 2 stopped, 1 left out" in message


def test_headings_of_the_advice_match_its_text(page):
    advice = (
        Advice("classify", "PCA", 8, "For classification, use PCA with 8 components.", (), "PCA"),
        Advice("compress", None, 5, "For compression, use kernel PCA with 5 components.", (), "KernelPCA"),
        Advice("visualize", "Isomap", 2, "For visualization, use Isomap with 2 dimensions.", (), "Isomap"),
        Advice("visualize", None, None, "No advice.", ()),
    )
    page = page(replace(results.study(), advice=advice))
    heads = page.run("[...document.querySelectorAll('.card h3')].map((h) => h.textContent)")
    assert heads == ["PCA in 8 dimensions", "kernel PCA in 5 dimensions", "Isomap in 2 dimensions", "No recommendation"]
    # only a trial with that many dimensions has a panel to link to, and is marked
    assert page.run("[...document.querySelectorAll('.card h3 a')].map((a) => a.textContent)") == ["Isomap"]
    assert page.run("document.querySelectorAll('.chip.chosen, .lv-badge').length") == 0


def test_the_recommended_map_is_marked_and_linked(page):
    page = page(results.study())
    show_panels(page)
    marked = "[...document.querySelectorAll('.lv-panel:has(.lv-badge) h3')].map((h) => h.title)"
    assert page.run(marked) == ["PCA"]
    show_panel(page, 5)
    page.run("document.querySelector('.advice-lines a').click()")
    page.settle()
    top = page.run("document.querySelector('.lv-panel').getBoundingClientRect().top")
    assert page.run("document.querySelector('.toolbar').getBoundingClientRect().bottom") <= top < 400


def test_texts_of_charts_and_controls_are_not_cut(page):
    a = results.study().trials[0]
    x = np.unique(np.geomspace(1, 100_000, 200).round())
    a.curves["R_NX"] = Curve(x, np.linspace(0, 1, len(x)), "neighborhood size", "R_NX")
    a.curves["distortion"] = Curve(np.arange(4.0), np.array([98765.0, 10, 5, 0]), "components", "distortion")
    a.scores["relative rank error in the embedding"] = a.scores["stress"]
    page = page(replace(results.study(), trials=(a, *results.study().trials[1:])))
    outside = """[...document.querySelectorAll('.chart text')].filter((text) => {
      const own = text.getBoundingClientRect(), chart = text.closest('svg').getBoundingClientRect();
      return own.left < chart.left - 1 || own.right > chart.right + 1;
    }).map((text) => text.textContent)"""
    assert page.run(outside) == []
    assert "100,000" in page.run("document.querySelector('.chart').textContent")
    over = """[...document.querySelectorAll('.chart')].flatMap((chart) => {
      const texts = [...chart.querySelectorAll('text')].map((text) => [text, text.getBoundingClientRect()]);
      return texts.flatMap(([a, p], i) => texts.slice(i + 1).filter(([, q]) =>
        p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1
      ).map(([b]) => [a.textContent, b.textContent]));
    })"""
    assert page.run(over) == []
    # the list is as wide as its longest entry
    cut = """(() => {
      const list = document.querySelector('.order select'), had = list.getBoundingClientRect().width;
      list.style.maxWidth = 'none';
      return list.getBoundingClientRect().width - had;
    })()"""
    assert page.run(cut) <= 1


def test_every_control_is_reached_by_tab_and_seen(page):
    page = page(results.study(n_trials=4))
    page.run("window.reached = new Set(); addEventListener('focusin', ({ target }) => reached.add(target))")
    behind = """new Promise((done) => requestAnimationFrame(() => {
      const bar = document.querySelector('.toolbar'), now = document.activeElement;
      const box = now.getBoundingClientRect(), cover = bar.getBoundingClientRect();
      const hidden = now.closest('main') && !bar.contains(now) && box.top >= cover.top && box.bottom <= cover.bottom;
      done(now === document.body ? null : hidden ? now.outerHTML.slice(0, 100) : '');
    }))"""
    covered = []
    for _ in range(150):
        page.press("Tab", "Tab")
        covered.append(page.run(behind))
        if covered[-1] is None:  # once around
            break
    for _ in range(len(covered)):  # and back, from below
        page.call("Input.dispatchKeyEvent", type="rawKeyDown", key="Tab", code="Tab", modifiers=8)
        covered.append(page.run(behind))
    page.settle()
    missed = page.run("""[...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
      .filter((node) => node.checkVisibility({ visibilityProperty: true }) && !node.disabled && !reached.has(node))
      .filter((node) => node.type !== 'radio' || node.checked)
      .map((node) => node.outerHTML.slice(0, 120))""")
    assert missed == []
    assert not any(covered), [each for each in covered if each]


def test_clicking_a_name_highlights_its_line_and_panel(page):
    page = page(results.study())
    assert page.run("document.querySelectorAll('.chart .faint').length") == 0
    page.run("document.querySelectorAll('.trial-button')[1].click()")
    assert page.run("document.querySelectorAll('.chart .faint').length") > 5
    assert page.run("document.querySelectorAll('.lv-panel.lit h3')[0].title") == "Isomap"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_that_are_scripts_do_not_run(page, browser, scheme):
    browser.media("", scheme)
    page = page(results.nasty(), "nasty.html")
    show_panels(page)
    text = page.run("document.body.innerText")
    assert results.SCRIPT in text
    assert "<img src=x onerror=alert(3)>" in text
    assert page.run("document.querySelectorAll('img, script[src]').length") == 0
    choose(page, "Color by", results.SCRIPT)
    page.mouse("mouseMoved", *seen(page, 0)["at"])
    page.settle()
    assert results.SCRIPT in page.run("document.querySelector('.lv-tip').innerText")


@pytest.mark.parametrize(
    "result",
    [
        results.gaps(),
        replace(results.study(), trials=(), advice=()),
        replace(results.study(), trials=results.WITHOUT),
        results.with_labels(None),
        results.with_labels(np.array(["one"] * 90)),
        results.with_labels(np.random.default_rng(0).standard_normal(90)),
        results.study(600, 2, classes=60),
        results.study(12_000, 2, classes=3),
    ],
    ids=["gaps", "no trials", "only failures", "no label", "one label", "float label", "60 classes", "many rows"],
)
def test_every_study_opens_in_the_browser(page, result):
    page = page(result)
    text = page.run("document.body.innerText")
    assert result.command in text
    assert ("stopped early" in text) is not result.complete
    if any(trial.Z is not None for trial in result.trials):
        show_panels(page)
        assert seen(page, 0)["painted"] > 50
        if result.table.labels is not None and result.table.labels.dtype.kind == "U":
            assert page.run("document.querySelectorAll('.lv-class').length") == len(set(result.table.labels))


def test_network_access_is_forbidden(page):
    page = page(results.study())
    page.run("fetch('http://127.0.0.1:9/').catch(() => 0)")
    page.run("0")
    assert any("Content Security Policy" in problem or "violates" in problem for problem in page.problems)
    page.problems.clear()
    assert all(request.startswith(("file:", "http://127.0.0.1:9")) for request in page.requests)
    page.requests.clear()


def test_all_panels_are_printed_on_white(page, browser, tmp_path):
    browser.media("", "dark")
    page = page(results.study(300, 8, without=False))
    show_panels(page)
    before = seen(page, 0)
    page.run("dispatchEvent(new Event('beforeprint'))")
    painted = page.run("""[...document.querySelectorAll('.lv-pictures canvas')].map((canvas) => {
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((v, i) => i % 4 === 3 && v === 255).length;
    })""")
    assert len(painted) == 8
    assert min(painted) > 500
    assert page.run("document.querySelector('.lowland-view').dataset.theme") == "light"
    page.run("dispatchEvent(new Event('afterprint'))")
    page.settle()
    assert page.run("document.querySelectorAll('.lv-pictures canvas').length") == 0
    assert seen(page, 0)["sum"] == before["sum"]
    page.paper(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().count(b"/Subtype /Image") >= 8


def test_a_report_prints_as_a_short_document(page, browser, tmp_path):
    result = results.study(200, 20)
    warned = replace(result.trials[0], warnings=("The graph has two parts.",))
    page = page(replace(result, trials=(warned, *result.trials[1:])))
    page.paper(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().count(b"/Type /Page\n") <= 6
    browser.media("print")
    page.run("dispatchEvent(new Event('beforeprint'))")
    text = page.run("document.body.innerText")
    assert "The graph has two parts." in text
    assert all(advice.text in text and text.count(advice.text) == 1 for advice in result.advice)
    tops = page.run("""['advice', 'maps', 'scores'].map((id) => {
      const { top, bottom } = document.getElementById(id).getBoundingClientRect();
      return [top, bottom];
    })""")
    assert tops[0][1] <= tops[1][0]  # the advice comes first
    assert tops[1][1] <= tops[2][0]
    legend = page.run("""(() => {
      const [legend, names] = ['.lv-printed > .legend', '.trial-buttons']
        .map((at) => getComputedStyle(document.querySelector(at)));
      return [legend.breakInside, legend.breakAfter, names.breakAfter];
    })()""")
    assert legend == ["avoid", "avoid", "avoid"]  # on the page of what it explains
    assert page.run("document.querySelector('.lv-printed .lv-legend').getBoundingClientRect().width") > 400
    page.run("dispatchEvent(new Event('afterprint'))")
    browser.media("")
    assert page.run("document.getElementById('maps').nextElementSibling.id") == "advice"


def test_a_narrow_screen_needs_no_scrolling_sideways(page, browser):
    browser.size(360, 740)
    page = page(results.nasty())
    assert page.run("document.documentElement.scrollWidth") <= 360


def test_a_hundred_thousand_points_in_twenty_panels(page):
    page = page(results.large())
    show_panels(page)
    left, top, right, bottom = seen(page, 0)["box"]
    page.mouse("mouseMoved", *seen(page, 0)["at"])
    page.settle()
    assert "Row " in page.run("document.querySelector('.lv-tip').innerText")
    page.drag((left + 3, top + 3), (right - 3, bottom - 3))
    page.until("document.getElementById('selected').textContent.startsWith('100,000 rows selected')")
    click(page, "Clear")
    before = seen(page, 1)["sum"]
    choose(page, "Color by", "trustworthiness")
    page.settle()
    assert seen(page, 1)["sum"] != before


def test_curves_of_r_nx_share_one_chart_and_one_scale(page):
    page = page(results.crowded())
    assert page.run("document.querySelectorAll('#curves .chart').length") == 1
    drawn = (
        "[...document.querySelectorAll('#curves .chart .line')]"
        ".filter((line) => getComputedStyle(line).display !== 'none').length"
    )
    assert page.run(drawn) in (5, 6)  # the best five and the recommended one
    page.run("document.querySelector('#curves input[type=checkbox]').click()")
    assert page.run(drawn) == 30
    assert "differ too much" not in page.run("document.getElementById('curves').textContent")


@pytest.mark.parametrize(("width", "height"), [(500, 900), (1300, 500)])
def test_long_legends_do_not_push_the_charts_away_and_panels_fit_the_window(page, browser, width, height):
    browser.size(width, height)
    page = page(results.crowded())
    show_panels(page)
    for size in ("small", "medium", "large"):
        choose(page, "Map size", size)
        assert page.run("Math.max(...[...document.querySelectorAll('.lv-frame')].map((p) => p.offsetHeight))") <= height
    page.run("document.querySelector('.lv-plot').focus()")
    page.press("Enter", "Enter")
    page.run("document.querySelector('.lv-panel').scrollIntoView()")
    page.settle()
    assert page.run("[...document.querySelectorAll('.lv-panel')].filter((p) => p.checkVisibility()).length") == 1
    box = page.run("(({top, bottom}) => [top, bottom])(document.querySelector('.lv-frame').getBoundingClientRect())")
    assert box[0] >= -1
    assert box[1] <= height + 1  # all of it, below the sticky controls
    page.press("Enter", "Enter")
    page.run("document.getElementById('curves').scrollIntoView()")
    page.settle()
    assert page.run("document.querySelector('#curves .chart').getBoundingClientRect().top") < 0.55 * height
    names = page.run("[...document.querySelectorAll('.lv-class')].map((b) => b.textContent)")
    assert len(set(names)) == 20  # shortened, but still different
    assert page.run("document.documentElement.scrollWidth <= innerWidth")


def test_shepard_diagrams_are_fitted_to_most_pairs(page):
    result = results.study(without=False)
    for i, trial in enumerate(result.trials):
        cloud = trial.curves["Shepard"]
        x, y = cloud.x.copy(), cloud.y.copy()
        if i == 0:
            x[:10], y[:10] = 1e4, 1e4
        trial.curves["Shepard"] = replace(cloud, x=x, y=y)
    page = page(result)
    page.run("document.getElementById('distances').scrollIntoView()")
    page.settle()
    said = "(note) => (note.hidden ? '' : note.textContent)"
    notes = page.run(f"[...document.querySelectorAll('#distances figure .note')].map({said})")
    assert notes[0].startswith("10 pairs")
    assert not any(notes[1:])
    canvas = "document.querySelector('.cloud').getContext('2d').getImageData(50, 0, 350, 350)"  # without the origin
    assert page.run(f"{canvas}.data.filter((value, i) => i % 4 === 3 && value).length") > 2000


# Search, files and images


def found(page):
    return page.run("document.getElementById('found').textContent")


def listed(page):
    return page.run("[...document.querySelectorAll('.found button')].map((b) => b.textContent)")


def test_rows_are_found_by_id_and_ringed_in_every_map(page):
    page = page(results.with_ids())
    show_panels(page)
    page.run("[...document.querySelectorAll('.lv-check')].find((e) => e.textContent === 'Names').click()")
    search(page, "plant 017")
    assert found(page) == "1 row found."
    assert listed(page)[0].startswith("plant 017 · virginica")
    assert all(seen(page, i, "marks")["painted"] > 20 for i in range(6))
    page.run("document.querySelector('.search input').focus()")
    page.press("Enter", "Enter", "\r")
    page.settle()
    assert selected(page).startswith("1 row selected, by species: virginica (1 row)")
    search(page, "PLANT 01")  # part of an id, in any case
    assert found(page) == "10 rows found."
    click(page, "Select them")
    assert selected(page).startswith("10 rows selected")
    search(page, "")
    assert found(page) == ""
    assert seen(page, 1, "marks")["painted"] == 0


def test_rows_are_found_by_any_column(page):
    result = results.with_ids()
    page = page(result)
    show_panels(page)
    search(page, "forest")
    assert found(page) == "75 rows found."
    search(page, "note 4 about")
    assert found(page) == "1 row found."
    search(page, "setosa", "species")
    assert found(page) == "50 rows found."
    values = result.table.values[:, 0]
    search(page, "> 0.5", "sepal length")
    assert found(page) == f"{(values > 0.5).sum()} rows found."
    search(page, "-1..1", "sepal length")
    assert found(page) == f"{((values >= -1) & (values <= 1)).sum()} rows found."
    search(page, str(values[3]), "sepal length")
    assert found(page).startswith(f"{(values == values[3]).sum()} row")
    search(page, "12", "row number")
    assert listed(page)[0].startswith("plant 012")
    search(page, "nowhere", "id")
    assert found(page) == "No row was found."
    search(page, "[", "notes")  # a text, not a pattern
    assert found(page) == "No row was found."


def test_rows_without_ids_are_found_by_number(page):
    page = page(results.gaps())
    show_panels(page)
    search(page, "403")  # of 8000, not of the 80 that are shown
    assert found(page) == "1 row found."
    assert listed(page)[0].startswith("Row 403")
    search(page, "404")
    assert found(page) == "No row was found."


def test_the_selection_is_saved_as_csv(page):
    result = results.with_ids()
    page = page(result)
    show_panels(page)
    search(page, "setosa", "species")
    click(page, "Select them")
    name, data = saved(page, lambda: click(page, "Save CSV"))
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    assert name == "selection.csv"
    wanted = np.flatnonzero(result.table.labels == "setosa")
    assert [int(row["row"]) for row in rows] == wanted.tolist()
    assert rows[0]["id"] == f"plant {wanted[0]:03}"
    assert rows[0]["species"] == "setosa"
    assert rows[0]["notes"] == f"note {wanted[0]} about <b>row</b>"
    assert np.allclose([float(row["petal width"]) for row in rows], result.table.values[wanted, 3], rtol=1e-6)
    Z = result.trials[1].Z
    across = [float(row["Isomap 1"]) for row in rows]
    assert np.allclose(across, Z[wanted, 0], atol=1e-4 * np.ptp(Z[:, 0]))
    assert "Copy ids" in page.run("document.querySelector('.selection .buttons').textContent")


def test_ids_and_kept_columns_are_in_the_tooltip_as_text(page):
    page = page(results.with_ids())
    show_panels(page)
    page.mouse("mouseMoved", *seen(page, 0)["at"])
    page.settle()
    tip = page.run("document.querySelector('.lv-tip').innerText")
    assert "plant " in tip
    assert "meadow" in tip or "forest" in tip
    assert "about <b>row</b>" in tip


def test_images_are_shown_in_the_tooltip_and_for_the_selection(page, browser):
    pixels = np.random.default_rng(0).random((150, 30))
    result = results.study()
    result = replace(result, table=replace(result.table, thumbnails=thumbnails_of(pixels, (5, 6))))
    page = page(result)
    show_panels(page)
    page.mouse("mouseMoved", *seen(page, 0)["at"])
    page.until("document.querySelector('.lv-tip img').naturalWidth === 6")
    search(page, "setosa", "species")
    click(page, "Select them")
    assert page.run("document.querySelectorAll('.images img').length") == 50
    page.until("[...document.querySelectorAll('.images img')].every((image) => image.naturalHeight === 5)")
    browser.requests[:] = [url for url in browser.requests if not url.startswith("data:image/png;base64,")]


def test_selected_rows_are_listed(page):
    page = page(results.with_ids())
    show_panels(page)
    search(page, "plant 01")
    click(page, "Select them")
    page.until("document.querySelector('.contrast-line')")  # above the list
    page.run("[...document.querySelectorAll('.selection summary')].at(-1).click()")
    page.settle()
    page.run("scrollTo(0, 200); document.querySelector('.side').scrollTop = 10000")
    page.settle()
    rows = page.run("[...document.querySelectorAll('.listed tbody tr')].map((row) => row.cells[0].textContent)")
    assert rows == [f"plant {i:03}" for i in range(10, 20)]
    place = page.run("""(({ left, top }) => [left + 20, top + 5])(
      document.querySelector('.listed tbody tr').getBoundingClientRect())""")
    page.mouse("mouseMoved", *place)
    page.settle()
    assert all(seen(page, i, "marks")["painted"] > 20 for i in range(3))


def test_a_selection_is_compared_with_all_other_rows(page):
    """The page computes the effect sizes of the explorer."""
    from lowland.evidence.contrasts import effect_of_levels, effect_of_numbers, sort_effects

    result = results.with_ids()
    page = page(result)
    chosen = np.arange(150) < 40
    search(page, "< 5.6", "height")  # the first 40 rows
    press_enter(page)
    page.until("document.querySelectorAll('.contrast-line').length > 3")
    shown = page.run("[...document.querySelectorAll('.contrast-line')].map((line) => line.title)")
    table = result.table
    numbers = {**dict(zip(table.names, table.values.T, strict=True)), "height": table.kept["height"]}
    texts = {table.label_name: table.labels, "site": table.kept["site"], "place": table.kept["place"]}
    effects = [effect_of_numbers(name, values.astype(np.float64), chosen) for name, values in numbers.items()]
    for name, values in texts.items():
        levels = sorted({value for value in values if value is not None})
        codes = np.array([levels.index(value) if value is not None else -1 for value in values])
        effects.append(effect_of_levels(name, codes, levels, chosen))
    best = sort_effects(effects)[0]
    assert shown[0].startswith(best.name)
    assert f"{abs(best.effect):.4g}" in shown[0]
    click(page, "Clear")
    assert page.run("document.querySelector('.contrast').parentElement.hidden")


def test_the_neighbors_of_a_selected_row_are_true_missed_or_false(page):
    result = results.with_ids(60)
    near = np.array([[(row + 1) % 60, (row + 2) % 60] for row in range(60)], dtype=np.int32)
    page = page(replace(result, table=replace(result.table, near=near)))
    search(page, "plant 007")
    press_enter(page)
    page.until("document.querySelector('.lv-panel .lv-note').textContent.includes('2 neighbors:')")
    assert "near on the map only" in page.run("document.querySelector('.lv-legend').innerText")
    search(page, "plant 00")
    press_enter(page)
    page.until("!document.querySelector('.lv-panel .lv-note').textContent.includes('neighbors:')")
