"""The explorer in headless Chromium: rows are colored, selected, searched, filtered and compared on linked maps."""

import re

from lowland.data import load_dataset


def test_a_column_of_many_long_class_names_colors_the_points(person):
    person.show("classes.parquet")
    person.click(".color-control .picker")
    person.sees(".option", "class")
    assert not person.run("[...document.querySelectorAll('.option')].some((e) => e.textContent.includes('remark'))")
    person.click(".option", "class")
    person.sees(".lv-legend", "number 000")
    person.sees(".lv-legend input[placeholder*='200 classes']")
    person.type(".lv-legend input[type=search]", "number 137")
    person.until("document.querySelectorAll('.lv-class').length === 1")
    person.run("document.querySelector('.lv-class').dispatchEvent(new MouseEvent('click', {altKey: true}))")
    person.sees("#pane-selection h2", "5 rows selected")
    person.click("#pane-selection button", "Export")
    person.click("[role=menuitem]", "Parquet")
    assert person.saved(".parquet").startswith("PAR1")


def test_colors_show_a_column_trust_clusters_and_distances_in_the_data(iris):
    iris.color_by("measure 0")
    iris.sees(".lv-legend", "measure 0")
    iris.color_by("trustworthiness")
    iris.sees(".lv-legend", "trustworthiness")
    iris.compute("ClassicalMDS")  # is colored as soon as its trust has been measured
    iris.drawn_maps(2)
    iris.waits(lambda: iris.colored(1), lambda pixels: pixels > 100)
    iris.color_by("Clusters…")
    iris.type("dialog input[type=number]", "4")
    iris.click("dialog button.main", "Find clusters")
    iris.sees(".lv-legend", "4 clusters of the data")
    iris.sees(".lv-class", "high measure")  # the columns that set a cluster apart
    row = iris.click_point()
    iris.click("#pane-point button", "Color by distance")
    iris.sees(".lv-legend", f"distance from row {row}")
    iris.color_by("species")
    iris.sees(".lv-legend", "setosa")


def test_neighbors_of_a_point_are_counted_on_all_maps(iris):
    iris.compute("ClassicalMDS")
    iris.drawn_maps(2)
    row = iris.click_point()
    iris.until("document.querySelectorAll('.near-line').length === 2")
    found = iris.api(f"/tables/{iris.api('/tables')[0]['id']}/neighbors?row={row}&k=12")["rows"]
    assert len(found) == 12
    counted = iris.run("[...document.querySelectorAll('.near-line small')].map((e) => e.textContent)")
    assert all(" of 12" in text for text in counted)
    iris.sees(".lv-panel", "12 neighbors")
    iris.sees(".values", "measure 3")
    listed = iris.run("[...document.querySelectorAll('.near details button')].map((e) => e.textContent)")
    assert listed == [f"flower {other}" for other in found]  # by id
    iris.click("#pane-point button", "Select its neighbors")
    iris.sees("#pane-selection h2", "13 rows selected")
    iris.click("#pane-selection button", "Show only these")
    iris.sees(".chips", "13 of 150 rows")


def test_a_row_of_many_columns_shows_its_values(person):
    person.show("ninety.parquet")
    person.type(".search input", "0")
    person.click(".result")
    person.sees("#pane-point .values", "c0")
    person.sees("#pane-point .note", "30 more columns")


def test_rows_are_searched_and_filtered(iris):
    iris.type(".search input", "flower 77")
    iris.click(".result", "flower 77")
    iris.sees("#pane-point h2", "Row 77")
    iris.type(".search input", "virginica")
    iris.sees(".results", "50 rows found")
    iris.click(".results button", "Select all")
    iris.sees("#pane-selection h2", "50 rows selected")
    iris.click(".bar button", "Filter")
    iris.type(".condition input", "6")
    iris.sees(".chips", "rows shown")
    iris.escape()
    iris.sees(".chips", f"{(load_dataset('iris').X[:, 0] > 6).sum()} of 150 rows")
    iris.click(".chips .symbol")
    iris.until("!document.querySelector('.chips').checkVisibility()")


def test_a_selection_is_compared_when_its_table_has_been_read(iris):
    """After a change of roles the table is read again, and the server refuses meanwhile."""
    iris.run("""void (() => {
      const fetched = window.fetch, busy = '{"error": "The table is still being read.", "type": "Conflict"}';
      let refused = 0;
      window.fetch = async (address, options) =>
        String(address).includes("/contrast") && refused++ < 2
          ? new Response(busy, { status: 409 })
          : fetched(address, options);
    })()""")
    iris.select()
    iris.sees(".contrast", "still being read")
    iris.sees(".contrast", "What sets them apart")


