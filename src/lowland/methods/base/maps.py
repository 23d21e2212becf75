"""Maps shared by methods: how new rows find their coordinates, and how coordinates lead back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_array, is_sparse, like, xp_of
from lowland.arrays.precision import as_double, result_dtype, rounding_in
from lowland.blocks.distances.to_points import DistancesTo, in_slabs
from lowland.blocks.spectra.operators import centered_product
from lowland.blocks.spectra.principal_axes import Axes
from lowland.blocks.statistics.moments import Moments
from lowland.data.open import open_rows
from lowland.data.rows import DaskRows, Rows, SlicedRows, slab_rows
from lowland.errors import DataError, DataWarning, LowlandError, ParameterError, warn
from lowland.methods.base.estimator import Reducer
from lowland.methods.base.parameters import Described, check_parameters
from lowland.run.local import LocalRun
from lowland.run.run import Run, run_for


@dataclass(frozen=True)
class Affine:
    """The map x -> (x - shift) A + offset; an object, so that it can travel to a worker."""

    A: Array  # (d, k)
    shift: Array | None = None  # (d,)
    offset: Array | None = None  # (k,)

    def __call__(self, X: Any) -> Array:
        """Map one slab."""
        A = like(self.A, X.data if is_sparse(X) else X)
        Z = centered_product(X, self.shift, A)
        return Z if self.offset is None else Z + like(self.offset, Z)[None, :]


class RowMap(Reducer):
    """Rows are mapped one by one, and back. A method gives ``_encoding``, ``_encoding_width`` and ``_decoding``."""

    def _encoding(self) -> Callable[[Any], Array]:
        """The map from a slab of rows to coordinates; an object that can travel to a worker."""
        raise NotImplementedError

    def _decoding(self) -> Callable[[Any], Array]:
        """The map from coordinates back to rows."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Return the coordinates of the rows of X, (n, k): tensors for tensors, lazy Dask arrays for Dask arrays."""
        rows, run = self._rows_to_map(X)
        return self._present(run.gather(self._encoding(), rows, self._encoding_width(), name="transforming rows"), X)

    def transform_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the coordinates slab by slab, in order: for results larger than memory."""
        rows, run = self._rows_to_map(X)
        return run.map_rows(self._encoding(), rows, name="transforming rows")

    def inverse_transform(self, X: Any) -> Any:
        """Return the rows that coordinates stand for, (n, d). The argument is called X, as in scikit-learn."""
        rows, run = self._rows_to_decode(X)
        return run.gather(self._decoding(), rows, self.n_features_in_, name="decoding rows")

    def inverse_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the rows that coordinates stand for slab by slab, in order."""
        rows, run = self._rows_to_decode(X)
        return run.map_rows(self._decoding(), rows, name="decoding rows")

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        check_is_fitted(self)
        rows = open_rows(Z)
        k = self._encoding_width()
        if rows.d != k:
            raise DataError(
                f"Z has {rows.d} columns, but {type(self).__name__} has {k} components. Pass what transform returned."
            )
        most = slab_rows(max(k, self.n_features_in_), rows.dtype.itemsize)
        if most < rows.slab and not isinstance(rows, DaskRows) and self.n_features_in_ > k:
            rows = SlicedRows(rows, most)  # what comes out is wider than what goes in
        return rows, run_for(rows)


class LinearMap(RowMap):
    """Rows are centered and multiplied."""

    def _encoding(self) -> Affine:
        """The map from rows to coordinates."""
        raise NotImplementedError

    def _decoding(self) -> Affine:
        """The map from coordinates back to rows."""
        raise NotImplementedError

    def _encoding_width(self) -> int:
        return int(self._encoding().A.shape[1])


