"""Convergence: every solver of every method records its outcome, and too few iterations are one warning."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import lowland
from lowland.data import load_dataset
from lowland.errors import DataWarning
from lowland.math.optimize.outcome import Outcome

from .battery import METHODS, labels, make, table, table_for

USUAL, WIDE = (120, 6), (60, 90)

# every solver of every method: name, parameters, and the shape of the data
CASES = [
    *((name, {}, USUAL) for name in METHODS),
    *(("PCA", {"n_components": 2, "svd_solver": s}, WIDE) for s in ("full", "power", "arpack", "randomized")),
    ("PCA", {"n_components": 2, "svd_solver": "randomized", "iterated_power": 2}, WIDE),
    ("TruncatedSVD", {"algorithm": "arpack"}, (30, 2001)),
    ("TruncatedSVD", {"algorithm": "randomized"}, (30, 2001)),
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
    ("SequentialFeatureSelector", {"scoring": "wilks"}, USUAL),
    ("SequentialFeatureSelector", {"estimator": "neighbors"}, USUAL),
    ("FeatureAgglomeration", {"connectivity": np.eye(6, k=1) + np.eye(6, k=-1)}, USUAL),
]  # fmt: skip


def fitted(name, params, shape):
    X = table(*shape) if shape != USUAL else table_for(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("ignore", DataWarning)
        return make(name, **params).fit(X, labels(len(X)))


@pytest.mark.parametrize(("name", "params", "shape"), CASES)
def test_every_solver_converges_and_records_its_outcome(name, params, shape):
    found = fitted(name, params, shape).solver_
    assert isinstance(found, Outcome)
    assert found.converged
    assert "\n" not in str(found)
    assert np.isfinite(found.trace).all()


def test_a_model_file_keeps_the_outcome(tmp_path):
    model = lowland.PCA(2).fit(load_dataset("iris").X)
    lowland.save(model, tmp_path / "pca.model")
    assert lowland.load(tmp_path / "pca.model").solver_ == model.solver_


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
def test_too_few_iterations_are_one_warning(model):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(table(), labels())
    (told,) = [each for each in caught if issubclass(each.category, ConvergenceWarning)]
    assert "did not converge" in str(told.message)
    assert told.filename == __file__  # the line of the caller
    assert not model.solver_.converged
