"""The table of a study: opened once, with labels, thumbnails of images, and standardized columns if requested."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.open import as_vector, has_named_columns, open_labelled
from lowland.data.rows import Rows
from lowland.data.table import Table
from lowland.errors import DataError, ParameterError, warn
from lowland.math.statistics.sampling import evenly_spread
from lowland.methods.pca import PCA
from lowland.plain import png
from lowland.run.run import run_for
from lowland.run.settings import config, settings
from lowland.study.result import ShownTable
from lowland.trial.cache import fingerprint, key_of
from lowland.trial.labels import Labels

MAX_SHOWN = 100_000  # the most rows that are plotted
MAX_COLORS = 32  # the most columns kept to color by
MAX_RATIO = 10.0  # of standard deviations: above it, scale="auto" standardizes the columns
MIN_ROWS = 10

Scale = Literal["none", "standard", "auto"]


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The table, opened once."""

    X: np.ndarray  # (n, d) the training data
    labels: Labels
    names: tuple[str, ...]
    source: str
    label_name: str | None
    fingerprint: str  # of X and the labels
    original: np.ndarray  # (n, d) before standardization
    scaled: bool
    named: bool  # whether the column names are the user's
    notes: tuple[str, ...] = ()  # what was done to the table, one sentence each
    id_name: str | None = None
    ids: np.ndarray | None = None  # (n,)
    kept: dict[str, np.ndarray] = field(default_factory=dict)  # by name, (n,): carried along, not features
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3), if the rows are images

    def shown(self, seed: int) -> np.ndarray:
        """Indices of the rows that are plotted, (m,)."""
        n = len(self.X)
        if n <= MAX_SHOWN:
            return np.arange(n)
        return np.flatnonzero(evenly_spread(n, MAX_SHOWN, np.random.default_rng(seed)))

    def shown_part(self, seed: int) -> ShownTable:
        """The part of the table that a report needs."""
        shown, d = self.shown(seed), self.X.shape[1]
        columns = np.arange(d)
        if d > MAX_COLORS:  # those with the largest standard deviations
            columns = np.sort(np.argsort(-self.original.std(axis=0), kind="stable")[:MAX_COLORS])
        most = np.finfo(np.float32).max
        values = np.ascontiguousarray(self.original[np.ix_(shown, columns)].clip(-most, most), dtype=np.float32)
        names = tuple(self.names[j] for j in columns)
        labels = None if self.labels.shown is None else self.labels.shown[shown]
        images = None if self.image_shape is None else thumbnails_of(self.original[shown], self.image_shape)
        return ShownTable(
            self.source, len(self.X), d, self.fingerprint, shown.astype(np.int64), names, values, self.label_name,
            labels, self.scaled, self.id_name, None if self.ids is None else plain_values(self.ids[shown]),
            {name: plain_values(values[shown]) for name, values in self.kept.items()},
            images,
        )  # fmt: skip


