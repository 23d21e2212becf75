"""Advice: the rules, and that the text states the numbers on which they are based."""

from dataclasses import replace

import numpy as np
import pytest

from lowland.data.suspect_columns import SuspectColumn
from lowland.math.statistics.intervals import wilson_interval
from lowland.study.advice import advise, enough_components
from lowland.study.facts import TableFacts
from lowland.study.plan import StudySize
from lowland.study.result import Score, Trial
from lowland.trial import prediction

AREA, FIDELITY, TRUST = "area under R_NX", "fidelity", "trustworthiness"
ACCURACY, ERROR = "downstream accuracy", "reconstruction error"
FACTS = TableFacts(
    (0.7, 0.2, 0.06, 0.04),
    (10.0, 3.0, 1.0, 0.4, 0.0),
    2.2,
    0.14,
    Score(0.9, "higher", "All.", 0.86, 0.94),
    (),
    0.4,
    0,
    3.0,
)


def score(value, low=None, high=None):
    return Score(value, "higher", "About it.", low, high)


def trial(name, seconds=1.0, **scores):
    scores = {"fidelity": scores["area"], **scores} if "area" in scores else scores  # the same unless given
    names = {"area": AREA, "fidelity": FIDELITY, "trust": TRUST, "accuracy": ACCURACY, "error": ERROR}
    names["stability"] = "stability"
    found = {names[key]: score(*value) if isinstance(value, tuple) else score(value) for key, value in scores.items()}
    return Trial(name, name.split()[0], {}, "done", seconds=seconds, n_components=2, scores=found)


def advice(purpose, *trials, facts=FACTS, classes=3, k=2, scaled=False, units_differ=False, d=4):
    found = advise(trials, facts, StudySize(100, d, k, classes, purpose), scaled=scaled, units_differ=units_differ)
    assert found[0].purpose == purpose
    return found[0]


def check(found, trial, texts, evidence=(), without=()):
    assert found.trial == trial
    for text in texts:
        assert text in found.text
    for text in evidence:
        assert any(text in sentence for sentence in found.evidence), text
    for text in without:
        assert text not in found.text


# --- visualization ---

