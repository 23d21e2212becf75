"""The explorer in headless Chromium: maps are chosen, computed, watched, canceled, compared and exported."""

import numpy as np


def compute_here(person, method):
    person.choose_method(method)
    person.click(".start button", "Compute the map")
    person.tab("maps")


def test_a_method_is_found_and_wrong_values_are_told_beside_the_field(iris):
    iris.tab("methods")
    iris.type("#pane-methods input[type=search]", "neighbor")
    iris.sees(".method", "UMAP")
    iris.until("![...document.querySelectorAll('.method b')].some((e) => e.textContent === 'PCA')")
    iris.choose_method("Isomap")
    iris.type("input[name=n_neighbors]", "many")
    iris.sees(".parameter .wrong", "n_neighbors must be an integer")
    assert iris.run("document.querySelector('.start .main').disabled")
    iris.type("input[name=n_neighbors]", "7")
    iris.sees(".estimate .figures", "Memory")
    iris.sees(".estimate .figures", "Time")
    assert not iris.run("document.querySelector('.start .main').disabled")


def test_a_map_that_fails_says_why_and_can_be_removed(iris):
    iris.choose_method("Isomap")
    iris.type("input[name=n_neighbors]", "600")
    iris.click(".start button", "Compute the map")
    iris.tab("maps")
    iris.sees(".map-line[data-status=failed]", "n_neighbors=600")
    iris.sees(".notice.problem", "n_neighbors")
    iris.sees(".lv-panel[data-status=failed]", "150")
    iris.click("#pane-maps button", "Remove those that failed")
    iris.until("document.querySelectorAll('.lv-panel').length === 1")


def test_a_map_that_is_removed_before_the_answer_to_starting_it_comes_stays_removed(iris):
    iris.answer_late("/api/maps")
    compute_here(iris, "classical MDS")
    iris.drawn_maps(2)
    iris.click(".map-line:last-of-type [aria-haspopup]")
    iris.click("[role=menuitem]", "Remove")
    iris.click("dialog button.main", "Remove")
    iris.drawn_maps(1)
    iris.let_answer()
    assert iris.run("document.querySelectorAll('.map-line, .lv-panel').length") == 2  # both of the first map
    assert len(iris.api("/maps")) == 1


def test_a_map_unfolds_in_view_and_survives_the_death_of_its_worker(person, server):
    person.show("large.npy")
    made = person.compute()
    person.tab("maps")
    running = "document.querySelector('.lv-panel[data-status=running]')"
    person.until(f"Number({running}?.dataset.drawn) > 1")
    seen = person.drawn(1)
    person.waits(lambda: person.drawn(1), lambda picture: picture != seen)
    assert person.api(f"/maps/{made}")["status"] == "running"
    server.kill_workers()
    person.sees(".lv-panel[data-status=broken]", "was killed from outside")
    person.sees(".notice.problem", "The table is unchanged")
    person.click(".lv-panel[data-status=broken] button", "Run again")
    person.until(f"Number({running}?.dataset.drawn) > 1")
    person.click(".map-line [aria-label=Cancel]")
    person.until("document.querySelector('.map-line[data-status=canceled]')")
    person.click("#pane-maps button", "Remove those that failed")
    person.until("document.querySelectorAll('.map-line').length === 1")


def test_cancel_while_it_waits_and_is_fitted(person):
    person.show("large.npy")
    fitted = [person.compute() for _ in range(2)]
    waiting = person.compute("PCA", n_components=4)
    person.tab("maps")
    person.until("document.querySelectorAll('.map-line[data-status=running]').length === 2")
    person.sees(".map-line[data-status=queued]", "Waiting for its turn")
    person.click(".map-line[data-status=queued] [aria-label=Cancel]")
    person.until("document.querySelectorAll('.map-line[data-status=canceled]').length === 1")
    person.click("#pane-maps button", "Cancel all 2")
    person.until("document.querySelectorAll('.map-line[data-status=canceled]').length === 3")
    assert {person.api(f"/maps/{each}")["status"] for each in (*fitted, waiting)} == {"canceled"}


def test_cancel_while_it_is_measured(person, folder):
    np.save(folder / "many.npy", np.random.default_rng(0).normal(size=(20_000, 10)))
    first = person.api(f"/maps?table={person.show('many.npy')}")[0]["id"]
    measured = person.compute("PCA", n_components=5)
    person.asks(f"/maps/{measured}", lambda one: one["status"] == "done")
    for each in (first, measured):  # maps are measured one after the other, each for seconds
        person.api(f"/maps/{each}/cancel", "POST")
    person.tab("maps")
    person.click(".map-line[data-status=done]:last-of-type .map-name", "PCA")
    person.sees("#pane-map", "The quality was not measured")  # the map is kept
    assert person.api(f"/maps/{measured}")["status"] == "done"
    (folder / "many.npy").unlink()


