"""The table of a study: opened once, with labels, thumbnails of images, and standardized columns if requested."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import dense, to_numpy
from lowland.data.arrow_columns import arrow_table, converted, numbers_and_texts, open_arrow, whole_table, with_medians
from lowland.data.open import as_vector, has_named_columns, open_labelled
from lowland.data.reader import holds_numbers
from lowland.data.table import Table
from lowland.errors import DataError, ParameterError, warn
from lowland.math.neighbors.search import nearest_neighbors
from lowland.math.statistics.sampling import evenly_spread
from lowland.methods.pca import PCA
from lowland.plain import png
from lowland.prepare.label_copies import COPY
from lowland.prepare.preparation import Prepared, Scale, prepare_rows
from lowland.run.run import run_for
from lowland.run.settings import config, settings
from lowland.study.result import Preparation, ShownTable
from lowland.trial.cache import fingerprint, key_of
from lowland.trial.labels import Labels
from lowland.trial.scores import neighbors_for

MAX_SHOWN = 100_000  # the most rows that are plotted
MAX_NEAR = 10_000  # the most rows whose neighbors are in the report
MAX_COLORS = 32  # the most columns kept to color by
MIN_ROWS = 10
CATEGORIES = ("category", "ordered", "boolean")


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The table, opened once."""

    X: np.ndarray  # (n, d) the training data
    labels: Labels
    names: tuple[str, ...]
    source: str
    label_name: str | None
    fingerprint: str  # of X and the labels
    given: dict[str, np.ndarray]  # by name, (n,): columns of numbers in the units of the user, NaN where missing
    prepared: Prepared  # what was done with the columns
    named: bool  # whether the column names are the user's
    notes: tuple[str, ...] = ()  # what was done to the table, one sentence each
    id_name: str | None = None
    ids: np.ndarray | None = None  # (n,)
    kept: dict[str, np.ndarray] = field(default_factory=dict)  # by name, (n,): carried along, not numbers or features
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3), if the rows are images
    columns: Any = None  # the columns of the user as an Arrow table, if they were prepared
    counts: Literal["dense", "sparse"] | None = None  # whether counts were weighted by TF-IDF, as in ``Preparation``
    is_reduced: bool = False  # whether the columns are principal components of a large sparse table

    @property
    def scaled(self) -> bool:
        """Whether the columns were standardized."""
        return self.prepared.scaled

    @property
    def mixed(self) -> Any:
        """The columns as they are, an Arrow table, for methods that read categories or counts; or None.

        Missing numbers are the median of their column.
        """
        if self.counts is not None and not self.is_reduced:
            rows = self.prepared.unweighted
            counts = self.given if rows is None else dict(zip(self.names, dense(rows.to_array()).T, strict=True))
            return with_medians(arrow_table(counts.values(), counts), counts)
        if self.columns is None or not self.prepared.steps:
            return None
        step = self.prepared.steps[0][1]
        if not any(kind in CATEGORIES for kind in getattr(step, "kinds_", {}).values()):
            return None
        kinds = {name: kind for name, kind in step.kinds_.items() if name not in step.unused_}
        table = with_medians(self.columns, [name for name, kind in kinds.items() if kind == "number"])
        kinds = {name: kind for name, kind in kinds.items() if kind in ("number", *CATEGORIES)}
        forms = {"number": "number"} | dict.fromkeys(CATEGORIES, "category")
        columns = [converted(table.column(name), forms[kind], repr(name)) for name, kind in kinds.items()]
        return arrow_table(columns, kinds)

    @property
    def n_categories(self) -> int:
        """How many columns are categories."""
        mixed = self.mixed
        return 0 if mixed is None else sum(not holds_numbers(f.type) for f in mixed.schema)

    @property
    def n_given(self) -> int:
        """How many columns of the user are used; they may be more or fewer than those of ``X``."""
        return self.X.shape[1] if self.columns is None else self.columns.num_columns - len(self.prepared.unused)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader of the advice should know about the columns, one sentence each."""
        found, said = self.prepared, []
        if found.caveat:
            said.append(f"{found.caveat} Compare with another replacement (`impute='em'`) before you trust a map.")
        copies = [name for name, why in found.unused.items() if why == COPY]
        if copies:
            said.append(f"{', '.join(map(repr, copies))}: {COPY}, so not used as a feature.")
        return tuple(said)

    def shown(self, seed: int) -> np.ndarray:
        """Indices of the rows that are plotted, (m,)."""
        n = len(self.X)
        if n <= MAX_SHOWN:
            return np.arange(n)
        return np.flatnonzero(evenly_spread(n, MAX_SHOWN, np.random.default_rng(seed)))

    def shown_part(self, seed: int) -> ShownTable:
        """The part of the table that a report needs."""
        shown, names = self.shown(seed), list(self.given)
        if len(names) > MAX_COLORS:  # those with the largest standard deviations
            spread = [np.nan_to_num(np.nanstd(values)) for values in self.given.values()]
            names = [names[j] for j in np.sort(np.argsort(-np.array(spread), kind="stable")[:MAX_COLORS])]
        most = np.finfo(np.float32).max
        values = np.column_stack([*(self.given[name][shown] for name in names), np.empty((len(shown), 0))])
        labels = None if self.labels.shown is None else self.labels.shown[shown]
        images = None if self.image_shape is None else thumbnails_of(self.X[shown], self.image_shape)
        found = self.prepared
        return ShownTable(
            self.source, len(self.X), self.n_given, self.fingerprint, shown.astype(np.int64), tuple(names),
            np.ascontiguousarray(values.clip(-most, most), dtype=np.float32), self.label_name, labels, found.scaled,
            self.id_name, None if self.ids is None else plain_values(self.ids[shown]),
            {name: plain_values(values[shown]) for name, values in self.kept.items()}, images,
            Preparation(
                dict(found.report), found.missing, found.missing_fraction, self.X.shape[1], self._step(), self.named,
                self.n_categories, self.counts,
            ), self._near(),
        )  # fmt: skip

    def _near(self) -> np.ndarray | None:
        """The nearest neighbors of each row, the nearest first, (n, k); None if the table is large."""
        n = len(self.X)
        if n > MAX_NEAR:
            return None
        with config(progress=False):
            graph = nearest_neighbors(self.X, neighbors_for(n), takes_equal=True)
        return graph.to.reshape(n, -1).astype(np.int32)

    def _step(self) -> dict[str, Any] | None:
        """The parameters of the ``TablePreparer`` for such a table. None means the columns are used as they are."""
        if not self.prepared.steps:
            left_out = dict.fromkeys(self.prepared.unused, "drop")
            return {"kinds": left_out, "use": None, "impute": "median", "standardize": False} if left_out else None
        step = self.prepared.steps[0][1]
        if not hasattr(step, "kinds_"):  # weights of sparse counts
            return None
        # which columns are used is fixed: without labels, a copy of them would not be found
        return {"kinds": {**(step.kinds or {}), **dict.fromkeys(self.prepared.unused, "drop")}, "use": step.use,
                "impute": step.impute, "standardize": "tf-idf" if step.weighted_ else step.standardized_}  # fmt: skip


def open_table(
    X: Any, y: Any, scale: Scale, k: int, drop: Sequence[str] = (), impute: str = "auto", use: Sequence[str] = ()
) -> StudyTable:
    """Open rows and labels, prepare the columns, and compute the fingerprint of all values."""
    own = None  # the roles of the columns
    if isinstance(X, Table):
        own = X
    elif has_named_columns(X):
        named = y if isinstance(y, str) else None
        own, drop = Table(X, label=named, drop=[name for name in drop if name != named]), ()
    if own is not None and y is None:
        y = own.target
    found, label_name, columns = _prepared(X, own, y, scale, drop, impute, use)
    rows = found.rows
    notes: tuple[str, ...] = ()
    opened = rows.to_array() if rows.is_sparse else to_numpy(run_for(rows).to_array(rows, "A study"))
    is_reduced = False
    if rows.is_sparse:
        opened, notes = dense_table(opened, scale)
        is_reduced = bool(notes)
    if found.weighted:
        notes = (COUNTS, *notes)
    table = np.ascontiguousarray(opened)
    counts: Literal["dense", "sparse"] | None = ("sparse" if is_reduced else "dense") if found.weighted else None
    n, d = table.shape
    if n < MIN_ROWS or d < 2:
        raise DataError(
            f"A study needs at least {MIN_ROWS} rows and 2 columns. This table has shape {n:,} × {d:,}. "
            "Fit one method instead, such as `PCA(1)`."
        )
    if k > d:
        raise ParameterError(f"the data has {d} columns.", f"Choose at most {d}.", method="compare", k=k)
    _refuse_extremes(table)
    labels = Labels.read(found.labels, n)
    step = max(1, 2**22 // d)
    marks = [fingerprint(table[i : i + step] for i in range(0, n, step))]
    if labels.shown is not None:
        marks.append(fingerprint([labels.shown.astype(str) if labels.shown.dtype == object else labels.shown]))
    marks += [] if labels.codes is None else [fingerprint([labels.codes])]  # numbers and strings sort differently
    names = tuple(map(str, rows.names if d == rows.d and rows.names else (f"column {j}" for j in range(d))))
    label_name = label_name or getattr(y, "name", None) or getattr(own, "label_name", None) or "label"
    ids = None if own is None else own.ids
    kept: dict[str, Any] = {} if own is None else own.kept
    if own is not None and own.weight_name is not None:
        kept = {own.weight_name: own.weights} | kept
        warn(f"compare does not use sample weights: all rows count the same. The report shows {own.weight_name!r}.")
    left = slice(None) if found.kept is None else found.kept  # the rows that were not dropped
    every = n if found.kept is None else len(found.kept)
    ids = None if ids is None else as_vector(ids, every, "id")[left]
    kept = {name: as_vector(values, every, name)[left] for name, values in kept.items()}
    # the columns to color by, in the units of the user
    given = dict(zip(names, table.T, strict=True))
    if own is None and found.steps and not rows.is_sparse:
        found.given.allow_nan = True
        unprepared = to_numpy(found.given.to_array())[left]
        given = {f"column {j}": values for j, values in enumerate(unprepared.T)}
    elif columns is not None:
        columns = columns if found.kept is None else columns.filter(found.kept)
        given, texts = numbers_and_texts(columns)
        kept = kept | texts
    return StudyTable(
        table, labels, names, str(rows.source).strip("'"), None if labels.shown is None else str(label_name),
        key_of({"parts": marks, "prepared": found.report}), given, found, rows.names is not None, notes,
        getattr(own, "id_name", None), ids, kept, rows.image_shape,
        columns, counts, is_reduced,
    )  # fmt: skip


def _prepared(
    X: Any, own: Table | None, y: Any, scale: Scale, drop: Sequence[str], impute: str, use: Sequence[str]
) -> tuple[Prepared, str | None, Any]:
    """The prepared rows with their labels, the name of the labels, and the features as an Arrow table, if prepared."""
    impute = "median" if impute == "auto" else impute  # wherever values are missing, since all rows are in memory
    if own is None:
        rows, labels, name = open_labelled(X, y, drop=drop)
        return prepare_rows(Table(rows), labels=labels, impute=impute, scale=scale), name, None
    name = y if isinstance(y, str) else None
    features = Table(own, drop=list(dict.fromkeys((*drop, name))) if name else list(drop))
    labels = y if name is None else own.column(name)
    found = prepare_rows(features, labels=labels, impute=impute, scale=scale, use=use)
    if not found.report:
        return found, name, None
    columns, names, _ = open_arrow(features)
    return found, name, whole_table(columns, names)


def plain_values(values: Any) -> np.ndarray:
    """Return ids or values of a column to keep as numbers, or as strings. None means missing."""
    values = np.asarray(values)
    if values.dtype.kind in "iuf":
        return values
    plain = [None if value is None or value != value else str(value) for value in values.tolist()]
    return np.array(plain, dtype=object)


def _refuse_extremes(X: np.ndarray) -> None:
    """Reject values whose squares overflow or underflow."""
    least, most = (1e-15, 1e15) if X.dtype == np.float32 else (1e-120, 1e120)
    top = float(max(abs(X.min()), abs(X.max())))
    if top and not least < top < most:
        raise DataError(
            f"The largest value is {top:.1g}: its square {'overflows' if top > 1 else 'underflows'} {X.dtype}. "
            "Change the unit of the columns."
        )


Reduction: Any = PCA
DENSE_UP_TO = 2**27  # bytes of the dense table in float64
COMPONENTS = 100  # to which a larger table is reduced


COUNTS = (
    "The columns look like counts of words, species or events. Frequent ones would dominate the distances, and rows "
    "with large sums would be far from the others. So counts were weighted by TF-IDF, and rows scaled to unit length: "
    "distances between them order neighbors as cosine distances do. Use scale='none' for the counts themselves, or "
    "CorrespondenceAnalysis for chi-squared distances."
)


def dense_table(X: Any, scale: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return a sparse table as a dense one, (n, d) or (n, 100), and what was done, as sentences."""
    n, d = X.shape
    if 8 * n * d <= min(DENSE_UP_TO, settings().budget // 4) or min(n, d) <= COMPONENTS:
        return np.asarray(X.toarray(), dtype=np.float32 if X.dtype == np.float32 else np.float64), ()
    if scale == "standard":
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

    ``pixels`` (m, d) are from 0 to 1, or to 255; ``shape`` is (height, width) or (height, width, 3), which gives d.
    """
    pixels = pixels / 255 if pixels.max(initial=0) > 1 else pixels
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