class PointMap(Reducer):
    """New rows are placed by their distances to, or kernel values with, rows that were kept.

    A method gives ``_placing`` and sets ``embedding_``, the coordinates of the rows it was fitted to. Its ``metric`` or
    ``kernel`` may be "precomputed": then every pair of rows has been compared already.
    """

    if TYPE_CHECKING:
        embedding_: Array
        metric: Any
        metric_params: dict[str, Any] | None

    def _placing(self) -> Callable[[Array], Array]:
        """The map from a slab of rows to coordinates; an object that can travel to a worker."""
        raise NotImplementedError

    def _encoding(self) -> Callable[[Array], Array]:
        """The same, with what is to be checked of a slab before."""
        return self._placing()

    def _kept_points(self) -> int:
        """How many rows were kept: a slab makes as many numbers for each of its rows."""
        return int(self.embedding_.shape[0])

    def _distances_to(self, points: Array | None) -> DistancesTo | None:
        """What measures rows against the points that were kept; None where their distances are given."""
        if points is None:
            return None
        if isinstance(self.metric, Described):
            raise ParameterError(
                f"{type(self).__name__} was loaded from a file, which keeps only a description of the function that is "
                f"its metric: {self.metric.text}. Give it again with set_params(metric=...)."
            )
        return DistancesTo.of(points, *self._measure())

    def _measure(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters."""
        return self.metric, self.metric_params or {}

    def _check_rows(self, rows: Rows, *, reset: bool, least: int | None = None) -> None:
        n = getattr(self, "n_features_in_", None)
        if not reset and rows.d != n and getattr(self, "metric", None) == "precomputed":
            raise DataError(
                f"transform wants the distances of the new points to the {n} fitted points: an (m, {n}) array, a row "
                f"for each new point. X has {rows.d} columns."
            )
        super()._check_rows(rows, reset=reset, least=least)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        compared_by = (getattr(self, name, None) for name in ("metric", "kernel"))
        tags.input_tags.pairwise = "precomputed" in compared_by
        return tags

    def _encoding_width(self) -> int:
        return int(self.embedding_.shape[1])

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to the rows of X and return their coordinates, (n, k)."""
        return self._present(self.fit(X, y).embedding_, X)

    def transform(self, X: Any) -> Any:
        """Place the rows of X among those the method was fitted to, (n, k); precomputed: their distances to these."""
        rows, run = self._rows_to_map(X)
        rows = in_slabs(rows, self._kept_points())
        return self._present(run.gather(self._encoding(), rows, self._encoding_width(), name="placing rows"), X)

    def transform_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the coordinates slab by slab, in order: for results larger than memory."""
        rows, run = self._rows_to_map(X)
        return run.map_rows(self._encoding(), in_slabs(rows, self._kept_points()), name="placing rows")


_settling = threading.RLock()  # two threads may read the same model first


class MomentsMap(LinearMap):
    """A linear map that follows from the moments alone, so it can be fitted a part at a time.

    ``partial_fit`` only merges; the eigenproblem is solved when a result is first read.
    """

    if TYPE_CHECKING:
        _moments: Any  # what partial_fit merges
        _dtype: Any

    def _solve_moments(self, moments: Moments, run: Run) -> None:
        """Set the fitted attributes from the moments."""
        raise NotImplementedError

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add the rows of X to those seen before. The answer is that of one fit to all of them."""
        moments = vars(self).get("_moments")
        if moments is None and vars(self).get("_solved"):
            moments = self._moments_again()
        check_parameters(self)
        rows, _ = self._open(X, y)
        self._check_rows(rows, reset=moments is None, least=1)
        weights = self._weights(sample_weight, rows)
        part = run_for(rows).fold(rows, Moments.of, weights, name="summing moments")
        self._merge(part if moments is None else moments + in_library_of(part, moments), rows, y)
        return self

    def _merge(self, moments: Any, rows: Rows, y: Any) -> None:
        """Take the moments of all rows so far in place of what followed from those before."""
        dtype = vars(self).get("_dtype", rows.dtype)
        self._forget()
        self._remember_label(y)
        self._moments, self._dtype = moments, dtype
        self._solved = self._unread = True

    def _moments_again(self) -> Moments:
        """The moments of the rows that ``fit`` saw, from what it kept of them."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        is_result = name.endswith("_") and not name.startswith("_") and name not in ("feature_names_in_", "label_name_")
        if is_result and "_moments" in vars(self):
            with _settling:  # another thread may be at it
                try:
                    self._settle()
                except LowlandError as error:  # hasattr must answer; transform tells the error as it is
                    raise AttributeError(str(error)) from error
                if name in vars(self):
                    return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _settle(self) -> None:
        """Solve what partial_fit has merged, if nobody has read it yet."""
        with _settling:
            if vars(self).get("_unread"):
                before = dict(vars(self))
                self.__dict__["_unread"] = False
                try:
                    self._solve_moments(self._moments, LocalRun())
                except BaseException:
                    self.__dict__.clear()
                    self.__dict__.update(before)
                    raise

    def _rows_to_map(self, X: Any) -> tuple[Rows, Run]:
        self._settle()
        return super()._rows_to_map(X)

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        self._settle()
        return super()._rows_to_decode(Z)


class PrincipalMap(MomentsMap):
    """Coordinates along principal axes: what PCA and its incremental form share."""

    if TYPE_CHECKING:
        whiten: bool  # declared as a parameter by the methods

    def _keep(self, axes: Axes, dtype: Any) -> None:
        """Set the fitted attributes, in the precision of the data."""
        columns, k, total = axes.columns, axes.choice.n_components, axes.spectrum.total
        if total == 0:
            warn(
                "The rows do not vary: every column is constant, or varies too little to be squared. "
                "All components are arbitrary.",
                DataWarning,
            )
        values = axes.pairs.values[:k]
        xp = xp_of(values)
        kind = result_dtype(xp, dtype)
        self.mean_ = columns.mean
        self.scale_ = columns.scale
        self.components_ = xp.astype(axes.pairs.vectors[:, :k].T, kind)  # (k, d)
        self.explained_variance_ = xp.astype(values, kind)
        self.explained_variance_ratio_ = xp.astype(values / total if total > 0 else values, kind)
        self.singular_values_ = xp.astype(xp.sqrt(values * (columns.n - 1)), kind)
        self.noise_variance_ = axes.discarded / (columns.most - k) if k < columns.most else 0.0
        self.total_variance_ = total
        self.discarded_variance_ = axes.discarded
        self.n_components_ = k
        self.n_samples_ = columns.rows
        self.n_effective_ = columns.n
        self.choice_ = axes.choice
        self._tell_of_course(axes.outcome)

    def _moments_again(self) -> Moments:
        """All components are the whole scatter, S = UΛU'(n - 1); fewer are not enough to go on from."""
        if self.discarded_variance_ > 0:
            raise DataError(
                f"fit kept {self.n_components_} of {self.n_features_in_} components: rows cannot be added exactly. "
                "Call partial_fit from the start on a new model, or use IncrementalPCA, which goes on after fit."
            )
        U = as_double(self.components_)
        S = (U.T * (as_double(self.explained_variance_) * (self.n_effective_ - 1))[None, :]) @ U
        if self.scale_ is not None:
            S = S * (self.scale_[:, None] * self.scale_[None, :])
        rounding = rounding_in(self.components_) ** 2
        return Moments(self.n_effective_, self.n_samples_, self.mean_, S, rounding)

    def _encoding(self) -> Affine:
        A = self.components_.T
        if self.scale_ is not None:
            A = A / like(self.scale_, A)[:, None]
        return Affine(A * spread(self.explained_variance_, -0.5)[None, :] if self.whiten else A, self.mean_)

    def _decoding(self) -> Affine:
        B = self.components_
        if self.scale_ is not None:
            B = B * like(self.scale_, B)[None, :]
        return Affine(spread(self.explained_variance_, 0.5)[:, None] * B if self.whiten else B, None, self.mean_)

    def _encoding_width(self) -> int:
        return int(self.n_components_)

    def get_covariance(self) -> Array:
        """Return the covariance of the model: the kept components plus equal noise in all other directions."""
        U, extra = self._loadings()
        xp = xp_of(U)
        S = (U.T * extra[None, :]) @ U + self.noise_variance_ * like(xp.eye(U.shape[1]), U)
        return S if self.scale_ is None else S * like(self.scale_[:, None] * self.scale_[None, :], S)

    def get_precision(self) -> Array:
        """Return the inverse of the model's covariance, by the matrix inversion lemma: only k x k is inverted.

        Where all components are kept, those that do not vary count as varying by rounding.
        """
        U, extra = self._loadings()
        xp = xp_of(U)
        noise = self.noise_variance_
        least = float(xp.max(extra)) * float(xp.finfo(extra.dtype).eps)
        if self.n_components_ == self.n_features_in_ and least > 0:  # P = U' diag(1/e) U
            P = (U.T / xp.where(extra > least, extra, xp.zeros_like(extra) + least)[None, :]) @ U
        elif noise == 0:
            return self._inverse(self.get_covariance())
        else:  # P = (I - U' diag(e / (e + σ²)) U) / σ²
            P = (like(xp.eye(U.shape[1]), U) - (U.T * (extra / (extra + noise))[None, :]) @ U) / noise
        return P if self.scale_ is None else P / like(self.scale_[:, None] * self.scale_[None, :], P)

    def _inverse(self, S: Array) -> Array:
        try:
            return xp_of(S).linalg.inv(S)
        except Exception as error:  # every array library has a LinAlgError of its own
            raise DataError(
                "The model's covariance is singular: some directions do not vary at all, so no row has a likelihood. "
                "Keep fewer components."
            ) from error

    def _loadings(self) -> tuple[Array, Array]:
        """Components and their variance beyond the noise, in float64."""
        values = as_double(self.explained_variance_)
        beyond = values - self.noise_variance_
        xp = xp_of(values)
        return as_double(self.components_), xp.where(beyond > 0, beyond, xp.zeros_like(beyond))


def in_library_of(part: Any, other: Any) -> Any:
    """A statistic with its arrays in the library and on the device of another's."""
    moved = {}
    for each in fields(part):
        mine, theirs = getattr(part, each.name), getattr(other, each.name)
        if is_array(theirs) and not isinstance(mine, type(theirs)):
            moved[each.name] = like(mine, theirs)
    return replace(part, **moved) if moved else part


def spread(values: Array, power: float) -> Array:
    """Variances to a power, with a direction of no variance left at zero instead of infinity."""
    xp = xp_of(values)
    safe = xp.where(values > 0, values, xp.ones_like(values))
    return xp.where(values > 0, safe**power, xp.zeros_like(values))