PCA_55 = trial("PCA", area=(0.55, 0.5, 0.6))
SEEN = {  # trials, the one that is chosen, and what the text and the evidence say, and do not say
    "a clear best": (
        [trial("PCA", area=0.30), trial("Isomap", area=0.62, trust=0.97)], "Isomap",
        ["Isomap with 2 dimensions", "distances best of 2 trials", "fidelity 0.62", "runner-up PCA 0.30"],
        ["Fidelity: Isomap 0.62, PCA 0.30.", "0.97"], ["significant"],  # all rows were compared
    ),
    "PCA within the margin": (
        [trial("PCA", area=0.61), trial("Isomap", area=0.62)], "PCA",
        ["Isomap preserves neighborhoods and distances best", "0.62", "0.61", "margin of 0.02"], [], [],
    ),
    "overlapping intervals": (
        [PCA_55, trial("Isomap", area=(0.59, 0.56, 0.62))], "PCA",
        ["not significantly different", "0.55 (0.50 to 0.60)"], [], [],
    ),
    "disjoint intervals": (
        [PCA_55, trial("Isomap", area=(0.66, 0.62, 0.70))], "Isomap",
        ["0.66 (95% confidence interval 0.62 to 0.70)", "runner-up PCA 0.55 (0.50 to 0.60), significantly lower"],
        ["Fidelity (95% confidence interval): Isomap 0.66 (0.62 to 0.70), PCA"], [],
    ),
    "as good as the best in the digits shown": (
        [trial("PCA", area=0.848), trial("Isomap", area=0.854)], "PCA",
        ["distances as well as the best of 2 trials: fidelity 0.85", "Isomap has 0.85."], [], ["distances best of"],
    ),
    "no runner-up": ([trial("Isomap", area=0.62)], "Isomap", ["only embedding", "0.62"], [], ["runner-up"]),
    "the best of tied trials": (
        [trial("Isomap", area=(0.44, 0.41, 0.47)), trial("MDS", area=(0.43, 0.40, 0.46))], "Isomap",
        ["runner-up MDS 0.43 (0.40 to 0.46), not significantly different"], [], [],
    ),
    "distances count like neighborhoods": (
        [trial("TSNE", area=0.45, fidelity=0.61), trial("MDS", area=0.36, fidelity=0.65)], "MDS",
        ["If only neighborhoods matter", "use t-SNE: area under R_NX 0.45 against 0.36"], [], [],
    ),
    "neighborhoods preserved as well": (
        [trial("TSNE", area=0.45, fidelity=0.61), trial("MDS", area=0.44, fidelity=0.65)], "MDS",
        [], [], ["If only neighborhoods matter"],
    ),
    "an unstable one": (
        [trial("PCA", area=0.4), trial("TSNE", area=0.7, stability=0.16)], "TSNE",
        ["this map is not stable", "only 16% of the neighbors stay"], ["t-SNE 0.16"], [],
    ),
    "a stable one": ([trial("PCA", area=0.4, stability=0.9)], "PCA", [], ["PCA 0.90"], ["not stable"]),
    "neighborhoods in an unstable map": (
        [trial("TSNE", area=0.45, fidelity=0.61, stability=0.2), trial("MDS", area=0.36, fidelity=0.65)], "MDS",
        [], [], ["If only neighborhoods matter"],
    ),
    "a poor one": ([trial("PCA", area=0.12)], "PCA", ["0.12 is low"], [], []),
    "selected columns": (
        [trial("SequentialFeatureSelector", area=0.9), trial("PCA", area=0.5)], "PCA", [], [], [],
    ),
    "the dimension": (
        [trial("PCA", area=0.5)], "PCA", [],
        ["intrinsic dimension: 2.2 (standard error 0.1)", "2 dimensions can preserve"], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("trials", "chosen", "texts", "evidence", "without"), SEEN.values(), ids=SEEN)
def test_advice_to_visualize(trials, chosen, texts, evidence, without):
    check(advice("visualize", *trials), chosen, texts, evidence, without)


def test_without_pca_ties_go_to_a_linear_method_then_to_the_best_unless_slow():
    linear = advice("visualize", trial("Isomap", 0.1, area=0.62), trial("FastICA", 9.0, area=0.61))
    assert linear.trial == "FastICA"
    assert "simpler: it is linear" in linear.text
    best = advice("visualize", trial("Isomap", 2.0, area=0.62), trial("SpectralEmbedding", 0.5, area=0.61))
    assert best.trial == "Isomap"
    fastest = advice("visualize", trial("Isomap", 200.0, area=0.62), trial("SpectralEmbedding", 0.5, area=0.61))
    assert fastest.trial == "SpectralEmbedding"
    assert "faster (0.5 s vs. 200 s)" in fastest.text


def test_too_few_dimensions_are_reported():
    assert any("1 dimension is too few" in s for s in advice("visualize", trial("PCA", area=0.5), k=1).evidence)


def test_units_are_reported():
    uneven = TableFacts((1.0,), (1.0, 0.0), None, None, None, (), 0.4, 0, 250.0)
    found = advice("visualize", trial("PCA", area=0.5), facts=uneven, units_differ=True)
    assert any("factor of up to 250" in s for s in found.evidence)
    assert any(
        "standard deviation 1" in s
        for s in advice("visualize", trial("PCA", area=0.5), facts=uneven, scaled=True).evidence
    )


# --- compression ---


@pytest.mark.parametrize(("wanted", "m"), [(0.7, 1), (0.71, 2), (0.9, 2), (0.95, 3), (1.0, 4)])
def test_the_fewest_components_that_keep_a_fraction(wanted, m):
    assert enough_components(FACTS.explained_variance_ratio, wanted)[0] == m


def test_the_number_of_components_that_keeps_the_fraction():
    found = advice("compress", trial("PCA", error=1.0), trial("SelfOrganizingMap", error=0.6))
    assert (found.trial, found.n_components) == ("PCA", 3)
    assert "3 components" in found.text
    assert "95%" in found.text
    assert "96.0%" in found.text
    assert "2 components: 90.00%" in found.evidence[0]
    assert any("SOM 0.6, PCA 1" in s for s in found.evidence)


def test_a_nonlinear_method_must_halve_the_error_and_keep_the_fraction():
    found = advice("compress", trial("PCA", error=1.0), trial("SelfOrganizingMap", error=0.4))
    assert (found.trial, found.n_components) == ("SelfOrganizingMap", 2)
    assert "use SOM with 2 dimensions: its reconstruction error of 0.4" in found.text
    assert "less than half of PCA's with the same number of dimensions (1)" in found.text
    assert "explains 96.0%" in found.text
    assert "PCA needs 3 components" in found.text
    coarse = TableFacts((0.5, 0.1, 0.4), (10.0, 5.0, 4.0, 0.0), None, None, None, (), 0.4, 0, 1.0)
    found = advice("compress", trial("PCA", error=4.0), trial("SelfOrganizingMap", error=1.0), facts=coarse)
    assert (found.trial, found.n_components) == ("PCA", 3)
    assert any("less than half of PCA's" in s and "(4)" in s and "explains 90.0%" in s for s in found.evidence)


def test_a_long_tail_offers_the_elbow_too():
    long = (0.3, 0.2, 0.1, *[0.004] * 100)
    facts = replace(FACTS, explained_variance_ratio=long, distortions=tuple(1 - np.cumsum([0, *long])))
    found = advise([trial("PCA", error=1.0)], facts, StudySize(500, 103, 2, 3, "compress"), scaled=False)[0]
    assert found.n_components == 91
    assert "elbow after 3 components, which explain 60.0%" in found.text
    assert "elbow" not in advice("compress", trial("PCA", error=1.0)).text  # 3 components are few


def test_a_linear_method_cannot_beat_pca():
    assert advice("compress", trial("PCA", error=1.0), trial("FastICA", error=0.1)).trial == "PCA"


def test_no_compression_with_a_flat_spectrum_or_too_few_components():
    flat = TableFacts((0.25,) * 4, (4.0, 3.0, 2.0, 1.0, 0.0), None, None, None, (), 0.4, 0, 1.0)
    found = advice("compress", trial("PCA"), facts=flat)
    assert "all 4 components" in found.text
    assert "No compression is advised" in found.text
    assert found.trial is found.n_components is None
    cut = TableFacts((0.5, 0.1), (4.0, 2.0, 1.6), None, None, None, (), 0.4, 0, 1.0)
    found = advice("compress", trial("PCA"), facts=cut)
    assert "more than 2 components" in found.text
    assert found.method is found.n_components is None
    assert "60.0%" in found.text


# --- classification ---


def accuracy(n_correct, only=0, n=200):
    """An accuracy of n held-out rows: the first are classified correctly, and some more at the end, only here."""
    rows = np.zeros(n, dtype=bool)
    rows[:n_correct], rows[n - only :] = True, True
    low, high = wilson_interval(rows.mean(), n)
    bits = np.packbits(rows).tobytes().hex()
    return Score(float(rows.mean()), "higher", "About it.", low, high, n, bits, held_out=True)


def with_accuracy(name, n_correct, only=0, seconds=1.0, n=200):
    return replace(trial(name, seconds), scores={ACCURACY: accuracy(n_correct, only, n)})


FULL = replace(FACTS, accuracy=accuracy(180))


def test_all_columns_are_kept_if_reduction_loses_accuracy():
    found = advice("classify", with_accuracy("PCA", 120), with_accuracy("Isomap", 160), facts=FULL)
    assert found.trial is found.n_components is found.method is None
    assert found.model == "5 nearest neighbors"
    assert "keep all 4 columns and use 5 nearest neighbors" in found.text
    assert "it has 0.90 (0.85 to 0.93); Isomap with 2 dimensions and 5 nearest neighbors 0.80" in found.text
    assert "0.10 lower. Majority-class" in found.text  # a loss that is no chance


def test_columns_are_counted_before_they_are_encoded():
    size = StudySize(100, 10, 2, 3, "classify", n_given=6)
    found = {each.purpose: each.text for each in advise([with_accuracy("PCA", 120)], FULL, size, scaled=True)}
    assert "keep all 6 columns (10 after encoding) and use 5 nearest" in found["classify"]
    assert "of the variance of the 6 columns (10 after encoding). The target is" in found["compress"]


def test_the_simplest_trial_as_good_as_all_columns_is_recommended():
    found = advice(
        "classify",
        with_accuracy("PCA", 160),
        with_accuracy("LinearDiscriminantAnalysis", 178),
        with_accuracy("Isomap", 182),
        facts=FULL,
    )
    assert found.trial == found.method == "LinearDiscriminantAnalysis"
    assert "it has 0.89 (0.84 to 0.93)" in found.text
    assert (
        "Isomap with 2 dimensions and 5 nearest neighbors 0.91 (0.86 to 0.94): 0.02 higher, which may be" in found.text
    )
    assert "all 4 columns and 5 nearest neighbors 0.90 (0.85 to 0.93): 0.01 higher, which may be" in found.text


def test_a_better_estimate_is_not_hidden_behind_chance():
    """As on the wine data: 0.99 against 0.96 is not significant, and still the better one is advised."""
    trials = with_accuracy("PCA", 192), with_accuracy("LinearDiscriminantAnalysis", 193, 5)
    found = advice("classify", *trials, facts=replace(FULL, accuracy=accuracy(192)))
    assert found.trial == "LinearDiscriminantAnalysis"
    assert "PCA with 2 dimensions and 5 nearest neighbors 0.96" in found.text
    assert "0.03 lower, which may be chance" in found.text


def test_coordinates_that_have_seen_the_held_out_rows_are_not_considered():
    seen = with_accuracy("TSNE", 199)
    seen = replace(seen, scores={ACCURACY: replace(seen.scores[ACCURACY], held_out=False)})
    found = advice("classify", with_accuracy("PCA", 178), seen, facts=FULL)
    assert found.trial == "PCA"
    assert "t-SNE" not in found.text
    assert any("1 trial was fitted to all rows" in sentence for sentence in found.evidence)


def test_nonlinear_reduction_is_advised_only_if_it_predicts_better():
    assert advice("classify", with_accuracy("Isomap", 183), facts=FULL).model == "5 nearest neighbors"
    assert advice("classify", with_accuracy("Isomap", 183), facts=FULL).method is None
    assert advice("classify", with_accuracy("Isomap", 190), facts=FULL).method == "Isomap"


def test_a_significant_loss_is_no_tie():
    many = replace(FACTS, accuracy=accuracy(1800, n=2000))
    pca, lda = with_accuracy("PCA", 1770, n=2000), with_accuracy("LinearDiscriminantAnalysis", 1800, n=2000)
    assert advice("classify", pca, lda, facts=many).trial == "LinearDiscriminantAnalysis"


def test_few_dimensions_for_a_small_loss_are_worth_saying():
    """765 columns to 2, for an accuracy of 0.955 instead of 0.975: significant, and still good to know."""
    many, pca = replace(FACTS, accuracy=accuracy(1950, n=2000)), with_accuracy("PCA", 1910, n=2000)
    found = advice("classify", pca, facts=many, d=765)
    assert found.method is None
    assert "use PCA with 2 dimensions and 5 nearest neighbors: 2 instead of 765 for a loss of 0.02" in found.text
    assert "instead of" not in advice("classify", pca, facts=many).text  # of 4 columns
    assert "instead of" not in advice("classify", with_accuracy("PCA", 1800, n=2000), facts=many, d=765).text


def test_reduction_may_help():
    text = advice("classify", with_accuracy("PCA", 198), facts=FULL).text
    assert "all 4 columns and 5 nearest neighbors 0.90 (0.85 to 0.93): 0.09 lower. Majority-class" in text


def from_rows(rows):
    low, high = wilson_interval(rows.mean(), len(rows))
    bits = np.packbits(rows).tobytes().hex()
    return Score(float(rows.mean()), "higher", "About it.", low, high, len(rows), bits, held_out=True)


def test_the_accuracy_of_the_best_of_many_equal_trials_is_not_too_high():
    """The highest of 15 accuracies is 0.06 above the true one, and one in ten was significantly above all columns."""
    quoted, claims = [], 0
    for seed in range(60):
        correct = np.random.default_rng(seed).random((16, 100)) < 0.726
        trials = [
            replace(trial(f"Isomap n_neighbors={i}"), scores={ACCURACY: from_rows(rows)})
            for i, rows in enumerate(correct[1:])
        ]
        found = advice("classify", *trials, facts=replace(FACTS, accuracy=from_rows(correct[0])), classes=2)
        claims += "lower" in found.text and "may be chance" not in found.text
        quoted.append(float(found.text.split("held-out rows is ")[1][:4]))
        assert any("choice among 16 scores" in sentence for sentence in found.evidence)
    assert np.mean(quoted) == pytest.approx(0.726, abs=3 * np.std(quoted) / np.sqrt(60))
    assert claims <= 3


def test_the_r2_of_the_best_of_many_equal_trials_is_not_too_high():
    quoted = []
    for seed in range(60):
        folds = np.random.default_rng(seed).normal(0.5, 0.1, (16, 5))
        scores = [replace(prediction.r2_of_folds(each.tolist(), "About it."), held_out=True) for each in folds]
        trials = [replace(trial(f"Isomap n_neighbors={i}"), scores={"downstream R²": s}) for i, s in enumerate(scores)]
        size = StudySize(100, 4, 2, None, "classify", predicts_numbers=True)
        text = advise(trials, replace(FACTS, accuracy=scores[0], majority_class_fraction=0.0), size, scaled=False)[
            0
        ].text
        quoted.append(float(text.split("held-out rows is ")[1][:4]))
    assert np.mean(quoted) == pytest.approx(0.5, abs=3 * np.std(quoted) / np.sqrt(60))


def test_recommended_trials_beat_the_majority_class_baseline():
    half = replace(FACTS, majority_class_fraction=0.5, accuracy=accuracy(70, n=100))
    found = advice("classify", with_accuracy("PCA", 55, n=100), facts=half)
    assert found.trial is None  # below all columns, and no better than the majority class
    many = [with_accuracy(f"PCA random_state={i}", 62, n=100) for i in range(18)]
    assert (
        "do not predict the classes significantly better"
        in advice("classify", *many, facts=replace(half, accuracy=accuracy(60, n=100))).text
    )  # the best of many trials easily reaches this by chance
    assert advice("classify", many[0], facts=replace(half, accuracy=accuracy(62, n=100))).trial == many[0].name


def test_columns_that_do_not_predict_the_classes_name_the_best_accuracy():
    guess = replace(FACTS, accuracy=accuracy(84), accuracy_by_components=((1, accuracy(88)),))
    found = advice("classify", with_accuracy("PCA", 80), facts=guess)
    assert found.trial is found.n_components is found.method is None
    assert found.model == "5 nearest neighbors"  # an estimator that predicts, for what it is worth
    assert "best accuracy" in found.text
    assert "0.44 (95% confidence interval 0.37 to 0.51)" in found.text
    assert "(PCA with 1 component)" in found.text
    assert "majority-class baseline of 0.40" in found.text


def test_duplicate_rows_are_reported():
    sentences = advice("classify", with_accuracy("PCA", 180), facts=replace(FULL, n_duplicate_rows=40)).evidence
    assert any(s.startswith("40 of the 100 rows are duplicates") for s in sentences)


def test_methods_that_omit_rows_are_recommended_only_without_alternative():
    half = replace(trial("Isomap disconnected=largest", area=0.9), n_excluded=50)
    assert advice("visualize", half, trial("PCA", area=0.5)).trial == "PCA"
    assert advice("visualize", half).trial == half.name


def test_nothing_was_evaluated():
    for purpose in ("visualize", "classify"):
        found = advice(purpose, trial("PCA"))
        assert found.trial is None
        assert found.text.endswith(".")


def test_every_applicable_purpose_has_advice():
    found = advise([trial("PCA", area=0.5)], FACTS, StudySize(100, 4, 2, None, "compress"), scaled=False)
    assert [each.purpose for each in found] == ["compress", "visualize"]
    found = advise([], None, StudySize(100, 4, 2, 3, "visualize"), scaled=False)
    assert [each.purpose for each in found] == ["visualize", "compress", "classify"]
    assert all("stopped" in each.text for each in found)


def test_more_components_are_recommended_if_few_are_not_enough():
    facts = replace(FULL, accuracy_by_components=((1, accuracy(100)), (2, accuracy(120)), (3, accuracy(178))))
    found = advice("classify", with_accuracy("PCA", 120), facts=facts)
    assert (found.trial, found.n_components, found.method) == ("PCA", 3, "PCA")
    assert "use PCA with 3 components" in found.text
    assert "0.89 (95% confidence interval 0.84 to 0.93)" in found.text
    assert "all 4 columns and 5 nearest neighbors 0.90 (0.85 to 0.93): 0.01 higher, which may be chance" in found.text
    assert "Accuracy by number of PCA components: 1: 0.50, 2: 0.60, 3: 0.89." in found.evidence


def test_advice_of_a_study_that_was_stopped_says_so():
    found = advise(
        (trial("PCA", area=0.3),), FACTS, StudySize(100, 4, 2, None, "visualize"), scaled=False, complete=False
    )
    assert all(each.text.startswith("The study was stopped") for each in found)


# --- sweeps ---


def wide(m, **scores):
    return replace(trial(f"PCA n_components={m}", **scores), n_components=m)


def test_an_embedding_of_more_dimensions_than_requested_is_not_recommended():
    assert advice("visualize", wide(2, area=0.4), wide(4, area=0.9)).trial == "PCA n_components=2"
    assert advice("visualize", wide(3, area=0.4), wide(4, area=0.9)).trial == "PCA n_components=4"  # there is no other


def test_the_trial_with_the_recommended_components_is_named():
    found = advice("compress", wide(2, error=1.0), wide(3, error=0.4))
    assert (found.trial, found.n_components, found.method) == ("PCA n_components=3", 3, "PCA")
    found = advice("compress", trial("Isomap"))
    assert (found.trial, found.n_components, found.method) == (None, 3, "PCA")


def test_only_faster_methods_are_called_faster():
    found = advice(
        "visualize", replace(trial("PCA whiten=True", 5.0, area=0.5), method="PCA"), trial("PCA", 0.1, area=0.5)
    )
    assert "faster" not in found.text


def test_columns_that_count_the_rows_are_reported():
    found = advise(
        [trial("PCA", area=0.5)],
        FACTS,
        StudySize(100, 4, 2, None),
        scaled=False,
        suspects=[SuspectColumn("id", "row number")],
    )
    assert all("'id' only counts the rows" in each.evidence[0] for each in found)
