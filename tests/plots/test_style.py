"""Common properties of the figures: no global changes, names drawn verbatim, errors with the correct call."""

import inspect
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure
from matplotlib.text import Text

import lowland
from lowland import plots, quality
from lowland.data import load_dataset
from lowland.errors import DataError, DataTypeError, MissingExtra
from lowland.math.selection.subset_search import Step

SWEPT = lowland.sweep(lowland.PCA(2), load_dataset("iris").X, whiten=[False, True])
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
    "surface": lambda ax: plots.surface(SOME, lambda at: at[:, 0], ax=ax),
    "sweep": lambda ax: plots.sweep(SWEPT, ax=ax),
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
def test_draws_into_the_axes_given_and_changes_nothing_else(name):
    before = dict(matplotlib.rcParams)
    left, right = Figure().subplots(1, 2)
    assert CALLS[name](right) is right  # returned, a figure of pyplot would be shown twice by a notebook
    assert not left.has_data()
    assert right.has_data()
    inner = Figure()
    part = inner.subfigures(1, 2)[0]
    assert CALLS[name](part.add_subplot()).figure.figure is inner
    assert isinstance(CALLS[name](None), Figure)
    assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


@pytest.mark.parametrize("name", CALLS)
def test_a_missing_matplotlib_is_reported_with_a_remedy(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "lowland.plots.notebook_figure", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install .*\[plot\]"):
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
    ("name", "owner", "arrays"),
    [
        ("u_matrix", "SelfOrganizingMap", lambda m, X: (m.u_matrix_, m.topology)),
        ("hit_map", "SelfOrganizingMap", lambda m, X: (m.hits_, m.topology)),
        ("component_planes", "SelfOrganizingMap", lambda m, X: (m.prototypes_, m.grid_, m.topology)),
        ("dendrogram", "FeatureAgglomeration", lambda m, X: (m.children_, m.distances_, m.labels_)),
        ("selection_path", "L1Selector", lambda m, X: (m.path_,)),
        ("coefficient_paths", "L1Selector", lambda m, X: (m.alphas_, m.coef_path_)),
        ("scree", "PCA", lambda m, X: (m.explained_variance_, m.total_variance_)),
        ("scree", "TruncatedSVD", lambda m, X: (m.explained_variance_ratio_, 1.0)),
        ("distortion_curve", "PCA", lambda m, X: ([m.distortion(M) for M in range(3)],)),
        ("decay", "DiffusionMap", lambda m, X: (m.eigenvalues_,)),
        ("residual_variances", "Isomap", lambda m, X: (m.residual_variances_,)),
        ("loadings", "PCA", lambda m, X: (m.components_,)),
        ("biplot", "PCA", lambda m, X: (m.transform(X), m.components_)),
        ("components_as_images", "PCA", lambda m, X: (m.components_, (2, 2))),
        ("thumbnails", "Isomap", lambda m, X: (m.transform(X), X, (2, 2))),
        ("embedding", "Isomap", lambda m, X: (m.transform(X),)),
    ],
)
def test_a_fitted_model_is_drawn_as_its_arrays_are(fitted, name, owner, arrays):
    model, X = fitted[owner], load_dataset("iris").X[50:]
    more = {"biplot": (X,), "embedding": (X,), "thumbnails": (X, (2, 2)), "components_as_images": ((2, 2),)}
    drawn = getattr(plots, name)(model, *more.get(name, ()))
    expected = getattr(plots, name)(*arrays(model, X))
    for ours, theirs in zip(drawn.axes, expected.axes, strict=True):
        np.testing.assert_allclose(ours.dataLim.get_points(), theirs.dataLim.get_points())
        assert len(ours.get_children()) >= len(theirs.get_children())  # a model may also tell its penalty
    first = next(iter(inspect.signature(getattr(plots, name)).parameters))
    if not more.get(name):
        assert isinstance(getattr(plots, name)(**{first: model}), Figure)


def test_models_of_scikit_learn_pipelines_and_data_frames_are_drawn(drawn):
    pandas = pytest.importorskip("pandas")
    decomposition = pytest.importorskip("sklearn.decomposition")
    manifold = pytest.importorskip("sklearn.manifold")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    wine = load_dataset("wine")
    frame = pandas.DataFrame(wine.X, columns=wine.names)
    pipe = make_pipeline(StandardScaler(), decomposition.PCA(3)).fit(frame)
    ax = drawn(plots.biplot(pipe, frame, labels=wine.y))
    assert {text.get_text() for text in ax.texts if text.get_text()} >= {"alcohol", "hue", "proline"}
    assert len(ax.get_legend().get_texts()) == 3
    ax = drawn(plots.scree(pipe))
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], 100 * pipe[-1].explained_variance_ratio_)
    ax = drawn(plots.loadings(pipe))
    assert [label.get_text() for label in ax.get_xticklabels()][:2] == list(wine.names[:2])
    theirs = decomposition.PCA(4).fit(wine.X)
    ax = drawn(plots.distortion_curve(theirs))
    ours = lowland.PCA(4).fit(wine.X)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [ours.distortion(M) for M in range(5)], rtol=1e-6)
    mds = manifold.SpectralEmbedding(2, n_neighbors=40).fit(wine.X)
    for ax in (plots.embedding(mds, wine.y).axes[0], plots.embedding(mds, frame, frame[["hue"]]).axes[0]):
        np.testing.assert_array_equal(ax.dataLim.get_points()[0], mds.embedding_.min(axis=0))
    with pytest.raises(DataError, match="labels="):
        plots.biplot(pipe, frame, wine.y)
    with pytest.raises(DataTypeError, match="too many positional"):
        plots.scree(pipe, 2, 3, 4)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("scree", "Isomap", "Isomap is a model without explained_variance_ratio_, an attribute of Corr"),
        ("loadings", "Isomap", "Isomap is a model without components_, an attribute of ClassicalMDS, FactorAnalysis"),
        ("embedding", "VectorQuantizer", "VectorQuantizer is a model without embedding_, an attribute of Classic"),
        ("residual_variances", "PCA", "PCA is a model without residual_variances_, an attribute of Isomap. Fit one"),
        ("u_matrix", "PCA", "PCA is a model without u_matrix_, an attribute of SelfOrganizingMap. Fit one"),
        ("decay", "Isomap", "Isomap is a model without diffusion_time_, an attribute of DiffusionMap. Fit one"),
        (
            "distortion_curve",
            "VectorQuantizer",
            "VectorQuantizer is a model without n_components_, an attribute of",
        ),
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


@pytest.mark.parametrize("name", plots.__all__)
def test_wrong_arguments_get_the_correct_call(name):
    with pytest.raises(DataTypeError, match=rf"^plots\.{name}: .*\. Write plots\.{name}\("):
        getattr(plots, name)()
