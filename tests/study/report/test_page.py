"""The HTML of the report: its content, that no data can run as script, and where it is written."""

import base64
import json
import re
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowland
from lowland.data import load_dataset
from lowland.errors import FileProblem, MissingFile, ParameterError
from lowland.pages.bundle import modules, page_text
from lowland.study.definitions import MEANINGS, meaning_of
from lowland.study.report import (
    STEPS,
    Blocks,
    as_json,
    bulk_range,
    codes_of,
    column,
    content,
    report_html,
    round_to_steps,
    value_range,
    write_report,
)
from lowland.study.result import Purpose

from . import results


def study_data(html):
    return json.loads(re.search(r'<script type="application/json" id="study">(.*?)</script>', html, re.S)[1])


def numbers(html, place):
    text = re.search(rf'<script type="text/plain" id="block-{place["block"]}">([^<]*)</script>', html)[1]
    return np.frombuffer(base64.b64decode(text), dtype=f"<{place['kind']}")


def test_coordinates_are_decoded_within_one_quantization_step():
    result = results.study(200, 4)
    html = report_html(result)
    for trial, message in zip(result.trials, study_data(html)["trials"], strict=True):
        if trial.Z is None:
            assert message["Z"] is None
            continue
        low, high = np.array(message["Z"]["low"]), np.array(message["Z"]["high"])
        steps = numbers(html, message["Z"]).reshape(2, -1).T
        np.testing.assert_allclose(low + steps / STEPS * (high - low), trial.Z, atol=((high - low) / STEPS).max())


def test_methods_are_named_as_people_write_them():
    result = results.study()
    tsne = replace(result.trials[0], name="TSNE perplexity=5", method="TSNE")
    advice = replace(result.advice[0], trial=tsne.name, method=tsne.method)
    shown, _ = content(replace(result, trials=(tsne, *result.trials[1:]), advice=(advice,)))
    assert [trial["name"] for trial in shown["trials"]][:3] == ["t-SNE perplexity=5", "Isomap", "LLE"]
    assert (shown["advice"][0]["trial"], shown["advice"][0]["method"]) == ("t-SNE perplexity=5", "t-SNE")


def test_omitted_rows_are_marked_in_every_component():
    result = results.gaps()
    html = report_html(result)
    Z = study_data(html)["trials"][0]["Z"]
    missing = (numbers(html, Z).reshape(2, -1) == 65535).all(axis=0)
    assert np.array_equal(missing, ~np.isfinite(result.trials[0].Z).all(axis=1))  # an infinite coordinate too
    assert Z["n_excluded"] == missing.sum() == 21


def test_columns_of_few_values_are_decoded_exactly_and_others_approximately():
    blocks = Blocks()
    few = column(np.array([0.1, np.nan, 1e9, 0.1]), blocks)
    assert few["levels"] == [0.1, 1e9]
    assert few["kind"] == "u1"
    assert list(base64.b64decode(blocks.texts[few["block"]])) == [0, 255, 1, 0]
    values = np.append(np.linspace(-3, 5, 1000), [np.inf, np.nan])
    many = column(values, blocks)
    assert (many["low"], many["high"], many["kind"]) == (-3, 5, "f4")
    back = np.frombuffer(base64.b64decode(blocks.texts[many["block"]]), dtype="<f4")
    np.testing.assert_array_equal(back, np.where(np.isfinite(values), values, np.nan).astype(np.float32))
    assert column(values, blocks, exact=False)["kind"] == "u2"
    assert column(np.linspace(0, 1e300, 1000), blocks)["kind"] == "u2"  # more than a float32 can represent


@given(st.lists(st.floats(width=64), min_size=1, max_size=30))
def test_quantized_values_stay_in_range(values):
    values = np.array(values)
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    with np.errstate(over="ignore"):
        steps = round_to_steps(values, float(low), float(high), STEPS)
    assert np.array_equal(steps == 65535, ~np.isfinite(values))
    present = steps[np.isfinite(values)].astype(int)
    assert (np.diff(present[np.argsort(finite, kind="stable")]) >= 0).all()


