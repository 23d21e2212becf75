"""Numerical promises: every method checks a bound with every solver, reports it, and warns where it is not met."""

import math
import re
import warnings
from pathlib import Path

import pytest
from sklearn.exceptions import ConvergenceWarning

import lowland
from lowland.data import load_dataset
from lowland.errors import DataWarning
from lowland.math.optimize.outcome import PROMISES, Accuracy, Outcome, Promise
from lowland.methods.registry import load_method

from .battery import METHODS, labels, make, table, table_for

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
USUAL, WIDE = (120, 6), (60, 90)
DIRECT = {"FeatureAgglomeration", "FeatureFilter", "SequentialFeatureSelector", "TreeSelector"}  # no iterative solver
CHECKED = [name for name in METHODS if name not in DIRECT]

# every solver of every method: name, parameters, and the shape of the data
CASES = [
    *((name, {}, USUAL) for name in CHECKED),
    *(("PCA", {"n_components": 2, "svd_solver": s}, WIDE) for s in ("full", "power", "arpack", "randomized")),
    ("PCA", {"n_components": 2, "svd_solver": "randomized", "iterated_power": 2}, WIDE),
    ("TruncatedSVD", {"algorithm": "arpack"}, (30, 2100)),
    ("TruncatedSVD", {"algorithm": "randomized"}, (30, 2100)),
    ("KernelPCA", {"kernel": "rbf", "eigen_solver": "dense"}, USUAL),
    ("KernelPCA", {"kernel": "rbf", "eigen_solver": "arpack"}, USUAL),
    ("KernelPCA", {"kernel": "rbf", "eigen_solver": "randomized"}, USUAL),
    ("KernelPCA", {"kernel": "rbf", "n_landmarks": 30}, USUAL),
    ("ClassicalMDS", {"metric": "manhattan"}, USUAL),
    ("LinearDiscriminantAnalysis", {"solver": "eigen", "shrinkage": "auto"}, USUAL),
    ("LocallyLinearEmbedding", {"eigen_solver": "arpack"}, USUAL),
    ("SpectralEmbedding", {"affinity": "rbf"}, USUAL),
    ("SpectralEmbedding", {"eigen_solver": "arpack"}, USUAL),
    ("DiffusionMap", {"n_neighbors": 8}, USUAL),
    ("MDS", {"metric_mds": False}, USUAL),
    ("MDS", {"solver": "gradient"}, USUAL),
    ("MDS", {"accelerate": False}, USUAL),
    ("FastICA", {"algorithm": "deflation"}, USUAL),
    ("FastICA", {"algorithm": "picard"}, USUAL),
    ("FactorAnalysis", {"n_components": 2, "method": "em"}, USUAL),
    ("FactorAnalysis", {"n_components": 2}, (300, 450)),
    ("LinearAutoencoder", {"batch_size": 20}, USUAL),
    ("Autoencoder", {"solver": "adam"}, USUAL),
    ("SelfOrganizingMap", {"training": "online"}, USUAL),
    ("SelfOrganizingMap", {"convergence_epochs": 0}, USUAL),
]  # fmt: skip


def fitted(name, params, shape):
    X = table(*shape) if shape != USUAL else table_for(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("ignore", DataWarning)
        return make(name, **params).fit(X, labels(len(X)))


def promises_on_the_page():
    """The rows of the table: method, solvers, what is measured, bound, cost."""
    text = PAGE.read_text(encoding="utf-8").partition("## Numerical promises")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.replace("`", "").strip() for cell in row] for row in rows[1:]]


@pytest.mark.parametrize(("name", "params", "shape"), CASES)
def test_every_solver_reports_its_accuracy_and_is_on_the_page(name, params, shape):
    model = fitted(name, params, shape)
    assert isinstance(model.solver_, Outcome)
    found = model.solver_.accuracy
    assert isinstance(found, Accuracy)
    assert math.isfinite(found.value)
    assert found.met
    promise = PROMISES[found.measure]
    rows = [row for row in promises_on_the_page() if name in row[0].split(", ") and row[2] == promise.measure]
    assert rows, f"docs/reliability.md does not say that {name} promises: {promise.measure}"
    assert all(row[3:] == [promise.bound, promise.cost] for row in rows)
    assert any(model.solver_.name in row[1].split(", ") for row in rows), f"the page lacks {model.solver_.name}"


