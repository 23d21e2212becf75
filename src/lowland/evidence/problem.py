"""A map and the rows it was made from, opened once: the coordinates, the distances, and how to make it again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.data.open import as_vector, open_rows
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.math.distances.metrics import Metric
from lowland.methods.base.method import Method
from lowland.methods.base.traits import traits_of
from lowland.quality.alignment import fitted_coordinates
from lowland.quality.inputs import check_same_rows, open_coordinates
from lowland.run.run import Result, Run, Task, run_for

LEAST_ROWS = 20


@dataclass(frozen=True, eq=False)
class MapProblem:
    """Rows, their coordinates, and the method that maps rows to coordinates."""

    X: Any  # (n, d) rows, dense or sparse, or (n, n) distances
    Z: np.ndarray  # (n, k)
    method: Any  # an unfitted estimator with fit_transform
    y: np.ndarray | None
    metric: Metric
    kept: np.ndarray  # (N,) bool: the rows that have coordinates
    names: tuple[str, ...]  # of the columns
    borrowed: bool  # whether the coordinates were made elsewhere, and ``method`` stands in for the unknown one
    model: Any = None  # the fitted model
    units: np.ndarray | None = None  # (d,): the model's own scale of the columns, by which X is divided
    coded: bool = False  # whether some columns of X are codes of categories

    @property
    def n(self) -> int:
        """Number of rows with coordinates."""
        return len(self.Z)

    @property
    def pairwise(self) -> bool:
        """Whether X holds distances."""
        return self.metric == "precomputed"

    @property
    def counts(self) -> bool:
        """Whether the method reads counts, which are not negative."""
        return isinstance(self.method, Method) and traits_of(self.method).reads == "counts"

    def check_neighbors(self) -> None:
        """Raise an error if rows have no neighbors, since codes of categories have no distances."""
        if self.coded:
            raise DataTypeError(
                "Some columns contain categories, so rows have no nearest neighbors. Encode these columns first, with "
                "`lowland.TablePreparer`, and pass the encoded table instead, or fit the method to it."
            )

    def rows(self, picked: np.ndarray) -> Any:
        """The rows, or the distances among them, at some places."""
        return self.X[np.ix_(picked, picked)] if self.pairwise else self.X[picked]

    def embed(self, X: Any, y: np.ndarray | None, seed: int) -> tuple[Any, np.ndarray]:
        """Fit a clone of the method to rows; return it and its coordinates."""
        return embed(self.method, X, y, seed)

    def part(self, picked: np.ndarray) -> MapProblem:
        """The same problem for some of the rows."""
        y = None if self.y is None else self.y[picked]
        return replace(self, X=self.rows(picked), Z=self.Z[picked], y=y, kept=np.ones(len(picked), dtype=bool))


def open_problem(model: Any, X: Any, y: Any, method: Any) -> MapProblem:
    """Open a fitted model, or coordinates made elsewhere, with the rows."""
    if isinstance(model, type):
        raise ParameterError(f"`model={model.__name__}`: pass a fitted model, such as `{model.__name__}().fit(X)`.")
    if method is not None:
        check_estimator(method)
    fitted = hasattr(model, "fit") and hasattr(model, "get_params")
    steps, reducer = _split(model) if fitted else (None, None)
    rows = open_rows(X if steps is None else steps.transform(X))
    table = run_for(rows).to_array(rows, "Comparing rows")
    table = table.tocsr() if is_sparse(table) else np.asarray(to_numpy(table))
    Z, kept = open_coordinates(_coordinates(reducer, X if steps is None else table, table) if fitted else model)
    check_same_rows(table.shape[0], kept)
    if len(Z) < LEAST_ROWS:
        raise DataError(f"{len(Z)} rows have coordinates. Pass at least {LEAST_ROWS}.")
    metric = _metric(reducer if fitted else method)
    units = None
    if metric == "precomputed":
        table = table[np.ix_(kept, kept)] if not kept.all() else table
    else:
        table = table if kept.all() else table[np.flatnonzero(kept)]
        units = _units(table, reducer)
        table = table if units is None else table / units
    labels = None if y is None else as_vector(y, len(kept), "y")[kept]
    made_by = _without_places(reducer if fitted else _stand_in(method))
    names = tuple(str(name) for name in (rows.names or [f"x{j}" for j in range(rows.d)]))
    return MapProblem(
        table, np.asarray(Z, dtype=np.float64), made_by, labels, metric, kept, names,
        not fitted and method is None, reducer if fitted else None, units,
        any(each is not None for each in rows.levels or ()),
    )  # fmt: skip


def check_estimator(method: Any) -> None:
    """Raise an error if this is not an estimator that can be cloned and fitted."""
    if isinstance(method, type) or not hasattr(method, "fit_transform") or not hasattr(method, "get_params"):
        raise ParameterError(f"`method={method!r}`: pass an estimator, such as `TSNE()`.")


def seeded(method: Any, seed: int) -> Any:
    """A clone of an estimator with its random states, those of its steps included, set to a seed."""
    from sklearn.base import clone

    model = clone(method)
    return model.set_params(**{name: seed for name in model.get_params() if name.split("__")[-1] == "random_state"})


def embed(method: Any, X: Any, y: Any, seed: int) -> tuple[Any, np.ndarray]:
    """Fit a clone of a method, with a seed if it takes one, to rows; return it and its coordinates."""
    model = seeded(method, seed)
    Z = fitted_coordinates(model, X, y)
    if getattr(model, "interrupted_", False):  # Ctrl-C ended this fit with an unfinished map
        raise KeyboardInterrupt
    return model, np.asarray(Z, dtype=np.float64)


def fit_each(method: Any, name: str, tasks: Sequence[Task], work: Callable[[Task], Result]) -> list[Result]:
    """Return work(task) for tasks that fit a method, several at a time.

    Methods that are not ours, or that call a user's function, are fitted one after another: they may not be safe in
    threads.
    """
    run = Run()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of maps that nobody sees; the map itself gave its own
        if isinstance(method, Method) and not any(callable(value) for value in method.get_params().values()):
            return run.fits(name, tasks, work)
        return [work(tasks[i]) for i in run.iterate(name, len(tasks))]


def _split(model: Any) -> tuple[Any, Any]:
    """The steps that prepare rows, or None, and the reducer."""
    from sklearn.pipeline import Pipeline

    if not isinstance(model, Pipeline):
        return None, model
    return (model[:-1] if len(model) > 1 else None), model[-1]


def _coordinates(reducer: Any, X: Any, table: Any) -> Any:
    """The coordinates of the training rows: those kept by the fit, if they are of these rows, otherwise placed."""
    kept = getattr(reducer, "embedding_", None)
    if kept is not None and len(kept) == table.shape[0]:
        return kept
    if not hasattr(reducer, "transform"):
        raise DataTypeError(
            f"{type(reducer).__name__} has no coordinates for these rows. Pass a fitted model, or the coordinates "
            "themselves."
        )
    return reducer.transform(X)


def _metric(method: Any) -> Metric:
    """The metric by which a method compares rows."""
    found: Metric = "euclidean" if method is None else method.get_params(deep=False).get("metric", "euclidean")
    dissimilarity = None if method is None else method.get_params(deep=False).get("dissimilarity")
    return "precomputed" if dissimilarity == "precomputed" else found


def _units(table: Any, reducer: Any) -> np.ndarray | None:
    """The units of the columns in which the model compares rows, if it scales them itself."""
    scale = None if reducer is None else getattr(reducer, "scale_", None)
    if scale is None or is_sparse(table) or np.shape(scale) != (table.shape[1],):
        return None
    factors = np.asarray(to_numpy(scale))
    return np.where(factors > 0, factors, 1)


def _without_places(method: Any) -> Any:
    """The method with its default ``init`` instead of an array: null data and parts of the rows have other places."""
    from sklearn.base import clone

    init = method.get_params(deep=False).get("init")
    if init is None or isinstance(init, str) or callable(init):
        return method
    return clone(method).set_params(init=type(method)().init)


def _stand_in(method: Any) -> Any:
    """The method that makes null maps for coordinates from elsewhere: t-SNE keeps neighbors best, also of noise."""
    if method is not None:
        return method
    from lowland.methods.tsne import TSNE

    made: Any = TSNE  # parameters are declared, not written as a signature
    return made()
