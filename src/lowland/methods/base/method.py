"""A method of dimensionality reduction: scikit-learn's estimator API around one function, ``_solve``.

``fit`` checks the parameters, opens the data and calls ``_solve``, which sets the fitted attributes. ``transform`` maps
rows with the function that ``_encoding`` returns, ``inverse_transform`` with that of ``_decoding``.

After a fit, a method reads its fitted attributes, and its parameters as they were in the fit: ``self._params``. So
``set_params`` takes effect at the next fit, and a model file holds all that ``transform`` needs.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.blas_threads import blas_threads_for
from lowland.arrays.namespace import Array, to_numpy, xp_of
from lowland.arrays.random import drawn_seed, generator
from lowland.data.open import (
    as_vector,
    float_vector,
    has_named_columns,
    is_frame,
    open_labelled,
    open_rows,
    opened_once,
)
from lowland.data.rows import Rows, in_slabs
from lowland.data.table import Table
from lowland.errors import (
    DataError,
    DataTypeError,
    LowlandError,
    MemoryBudgetError,
    ParameterError,
    warn,
    was_interrupted,
)
from lowland.math.optimize.outcome import STOPPED, Outcome
from lowland.methods.base.callbacks import reported_to_callbacks, set_callbacks
from lowland.methods.base.params import (
    CHECKED,
    Attribute,
    Described,
    attribute,
    check_parameters,
    collect_attributes,
    documented,
    known_arguments,
    param,
)
from lowland.methods.base.plan import Plan, admit, plan_of
from lowland.methods.base.traits import Traits
from lowland.run.progress import expecting
from lowland.run.run import Run, run_for
from lowland.run.settings import settings

if TYPE_CHECKING:
    from lowland.methods.base.metric import Metric

RandomState = int | np.random.RandomState | np.random.Generator | None


class Fitted(SimpleNamespace):
    """What a fit keeps besides its public attributes: its parameters, and private results such as moments."""


def _classes(labels: Any) -> int:
    """The number of classes that labels hold: 1 for a numeric target, 2 without labels."""
    if labels is None:
        return 2
    found = np.asarray(labels)
    return 1 if found.dtype.kind == "f" else len(set(found.flat) if found.dtype.kind == "O" else np.unique(found))


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(param, attribute))
class Method(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A dimensionality reduction method. A subclass declares its parameters with ``param`` and writes ``_solve``."""

    _fitted: Fitted  # exists after a fit

    _traits: ClassVar[Traits] = Traits()
    _attributes: ClassVar[dict[str, Attribute]] = {
        "n_features_in_": Attribute("Number of columns of the training data.", name="n_features_in_", kind="int"),
        "feature_names_in_": Attribute(
            "Names of the columns of the training data.", "(n_features_in_,)", "if the training data has column names",
            "feature_names_in_", "Array",
        ),
        "label_name_": Attribute(
            "Name of the column of labels.", when="if y was the name of a column", name="label_name_", kind="str"
        ),
        "n_samples_": Attribute("Number of training rows.", name="n_samples_", kind="int"),
        "solver_": Attribute(
            "Solver that was used, and its convergence.", name="solver_", kind="Outcome"
        ),
    }  # fmt: skip

    def __init_subclass__(cls, attributes: dict[str, Attribute] | None = None, **traits: Any) -> None:
        super().__init_subclass__()
        for name in set(CHECKED) & set(vars(cls)):
            setattr(cls, name, known_arguments(vars(cls)[name]))
        cls._traits = dataclasses.replace(cls._traits, **traits)
        cls._attributes = collect_attributes(cls, attributes or {})
        dataclasses.dataclass(eq=False, repr=False)(cls)  # a real __init__: editors and scikit-learn read its signature
        setattr(cls, "__init__", known_arguments(cls.__init__))  # noqa: B010  mypy refuses an assignment
        if cls._traits.verb:
            cls.__doc__ = documented(cls)

    # --- fit: open, check, solve ---

    @known_arguments
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the rows of X: an array, frame, Table, sparse matrix, tensor, Dask array, file, or list of chunks.

        ``y`` holds one label per row, or is the name of the column of X that holds the labels. That column is then
        excluded from the features.
        """
        return self._fit(X, y)

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn's callbacks, such as ``sklearn.callback.ProgressBar``, which follow the stages of a fit.

        They need scikit-learn 1.9 or later. Without arguments, no callbacks are left.
        """
        set_callbacks(self, callbacks)
        return self

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """The algorithm of the method: one call per step."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any = None, weights: Any = None, **given: Any) -> Self:
        callback = given.get("callback")
        if callback is not None and not callable(callback):
            raise ParameterError(
                "callback must be a function of one snapshot, or None.", method=f"{type(self).__name__}.fit",
                callback=callback,
            )  # fmt: skip
        before = dict(vars(self))
        self._start_fit()
        try:
            y, weights = self._roles(X, y, weights)
            rows, labels = self._open(X, y)
            counts = self._weights(weights, rows)
            self._check_rows(rows, reset=True)
            if isinstance(y, str):
                self.label_name_ = y  # so that transform can take the same frame or file
            self._admit_missing(rows)
            rows = self._of_known_number(rows)
            expected = admit(self, rows, _classes(labels) if self._traits.reads_y else 2)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)  # data that is refused changes nothing
            raise
        side = (min if self._traits.linear else max)(rows.n or 0, rows.d)  # of the matrix whose eigenvectors are found
        threads = blas_threads_for((rows.n or 0) * rows.d * side)
        with self._solving(), reported_to_callbacks(self), expecting(expected), threads:
            self._solve(rows, run_for(rows), labels, counts, **given)
        return self

    def plan(self, X: Any, y: Any = None, *, n_rows: int | None = None) -> Plan:
        """Return what ``fit(X, y)`` would do: its steps, time, memory, and what would be cheaper. Nothing is fitted.

        Only the shape of X is read, and the beginning of a text file. ``y`` may be omitted. ``n_rows`` is the number of
        rows, for a source that does not tell it, such as chunks. ``print`` shows the plan.
        """
        est = clone(self)
        est._start_fit()
        y = X.target if y is None and isinstance(X, Table) else y
        named = isinstance(y, str) and has_named_columns(X) and not isinstance(X, Table)
        rows = est._opened(X, **({"drop": [y]} if named else {}))
        est._check_kind(rows, least=None)
        return plan_of(est, rows, n_rows, 2 if isinstance(y, str) else _classes(y))

    def _of_known_number(self, rows: Rows) -> Rows:
        """Rows of which the number is known, on which the memory depends; a method that needs all rows reads them."""
        if rows.n is not None or self._traits.reads_in_chunks(self._params):
            return rows
        found = open_rows(run_for(rows).to_array(rows, type(self).__name__))
        found.names, found.source = rows.names, rows.source
        self._admit_missing(found)
        return found

    @contextmanager
    def _solving(self) -> Iterator[None]:
        """Clear what a failed or interrupted solver leaves: a partial result must not look like a fit.

        The solver reads the parameters as they were checked, also from ``self``.
        """
        checked = vars(self._fitted)
        stored = {name: getattr(self, name) for name, value in checked.items() if getattr(self, name) is not value}
        self.__dict__.update({name: checked[name] for name in stored})
        try:
            yield
        except BaseException as error:
            self._clear_fit()
            if was_interrupted(error):
                raise KeyboardInterrupt from error
            if isinstance(error, MemoryError | OverflowError) and not isinstance(error, LowlandError):
                name = type(self).__name__
                if isinstance(error, MemoryError):
                    words = "Choose smaller parameters or fewer rows, or give the process more memory."
                    raise MemoryBudgetError(
                        f"{name} ran out of memory: {error or 'no memory is left'}. {words}"
                    ) from error
                raise ParameterError(f"{name}: {error}. Choose smaller parameters, or rescale the data.") from error
            raise
        finally:
            self.__dict__.update(stored)

    def _start_fit(self) -> None:
        """Check the parameters and record them for this fit; delete the results of an earlier one."""
        checked = check_parameters(self)
        self._clear_fit()
        self._fitted = Fitted(**checked)

    @property
    def _params(self) -> Any:
        """The parameters of the fit, whatever ``set_params`` has changed since; before a fit, the current ones."""
        return vars(self).get("_fitted", self)

    def set_params(self, **params: Any) -> Self:
        """Set parameters for the next fit. A function that a model file could not hold takes effect at once."""
        super().set_params(**params)
        fitted = vars(self.__dict__.get("_fitted", SimpleNamespace()))
        fitted.update({name: params[name] for name in params if isinstance(fitted.get(name), Described)})
        return self

    def _roles(self, X: Any, y: Any, weights: Any) -> tuple[Any, Any]:
        """Labels and weights: those that were passed, else those of a Table."""
        if not isinstance(X, Table):
            return y, weights
        if weights is None and X.weight_name is not None:
            if "sample_weight" not in inspect.signature(self.fit).parameters:
                name = type(self).__name__
                raise ParameterError(
                    f"{name} does not take sample weights. Omit weight={X.weight_name!r} of the Table."
                )
            weights = X.weights
        return X.target if y is None else y, weights

    def _open(self, X: Any, y: Any) -> tuple[Rows, Any]:
        """Open rows and labels; a string y names the column of labels, which is excluded from the rows."""
        if isinstance(y, str):
            rows, labels, _ = open_labelled(X, y, opened=self._opened)
            return rows, as_vector(labels, rows.n, "y")
        rows = self._opened(X)
        if not self._traits.reads_y:
            return rows, y
        if y is None and self._traits.needs_y:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. The method is supervised: "
                "call fit(X, y) with one label per row."
            )
        if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
            warn(
                "A column-vector y was passed when a 1d array was expected. It is used as a 1d array. Pass "
                "y.ravel() to avoid this warning.",
                DataConversionWarning,
            )
        return rows, None if y is None else self._as_labels(y, rows.n)

    def _as_labels(self, y: Any, n: int | None) -> np.ndarray:
        """One label per row, (n,)."""
        return as_vector(y, n, "y")

    def _opened(self, X: Any, *, fitted: bool = False, **selection: Any) -> Rows:
        """Open the rows of a fit, or with ``fitted`` those for the fitted model: of numbers, unless it reads text."""
        metric = self._metric()
        if metric is None:
            return open_rows(X, **selection)
        if not fitted:
            return metric.open(X, **selection)
        return metric.open_new(X, vars(self).get("categories_"), vars(self).get("metric_columns_", {}), **selection)

    def _metric(self) -> Metric | None:
        """The metric by which the method compares rows, with its parameters; None if it has none."""
        return None

    def _measure(self) -> Metric:
        """The metric with the parameters of a fit: for Gower's dissimilarity, those that the columns give it."""
        metric = self._metric()
        assert metric is not None
        columns = vars(self).get("metric_columns_")
        return metric if columns is None or not metric.reads_text else dataclasses.replace(metric, params=dict(columns))

    @property
    def _reads_text(self) -> bool:
        """Whether columns may contain text, with these parameters."""
        metric = self._metric()
        return self._traits.reads_text or (metric is not None and metric.reads_text)

    def _weights(self, weights: Any, rows: Rows) -> np.ndarray | None:
        """Weights as floats, one per row; a single number is the weight of every row, as in scikit-learn."""
        if weights is None:
            return None
        if np.isscalar(weights) and rows.n is not None:
            weights = np.full(rows.n, float(weights))  # type: ignore[arg-type]
        return float_vector(weights, rows.n, "sample_weight")

    def _clear_fit(self) -> None:
        """Delete all results of an earlier fit."""
        for name in list(vars(self)):
            if name == "_fitted" or name.endswith("_"):
                delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    # --- checks ---

    def _check_rows(self, rows: Rows, *, reset: bool, least: int | None = None) -> None:
        """Check shape, metric and column names against the needs of the method, or against the training data."""
        metric = self._metric()
        self._check_kind(rows, least, enough=reset)
        if reset:
            self.n_features_in_ = rows.d
            if rows.names is not None:
                self.feature_names_in_ = np.asarray(rows.names, dtype=object)
            else:
                self.__dict__.pop("feature_names_in_", None)
            if metric is not None and metric.reads_text:
                self.categories_, self.metric_columns_ = metric.levels(rows), metric.columns(rows)
            return
        fitted, name = vars(self).get("feature_names_in_"), type(self).__name__
        if fitted is None and rows.names is not None:
            warn(f"`X` has feature names, but {name} was fitted without feature names", UserWarning)
        elif fitted is not None and rows.names is None:
            warn(f"`X` does not have valid feature names, but {name} was fitted with feature names", UserWarning)
        elif fitted is not None and rows.names is not None and tuple(fitted) != rows.names:
            raise DataError(_feature_name_mismatch(tuple(fitted), rows.names))
        if rows.d != self.n_features_in_:
            if metric is not None and metric.precomputed:
                n, what = self.n_features_in_, metric.pairs
                raise DataError(
                    f"X has {rows.d} columns, but {name} was fitted to the {what} of {n} rows. Pass the "
                    f"{what} of the new rows to these {n} training rows: an (m, {n}) array, one row per new row."
                )
            raise DataError(
                f"`X` has {rows.d} features, but {name} is expecting {self.n_features_in_} features as "
                "input. Pass the columns of the training data."
            )

    def _check_kind(self, rows: Rows, least: int | None, *, enough: bool = True) -> None:
        """Check the kind of the rows, and whether there are enough for a fit."""
        if not self._takes(rows):
            raise DataTypeError(
                f"{type(self).__name__} does not accept sparse data. Make it dense if it fits in memory "
                f"(`X.toarray()`), {self._traits.sparse_remedy}."
            )
        if not enough:
            return
        metric = self._metric()
        if metric is not None:
            metric.check()
        least = self._traits.min_rows if least is None else least
        if rows.n is not None and rows.n < least:
            raise DataError(
                f"{rows.source} has {rows.n} row{'s' * (rows.n != 1)}, but {type(self).__name__} needs at least "
                f"{least} (`Found array with {rows.n} sample(s) (n_samples={rows.n}) while a minimum of {least} is "
                f"required by {type(self).__name__}`). Pass more rows."
            )

    @property
    def _handles_missing(self) -> bool:
        """Whether NaN is a missing value that the method handles, with these parameters."""
        name, metric = self._traits.missing_parameter, self._metric()
        return (bool(name) and getattr(self._params, name) is not None) or (metric is not None and metric.skips_missing)

    def _admit_missing(self, rows: Rows) -> None:
        """Let NaN pass where the method handles it; elsewhere, name its remedy in the error."""
        rows.allow_nan, rows.missing_remedy = self._handles_missing, self._traits.missing_remedy
        metric = self._metric()
        if metric is None:
            return
        rows.allow_nan = rows.allow_nan and not rows.is_sparse
        rows.pair_values = metric.pairs if metric.precomputed else ""
        points = next((vars(self)[name] for name in ("points_", "X_fit_") if name in vars(self)), None)
        rows.compared_with = None if points is None or not rows.allow_nan else to_numpy(points)

    def _takes(self, rows: Rows) -> bool:
        """Whether the method accepts rows of this kind: dense, or sparse."""
        return self._traits.takes_sparse or not rows.is_sparse

    def _rows_to_map(self, X: Any) -> tuple[Rows, Run]:
        """Open the rows to transform and check them against the training data."""
        if "_fitted" not in vars(self):
            check_is_fitted(self)  # raises scikit-learn's error
        beside_label = "label_name_" in vars(self) and has_named_columns(X)
        selection = {"columns": list(self.feature_names_in_)} if beside_label else {}
        rows = self._opened(X, fitted=True, **selection)
        self._check_rows(rows, reset=False)
        self._admit_missing(rows)
        return in_slabs(rows, self._working_width()), run_for(rows)

    def _generator(self) -> np.random.Generator:
        """The random number generator of a fit.

        ``random_state=None``: its seed is drawn once per fit from numpy's global generator.
        """
        if self._params.random_state is not None:
            return generator(self._params.random_state)
        if "drawn_seed" not in vars(self._fitted):
            self._fitted.drawn_seed = drawn_seed()
        return generator(self._fitted.drawn_seed)

    def _start_generator(self) -> np.random.Generator:
        """The random number generator where the draw changes the result only within the tolerance of a solver.

        ``random_state=None``: its seed is 0, so that results are reproducible.
        """
        seed = vars(self._params).get("random_state")
        return generator(0 if seed is None else seed)

    def _record_convergence(
        self,
        solver: Outcome,
        remedy: str = "Increase tol or the number of iterations, or choose a direct solver.",
        measure: str = "residual",
        *,
        problem: str = "",
    ) -> None:
        """Record the outcome of the solver; warn if it did not converge.

        ``problem`` replaces the first sentences of the warning that it did not converge.
        """
        self.solver_ = solver
        if "n_iter_" in self._attributes:
            self.n_iter_ = solver.iterations
        if solver.stopped_because == STOPPED:  # as requested: no warning
            return
        if not solver.converged:
            if not problem:
                left = f" ({measure} {solver.trace[-1]:.1e})" if solver.trace else ""
                problem = (
                    f"{type(self).__name__}: the solver {solver.name!r} did not converge. It stopped after "
                    f"{solver.iterations} iterations{left}."
                )
            warn(f"{problem} {remedy}", ConvergenceWarning)

    # --- coordinates of rows, and back ---

    def _encoding(self) -> Any:
        """The map from a slab of rows to coordinates, as an object that can be sent to a worker."""
        raise NotImplementedError

    def _encoding_width(self) -> int:
        """The number of coordinates."""
        return int(self.embedding_.shape[1] if "embedding_" in self._attributes else self._encoding().width)

    def _working_width(self) -> int:
        """How many numbers a new row needs while it is mapped, such as its distances to the training rows."""
        return int(self.embedding_.shape[0]) if "embedding_" in self._attributes else 0

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit as ``fit`` does and return the coordinates, (n, k). A file or an iterable is opened once."""
        if "embedding_" not in self._attributes:
            return super().fit_transform(opened_once(X), y, **fit_params)
        return self.fit(X, y, **fit_params)._returned_embedding(X)

    def _returned_embedding(self, X: Any) -> Any:
        """The coordinates of the training rows, as a copy: a caller who changes them must not change the model."""
        return self._present(xp_of(self.embedding_).asarray(self.embedding_, copy=True), X)

    @known_arguments
    def transform(self, X: Any) -> Any:
        """Return the coordinates of the rows of X, (n, k), in the array library of X; lazy for Dask arrays."""
        rows, run = self._rows_to_map(X)
        dtype = np.dtype(np.float32) if self._traits.single else None
        Z = run.gather(self._encoding(), rows, self._encoding_width(), name="transforming rows", dtype=dtype)
        return self._present(Z, X)

    def transform_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the coordinates in chunks, in order: for results larger than memory."""
        rows, run = self._rows_to_map(X)
        return run.map_rows(self._encoding(), rows, name="transforming rows")

    def _present(self, Z: Array, X: Any) -> Any:
        """Convert the result to a data frame if ``lowland.config(output="frame")`` is set and X is one."""
        X = X.given if isinstance(X, Table) else X
        if settings().output != "frame" or not is_frame(X):
            return Z
        from lowland.data.write import frame_like

        return frame_like(X, Z, list(self.get_feature_names_out()))

    def _facts(self) -> dict[str, Any]:
        """Further results for the summary, by name; 'explained variance ratio of' names the variance."""
        return {}

    @property
    def _n_features_out(self) -> int:
        return int(self._encoding_width())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._traits.takes_sparse
        metric = self._metric()
        tags.input_tags.pairwise = metric is not None and metric.precomputed
        tags.input_tags.allow_nan = self._handles_missing
        tags.input_tags.positive_only = self._traits.reads == "counts"
        tags.input_tags.categorical = self._traits.reads == "categories"
        tags.input_tags.string = self._reads_text
        tags.transformer_tags.preserves_dtype = ["float64", "float32"][self._traits.single :]
        tags.array_api_support = self._traits.reads == "numbers"  # results on counts and levels are numpy arrays
        tags.target_tags.required = self._traits.needs_y
        return tags