@pytest.mark.parametrize(("names", "kind"), [(3, "u1"), (254, "u1"), (255, "u2"), (70_000, "u4")])
def test_classes_use_the_smallest_integer_type_with_a_code_for_missing(names, kind):
    names = [str(i) for i in range(names)]
    codes = codes_of([names[-1], None, names[0]], names)
    assert codes.dtype == kind
    assert codes.tolist() == [len(names) - 1, np.iinfo(kind).max, 0]


def labels_of(labels):
    return content(results.with_labels(labels))[0]["table"]["label"]


def test_classes_are_in_the_order_of_their_numbers():
    assert labels_of(np.array(["10", "9", "1"] * 30))["classes"] == ["1", "9", "10"]
    assert labels_of(np.array(["b 10", "a", "b 9"] * 30))["classes"] == ["a", "b 9", "b 10"]


def test_continuous_labels_and_many_integers_are_a_color_scale():
    assert labels_of(np.random.default_rng(0).standard_normal(300))["classes"] is None
    assert labels_of(np.arange(300))["classes"] is None
    assert labels_of(np.arange(300) % 7)["classes"] == list("0123456")
    many = labels_of(np.array([str(i) for i in np.arange(280) % 70]))
    assert many["classes"] is None
    assert many["levels"] == list(range(70))
    assert len(labels_of(np.array([f"class {i}" for i in np.arange(280) % 70]))["classes"]) == 70


def test_row_indices_are_included_only_if_not_all_rows_are_shown():
    assert study_data(report_html(results.study()))["table"]["shown"] is None
    result = results.gaps()
    html = report_html(result)
    assert np.array_equal(numbers(html, study_data(html)["table"]["shown"]), result.table.shown)


def test_scores_without_a_number_are_null():
    assert study_data(report_html(results.gaps()))["trials"][0]["scores"]["stress"]["value"] is None


def test_a_measure_has_one_range_in_all_trials():
    message, _ = content(results.study(300, 3))
    each = [trial.per_row["trustworthiness"] for trial in results.study(300, 3).trials[:3]]
    (measure,) = (m for m in message["measures"] if m["name"] == "trustworthiness")
    assert measure["low"] == pytest.approx(min(v.min() for v in each))
    assert measure["high"] == pytest.approx(max(v.max() for v in each))
    assert measure["better"] == "higher"


def test_many_components_are_kept_while_they_are_small(monkeypatch):
    result = results.gaps()
    assert len(study_data(report_html(result))["trials"][4]["Z"]["low"]) == 5
    monkeypatch.setattr("lowland.study.report.MAX_BYTES", 100)
    Z = study_data(report_html(result))["trials"][4]["Z"]
    assert (len(Z["low"]), Z["components"]) == (2, 5)


def test_every_measure_of_a_study_has_a_definition():
    iris = load_dataset("iris")
    study = lowland.compare(iris.X[::3], iris.y[::3], ["pca", "lda"], cache=False)
    message, _ = content(study)
    assert set(message["meanings"]) <= set(MEANINGS)
    assert message["neighbors"] == 10
    assert not any(re.search(r"\d\d|[2-9]", sentence) for sentence in message["meanings"].values())  # only 0 and 1
    assert all(sentence.endswith(".") and sentence.count(". ") == 0 for sentence in MEANINGS.values())  # one sentence


def test_the_definition_of_an_unknown_measure_is_the_description_that_trials_share():
    a, b = results.study().trials[:2]
    assert meaning_of("stress", (a, b)) == results.ABOUT["stress"]
    a.scores["stress"] = replace(a.scores["stress"], about="Estimated from 176 rows.")
    assert "176" not in meaning_of("stress", (a, b))


# What would run


