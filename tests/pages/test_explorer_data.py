"""The explorer in headless Chromium, against the real server and its workers: tables are opened and looked at."""

import numpy as np

from .explorer_page import IMAGE, SCRIPT


def test_a_table_is_opened_and_shows_its_columns_and_what_was_found(person):
    person.click(".empty button", "Open from the folder")
    person.click(".file", "iris.parquet")
    person.sees(".table-summary", "150 rows, 6 columns")
    assert person.run("document.querySelectorAll('.column-line').length") == 6
    assert "label" in person.run("document.querySelector('.role.label').closest('.column-line').textContent")
    person.sees(".findings", "finding")
    person.sees(".lv-legend", "setosa")
    person.drawn_maps(1)


def test_a_table_that_was_opened_elsewhere_is_shown_if_the_page_shows_none(person):
    table = person.api("/tables", "POST", {"path": "ninety.parquet"})
    person.until(f"document.documentElement.dataset.ready === {table['id']!r}")
    person.sees(".table-picker", "ninety.parquet")


def test_rows_are_looked_at_without_loading_all_of_them(iris):
    iris.click(".table-summary button", "Rows")
    iris.sees("dialog .grid-row", "5.1")
    assert iris.run("document.querySelectorAll('dialog .grid-row').length") < 60
    iris.run("document.querySelector('dialog .grid-scroll').scrollTop = 1e6")
    iris.sees("dialog .grid-row", "149")


def test_roles_are_changed_by_a_menu_and_maps_of_other_columns_are_marked(iris):
    def give(column, words, shown):
        iris.click(f"[aria-label^='Role of {column}']")
        iris.click("[role=menuitemradio]", words)
        iris.sees(f"[aria-label='Role of {column}: {shown}']")

    give("measure 3", "Only shown", "shown")
    give("measure 2", "Only shown", "shown")  # at once, while the rows are still being prepared
    iris.until("!document.querySelector('.table-summary progress')")
    roles = {column["name"]: column["role"] for column in iris.api("/tables")[0]["columns"]}
    assert (roles["measure 2"], roles["measure 3"]) == ("keep", "keep")
    iris.tab("maps")
    iris.sees(".map-line", "Computed from other columns")
    iris.click(".map-name", "PCA")
    iris.sees("#pane-map .warning", "Computed from other columns")
    iris.tab("data")
    give("measure 2", "Feature", "feature")
    give("measure 3", "Feature", "feature")
    iris.choose_method("classical MDS")
    iris.click(".start button", "Compute the map")  # waits for the rows
    iris.drawn_maps(2)
    iris.until("![...document.querySelectorAll('.map-line')].some((e) => e.textContent.includes('other columns'))")


def test_a_column_that_was_left_out_is_used_by_one_click(person, folder):
    text = "a,b,year\n" + "\n".join(f"{i * 7 % 11}.5,{i * i % 13}.25,{2007 + i % 3}" for i in range(40))
    (folder / "years.csv").write_text(text)
    person.show("years.csv")
    person.sees(".column-line", "not used: years (2007 to 2009)")
    person.click(".column-line .link", "Use it")
    person.sees("[aria-label='Role of year: feature']")
    person.until("!document.querySelector('.column-line .link')")
    person.sees(".lv-badge", "outdated")


def test_a_finding_says_how_many_values_were_imputed_and_changes_by_what(person, folder):
    lines = [f"{i},{'' if i % 5 == 0 else i * i},{i % 7}" for i in range(40)]
    (folder / "gaps.csv").write_text("\n".join(["a,b,c", *lines]) + "\n", encoding="utf-8")
    person.show("gaps.csv")
    person.drawn_maps(1)
    person.sees(".finding.imputed", "8 missing values in 1 column, replaced by")
    person.sees(".finding.imputed", "Maps need complete rows")
    assert "missing values (" not in person.text(".findings")  # told once
    person.choose(".finding.imputed select", "knn")
    person.sees(".lv-badge", "outdated")
    person.click(".outdated-bar button", "Update all")
    person.until("!document.querySelector('.lv-badge')")
    assert person.run("document.querySelector('.finding.imputed select').value") == "knn"
    person.tab("maps")
    person.click(".map-name", "PCA")
    person.sees("#pane-map", "replaced by the mean of the nearest rows")
    person.click("#pane-map button", "Code")
    person.sees("dialog", "--impute knn")
    (folder / "gaps.csv").unlink()