def open_table(X: Any, y: Any, scale: Scale, k: int, drop: Sequence[str] = ()) -> StudyTable:
    """Open rows and labels, compute the fingerprint of all values, and standardize the columns if requested."""
    own = X if isinstance(X, Table) else Table(X) if has_named_columns(X) else None  # the roles of the columns
    if own is not None and y is None:
        y = own.target
    rows, given, label_name = open_labelled(X if own is None else own, y, drop=drop)
    table, notes = (
        dense_table(rows, scale) if rows.is_sparse else (to_numpy(run_for(rows).to_array(rows, "A study")), ())
    )
    table = np.ascontiguousarray(table)
    n, d = table.shape
    if n < MIN_ROWS or d < 2:
        raise DataError(
            f"A study needs at least {MIN_ROWS} rows and 2 columns; the data has {n} and {d}. Fit one method "
            "instead, such as `PCA(1)`."
        )
    if k > d:
        raise ParameterError(f"the data has {d} columns.", f"Choose at most {d}.", method="compare", k=k)
    labels = Labels.read(given, n)
    step = max(1, 2**22 // d)
    marks = [fingerprint(table[i : i + step] for i in range(0, n, step))]
    if labels.shown is not None:
        marks.append(fingerprint([labels.shown.astype(str) if labels.shown.dtype == object else labels.shown]))
    marks += [] if labels.codes is None else [fingerprint([labels.codes])]  # numbers and strings sort differently
    scaled = scale == "standard" or (scale == "auto" and standard_deviation_ratio(table) > MAX_RATIO)
    X_seen = _standardized(table) if scaled else table
    _refuse_extremes(X_seen)
    names = rows.names if d == rows.d and rows.names else tuple(f"column {j}" for j in range(d))
    label_name = label_name or getattr(y, "name", None) or getattr(own, "label_name", None) or "label"
    label_name = None if labels.shown is None else str(label_name)
    ids, kept = (None, {}) if own is None else (own.ids, own.kept)
    ids = None if ids is None else as_vector(ids, n, "id")
    kept = {name: as_vector(values, n, name) for name, values in kept.items()}
    if own is not None and own.weight_name is not None:
        kept = {own.weight_name: as_vector(own.weights, n, own.weight_name)} | kept
        warn(f"compare does not use sample weights: all rows count the same. The report shows {own.weight_name!r}.")
    return StudyTable(
        X_seen, labels, tuple(map(str, names)), str(rows.source).strip("'"), label_name, key_of({"parts": marks}),
        table, scaled, rows.names is not None, notes, getattr(own, "id_name", None), ids, kept,
        getattr(rows, "image_shape", None),
    )  # fmt: skip


def plain_values(values: Any) -> np.ndarray:
    """Return ids or values of a column to keep as numbers, or as strings; None: missing."""
    values = np.asarray(values)
    if values.dtype.kind in "iuf":
        return values
    plain = [None if value is None or value != value else str(value) for value in values.tolist()]
    return np.array(plain, dtype=object)


def standard_deviation_ratio(X: np.ndarray) -> float:
    """Return the ratio of the largest to the smallest standard deviation of the columns that are not constant."""
    top, spread = _standard_deviations(X)
    spread = (top * spread)[spread > 0]
    return float(spread.max() / spread.min()) if len(spread) else 1.0


def _standard_deviations(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest magnitude of each column, (d,) in float64, and its standard deviation in this unit: no overflow.

    The standard deviation of a constant column is exactly 0, even if its mean has a rounding error.
    """
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    top = np.maximum(np.abs(low), np.abs(high))
    top[top == 0] = 1.0
    return top, np.where(low == high, 0.0, (X / top).std(axis=0))


def _standardized(X: np.ndarray) -> np.ndarray:
    top, spread = _standard_deviations(X)
    U = X / top
    return np.ascontiguousarray((U - U.mean(axis=0)) / np.where(spread > 0, spread, 1.0), dtype=X.dtype)


def _refuse_extremes(X: np.ndarray) -> None:
    """Reject values whose squares overflow or underflow."""
    least, most = (1e-15, 1e15) if X.dtype == np.float32 else (1e-120, 1e120)
    top = float(max(abs(X.min()), abs(X.max())))
    if top and not least < top < most:
        raise DataError(
            f"The largest value is {top:.1g}: its square {'overflows' if top > 1 else 'underflows'} {X.dtype}. "
            "Change the unit, or standardize the columns: `scale='standard'`."
        )


Reduction: Any = PCA
DENSE_UP_TO = 2**27  # bytes of the dense table in float64
COMPONENTS = 100  # to which a larger table is reduced


def dense_table(rows: Rows, scale: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return a sparse table as a dense one, (n, d) or (n, 100), and what was done, as sentences."""
    X: Any = rows.to_array()
    n, d = X.shape
    if 8 * n * d <= min(DENSE_UP_TO, settings().budget // 4) or min(n, d) <= COMPONENTS:
        return np.asarray(X.toarray(), dtype=np.float32 if X.dtype == np.float32 else np.float64), ()
    if scale != "none":
        raise ParameterError(
            f"the sparse table of {n:,} rows and {d:,} columns is too large to be standardized.",
            "Use `scale='none'`, or reduce it first, for example with `TruncatedSVD(50)`.",
            method="compare",
            scale=scale,
        )
    with config(progress=False):
        pca = Reduction(COMPONENTS, random_state=0).fit(X)
        Z = to_numpy(pca.transform(X))
    kept = float(np.sum(to_numpy(pca.explained_variance_ratio_)))
    return Z, (
        f"The sparse table has {d:,} columns. It was reduced to {COMPONENTS} principal components, which explain "
        f"{kept:.1%} of the variance. All methods and measures use these components.",
    )


MAX_BYTES = 4_000_000  # of all thumbnails of a study
SIDES = (48, 32, 24, 16, 12)  # pixels of the longer side, from the best: the first that fits is taken
_TRIED = 200  # images that are encoded to estimate the size of all


def thumbnails_of(pixels: np.ndarray, shape: Sequence[int]) -> np.ndarray | None:
    """Return a PNG per row, (m,) strings in base64, or None if there are too many rows.

    ``pixels`` (m, d) are from 0 to 1; ``shape`` is (height, width) or (height, width, 3), whose product is d.
    """
    for side in SIDES:
        tried = [_thumbnail(row.reshape(shape), side) for row in pixels[:_TRIED]]
        if sum(map(len, tried)) / max(len(tried), 1) * len(pixels) <= MAX_BYTES:
            rest = [_thumbnail(row.reshape(shape), side) for row in pixels[_TRIED:]]
            return np.array([*tried, *rest], dtype=object)
    return None


def _thumbnail(image: np.ndarray, side: int) -> str:
    """The image with a longer side of at most ``side`` pixels, each the mean of a block, as PNG in base64."""
    shrink = min(1.0, side / max(image.shape[:2]))
    for axis in (0, 1):
        size = image.shape[axis]
        edges = np.linspace(0, size, max(1, round(size * shrink)) + 1).astype(int)
        widths = np.diff(edges).reshape([-1 if i == axis else 1 for i in range(image.ndim)])
        image = np.add.reduceat(image, edges[:-1], axis=axis) / widths
    small = np.rint(np.clip(np.nan_to_num(image), 0, 1) * 255).astype(np.uint8)
    return base64.b64encode(png(small)).decode("ascii")