def test_a_map_shows_scores_and_charts_and_is_exported(iris):
    iris.tab("maps")
    iris.click(".map-name", "PCA")
    iris.sees("#pane-map .figures-list", "trustworthiness")
    iris.sees("#pane-map figcaption", "Scree")
    iris.sees("#pane-map figcaption", "Loadings of component 1")
    iris.sees("#pane-map figcaption", "Shepard")
    iris.sees("#pane-map figcaption", "R_NX")
    iris.click("#pane-map button", "Code")
    iris.sees("dialog pre", "import lowland")
    iris.sees("dialog pre", "lowland ")
    iris.run("document.querySelector('dialog').close()")
    for item, ending, start in (
        ("PNG", ".png", "\ufffdPNG"),
        ("SVG", ".svg", "<svg"),
        ("Coordinates (CSV)", ".csv", "PCA 1"),
        ("Model", ".lowland", "lowland"),
    ):
        iris.click("#pane-map button", "Export")
        iris.click("[role=menuitem]", item)
        assert start in iris.saved(ending)[:300]


def test_new_rows_are_placed_on_a_map(iris):
    iris.tab("maps")
    iris.click(".map-name", "PCA")
    iris.click("#pane-map button", "From the folder")
    iris.click("dialog .file", "new.parquet")
    iris.sees(".notice", "20 new rows drawn on PCA")
    iris.sees("#pane-map .saved-line", "20 rows")


def test_a_panel_is_hidden_and_a_map_computed_with_changed_parameters(iris):
    compute_here(iris, "Isomap")
    iris.drawn_maps(2)
    iris.click(".map-line:last-of-type [aria-haspopup]")
    iris.click("[role=menuitem]", "Hide its panel")
    iris.until("document.querySelectorAll('.lv-panel').length === 1")
    iris.click(".map-line:last-of-type [aria-haspopup]")
    iris.click("[role=menuitem]", "Show its panel")
    iris.drawn_maps(2)
    iris.click(".map-line:last-of-type .map-name", "Isomap")
    iris.click("#pane-map button", "Change parameters")
    iris.sees(".chosen h2", "Isomap")
    iris.type("input[name=n_neighbors]", "9")
    iris.click(".start button", "Compute the map")
    iris.tab("maps")
    iris.drawn_maps(3)
    iris.sees(".map-line", "n_neighbors=9")
    iris.click(".map-line:last-of-type [aria-haspopup]")
    iris.click("[role=menuitem]", "Rename")
    iris.type("dialog input", "Nine neighbors")
    iris.click("dialog button.main")
    iris.sees(".lv-panel h3", "Nine neighbors")
    iris.click(".map-name", "PCA")  # its panel shows another map, and its own again
    iris.sees("#pane-map h2", "PCA")
    first = "document.querySelector('.lv-panel h3').textContent"
    iris.choose("#pane-map select", iris.run("document.querySelector('#pane-map select').options[1].value"))
    iris.until(f"{first} === 'PCA → Isomap'")
    iris.choose("#pane-map select", "")
    iris.until(f"{first} === 'PCA'")
    iris.click(".map-line:last-of-type [aria-haspopup]")
    iris.click("[role=menuitem]", "Remove")
    iris.click("dialog button.main", "Remove")
    iris.drawn_maps(2)


def test_outdated_maps_are_updated_in_their_places(iris):
    iris.compute("ClassicalMDS")
    iris.drawn_maps(2)
    before = {iris.at_rest(0), iris.at_rest(1)}
    iris.tab("data")
    iris.click("[aria-label='Role of measure 2: feature']")
    iris.click(".menu button", "Ignored")
    iris.sees(".outdated-bar", "2 maps are outdated")
    assert iris.run("document.querySelectorAll('.map-line.outdated[data-status=done]').length") == 2
    iris.click(".lv-panel button.lv-badge", "Update")  # of the first map
    iris.sees(".outdated-bar", "1 map is outdated")
    iris.click(".outdated-bar button", "Update all")
    iris.until("!document.querySelector('.outdated-bar').checkVisibility() && !document.querySelector('.lv-badge')")
    iris.drawn_maps(2)
    iris.waits(lambda: {iris.at_rest(0), iris.at_rest(1)}, lambda pictures: not pictures & before)
    iris.reload()
    iris.drawn_maps(2)
    assert not iris.run("document.querySelector('.lv-badge')")