def test_neighbors_of_a_point_are_found_again_when_the_table_has_been_prepared(person):
    """After a change of roles the server refuses until the rows are prepared, and then other rows may be near."""
    table = person.show("people.csv")
    person.run("""void (() => {
      const fetched = window.fetch, busy = '{"error": "The table is still being read.", "type": "Conflict"}';
      let refused = 0;
      window.fetch = async (address, options) =>
        String(address).includes("/neighbors") && refused++ < 1
          ? new Response(busy, { status: 409 })
          : fetched(address, options);
    })()""")
    row = person.click_point()
    person.sees(".near", "still being read")
    near = "[...document.querySelectorAll('.near details button')].map((e) => e.textContent)"
    for roles in ({"height": "drop"}, {"height": "feature", "age": "drop", "joined": "drop"}):
        person.api(f"/tables/{table}", "PATCH", {"roles": roles})
        person.asks(f"/tables/{table}", lambda found: found["status"] == "ready")
        rows = person.api(f"/tables/{table}/neighbors?row={row}&k=12")["rows"]
        person.until(f"JSON.stringify({near}) === JSON.stringify({[f'P{i:03d}' for i in rows]})")
        person.sees(".near-line", "PCA")


def test_text_that_is_marked_does_not_keep_a_map_from_being_used(iris):
    """A drag on marked text carries the text away: not on a map, and headings of maps cannot be marked."""
    iris.run("getSelection().selectAllChildren(document.body)")
    iris.tool("box")
    for modifiers in (0, 8):  # 8: Shift
        iris.path([(0.01, 0.01), (0.25, 0.5), (0.5, 0.99)], modifiers)
        iris.sees("#pane-selection h2", "rows selected")
        iris.until("!document.querySelector('#pane-selection h2').textContent.startsWith('No')", 5)
    assert iris.selected() > 10
    iris.run("getSelection().selectAllChildren(document.querySelector('.lv-panel'))")
    assert iris.run("getSelection().toString().trim()") == ""


def test_the_hover_names_every_column_once(person):
    person.show("people.csv")
    person.hover()
    person.until("document.querySelector('.lv-details tr')")
    names = person.run("[...document.querySelectorAll('.lv-tip th')].map((e) => e.textContent)")
    assert sorted(names) == ["age", "height", "joined", "person", "remark"]


def test_a_selection_is_compared_saved_exported_and_embedded_anew(iris):
    many = iris.select()
    assert 10 < many < 150
    iris.sees(".contrast", "What sets them apart")
    iris.until("document.querySelectorAll('.contrast-line').length >= 4")
    shown = iris.run("[...document.querySelectorAll('.effect-size')].map((e) => e.textContent)")
    sizes = [abs(float(text.replace("−", "-"))) for text in shown]
    assert sizes == sorted(sizes, reverse=True)
    iris.sees(".selected-rows .grid-row", "flower")
    inside = "document.querySelector('.selected-rows .grid-scroll').getBoundingClientRect().right"
    right = "[...document.querySelectorAll('.selected-rows .title')][1].getBoundingClientRect().right"
    assert iris.run(f"{right} <= {inside}")  # two columns are in sight
    iris.click("#pane-selection button", "Save it")
    iris.type("dialog input", "On the left")
    iris.click("dialog button.main")
    iris.sees(".saved-line", "On the left")
    iris.click("#pane-selection button", "Export")
    iris.click("[role=menuitem]", "CSV")
    lines = iris.saved(".csv").splitlines()
    assert len(lines) == many + 1 or sum(map(len, lines)) > 4000
    assert "PCA 1" in lines[0]
    iris.run("document.querySelector('[aria-label=\"Clear the selection\"]').click()")
    iris.sees("#pane-selection h2", "No rows selected")
    iris.click(".saved-line .link", "On the left")
    iris.sees("#pane-selection h2", f"{many} rows selected")
    iris.click("[aria-label='Delete On the left']")
    iris.until("!document.querySelector('.saved-line')")
    iris.click("#pane-selection button", "New table")
    iris.type("dialog input", "Left half")
    iris.click("dialog button.main", "Create")
    iris.sees(".table-picker", "Left half")
    iris.sees(".table-summary", f"{many} rows")
    iris.sees(".table-summary", "A part of")
    iris.drawn_maps(1)


def test_hovering_shows_id_date_and_text_and_they_are_compared_as_such(person):
    person.show("people.csv")
    person.tool("look")
    person.hover()
    for text in ("P0", "-03-", "remark", "age"):
        person.sees(".lv-tip", text)
    person.select(0.5)
    person.sees(".contrast-line", "joined")
    shown = person.run("[...document.querySelectorAll('.contrast-line')].map((e) => e.textContent)")
    dates = next(text for text in shown if text.startswith("joined"))
    assert re.search(r"20\d\d-\d\d-\d\d against 20\d\d-", dates), dates  # days, not their numbers
    assert not any(text.startswith(("remark", "person")) for text in shown)  # texts that never repeat say nothing


def test_a_search_selects_all_rows_that_it_found(person):
    person.show("large.npy")
    person.type(".search input", "1")
    person.click(".results button", "Select all")
    total = int(person.text(".results .note").split()[0].replace(",", ""))
    assert total > 1_000
    person.sees("#pane-selection h2", f"{total:,} rows selected")
    person.run("document.querySelector('.bar .handle').focus()")  # not a map
    person.escape()
    person.sees("#pane-selection h2", "No rows selected")


