"""Linear autoencoder: time to reach the reconstruction error of PCA."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Line
from benchmarks.measure import agree, alternate
from benchmarks.registry import Plan, job

_WITHIN = 1e-6  # relative to the error of PCA


@job("LinearAutoencoder of the digits, 1,797 × 64, k = 5: time to reach the error of PCA", data="real")
def linear_autoencoder_digits(plan: Plan) -> Iterator[Line]:
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    X = load_digits().data[: plan.size(1797, 300)]
    work: dict[str, Any] = {"peer": partial(_network, X, 5), "pca": partial(PCA(5, svd_solver="full").fit, X)}
    for encoder in ("tied", "untied", "least_squares"):
        work[encoder] = partial(_fit, X, 5, encoder, None)
    work["batches"] = partial(_fit, X, 5, "tied", 64)
    times = alternate(work, plan.repeat, at_most=plan.size(120, 20))
    lost = _distortion(X, 5)
    for name in ("tied", "untied", "least_squares", "batches"):
        model = times.answers[name]
        agree(f"the loss, {name}", np.array([model.loss_]), np.array([lost]), within=_WITHIN)
        what = (
            f"{model.n_iter_} epochs, mini-batches of 64 rows" if name == "batches" else f"{model.n_iter_} iterations"
        )
        yield times.line(f"{name}, against PCA by svd", name, "pca", remark=what)
    network = times.answers["peer"]
    loss = float(np.mean(np.sum((X - X.mean(0) - network.predict(X - X.mean(0))) ** 2, axis=1)))
    yield times.line(
        "untied, against scikit-learn's MLPRegressor(identity) by L-BFGS", "untied", "peer",
        remark=f"the final loss of the peer exceeds that of PCA by {loss / lost - 1:.0e}, "
        f"after {network.n_iter_} iterations",
    )  # fmt: skip


@job("LinearAutoencoder of 200,000 × 100 float32, k = 10, in mini-batches of 256")
def linear_autoencoder_batches(plan: Plan) -> Iterator[Line]:
    from benchmarks import samples

    X = samples.tall_table(plan.size(200_000, 10_000), 100)
    work = {"batches": partial(_fit, X, 10, "tied", 256), "whole": partial(_fit, X, 10, "tied", None)}
    times = alternate(work, min(plan.repeat, 3), at_most=60)
    lost = _distortion(X, 10)
    for name, model in times.answers.items():
        agree(f"the loss, {name}", np.array([model.loss_]), np.array([lost]), within=_WITHIN)
    remark = f"{times.answers['batches'].n_iter_} epochs against {times.answers['whole'].n_iter_} iterations"
    yield times.line("against all rows per step", "batches", "whole", remark=remark)


def _fit(X: np.ndarray, k: int, encoder: str, batch_size: int | None) -> Any:
    from lowland import LinearAutoencoder

    return LinearAutoencoder(k, encoder=encoder, batch_size=batch_size, tol=1e-5).fit(X)  # type: ignore[arg-type]


def _network(X: np.ndarray, k: int) -> Any:
    """The peer: a linear network with one hidden layer, trained to reconstruct its input."""
    import warnings

    from sklearn.neural_network import MLPRegressor

    Y = X - X.mean(axis=0)
    network = MLPRegressor(
        hidden_layer_sizes=(k,), activation="identity", solver="lbfgs", alpha=0, tol=1e-9, max_iter=2000, max_fun=10**6
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return network.set_params(random_state=0).fit(Y, Y)


def _distortion(X: np.ndarray, k: int) -> float:
    """Reconstruction error of PCA in float64: the discarded eigenvalues of the covariance, divisor n."""
    return float(np.linalg.eigvalsh(np.cov(X.T.astype(np.float64), bias=True))[:-k].sum())