def test_a_table_is_renamed_scaled_and_the_roles_of_many_columns_are_changed(person):
    person.show("ninety.parquet")
    person.click("[aria-label='Rename this table']")
    person.type("dialog input", "Ninety numbers")
    person.click("dialog button.main")
    person.sees(".table-picker", "Ninety numbers")
    person.choose("#pane-data select", "none")
    person.asks("/tables", lambda tables: tables[0]["scale"] == "none" and tables[0]["status"] == "ready")
    person.type("[aria-label='Find a column']", "c8")
    person.click(".columns-box button", "All")
    person.click("[role=menuitem]", "11 columns: ignored")  # c8, c80 to c89
    columns = person.asks("/tables", lambda tables: any(c["role"] == "drop" for c in tables[0]["columns"]))[0][
        "columns"
    ]
    assert [c["name"] for c in columns if c["role"] == "drop"] == ["c8", *(f"c{j}" for j in range(80, 90))]


def test_a_file_that_cannot_be_read_says_why_and_how_to_go_on(iris):
    iris.press("o", "KeyO")
    iris.click(".file", "damaged.parquet")
    iris.sees(".empty.failed", "not a valid Parquet file")
    iris.click(".empty.failed button", "Remove")
    iris.click("dialog button.main", "Remove")
    iris.sees(".table-picker", "iris.parquet")
    iris.press("o", "KeyO")
    iris.click(".file", "damaged.csv.gz")
    iris.sees(".empty.failed", "damaged.csv.gz could not be read")
    assert len(iris.text(".empty.failed .lead")) > 20


def test_the_decimal_mark_is_set_when_a_file_was_misread(person):
    person.open("european.csv")
    numbers = "document.querySelector('.column-line')?.textContent.includes('0.5 to 11.5')"
    person.until(numbers)
    for mark, seen in ((".", f"document.querySelector('.column-line') && !{numbers}"), (",", numbers)):
        person.click(".table-summary button", "Reading")
        person.choose(".reading .fields > :nth-child(2) select", mark)
        person.click(".reading button", "Read again")
        person.until("!document.querySelector('dialog')")
        person.until(seen)


def test_sheets_and_arrays_are_chosen(person):
    person.open("book.xlsx")
    person.sees(".table-summary", "12 rows")
    person.click(".table-summary button", "Reading")
    person.run("[...document.querySelectorAll('.reading .field')].at(-1).querySelector('input').id = 'sheet'")
    person.type("#sheet", "Second")
    person.click(".reading button", "Read again")
    person.sees(".column-name", "b1")
    person.sees(".table-summary", "13 rows")
    person.until("!document.querySelector('dialog[open]')")  # the form closes when its request is answered
    person.press("o", "KeyO")
    person.click(".file", "arrays.npz")
    person.sees(".empty.failed", "second")  # the names of the arrays are told
    person.type(".reading input", "second")
    person.click(".reading button", "Read again")
    person.sees(".table-summary", "30 rows, 4 columns")


def test_reading_is_canceled(person, folder):
    wide = folder / "wide.csv"  # takes long to read: its columns are described one by one
    wide.write_text("\n".join([",".join(f"c{j}" for j in range(9_000)), *[",".join(["1.5"] * 9_000)] * 1_000]) + "\n")
    person.answer_late("/api/tables")
    person.press("o", "KeyO")
    person.click(".file", "wide.csv")
    person.sees(".empty h1", "Reading wide.csv")
    person.click(".empty button", "Cancel")
    person.let_answer()
    person.sees(".empty", "Drop a file here")
    person.asks("/tables", lambda tables: tables == [])
    wide.unlink()


def test_a_folder_of_images_shows_them_while_hovering(person):
    person.show("ninety.parquet")
    person.type(".columns-box input", "c7")
    person.press("o", "KeyO")
    person.click(".file", "pictures")
    person.click(".folder button", "Open this folder as one table")
    person.sees(".table-summary", "24 rows")
    assert person.run("document.querySelector('.columns-box input').value") == ""
    person.until("document.querySelector('.lv-panel[data-status=done][data-drawn]')")
    person.settle()
    person.tool("look")
    person.hover()
    person.until("document.querySelector('.lv-tip img')?.naturalWidth === 6")


def test_ten_thousand_columns(person):
    person.show("wide.npy")
    person.sees(".columns-list", "9,850 more columns")
    person.type("[aria-label='Find a column']", "9999")
    person.until("document.querySelectorAll('.column-line').length < 5")
    name = person.text(".column-line .column-name span")
    person.click(".color-control .picker")
    person.type(".picker-box input", name)
    person.click(".option", name)
    person.sees(".lv-legend", name)
    person.select(0.55)
    person.sees(".contrast", "What sets them apart")
    person.until("document.querySelectorAll('.contrast-line').length >= 12")
    person.sees(".selected-rows .grid-row")


