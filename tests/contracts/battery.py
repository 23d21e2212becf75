"""Shared by the contract tests: every method of the registry, and data."""

import numpy as np

from lowland.methods.base.traits import traits_of
from lowland.methods.registry import entries, load_method

METHODS = sorted(entries())
STREAMING = [name for name in METHODS if entries()[name].streams]
ORDER_FREE = [name for name in METHODS if entries()[name].order_free]
COUNTING = [
    name for name in METHODS if traits_of(load_method(name)).width_parameter
]  # methods with a given number of columns
READING_NUMBERS = [name for name in METHODS if not traits_of(load_method(name)).reads_text]
SPARSE = [name for name in METHODS if entries()[name].takes_sparse]


def make(name, **params):
    """A new estimator with a short search; the seed is fixed where there is one."""
    cls = load_method(name)
    est = cls(**{**traits_of(cls).quick, **params})
    return est.set_params(random_state=0) if "random_state" in est.get_params() else est


def make_for(name, k):
    """An estimator that returns k columns."""
    return make(name, **{traits_of(load_method(name)).width_parameter: k})


def agreement(name, Z, at_least=1e-10):
    """How far two engines, chunkings or libraries may differ in a method's coordinates."""
    return max(traits_of(load_method(name)).tolerance, at_least) * np.abs(Z).max()


def table(n=120, d=6, seed=0, dtype=np.float64):
    """Rows with a clear spectrum and independent, clearly non-Gaussian sources, away from the origin, without ties."""
    rng = np.random.default_rng(seed)
    kinds = rng.uniform(-1, 1, (n, d)), rng.laplace(size=(n, d)), rng.exponential(size=(n, d))
    sources = np.stack([kinds[j % 3][:, j] for j in range(d)], axis=1)  # (n, d)
    X = sources / sources.std(axis=0) * np.geomspace(5, 0.5, d) @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    return (X + 10 * rng.standard_normal(d)).astype(dtype)


def table_for(name, n=120, d=6, seed=0, dtype=np.float64):
    """The same table as the method reads it: as counts, as categories, or as it is."""
    return as_read_by(name, table(n, d, seed)).astype(dtype)


def as_read_by(name, X):
    """Numbers as counts (not negative) or as categories (a few distinct numbers) where a method reads these."""
    reads = traits_of(load_method(name)).reads
    if reads == "counts":
        return np.abs(X)
    if reads == "categories":
        return np.clip(np.round((X - X.mean(axis=0)) / X.std(axis=0)), -1, 2) + 3
    return X


def labels(n=120):
    return np.arange(n) % 3