def test_data_cannot_execute_or_close_its_element():
    html = report_html(results.nasty())
    assert results.SCRIPT not in html
    assert "alert(2)</script>" not in html
    assert "<img" not in html
    assert "\u2028" not in html
    assert "\u2029" not in html
    assert html.count("<script>") == 1  # our own
    message = study_data(html)
    assert message["table"]["source"] == f"{results.SCRIPT}.csv"  # and the text is complete
    assert message["table"]["kept"][1]["name"] == "</script><script>alert(2)</script>"


@settings(max_examples=50)
@given(st.text())
def test_any_text_is_escaped_and_preserved(text):
    escaped = as_json({text: [text]})
    assert not set(escaped) & set("<>&\u2028\u2029")
    assert json.loads(escaped) == {text: [text]}


def test_the_content_security_policy_allows_only_our_script_and_no_network():
    html = report_html(results.study())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)[1]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "img-src data:;" in policy  # thumbnails; no other source
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert not re.search(r"<(link|img|iframe|object|embed)\b|\bsrc=", html)


def test_the_script_writes_text_and_no_markup():
    for name in modules("report/page.js"):
        text = page_text(name)
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(",
                     "XMLHttpRequest", "</script"):  # fmt: skip
            assert word not in text, name


# The file


def test_the_report_is_one_file(tmp_path):
    path = write_report(results.study(), tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8") == report_html(results.study())
    replace(results.study(), command="another").report(path)
    assert study_data(path.read_text(encoding="utf-8"))["command"] == "another"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]  # nothing half-written is left