class InvertibleMethod(Method):
    """A method that also maps coordinates back to rows. A subclass writes ``_decoding``."""

    def _decoding(self) -> Callable[[Any], Array]:
        """The map from coordinates back to rows."""
        raise NotImplementedError

    def inverse_transform(self, X: Any) -> Any:
        """Return the rows reconstructed from coordinates, (n, d). The argument is named X, as in scikit-learn."""
        rows, run = self._rows_to_decode(X)
        return run.gather(self._decoding(), rows, self.n_features_in_, name="reconstructing rows")

    def inverse_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the reconstructed rows in chunks, in order: for results larger than memory."""
        rows, run = self._rows_to_decode(X)
        return run.map_rows(self._decoding(), rows, name="reconstructing rows")

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        check_is_fitted(self)
        rows = open_rows(Z)
        k = self._encoding_width()
        if rows.d != k:
            raise DataError(
                f"`X` has {rows.d} columns, but {type(self).__name__} has {k} components. Use coordinates of "
                "`transform`."
            )
        return in_slabs(rows, self.n_features_in_), run_for(rows)


def _feature_name_mismatch(fitted: tuple[str, ...], given: tuple[str, ...]) -> str:
    """Say which columns are new, missing or out of order, in scikit-learn's phrases and with a remedy."""
    text = "The feature names should match those that were passed during fit.\n"
    for words, names in (
        ("Feature names unseen at fit time:", [n for n in given if n not in fitted]),
        ("Feature names seen at fit time, yet now missing:", [n for n in fitted if n not in given]),
    ):
        if names:
            listed = [f"- {name}" for name in sorted(names)[:5]] + ["- ..."] * (len(names) > 5)
            text += "\n".join([words, *listed, ""])
    if set(fitted) == set(given):
        text += "Feature names must be in the same order as they were in fit.\n"
    return text + "Select the fitted columns by name: X[model.feature_names_in_]."


__all__ = ["Fitted", "InvertibleMethod", "Method", "RandomState", "attribute", "param"]