def test_a_dropped_file_is_sent_and_its_names_run_nothing(person, folder):
    person.drop(repr((folder / "hostile.csv").read_text()), "dropped.csv")
    person.sees(".table-picker", "dropped.csv")
    person.sees(".column-name", SCRIPT)
    person.sees(".lv-legend", IMAGE)
    person.drawn_maps(1)
    assert person.run("document.querySelectorAll('body script, body img:not(.picture)').length") == 0


def test_hostile_names_and_cells_run_nothing_in_the_page_and_in_the_report(person, tmp_path):
    table = person.show(f"{IMAGE}.parquet")
    person.sees(".table-picker", IMAGE)
    person.sees(".column-name", SCRIPT)
    person.sees(".lv-legend", IMAGE)
    person.click(".table-summary button", "Rows")
    person.sees("dialog .grid-row", SCRIPT)
    person.escape()
    person.until("!document.querySelector('dialog')")
    person.tool("look")
    person.hover()
    person.sees(".lv-tip", SCRIPT)
    person.type(".search input", "<script>")
    person.sees(".results", "60 rows found")
    person.click(".result", SCRIPT)
    person.sees("#pane-point .values", IMAGE)
    person.click(".color-control .picker")
    person.sees(".option", SCRIPT)
    person.click(".option", IMAGE)
    person.sees(".lv-legend", IMAGE)
    person.select(0.6)
    person.sees(".contrast-line", IMAGE)
    person.click("#pane-selection button", "Save it")
    person.type("dialog input", IMAGE)
    person.click("dialog button.main")
    person.sees(".saved-line", IMAGE)
    person.tab("maps")
    person.run("document.querySelector('.map-line [aria-haspopup]').click()")
    person.click("[role=menuitem]", "Rename")
    person.type("dialog input", IMAGE)
    person.click("dialog button.main")
    person.sees(".lv-panel h3", IMAGE)
    assert person.run("document.querySelectorAll('body script, body img:not(.lv-tip img), i, [onerror]').length") == 0
    (one,) = person.api(f"/maps?table={table}")
    wanted = f"fetch('/api/tables/{table}/report', {{ method: 'POST', headers: {{'Content-Type': 'application/json'}},"
    report = person.run(f"{wanted} body: JSON.stringify({{ maps: ['{one['id']}'] }}) }}).then((a) => a.text())")
    (tmp_path / "report.html").write_text(report, encoding="utf-8")
    person.browser.open(tmp_path / "report.html")
    assert IMAGE in person.run("document.body.textContent")
    assert "No advice" not in person.run("document.body.textContent")
    person.browser.paper(tmp_path / "report.pdf")  # prints without a section of advice
    assert person.run("document.querySelectorAll('img[src=x], [onerror]').length") == 0


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
    person.waits(lambda: sorted((workspace / "uploads").iterdir()), lambda files: files == before)


def test_an_example_and_the_usual_maps_are_one_click_away(person):
    person.click(".empty .example", "Iris")
    person.sees(".table-picker", "Iris")
    person.drawn_maps(1)
    person.tab("methods")
    person.click(".usual button", "Compute 4 usual maps")
    person.tab("maps")
    person.until("document.querySelectorAll('.map-line').length === 5")
    person.click("#pane-maps button", "Cancel all")
    person.until("!document.querySelector('.map-line[data-status=running], .map-line[data-status=queued]')")


def test_rows_become_images_on_request(person, folder):
    rng = np.random.default_rng(0)
    np.save(folder / "squares.npy", rng.random((40, 16)) * 100)
    person.show("squares.npy")
    person.click(".images button", "These are images, 4 × 4")
    person.sees(".images", "Each row is an image of 4 × 4 pixels")
    person.drawn_maps(1)
    person.select()
    person.until("document.querySelector('.mean-image img')?.naturalWidth === 4")
    person.hover()
    person.until("document.querySelector('.lv-tip img')?.naturalWidth === 4")
    requests = len([each for each in person.browser.requests if "/image/" in each])
    person.run("document.querySelector('.lv-plot').focus()")
    for _ in range(4):
        person.press("+", "Equal", "+")
    person.waits(
        lambda: (person.settle(), len([each for each in person.browser.requests if "/image/" in each]))[1],
        lambda found: found > requests + 3,
    )
