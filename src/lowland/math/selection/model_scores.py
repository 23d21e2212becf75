"""The scorer of subsets for a model: in closed form where there is one, otherwise by refitting."""

from __future__ import annotations

import inspect
import numbers
from typing import Any, Protocol, runtime_checkable

import numpy as np
import sklearn
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.fixes import parse_version

from lowland.arrays.namespace import is_sparse
from lowland.errors import DataError, ParameterError
from lowland.math.optimize.outcome import Outcome
from lowland.math.selection.cross_validation import folds_of, scorer_of
from lowland.math.selection.subset_scores import (
    TIE,
    DiscriminantScores,
    LeastSquaresScores,
    Metadata,
    RefitScores,
    SubsetScores,
    Tally,
    Wilks,
)
from lowland.math.statistics.labels import Target, classes_of, seems_classes, warn_of_many_classes
from lowland.math.statistics.rescaling import power_of_two

_SQUARES = {None: "r2", "r2": "r2"} | {n: n for n in ("neg_mean_squared_error", "neg_root_mean_squared_error")}
_LINEAR = ("LinearRegression", "Ridge")
_DIRECT = ("auto", "svd", "cholesky")  # direct, not iterative, solvers of Ridge
_FAR = 1e3  # mean square of y over its variance, above which uncentered sums lose too many digits
_NO_METADATA = Metadata()


@runtime_checkable
class Estimator(Protocol):
    """The interface of scikit-learn's estimators."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit the model to rows."""


def model_of(name: Any, y: np.ndarray | None, *, for_numbers: str) -> Any:
    """Return the estimator with this name; an estimator is returned unchanged.

    ``for_numbers`` is what a user sets if y holds numbers, not classes.
    """
    if name is not None and not isinstance(name, str):
        return name
    if y is None:
        raise DataError("The target `y` is `None`. Pass `y`, or an estimator that needs no target.")
    classes = name not in ("linear", "discriminant", "logistic") and seems_classes(y)
    if classes:
        warn_of_many_classes(y, for_numbers)
    name = name or ("discriminant" if classes else "linear")
    from sklearn import discriminant_analysis, linear_model, neighbors, tree

    if name == "linear":  # no direction is dropped because of small units; since scikit-learn 1.9 tol decides that
        cls = linear_model.LinearRegression
        return cls(tol=1e-13) if "tol" in inspect.signature(cls).parameters else cls()
    if name == "discriminant":
        return discriminant_analysis.LinearDiscriminantAnalysis()
    if name == "logistic":
        return linear_model.LogisticRegression(max_iter=1000)
    if name == "tree":
        return (tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor)(random_state=0)
    return (neighbors.KNeighborsClassifier if classes else neighbors.KNeighborsRegressor)()


