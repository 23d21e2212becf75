"""Common properties of the figures: no global changes, names drawn verbatim, errors with the correct call."""

import re
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure
from matplotlib.text import Text

import lowland
from lowland import plots, quality
from lowland.blocks.selection.subset_search import Step
from lowland.data import load_dataset
from lowland.errors import DataError, DataTypeError, MissingExtra
from lowland.plots.style import WITH_COMPONENTS

SOME = np.random.default_rng(0).standard_normal((12, 4))

CALLS = {
    "scree": lambda ax: plots.scree([2.0, 1.0], ax=ax),
    "distortion_curve": lambda ax: plots.distortion_curve([2.0, 1.0, 0.0], ax=ax),
    "decay": lambda ax: plots.decay([0.9, 0.5], ax=ax),
    "biplot": lambda ax: plots.biplot(np.eye(3), np.eye(3), ax=ax),
    "loadings": lambda ax: plots.loadings(np.eye(3), ax=ax),
    "shepard": lambda ax: plots.shepard(quality.shepard(SOME, SOME[:, :2]), ax=ax),
    "rnx_curve": lambda ax: plots.rnx_curve(quality.co_ranking(SOME, SOME[:, :2]), ax=ax),
    "residual_variances": lambda ax: plots.residual_variances([0.3, 0.1], ax=ax),
    "reconstructions": lambda ax: plots.reconstructions(lowland.PCA().fit(SOME), SOME[:2], (1, 4), (1, 2), ax=ax),
    "embedding": lambda ax: plots.embedding(np.eye(3), [0, 1, 2], ax=ax),
    "images": lambda ax: plots.images(np.eye(4), (2, 2), ax=ax),
    "thumbnails": lambda ax: plots.thumbnails(SOME, SOME, (2, 2), count=3, ax=ax),
    "components_as_images": lambda ax: plots.components_as_images(np.eye(4), (2, 2), ax=ax),
    "dendrogram": lambda ax: plots.dendrogram([[0, 1], [2, 3]], [1.0, 2.0], [0, 0, 1], ax=ax),
    "selection_path": lambda ax: plots.selection_path([Step(1, "add", 0, "a", 0.5, 1, (0,))], ax=ax),
    "coefficient_paths": lambda ax: plots.coefficient_paths([1.0, 0.5], [[0.0, 0.0], [1.0, 0.0]], ax=ax),
    "u_matrix": lambda ax: plots.u_matrix(np.eye(3), ax=ax),
    "component_planes": lambda ax: plots.component_planes(np.eye(4), (2, 2), ax=ax),
    "hit_map": lambda ax: plots.hit_map(np.eye(3), ax=ax),
}