def test_a_changed_map_moves_in_its_place_and_the_change_is_undone_and_compared(iris):
    def seen():
        iris.drawn_maps(2)
        return iris.at_rest(1)

    iris.compute("TSNE", max_iter=300)
    panels = "[...document.querySelectorAll('.lv-panel .lv-facts')].map((e) => e.textContent)"
    iris.tab("maps")
    iris.click(".map-name", "t-SNE")  # opens the right pane, which makes the maps smaller
    before = seen()
    iris.click("#pane-map button", "Change parameters")
    iris.type("input[name=perplexity]", "8")
    iris.click(".start button", "Change the map")
    iris.until(f"{panels}.length === 2 && {panels}[1].includes('perplexity=8')")
    after = seen()
    assert after != before
    first, changed = iris.api("/maps")[1:]
    assert (changed["replaces"], changed["warm"]) == (first["id"], True)

    def press(key, modifiers):
        for kind in ("keyDown", "keyUp"):
            iris.browser.call("Input.dispatchKeyEvent", type=kind, key=key, code="KeyZ", modifiers=modifiers)

    press("z", 2)  # Ctrl
    iris.until(f"{panels}.length === 2 && !{panels}[1].includes('perplexity=8')")
    iris.waits(seen, lambda picture: picture == before)
    press("Z", 10)  # Ctrl + Shift
    iris.until(f"{panels}.length === 2 && {panels}[1].includes('perplexity=8')")
    iris.waits(seen, lambda picture: picture == after)
    assert [each["run"] for each in iris.api("/maps")] == [0, 0, 0]  # nothing was computed
    iris.click("#pane-map button", "Compare before and after")
    iris.until(f"{panels}.length === 3 && {panels}[1].includes('perplexity=8')")  # side by side, before the others
    badges = (
        "[...document.querySelectorAll('.lv-panel h3')].map((e) => e.querySelector('.lv-badge')?.textContent ?? '')"
    )
    assert iris.run(badges) == ["before", "", ""]  # both have one title
    iris.click("#pane-map button", "Hide the map before")
    iris.reload()  # the versions are known
    iris.drawn_maps(2)
    iris.tab("maps")
    iris.click(".map-line:last-of-type .map-name")
    iris.click("#pane-map button", "Compute from scratch")
    iris.until("![...document.querySelectorAll('#pane-map button')].some((e) => e.textContent.includes('scratch'))")
    iris.drawn_maps(2)
    assert not iris.api("/maps")[-1]["warm"]
    iris.click("#pane-map [aria-haspopup]")
    iris.click("[role=menuitem]", "Remove")
    iris.click("dialog button.main", "Remove")
    iris.sees("#pane-map button", "Compute from scratch")  # the map before it is seen again


def test_a_map_is_tested_and_its_points_are_colored_by_reliability(iris):
    iris.tab("maps")
    iris.click(".map-name", "PCA")
    iris.click(".answers button", "Test it")
    iris.sees(".answers .summary", "keep their neighbors better")
    iris.sees(".fractions figcaption", "unreliable")
    iris.sees(".verdicts .separate", "is a separate group")
    iris.sees(".lv-legend", "uncertain")  # at once
    iris.sees(".color-control .picker", "Reliability: PCA")
    iris.run("document.querySelector('.lv-view-menu summary').click()")
    names = "[...document.querySelectorAll('.lv-check')].find((e) => e.textContent === 'Names').querySelector('input')"
    assert not iris.run(f"{names}.checked")  # uncertain points are no group
    bar = iris.run(
        "[...document.querySelectorAll('.fraction-bar span')].map((e) => getComputedStyle(e).backgroundColor)"
    )
    assert bar == ["rgb(63, 144, 218)", "rgb(222, 191, 22)", "rgb(180, 57, 93)"]  # blue, yellow, red, as on the map
    legend = iris.run(
        "[...document.querySelectorAll('.lv-class')].map((e) => e.innerText.split(/\\s+/).filter(Boolean))"
    )
    assert iris.text(".fractions figcaption") == ", ".join(f"{many} {name}" for name, many in legend)
    before = iris.at_rest()
    iris.color_by("species")
    iris.until(f"{names}.checked")
    iris.waits(lambda: iris.drawn(0), lambda picture: picture != before)
    iris.click(".answers button", "Reliability")
    iris.sees(".lv-legend", "uncertain")
    iris.color_by("species")
    iris.click(".answers button", "Test species")
    iris.sees(".verdicts li", "setosa")
    iris.reload()
    iris.tab("map")
    iris.sees(".answers .summary", "keep their neighbors better")


def test_columns_are_drawn_over_the_map(iris):
    iris.tab("maps")
    iris.click(".map-name", "PCA")
    plain = iris.at_rest()
    iris.click(".answers button", "Fit the columns")
    iris.sees(".answers .summary", "The axes of the map follow measure 2")
    arrows = iris.waits(iris.at_rest, lambda picture: picture != plain)
    iris.choose(".answers select", "measure 1")
    iris.sees(".answers", "measure 1: r²")
    iris.waits(iris.at_rest, lambda picture: picture not in (plain, arrows))
    for _ in range(2):
        iris.click(".answers .check input:checked")
    iris.waits(iris.at_rest, lambda picture: picture == plain)
    iris.select(0.4)
    iris.tab("map")
    iris.click(".answers button", "Local loadings")
    iris.sees(".answers h4", "Local loadings of")