def test_an_unwritable_report_path_is_reported(tmp_path):
    (tmp_path / "folder.html").mkdir()
    for folder in (tmp_path, tmp_path / "folder.html"):
        with pytest.raises(FileProblem, match=r"is a folder\. .*file, such as .*report\.html"):
            write_report(results.study(), folder)
    with pytest.raises(MissingFile, match=r"does not exist\. Create it"):
        write_report(results.study(), tmp_path / "nowhere" / "report.html")
    for name in ("report", "report.txt", "report.html.gz"):
        with pytest.raises(ParameterError, match=r"ends in \.html"):
            write_report(results.study(), tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.html"]


@pytest.mark.parametrize(
    "result",
    [
        results.gaps(),
        results.nasty(),
        replace(results.study(), trials=(), advice=()),
        replace(results.study(), trials=results.WITHOUT),
        results.with_labels(None),
        results.with_labels(np.array(["one"] * 90)),
    ],
    ids=["gaps", "nasty", "no trials", "only failures", "no label", "one label"],
)
def test_every_study_has_a_report(result):
    assert study_data(report_html(result))["command"] == result.command


def test_a_range_leaves_out_few_values_that_are_far_from_the_others():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(300)
    assert bulk_range(z) == value_range(z)
    assert bulk_range(rng.standard_cauchy(30) * 0) == (0, 0)
    for far in ([1e4], [-1e4, 1e4], [40, 50, 60]):
        found = bulk_range(np.concatenate([z, far, [np.nan]]))
        assert found == value_range(z)
    tenth = np.concatenate([z, np.full(30, 100.0)])  # a small cluster is no outlier
    assert bulk_range(tenth) == value_range(tenth)
    few = np.array([1.0, 2, 3, 1000])
    assert bulk_range(few) == (1, 1000)
    assert bulk_range(np.append(np.zeros(100), 5.0)) == (0, 5)  # nothing but the outlier to see
    assert bulk_range(np.array([])) == (0, 0)


@pytest.mark.parametrize("far", [1e4, 1e12])
def test_outliers_do_not_coarsen_the_coordinates_of_the_others(far):
    result = results.outlier(far)
    html = report_html(result)
    Z = result.trials[0].Z
    place = study_data(html)["trials"][0]["Z"]
    codes = numbers(html, place).reshape(2, -1)
    for j in range(2):
        low, high = place["low"][j], place["high"][j]
        assert high - low < 20
        back = low + codes[j] / 65_534 * (high - low)
        others = np.arange(len(Z)) != 7
        np.testing.assert_allclose(back[others], Z[others, j], atol=(high - low) / 60_000)
        rows, at = (numbers(html, place["far"][j][key]) for key in ("rows", "at"))
        assert rows.tolist() == [7]
        np.testing.assert_allclose(low + at / 65_534 * (high - low), Z[7, j], rtol=1e-5)
    assert content(results.study())[0]["trials"][0]["Z"]["far"] == [None, None]


def test_every_purpose_has_a_heading():
    listed = re.search(r"const PURPOSES = \{(.*?)\}", page_text("report/advice.js"), re.S)
    assert listed is not None
    assert set(re.findall(r"(\w+):", listed[1])) == set(get_args(Purpose))


def test_the_page_contains_ids_and_kept_columns():
    result = results.with_ids()
    html = report_html(result)
    table = study_data(html)["table"]
    assert table["ids"] == {"name": "plant", "texts": result.table.ids.tolist()}
    *_, place, height = table["carried"]
    assert (place["name"], place["classes"]) == ("place", ["north", "south"])
    assert numbers(html, place)[:4].tolist() == [0, 255, 1, 0]
    assert (height["name"], height["classes"]) == ("height", None)
    assert [height["levels"][code] for code in numbers(html, height)[:3]] == [0, 1 / 7, 2 / 7]
    plain = study_data(report_html(results.study()))["table"]
    assert plain["ids"] is None
    assert plain["carried"] == []


def test_columns_over_a_map_are_those_of_describe():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((120, 2)).astype(np.float32)
    values = np.column_stack([3 * Z[:, 0] + Z[:, 1], rng.standard_normal(120), np.ones(120)]).astype(np.float32)
    values[:7, 0] = np.nan
    base = results.study(120, 2)
    table = replace(base.table, names=("a", "b", "constant"), values=values)
    trials = tuple(
        replace(t, Z=Z, scores=t.scores | {"stability": results.Score(0.9, "higher", "")}) for t in base.trials
    )
    html = report_html(replace(base, table=table, trials=trials))
    drawn = study_data(html)["trials"][0]["drawn"]
    described = lowland.describe(Z, Z, columns=values)
    assert [c["name"] for c in drawn["columns"]] == ["a", "b"]
    for said, found in zip(drawn["columns"], described.columns, strict=True):
        assert said["r2"] == pytest.approx(found.r2, abs=1e-6)
        np.testing.assert_allclose(said["direction"], found.direction, atol=1e-6)
    assert drawn["columns"][0]["p_value"] == 1 / 200
    surface = drawn["surfaces"][0]
    heights = numbers(html, surface["heights"]).reshape(len(surface["y"]), len(surface["x"]))
    i, j = np.argwhere(np.isfinite(heights))[5]
    assert heights[i, j] == pytest.approx(3 * surface["x"][j] + surface["y"][i], abs=1e-3)  # the column is a plane


def test_a_report_without_columns_or_with_one_axis_draws_none():
    base = results.study(60, 2)
    bare = replace(base, table=replace(base.table, names=(), values=np.empty((60, 0), dtype=np.float32)))
    assert all(trial["drawn"] is None for trial in study_data(report_html(bare))["trials"])
    narrow = replace(base, trials=tuple(replace(t, Z=None if t.Z is None else t.Z[:, :1]) for t in base.trials))
    assert all(trial["drawn"] is None for trial in study_data(report_html(narrow))["trials"])


def test_reliability_classes_are_no_measure_and_colored_by_name():
    base = results.study(60, 2)
    codes = (np.arange(60) % 3).astype(np.float32)
    codes[4] = np.nan
    first = replace(base.trials[0], per_row={**base.trials[0].per_row, "reliability": codes})
    html = report_html(replace(base, trials=(first, *base.trials[1:])))
    data = study_data(html)
    assert "reliability" not in [measure["name"] for measure in data["measures"]]
    found = numbers(html, data["trials"][0]["classes"])
    np.testing.assert_array_equal(found, np.where(np.isnan(codes), 3, codes))
    assert data["classes"] == ["reliable", "uncertain", "unreliable"]
    assert data["trials"][1]["classes"] is None