def test_every_figure_is_called_here():
    assert sorted(CALLS) == sorted(plots.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_draws_into_the_axes_given(name):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert CALLS[name](right) is figure
    assert not left.has_data()
    assert right.has_data()
    inner = Figure()
    part = inner.subfigures(1, 2)[0]
    assert CALLS[name](part.add_subplot()) is inner


@pytest.mark.parametrize("name", CALLS)
def test_changes_nothing_global(name):
    before = dict(matplotlib.rcParams)
    figure = CALLS[name](None)
    assert type(figure) is Figure
    assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


@pytest.mark.parametrize("name", CALLS)
def test_a_missing_matplotlib_is_reported_with_a_remedy(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"lowland\[plot\]"):
        CALLS[name](None)


ODD = r"$\no$"  # would be read as a formula, and one that does not exist
CURVE = quality.co_ranking(SOME, SOME[:, :2])
WITH_WORDS = {
    "embedding": lambda: plots.embedding(SOME, [ODD] * 6 + ["b"] * 6, axis_names=(ODD, ODD), title=ODD, centers=True),
    "color bar": lambda: plots.embedding(SOME, quality.Measure(ODD, 1.0, SOME[:, 0], "higher", "")),
    "biplot": lambda: plots.biplot(SOME, SOME[:2], [ODD] * 4, axis_names=(ODD, ODD), title=ODD),
    "loadings": lambda: plots.loadings(np.eye(2), [ODD, "b"], title=ODD),
    "shepard": lambda: plots.shepard(quality.shepard(SOME, SOME[:, :2]), title=ODD),
    "rnx_curve": lambda: plots.rnx_curve({ODD: CURVE}, title=ODD),
    "residual_variances": lambda: plots.residual_variances([0.3, 0.1], title=ODD),
    "images": lambda: plots.images(np.eye(4), (2, 2), titles=[ODD] * 4),
    "thumbnails": lambda: plots.thumbnails(SOME, SOME, (2, 2), axis_names=(ODD, ODD), title=ODD),
    "dendrogram": lambda: plots.dendrogram([[0, 1], [2, 3]], names=[ODD] * 3, title=ODD),
    "selection_path": lambda: plots.selection_path([Step(1, "add", 0, ODD, 0.5, 1, (0,))]),
    "coefficient_paths": lambda: plots.coefficient_paths([1.0, 0.5], [[0.0, 0.0], [1.0, 2.0]], names=[ODD, ODD]),
    "u_matrix": lambda: plots.u_matrix(np.eye(3), title=ODD),
    "component_planes": lambda: plots.component_planes(np.eye(4), (2, 2), names=[ODD] * 4),
    "hit_map": lambda: plots.hit_map(np.eye(3), title=ODD),
}


@pytest.mark.parametrize("name", WITH_WORDS)
def test_dollar_signs_are_drawn_and_not_read_as_formulas(name, drawn):
    figure = WITH_WORDS[name]()
    drawn(figure)
    words = [text.get_text() for text in figure.findobj(Text)]
    assert any(r"\$\no\$" in word for word in words)  # matplotlib draws \$ as $
    assert not any(is_math_text(word) for word in words if "no" in word)


def test_names_that_begin_with_an_underscore_are_in_the_legend(drawn):
    ax = drawn(plots.embedding(np.eye(3), ["_a", "b", "_c"]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["_a", "_c", "b"]
    ax = drawn(plots.rnx_curve({"_a": CURVE}))
    assert ax.get_legend().get_texts()[0].get_text().startswith("_a: area")


FITTED = {
    "Isomap": lambda: lowland.Isomap(2),
    "PCA": lambda: lowland.PCA(2),
    "TruncatedSVD": lambda: lowland.TruncatedSVD(2),
    "DiffusionMap": lambda: lowland.DiffusionMap(3),
    "SelfOrganizingMap": lambda: lowland.SelfOrganizingMap((3, 4)),
    "FeatureAgglomeration": lambda: lowland.FeatureAgglomeration(2),
    "L1Selector": lambda: lowland.L1Selector(2),
    "VectorQuantizer": lambda: lowland.VectorQuantizer(3),
}


@pytest.fixture(scope="module")
def fitted():
    iris = load_dataset("iris")
    X, y = iris.X[50:], iris.y[50:]  # without the separate species, the graphs are connected
    return {name: make().fit(X, y) for name, make in FITTED.items()}


@pytest.mark.parametrize(
    ("name", "owner", "message"),
    [
        ("u_matrix", "SelfOrganizingMap", "plots.u_matrix(model.u_matrix_, model.topology)"),
        ("hit_map", "SelfOrganizingMap", "plots.hit_map(model.hits_, model.topology)"),
        (
            "component_planes",
            "SelfOrganizingMap",
            "plots.component_planes(model.prototypes_, model.grid_, model.topology)",
        ),
        (
            "dendrogram",
            "FeatureAgglomeration",
            "plots.dendrogram(model.children_, model.distances_, model.labels_)",
        ),
        ("selection_path", "L1Selector", "plots.selection_path(model.path_)"),
        ("coefficient_paths", "L1Selector", "plots.coefficient_paths(model.alphas_, model.coef_path_)"),
        ("scree", "PCA", "plots.scree(model.explained_variance_, model.total_variance_)"),
        ("scree", "TruncatedSVD", "plots.scree(model.explained_variance_)"),
        (
            "distortion_curve",
            "PCA",
            "plots.distortion_curve([model.distortion(M) for M in range(model.n_components_ + 1)])",
        ),
        ("decay", "DiffusionMap", "plots.decay(model.eigenvalues_, [1, model.diffusion_time_])"),
        ("residual_variances", "Isomap", "plots.residual_variances(model.residual_variances_)"),
        ("loadings", "PCA", "plots.loadings(model.components_)"),
        ("biplot", "PCA", "plots.biplot(model.transform(X), model.components_)"),
        ("components_as_images", "PCA", "plots.components_as_images(model.components_, image_shape)"),
        ("thumbnails", "Isomap", "plots.thumbnails(model.transform(X), X, image_shape)"),
        ("embedding", "Isomap", "plots.embedding(model.transform(X))"),
        ("images", "PCA", "plots.images(X, image_shape)"),
    ],
)
def test_figures_of_numbers_accept_models(fitted, name, owner, message, drawn):
    model, X = fitted[owner], load_dataset("iris").X[50:]
    with pytest.raises(DataError, match=f"{owner} is a model, not an array") as caught:
        getattr(plots, name)(model)
    assert str(caught.value).endswith(f"write {message}.")
    assert isinstance(eval(message, {"plots": plots, "model": model, "X": X, "image_shape": (2, 2)}), Figure)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("scree", "Isomap", "Isomap is a model without explained_variance_, an attribute of IncrementalPCA, PCA and"),
        ("loadings", "Isomap", "Isomap is a model without components_, an attribute of FactorAnalysis, FastICA"),
        ("residual_variances", "PCA", "PCA is a model without residual_variances_, an attribute of Isomap. Fit"),
        ("u_matrix", "PCA", "PCA is a model without u_matrix_, an attribute of SelfOrganizingMap. Fit"),
        ("decay", "Isomap", "Isomap is a model without diffusion_time_, an attribute of DiffusionMap. Fit"),
        ("distortion_curve", "VectorQuantizer", "VectorQuantizer is a model without n_components_, an attribute of"),
    ],
)
def test_a_model_without_the_attribute_is_refused_with_the_methods_that_have_it(fitted, name, given, message):
    with pytest.raises(DataError) as caught:
        getattr(plots, name)(fitted[given])
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("model", [lowland.PCA(), lowland.PCA])
def test_a_model_that_is_not_fitted_is_refused(model):
    with pytest.raises(DataError, match=r"PCA is a model that is not fitted\. Fit it and write plots.loadings"):
        plots.loadings(model)


def test_the_methods_that_are_named_have_components():
    X = load_dataset("wine").X
    for name in re.findall(r"[A-Z]\w+", WITH_COMPONENTS):
        assert getattr(lowland, name)(2).fit(X).components_.shape == (2, 13)


@pytest.mark.parametrize("name", plots.__all__)
def test_wrong_arguments_get_the_correct_call(name):
    with pytest.raises(DataTypeError, match=rf"^plots\.{name}: .*\. Write plots\.{name}\("):
        getattr(plots, name)()
