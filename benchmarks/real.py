"""Jobs on real data: images, faces, an electrocardiogram, tables of measurements.

Synthetic rolls and Gaussian tables flatter some algorithms. Most of these data sets are in the folder LOWLAND_DATA.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, agree, alternate
from benchmarks.registry import Plan, job

_FASTER = (Bar("speed", 1.1),)
_TWICE = (Bar("speed", 2.0),)


def _mnist(plan: Plan) -> np.ndarray:
    from lowland.data import load_dataset

    return np.ascontiguousarray(load_dataset("mnist", split="test").X[: plan.size(10_000, 1500)], dtype=np.float64)


def _table(name: str) -> np.ndarray:
    from lowland.data import load_dataset

    return np.asarray(load_dataset(name).X, dtype=np.float64)


@job("PCA of real tables, fit and transform", data="real")
def real_pca(plan: Plan) -> Iterator[Line]:
    import sklearn.decomposition

    import lowland

    X = _mnist(plan)
    tables: list[tuple[str, np.ndarray, Any, bool]] = [
        ("MNIST, 10,000 × 784, 50 components, fit alone", X, 50, False),
        ("MNIST, 10,000 × 784, 50 components", X, 50, True),
        ("MNIST, 10,000 × 784, 95% of the variance, fit alone", X, 0.95, False),
        ("MNIST, 10,000 × 784, 95% of the variance", X, 0.95, True),
        ("MNIST, 10,000 × 784 float32, 50 components", X.astype(np.float32), 50, True),
        ("digits, 1,797 × 64, all components", _table("digits"), None, True),
        ("digits, 1,797 × 64, 2 components", _table("digits"), 2, True),
        ("Frey faces, 1,965 × 560, 20 components", _table("frey"), 20, True),
        ("Olivetti faces, 400 × 4,096, 50 components", _table("olivetti"), 50, True),
        ("yeast, 1,484 × 8, 2 components", _table("yeast"), 2, True),
        ("fetal ECG, 2,500 × 8, 2 components", _table("foetal_ecg"), 2, True),
    ]
    for what, rows, k, mapped in tables:
        work = {name: partial(_pca, lib, rows, k, mapped) for name, lib in _both(lowland, sklearn.decomposition)}
        times = alternate(work, 9 if rows.size > 1e6 else 40, at_most=plan.size(30, 2))
        ours, peer = times.answers["ours"], times.answers["peer"]
        if rows.dtype == np.float64 and (k is None or k < 1 or min(rows.shape) <= 1000):
            agree(f"the variances, {what}", _leading(ours), _leading(peer), within=1e-8)
        yield times.line(what, "ours", "peer", required=_FASTER)


def _both(ours: Any, peer: Any) -> tuple[tuple[str, Any], ...]:
    return ("ours", ours), ("peer", peer)


def _pca(library: Any, X: np.ndarray, k: Any, mapped: bool) -> Any:
    model = library.PCA(k)
    model.fit_transform(X) if mapped else model.fit(X)
    return model


def _leading(model: Any) -> np.ndarray:
    return np.asarray(model.explained_variance_[:2], dtype=np.float64)


@job("FactorAnalysis of real tables at the default tolerance, against scikit-learn", data="real")
def real_factors(plan: Plan) -> Iterator[Line]:
    import sklearn.decomposition

    import lowland

    X = _mnist(plan)
    for what, rows, k in (
        *((f"MNIST, 10,000 × 784, {k} factors", X, k) for k in (10, 30, 50)),
        ("Frey faces, 1,965 × 560, 10 factors", _table("frey"), 10),
        ("yeast, 1,484 × 8, 3 factors", _table("yeast"), 3),
    ):
        work = {
            name: partial(lib.FactorAnalysis(k, random_state=0).fit, rows)
            for name, lib in _both(lowland, sklearn.decomposition)
        }
        times = alternate(work, plan.repeat, at_most=plan.size(60, 5))
        ours, peer = times.answers["ours"].loglike_[-1], times.answers["peer"].loglike_[-1]
        if not ours >= peer - 1e-3 * abs(peer):
            raise WrongAnswer(f"{what}: log-likelihood {ours:.6g}, the peer's {peer:.6g}")
        remark = f"log-likelihood {ours:,.0f}, the peer's {peer:,.0f}"
        yield times.line(what, "ours", "peer", required=_TWICE, remark=remark)


@job("FastICA of real tables, against scikit-learn", data="real")
def real_ica(plan: Plan) -> Iterator[Line]:
    import sklearn.decomposition

    import lowland

    for what, rows, k in (
        ("fetal ECG, 2,500 × 8", _table("foetal_ecg"), 8),
        ("MNIST, 10,000 × 784, 20 components", _mnist(plan), 20),
    ):
        work = {
            name: partial(lib.FastICA(k, random_state=0, whiten="unit-variance", max_iter=500).fit, rows)
            for name, lib in _both(lowland, sklearn.decomposition)
        }
        times = alternate(work, plan.repeat, at_most=plan.size(60, 5))
        iterations = [int(times.answers[name].n_iter_) for name in ("ours", "peer")]
        remark = f"{iterations[0]} iterations, the peer's {iterations[1]}"
        yield times.line(what, "ours", "peer", required=_FASTER, remark=remark)


@job("LocallyLinearEmbedding of MNIST, 10,000 × 784, 10 neighbors, k = 2, against scikit-learn", data="real")
def real_lle(plan: Plan) -> Iterator[Line]:
    import sklearn.manifold

    import lowland

    X = _mnist(plan)
    work = {
        "ours": partial(lowland.LocallyLinearEmbedding(n_neighbors=10, random_state=0).fit, X),
        "peer": partial(sklearn.manifold.LocallyLinearEmbedding(n_neighbors=10, random_state=0, n_jobs=-1).fit, X),
    }
    times = alternate(work, min(plan.repeat, 3), at_most=plan.size(180, 5))
    errors = [float(times.answers[name].reconstruction_error_) for name in ("ours", "peer")]
    remark = f"reconstruction error {errors[0]:.2e}, the peer's {errors[1]:.2e}"
    yield times.line("fit", "ours", "peer", required=_TWICE, remark=remark)


@job("VectorQuantizer of MNIST, 10,000 × 784, against KMeans from the same initialization", data="real")
def real_code_book(plan: Plan) -> Iterator[Line]:
    import sklearn.cluster

    import lowland

    X = _mnist(plan)
    for k in (16, 64, 256):
        first = X[np.random.default_rng(0).choice(len(X), k, replace=False)]
        work = {
            "ours": partial(lowland.VectorQuantizer(k, init=first).fit, X),
            "peer": partial(sklearn.cluster.KMeans(k, init=first, n_init=1).fit, X),
        }
        times = alternate(work, min(plan.repeat, 3), at_most=plan.size(60, 5))
        ours, peer = (float(times.answers[name].inertia_) for name in ("ours", "peer"))
        agree(f"the distortion, {k} code vectors", ours, peer, within=2e-2)
        yield times.line(f"{k} code vectors", "ours", "peer", required=_FASTER)