def scores_for(
    model: Any, X: Any, y: np.ndarray | None, *, scoring: Any, cv: Any, n_jobs: int | None, closed: bool, tally: Tally,
    for_numbers: str, metadata: Metadata = _NO_METADATA,
) -> tuple[SubsetScores, Outcome]:  # fmt: skip
    """Return the scorer of subsets, and how it works; ``for_numbers`` as in ``folds_of``."""
    y, codes = _target(model, y)
    if X.dtype.kind not in "iub" and not is_sparse(X):  # integers may be codes
        X = X.astype(np.float64, copy=False)
    C = 0 if codes is None else int(codes.max()) + 1
    if scoring == "wilks":
        if y is None or y.ndim == 2 or is_sparse(X) or not _is(model, *_LINEAR, "LinearDiscriminantAnalysis"):
            raise ParameterError(
                "Wilks' lambda is available for least squares and linear discriminant analysis on dense rows.",
                f"Choose the estimator 'linear' or 'discriminant', or another scoring for {type(model).__name__}.",
            )
        values, classes = (Target.of_numbers(y).values, None) if codes is None else (codes, C)
        scores = Wilks.of(X.astype(np.float64, copy=False), values, classes, tally)
        return scores, Outcome("closed form", "Wilks' lambda on all rows")
    scorer = scorer_of(model, scoring)
    folds = folds_of(cv, X, y, classifier=is_classifier(model), for_numbers=for_numbers, **metadata.split)
    named = scoring is None or isinstance(scoring, str)
    tie, unit, metric = 0.0, 1.0, _SQUARES.get(scoring) if named else None
    one_target = y is not None and y.ndim == 1
    squares = one_target and metric is not None and _is(model, *_LINEAR)
    if squares:  # both routes select the same columns
        assert y is not None
        tie, (y, unit) = TIE, _standardized_target(y, str(metric))
    refit = RefitScores(model, scorer, X, y, folds, n_jobs, tally, tie, unit, metadata)
    why_refit = Outcome("refitting", f"{type(model).__name__} is fitted to every subset and fold")
    if not closed or y is None or not one_target or is_sparse(X) or metadata.fit or metadata.score:
        return refit, why_refit
    if squares and not model.positive and (model.fit_intercept or np.mean(y**2) < _FAR * np.var(y)):
        alpha, direct = getattr(model, "alpha", 0.0), getattr(model, "solver", "auto") in _DIRECT
        if direct and isinstance(alpha, numbers.Real) and float(alpha) >= 0:
            cutoff = 0.0 if _is(model, "Ridge") else getattr(model, "tol", 0.0)
            exact = LeastSquaresScores.of(
                refit, intercept=model.fit_intercept, alpha=float(alpha), cutoff=cutoff, metric=str(metric)
            )
            return exact, Outcome("closed form", "least squares, updated one column at a time")
    if named and scoring in (None, "accuracy") and codes is not None and _is(model, "LinearDiscriminantAnalysis"):
        plain = model.priors is None and not model.shrinkage and model.covariance_estimator is None
        if plain and all(len(np.unique(codes[train])) == C < len(train) for train, _ in folds):
            how = "linear discriminants, updated one column at a time"
            return DiscriminantScores.of(refit, codes, C, model.tol, _lost(model, C)), Outcome("closed form", how)
    return refit, why_refit


def _lost(model: Any, classes: int) -> int:
    """What the divisor of the covariance subtracts from n: before scikit-learn 1.9, its svd subtracts the classes."""
    old = parse_version(sklearn.__version__) < parse_version("1.9")
    return classes if old and type(model).__module__.startswith("sklearn.") and model.solver == "svd" else 0


def _standardized_target(y: np.ndarray, metric: str) -> tuple[np.ndarray, float]:
    """y divided by a power of two near its standard deviation, and the resulting divisor of the metric."""
    step = float(power_of_two(Target.of_numbers(y).standardized().scale))
    power = {"r2": 0, "neg_root_mean_squared_error": 1, "neg_mean_squared_error": 2}[metric]
    with np.errstate(over="ignore", under="ignore"):
        unit = float(np.float64(step) ** power)
    if not np.finfo(np.float64).tiny <= unit < np.inf:
        raise DataError(
            f"`y` has a standard deviation of about {step:.0e}, so its squares overflow or underflow. "
            "Choose the scoring 'r2', or rescale `y`."
        )
    return y / step, unit


def _target(model: Any, y: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    """y as the model needs it, and the class index of each row if the model is a classifier."""
    if y is None or y.ndim == 2:  # no target, or several
        return y, None
    if is_classifier(model):
        return y, classes_of(y)[1]
    if is_regressor(model) and y.dtype.kind in "iuf" and y.min() == y.max():
        raise DataError("`y` is constant, so no column can predict it. Pass a `y` that varies.")
    if not _is(model, *_LINEAR):
        return y, None
    try:
        values = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"`y` contains text, but {type(model).__name__} needs numbers: {error}. For classes choose "
            "'discriminant' or another classifier."
        ) from error
    if not np.isfinite(values).all():
        raise DataError("`y` contains NaN or infinity. Fill in these values, or drop the rows.")
    return values, None


def _is(model: Any, *names: str) -> bool:
    """Whether a model is exactly one of these classes, of scikit-learn or Lowland; a subclass may differ."""
    return type(model).__name__ in names and type(model).__module__.partition(".")[0] in ("sklearn", "lowland")
