"""Degenerate tables: what real data does at its worst, in a few rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator
FLOAT64_MAX = 1.7e308


def _normal(rng: Rng) -> np.ndarray:
    n, d = int(rng.integers(12, 40)), int(rng.integers(3, 7))
    return rng.standard_normal((n, d)) * np.geomspace(4, 1, d) @ np.linalg.qr(rng.standard_normal((d, d)))[0]


def _with(rng: Rng, change: Callable[[np.ndarray], Any]) -> np.ndarray:
    X = _normal(rng)
    return X if (changed := change(X)) is None else changed


def _put(rng: Rng, value: float) -> np.ndarray:
    X = _normal(rng)
    X[rng.integers(len(X)), rng.integers(X.shape[1])] = value
    return X


def _duplicates(rng: Rng) -> np.ndarray:
    X = _normal(rng)
    return X[rng.integers(0, int(rng.integers(2, 6)), len(X))]


def _clusters(rng: Rng, distance: float) -> np.ndarray:
    X = _normal(rng)
    X[::2] += distance
    return X


def _factorial(rng: Rng) -> np.ndarray:
    """A 2^k factorial design: every pair of columns is orthogonal, and distances are tied."""
    k = int(rng.integers(2, 5))
    return np.array([[1.0 - 2 * (i >> j & 1) for j in range(k)] for i in range(2**k)])


def _circle(rng: Rng) -> np.ndarray:
    angle = 2 * np.pi * np.arange(n := int(rng.integers(6, 30))) / n
    return np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n)])


def _roll(rng: Rng) -> np.ndarray:
    t = np.sort(rng.uniform(3, 9, 40))
    return np.column_stack([t * np.cos(t), rng.uniform(0, 4, 40), t * np.sin(t)])


def _replace_column(X: np.ndarray, values: Any) -> np.ndarray:
    X[:, -1] = values
    return X


KINDS: dict[str, Callable[[Rng], np.ndarray]] = {
    "normal": _normal,
    "far from the origin": lambda r: _normal(r) + 1e6,
    "constant": lambda r: np.full((15, 4), float(r.standard_normal())),
    "zeros": lambda r: np.zeros((15, 4)),
    "one constant column": lambda r: _with(r, lambda X: _replace_column(X, 3.0)),
    "one column differs in one row": lambda r: _with(r, lambda X: _replace_column(X, np.eye(len(X))[0])),
    "duplicate rows": _duplicates,
    "all rows but one equal": lambda r: np.vstack([np.tile(r.standard_normal(4), (14, 1)), r.standard_normal((1, 4))]),
    "duplicate columns": lambda r: _with(r, lambda X: np.column_stack([X, X[:, :2]])),
    "collinear": lambda r: _with(r, lambda X: _replace_column(X, X[:, 0] - 2 * X[:, 1])),
    "rank one": lambda r: np.outer(r.standard_normal(20), r.standard_normal(5)),
    "nearly collinear": lambda r: _with(r, lambda X: _replace_column(X, X[:, 0] + 1e-9 * X[:, 1])),
    "one row": lambda r: r.standard_normal((1, 4)),
    "two rows": lambda r: r.standard_normal((2, 4)),
    "three rows": lambda r: r.standard_normal((3, 4)),
    "one column": lambda r: r.standard_normal((20, 1)),
    "one number": lambda r: r.standard_normal((1, 1)),
    "more columns than rows": lambda r: r.standard_normal((7, 15)),
    "many columns": lambda r: r.standard_normal((40, 20)) * np.geomspace(4, 0.5, 20),
    "a tiny column": lambda r: _with(r, lambda X: X * np.where(np.arange(X.shape[1]) == 1, 2.0**-540, 1.0)),
    "columns of very different size": lambda r: _with(r, lambda X: X * np.geomspace(1e-6, 1e6, X.shape[1])),
    "NaN": lambda r: _put(r, np.nan),
    "infinity": lambda r: _put(r, np.inf),
    "minus infinity": lambda r: _put(r, -np.inf),
    "a huge outlier": lambda r: _put(r, 1e12),
    "near the largest number": lambda r: _with(r, lambda X: X / np.abs(X).max() * FLOAT64_MAX),
    "subnormal": lambda r: _with(r, lambda X: X * 1e-310),
    "negative zeros": lambda r: -np.abs(np.where(_normal(r) > 0, 0.0, 1.0) * 0.0),
    "mostly zeros": lambda r: _with(r, lambda X: np.where(r.random(X.shape) < 0.2, X, 0.0)),
    "two clusters": lambda r: _clusters(r, 50.0),
    "two clusters at infinity": lambda r: _clusters(r, 1e15),
    "equal distances": lambda r: np.eye(int(r.integers(4, 12))),
    "factorial design": _factorial,
    "points on a circle": _circle,
    "rolled sheet": _roll,
    "small integers": lambda r: r.integers(0, 4, (24, 4)).astype(float),
    "zeros and ones": lambda r: r.integers(0, 2, (24, 4)).astype(float),
    "a line with equal steps": lambda r: np.outer(np.arange(20.0), [1.0, 2.0, 0.0]),
    "no rows": lambda r: np.zeros((0, 4)),
    "no columns": lambda r: np.zeros((10, 0)),
}
INVALID = {"NaN", "infinity", "minus infinity", "no rows", "no columns"}  # must be refused
REGULAR = {"normal", "two clusters", "rolled sheet", "far from the origin"}  # must not be refused


def labels(rng: Rng, X: np.ndarray) -> tuple[str, Any]:
    """Labels of the rows, of some kind, with its name."""
    n = len(X)
    classes = np.arange(n) % 3
    kinds: dict[str, Callable[[], Any]] = {
        "three classes": lambda: classes,
        "strings": lambda: np.array(["a", "b", "c"])[classes],
        "objects": lambda: np.array(["a", "b", "c"], dtype=object)[classes],
        "shuffled classes": lambda: rng.permutation(classes),
        "booleans": lambda: classes > 0,
        "big-endian": lambda: classes.astype(">i4"),
        "one class": lambda: np.zeros(n, int),
        "every row its own": lambda: np.arange(n),
        "a class of one row": lambda: np.minimum(np.arange(n), 1),
        "numbers": lambda: rng.standard_normal(n),
        "huge numbers": lambda: rng.standard_normal(n) * 1e200,
        "tiny numbers": lambda: rng.standard_normal(n) * 1e-200,
        "product of the columns": lambda: X.prod(axis=1),
        "a list": lambda: classes.tolist(),
        "with NaN": lambda: np.where(classes == 1, np.nan, classes),
        "one too few": lambda: classes[:-1],
        "two columns": lambda: np.column_stack([classes, classes]),
    }
    name = list(kinds)[int(rng.integers(len(kinds)))] if rng.random() < 0.5 else "three classes"
    return name, kinds[name]()