def test_suggestions_and_counts_follow_the_table_and_the_filter(person):
    options = "[...document.querySelectorAll(`#${document.querySelector('.filter-box input').list?.id} option`)]"
    for name, column, level in (("hostile.csv", "class", "onerror"), ("iris.parquet", "species", "versicolor")):
        person.show(name)
        person.click(".tools button", "Filter")
        person.click(".condition .picker")
        person.click(".option", column)
        person.until(f"document.querySelector('.filter-box') && {options}.some((e) => e.value.includes('{level}'))")
        if name != "iris.parquet":
            person.escape()
    person.type(".filter-box input", "versicolor")
    person.sees(".chips", "50 of 150 rows")
    counts = "[...document.querySelectorAll('.lv-count')].map((e) => e.textContent).join()"
    person.until(f"{counts} === '0,50,0'")


def test_a_morphed_panel_says_where_its_points_are(iris):
    iris.compute("ClassicalMDS")
    iris.drawn_maps(2)
    iris.tab("maps")
    iris.click(".map-name", "PCA")
    iris.until("document.querySelector('[aria-label=\\'Morph to another map\\'] option:nth-child(2)')")
    iris.run(
        "(() => { const e = document.querySelector('[aria-label=\\'Morph to another map\\']');"
        "e.value = e.options[1].value; e.dispatchEvent(new Event('change', { bubbles: true })); })()"
    )
    iris.sees(".lv-panel h3", "PCA → classical MDS")


def test_charts_of_columns_filter_all_maps(iris):
    """One filter, edited by charts, by keys and by its box; counts of the legend follow."""
    iris.tab("data")
    counts = "[...document.querySelectorAll('.lv-count')].map((e) => Number(e.textContent))"
    chart = "document.querySelector('[aria-label=\\'Values of measure 2\\'] .histogram')"
    iris.run("document.querySelector('[aria-label=\\'Values of measure 2\\']').scrollIntoView()")
    iris.until(f"{chart}.querySelector('path.of-some')")
    left, top, right, bottom = iris.run(
        f"(() => {{ const r = {chart}.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; }})()"
    )
    middle = (top + bottom) / 2
    iris.browser.drag((left + 0.5 * (right - left), middle), (right + 9, middle))  # the longer half of 1 to 6.9
    iris.until("document.querySelector('.chips').textContent.match(/shown:measure 2 ≥ [0-9.]+$/)")
    limit = float(iris.text(".chips .chip").split("≥")[1])
    values = load_dataset("iris").X[:, 2]
    species = load_dataset("iris").y
    iris.until(f"String({counts}) === '{','.join(str(((values >= limit) & (species == c)).sum()) for c in range(3))}'")
    iris.run(f"{chart}.querySelector('[aria-label^=From]').focus()")
    iris.press("ArrowRight", "ArrowRight")
    iris.until(f"Number(document.querySelector('.chips .chip').textContent.split('≥')[1]) > {limit}")
    now = float(iris.run(f"{chart}.querySelector('[aria-label^=From]').getAttribute('aria-valuenow')"))
    assert now > limit
    iris.sees(".chips .note", f"{(values >= now).sum()} of 150")
    iris.press("Home", "Home")
    iris.until(f"String({counts}) === '50,50,50' && !document.querySelector('.chips .chip')")
    iris.click(".level-bar", "virginica")
    iris.until(f"String({counts}) === '0,0,50'")
    iris.click(".level-bar", "setosa")
    iris.until(f"String({counts}) === '50,0,50'")
    iris.click("button", "Filter")
    iris.until("document.querySelector('.condition input[type=text]').value === 'setosa | virginica'")
    iris.type(".condition input[type=text]", "setosa | versicolor")
    iris.until(f"String({counts}) === '50,50,0'")
    iris.until("document.querySelectorAll('.level-bar[aria-pressed=true]').length === 2")
    iris.type(".condition input[type=text]", "setosa")
    iris.until(f"String({counts}) === '50,0,0'")
    iris.until("document.querySelectorAll('.level-bar[aria-pressed=true]').length === 1")
    iris.escape()
    iris.click(".level-bar", "setosa")
    iris.until(f"String({counts}) === '50,50,50'")
    iris.select()
    iris.sees("path.of-some.selected")


def test_escape_clears_the_selection_wherever_the_focus_is(iris):
    iris.tab("data")
    click = "new MouseEvent('click', { altKey: true, bubbles: true })"
    for place in (".lv-tools input", "#pane-data select", ".search input", ".range-end", "#tab-selection"):
        iris.run(f"document.querySelector('.lv-class').dispatchEvent({click})")
        iris.sees("#pane-selection h2", "50 rows selected")
        iris.run(f"document.querySelector('{place}').focus()")
        iris.escape()
        iris.sees("#pane-selection h2", "No rows selected")
