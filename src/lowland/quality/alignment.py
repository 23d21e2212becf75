"""Comparison of two solutions up to what methods leave free: rotation and scale, or the order of components.

Procrustes analysis aligns two sets of points. An embedding is stable if those of resamples align well with it. The
Amari distance compares two separations of mixed sources.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from lowland.arrays.namespace import is_array, take, to_numpy
from lowland.arrays.random import generator
from lowland.data.open import as_vector, open_rows
from lowland.errors import DataError, DataTypeError, ParameterError, marked_text
from lowland.math.statistics.intervals import student_quantile
from lowland.math.statistics.rescaling import power_of_two
from lowland.quality.inputs import MIN_ROWS, SPARSE_ROWS, open_coordinates
from lowland.quality.measure import Measure
from lowland.run.run import run_for

Resample = Literal["halves", "bootstrap"]


def procrustes_stability(
    method: Any, X: Any, y: Any = None, *, resamples: int = 10, resample: Resample = "halves", per_row: bool = False,
    random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return how reproducible an embedding is under resampling of the points: 1 if it does not change.

    1. Fit the method to all points, and to each resample.
    2. Align each embedding of a resample with that of all points by rotation, reflection, scaling and translation
       (Procrustes).
    3. The value is the fraction of the variance that the aligned embeddings explain, averaged over the resamples.

    Parameters
    ----------
    method : estimator with fit_transform
        Method to evaluate, not fitted. Clones of it are fitted.
    X : array-like of shape (n, d) or path
        Points, in any form that the method accepts. Distances or a Gram matrix if the method expects them
        (``metric="precomputed"``).
    y : array-like of shape (n,) or None, default None
        Labels, for supervised methods.
    resamples : int, default 10
        Number of resamples.
    resample : "halves" or "bootstrap", default "halves"
        "halves" samples half of the points without replacement, "bootstrap" as many as there are with replacement.
    per_row : bool, default False
        Also return the root mean squared displacement of each point over the resamples that contain it, relative to the
        root mean squared distance of the embedding from its mean.
    random_state : int, Generator or None, default None
        Seed of the resamples. None uses the same resamples every time.

    Returns
    -------
    Measure
        Value in [0, 1], higher is better, with a 95% confidence interval over the resamples.

    Notes
    -----
    A stable embedding may still be misleading: stability measures reproducibility, not correctness.

    References
    ----------
    Gower 1975, *Generalized Procrustes analysis*, doi:10.1007/BF02291478.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> round(quality.procrustes_stability(PCA(2), data.load_dataset("iris").X).value, 4)
    0.9999
    """
    _check(method, resamples, resample)
    rows = open_rows(X)
    tags = getattr(method, "__sklearn_tags__", None)
    pairwise = tags is not None and bool(tags().input_tags.pairwise)  # columns are resampled together with rows
    if rows.is_sparse:
        dense = "Sparse distances are not supported here. Pass a dense matrix of all pairs."
        raise DataTypeError(dense if pairwise else SPARSE_ROWS)
    table = run_for(rows).to_array(rows, "Resampling")
    n = table.shape[0]
    labels = None if y is None else as_vector(y, n, "y")
    whole, kept = open_coordinates(_embed(method, table, labels))
    whole, _ = rescale(whole)
    size = math.sqrt(float(np.mean(np.sum((whole - whole.mean(axis=0)) ** 2, axis=1))))
    rng = generator(0 if random_state is None else random_state)
    explained, squares, times = [], np.zeros(n), np.zeros(n)
    place = np.cumsum(kept) - 1
    for _ in range(resamples):
        halves = resample == "halves"
        picked = np.sort(rng.permutation(n)[: max(3, n // 2)] if halves else rng.integers(n, size=n))
        if len(np.unique(picked)) < MIN_ROWS:
            raise DataError(f"A resample of the {n} rows has fewer than {MIN_ROWS} different rows. Pass more rows.")
        try:
            part = take(table, picked)
            part = take(part, picked, axis=1) if pairwise else part
            Z, here = open_coordinates(_embed(method, part, None if labels is None else labels[picked]))
        except ValueError as error:  # its message counts the rows of the resample
            raise DataError(f"In a resample of {len(picked)} of the {n} rows: {marked_text(error)}") from error
        both = kept[picked[here]]
        (Z, _), at = rescale(Z[both]), picked[here][both]
        if len(np.unique(at)) < MIN_ROWS:
            raise DataError(
                f"A resample has coordinates for {here.sum()} of its {len(picked)} rows, but nearly none of these have "
                "coordinates in the embedding of all rows, so the two cannot be compared. Fit the method with "
                "`disconnected='connect'`, or pass the rows of one connected component."
            )
        Z, B = pad_columns(Z, whole[place[at]])
        aligned = Procrustes.onto(Z, B)
        explained.append(aligned.explained)
        at, first = np.unique(at, return_index=True)
        squares[at] += np.sum((aligned(Z) - B)[first] ** 2, axis=1)
        times[at] += 1
    value, spread = float(np.mean(explained)), float(np.std(explained, ddof=1))
    half = student_quantile(resamples - 1) * spread / math.sqrt(resamples)
    each = np.sqrt(np.divide(squares, times, out=np.full(n, np.nan), where=times > 0)) / size if per_row else None
    about = f"Fraction of the variance of the embedding reproduced by {resamples} resamples ({resample}) of the rows."
    return Measure(
        "stability", value, each, "higher", about, value - half, min(1.0, value + half), left_out=n - len(whole)
    )


def _check(method: Any, resamples: int, resample: str) -> None:
    if not hasattr(method, "fit_transform") or isinstance(method, type):
        name = method.__name__ if isinstance(method, type) else type(method).__name__
        raise DataTypeError(
            f"{name} is not an estimator with fit_transform. Pass an instance of a method, such as `PCA(2)`."
        )
    if isinstance(resamples, bool) or not isinstance(resamples, int | np.integer) or resamples < 2:
        raise ParameterError(f"`resamples={resamples!r}`: choose an integer of at least 2.")
    if resample not in get_args(Resample):
        raise ParameterError(f"`resample={resample!r}`: choose 'halves' or 'bootstrap'.")


def _embed(method: Any, X: Any, y: np.ndarray | None) -> np.ndarray:
    from sklearn.base import clone

    return fitted_coordinates(clone(method), X, y)


def fitted_coordinates(model: Any, X: Any, y: np.ndarray | None) -> np.ndarray:
    """Fit a model and return its coordinates, (n, k), without the radii that UMAP returns if it is asked for them."""
    Z = model.fit_transform(X) if y is None else model.fit_transform(X, y)
    return to_numpy(Z[0] if isinstance(Z, tuple) else Z)


def pad_columns(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pad with columns of zeros to one width: a method that chooses its number of components may choose another one."""
    width = max(A.shape[1], B.shape[1])
    first, second = (np.pad(Z, ((0, 0), (0, width - Z.shape[1]))) for Z in (A, B))
    return first, second


@dataclass(frozen=True)
class Procrustes:
    """The least-squares map A -> scale (A - source) R + target that aligns A with B, and the variance it explains."""

    scale: float
    R: np.ndarray  # (k, k) rotation, possibly with a reflection
    source: np.ndarray  # (k,) mean of A
    target: np.ndarray  # (k,) mean of B
    explained: float  # fraction of the variance of B, 0 to 1

    @classmethod
    def onto(cls, A: np.ndarray, B: np.ndarray) -> Procrustes:
        """Align A with B, both (n, k).

        R = UV' of the singular value decomposition of A'B, scale = sum(s) / |A|², both centered (Schönemann 1966,
        doi:10.1007/BF02289451; Gower 1975, doi:10.1007/BF02291478). Both are rescaled first: squares of 1e-200 would
        underflow, squares of 1e200 overflow.
        """
        (A, down), (B, up) = rescale(A), rescale(B)
        source, target = A.mean(axis=0), B.mean(axis=0)
        A, B = A - source, B - target
        U, s, V = np.linalg.svd(A.T @ B)
        a2, b2 = float(np.sum(A * A)), float(np.sum(B * B))
        total = float(s.sum())
        scale = (total / a2 if a2 > 0 else 1.0) * (up / down)
        explained = min(1.0, total**2 / (a2 * b2)) if a2 * b2 > 0 else 0.0
        return cls(scale, U @ V, source * down, target * up, explained)

    def __call__(self, A: np.ndarray) -> np.ndarray:
        """Map points, (m, k)."""
        return self.scale * (A - self.source) @ self.R + self.target


def rescale(A: np.ndarray) -> tuple[np.ndarray, float]:
    """Return A divided by a power of two so that its largest entry is between one and two, and that power; exact."""
    A = np.asarray(A, dtype=np.float64)
    unit = float(power_of_two(np.abs(A).max(initial=0.0)))
    return A / unit, unit


def amari_distance(unmixing: Any, mixing: Any) -> Measure:
    """Return the Amari distance between an unmixing matrix and the true mixing matrix: 0 is perfect, 1 is worst.

    With P = |unmixing @ mixing|, a scaled permutation if every source was recovered, the distance is

        [sum_i (sum_j p_ij / max_j p_ij - 1) + sum_j (sum_i p_ij / max_i p_ij - 1)] / (2k(k - 1)).

    It measures how much the other sources contribute to each component, and the other components to each source.
    Order and signs of the components do not matter. Scales do: components and sources should have equal variances.

    Parameters
    ----------
    unmixing : array-like of shape (k, d)
        Estimated unmixing matrix, such as ``components_`` of FastICA.
    mixing : array-like of shape (d, k)
        True mixing matrix.

    Returns
    -------
    Measure
        Value in [0, 1], lower is better.

    References
    ----------
    Amari, Cichocki and Yang 1996, *A new learning algorithm for blind signal separation*, NIPS 8; normalized to [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import quality
    >>> mixing = np.array([[1.0, 0.6], [0.4, 1.0]])
    >>> found = 3 * np.linalg.inv(mixing)[::-1]  # other order, other scale
    >>> round(quality.amari_distance(found, mixing).value, 6)
    0.0
    """
    W, A = _matrix(unmixing), _matrix(mixing)
    if W.ndim != 2 or A.ndim != 2 or W.shape != A.T.shape or not W.size:
        raise DataError(
            f"unmixing has shape {W.shape} and mixing has shape {A.shape}, which do not match. Pass components_, shape "
            "(k, d), and the true mixing matrix, shape (d, k)."
        )
    P = np.abs(W @ A)  # (k, k)
    across, down = P.max(axis=1), P.max(axis=0)
    if not np.isfinite(P).all() or across.min() == 0 or down.min() == 0:
        raise DataError("unmixing @ mixing has NaN, or a row or column of zeros. Pass finite matrices of full rank.")
    k = len(P)
    excess = float(np.sum(P.sum(axis=1) / across - 1) + np.sum(P.sum(axis=0) / down - 1))
    about = f"Contribution of other sources to each of {k} components, and of other components to each source."
    return Measure("Amari distance", excess / max(2 * k * (k - 1), 1), None, "lower", about)


def _matrix(values: Any) -> np.ndarray:
    return np.asarray(to_numpy(values) if is_array(values) else values, dtype=np.float64)
