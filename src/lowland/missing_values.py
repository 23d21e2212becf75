"""Missing values replaced or removed, with a record of what was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, dense, is_sparse, like, to_numpy
from lowland.data.open import is_frame, open_rows
from lowland.data.rows import Rows
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.math.spectra.component_rules import ParallelAnalysis
from lowland.math.spectra.probabilistic_axes import available_columns
from lowland.math.statistics.available_cases import AvailableColumns
from lowland.methods.registry import load_method
from lowland.run.run import Run, run_for
from lowland.suggestions import did_you_mean

How = Literal["mean", "median", "knn", "em"]
REPLACED_BY = {
    "mean": "the mean of their column",
    "median": "the median of their column",
    "knn": "the mean of the nearest rows (KNNImputer of scikit-learn)",
    "em": "their conditional mean under probabilistic PCA",
}


@dataclass(frozen=True)
class Imputation:
    """A table without missing values, and what was replaced."""

    table: Any  # an array, or a data frame where one was given
    counts: np.ndarray  # (d,) replaced values of each column
    message: str


@dataclass(frozen=True)
class CompleteRows:
    """The rows without missing values, and which they are."""

    table: Any
    kept: np.ndarray  # (n,) bool
    message: str


def impute(X: Any, how: How = "mean", **options: Any) -> Any:
    """Return X with its missing values (NaN) replaced. A data frame returns a data frame.

    Parameters
    ----------
    X
        An array, data frame, file path, or anything else that ``lowland.open_rows`` accepts, except sparse data.
    how
        "mean" or "median" of the column. "knn" means scikit-learn's KNNImputer. "em" means the conditional mean given
        the observed values of the row, by ``PCA(missing="em")``.
    options
        Parameters of KNNImputer or of PCA, such as ``n_neighbors=10`` or ``n_components=5``. By default, parallel
        analysis chooses the number of components.

    Examples
    --------
    >>> import numpy as np
    >>> impute(np.array([[1.0, 2.0], [3.0, np.nan]])).tolist()
    [[1.0, 2.0], [3.0, 2.0]]
    """
    return imputation(X, how, **options).table


def imputation(X: Any, how: How = "mean", **options: Any) -> Imputation:
    """Return what ``impute`` returns together with a record: the counts of each column, and a sentence."""
    if how not in REPLACED_BY:
        known = ", ".join(repr(name) for name in REPLACED_BY)
        raise ParameterError(f"unknown. {did_you_mean(how, REPLACED_BY)}Choose {known}.", method="impute", how=how)
    if options and how in ("mean", "median"):
        raise ParameterError(f"`impute(how={how!r})` takes no further options, but {next(iter(options))!r} was passed.")
    rows = _opened(X)
    found, message = replaced(rows, how)
    counts = found.rows - found.cells
    if found.complete:
        return Imputation(X if is_frame(X) else rows.to_array(), counts, message)
    table = _filled(rows, run_for(rows), how, found, options)
    if is_frame(X) and rows.names and not is_sparse(table):
        from lowland.data.write import frame_like

        table = frame_like(X, table, list(rows.names))
    return Imputation(table, counts, message)


def replaced(X: Any, how: How) -> tuple[AvailableColumns, str]:
    """Return what each column has of values, in one pass in chunks, and the sentence that says what is replaced."""
    rows = _opened(X)
    found = available_columns(rows, run_for(rows))
    if found.complete:
        return found, "No value is missing."
    return found, replacement_sentence(found.rows - found.cells, found.missing_fraction, how)


def replacement_sentence(counts: Any, fraction: float, how: str) -> str:
    """Say how many values of each column were replaced, and by what; ``fraction``: of all values."""
    counts = np.asarray(counts)
    values = "1 missing value" if counts.sum() == 1 else f"{counts.sum():,} missing values"
    return f"Replaced {values} ({fraction:.1%}) in {np.sum(counts > 0)} of {len(counts)} columns by {REPLACED_BY[how]}."


def drop_missing(X: Any) -> CompleteRows:
    """Return the rows without missing values, the mask that selects them, and a message that counts the others.

    Examples
    --------
    >>> import numpy as np
    >>> import lowland
    >>> complete = lowland.drop_missing(np.array([[1.0, 2.0], [np.nan, 3.0]]))
    >>> complete.table.tolist(), complete.kept.tolist()
    ([[1.0, 2.0]], [True, False])
    """
    rows = _opened(X)
    whole = run_for(rows).to_array(rows, "Dropping incomplete rows")
    kept = ~np.isnan(to_numpy(whole)).any(axis=1)
    if not kept.any():
        raise DataError(f"Every row of {rows.source} has a missing value, so none is left. Impute them instead.")
    dropped = int(np.sum(~kept))
    message = (
        f"Dropped {dropped:,} of {len(kept):,} rows, which have missing values." if dropped else "No row is dropped."
    )
    if hasattr(X, "iloc"):
        return CompleteRows(X.iloc[np.flatnonzero(kept)], kept, message)
    return CompleteRows(X.filter(kept) if is_frame(X) else like(to_numpy(whole)[kept], whole), kept, message)


def _opened(X: Any) -> Rows:
    rows = open_rows(X)
    if rows.is_sparse:
        raise DataTypeError(
            "Missing values of sparse data cannot be replaced. Make it dense if it fits in memory (`X.toarray()`)."
        )
    rows.allow_nan = True
    return rows


def _filled(rows: Rows, run: Run, how: str, found: AvailableColumns, options: dict[str, Any]) -> Array:
    if how == "em":
        options = {"n_components": ParallelAnalysis(), **options}
        pca = load_method("PCA")(missing="em", **options)
        return pca.fit(rows).impute(rows)
    X = run.to_array(rows, "Imputation")
    host = np.array(dense(X))
    if how == "knn":
        from sklearn.impute import KNNImputer

        return like(KNNImputer(keep_empty_features=True, **options).fit_transform(host), X, X.dtype)
    values = found.mean if how == "mean" else np.nanmedian(host, axis=0)
    i, j = np.nonzero(np.isnan(host))
    host[i, j] = values[j]
    return like(host, X)