def test_the_page_names_only_promises_that_exist():
    for name in METHODS:
        load_method(name)  # its blocks state their promises
    rows = promises_on_the_page()
    assert {row[2] for row in rows} == set(PROMISES)
    assert {name for row in rows for name in row[0].split(", ")} == set(CHECKED)


def test_the_accuracy_is_shown_in_one_line():
    model = lowland.PCA(2).fit(load_dataset("iris").X)
    assert "\n" not in str(model.solver_)
    assert "residual" in str(model.solver_)
    assert re.search(r"bound \d\.\de-\d+", str(model.solver_))
    assert "no bound" in str(Accuracy("change", 0.1, math.inf))


def test_a_model_file_keeps_the_accuracy(tmp_path):
    model = lowland.PCA(2).fit(load_dataset("iris").X)
    lowland.save(model, tmp_path / "pca.model")
    assert lowland.load(tmp_path / "pca.model").solver_ == model.solver_


def test_a_record_without_accuracy_is_that_of_an_older_file():
    assert Outcome("eigh", "small").accuracy is None
    assert str(Outcome("eigh", "small")) == "eigh: small"


def test_two_promises_about_the_same_are_refused():
    known = next(iter(PROMISES.values()))
    with pytest.raises(TypeError, match="two promises"):
        Promise(known.measure, "another bound", known.cost)


# --- the checks can fail ---


def once(model, X, y=None, match="accurate"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    told = [each for each in caught if issubclass(each.category, ConvergenceWarning)]
    assert len(told) == 1, [str(each.message) for each in told]
    assert re.search(match, str(told[0].message))
    assert not model.solver_.accuracy.met
    return model


def faulty_eigh(eigh):
    def solve(A):
        values, V = eigh(A)
        V = V + 0.0
        V[:, -1] += 1e-8 * V[:, 0]
        return values, V

    return solve


@pytest.mark.parametrize(
    ("model", "module"),
    [
        (lowland.PCA(svd_solver="covariance_eigh"), "spectra.leading"),
        (lowland.IncrementalPCA(), "spectra.leading"),
        (lowland.TruncatedSVD(2), "spectra.leading"),
        (lowland.Whitening(), "spectra.leading"),
        (lowland.KernelPCA(2, kernel="rbf", eigen_solver="dense"), "spectra.leading"),
        (lowland.ClassicalMDS(2, metric="manhattan"), "spectra.leading"),
        (lowland.LinearDiscriminantAnalysis(), "spectra.discriminants"),
    ],
    ids=lambda part: type(part).__name__,
)  # fmt: skip
def test_a_faulty_direct_solver_is_reported(model, module, monkeypatch):
    import importlib

    block = importlib.import_module(f"lowland.math.{module}")
    X = table(40, 6)
    monkeypatch.setattr(block, "eigh", faulty_eigh(block.eigh))
    once(model, X, labels(40))


def test_a_faulty_singular_value_decomposition_is_reported(monkeypatch):
    from lowland.math.spectra import principal_axes

    svd = principal_axes.svd

    def faulty(R):
        U, s, Vt = svd(R)
        return U, s * (1 + 1e-9), Vt

    monkeypatch.setattr(principal_axes, "svd", faulty)
    once(lowland.PCA(svd_solver="full"), table())


@pytest.mark.parametrize(
    "model",
    [
        lowland.MDS(2, max_iter=1, init="random", random_state=0),
        lowland.SammonMapping(max_iter=1),
        lowland.FastICA(max_iter=1, random_state=0),
        lowland.FactorAnalysis(2, method="em", max_iter=3),
        lowland.LinearAutoencoder(2, max_iter=2, random_state=0),
        lowland.VectorQuantizer(8, max_iter=1, tol=0, random_state=0),
        lowland.ProjectionPursuit(max_iter=1, n_null=0, random_state=0),
        lowland.L1Selector(max_iter=1),
        lowland.SelfOrganizingMap((4, 4), epochs=1, convergence_epochs=1, tol=1e-9),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_too_few_iterations_are_one_warning_and_an_unmet_bound(model):
    once(model, table(), labels(), match="did not converge")
