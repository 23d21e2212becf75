"""The scorer of subsets for a model: in closed form where there is one, otherwise by refitting."""

from __future__ import annotations

import inspect
import numbers
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv

from lowland.arrays.namespace import is_sparse
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.math.optimize.outcome import Accuracy, Outcome, Promise
from lowland.math.selection.columns import listed
from lowland.math.selection.discriminant_scores import DiscriminantScores
from lowland.math.selection.least_squares_scores import LeastSquaresScores
from lowland.math.selection.refit_scores import Metadata, Refitted
from lowland.math.selection.subset_scores import TIE, SubsetScores, Tally
from lowland.math.selection.wilks import Wilks
from lowland.math.statistics.fold_moments import Folds
from lowland.math.statistics.labels import classes_of
from lowland.math.statistics.rescaling import power_of_two
from lowland.math.statistics.targets import Target, seems_classes, warn_of_many_classes
from lowland.suggestions import did_you_mean

SQUARES = {None: "r2", "r2": "r2"} | {n: n for n in ("neg_mean_squared_error", "neg_root_mean_squared_error")}
_DIRECT = ("auto", "svd", "cholesky")  # direct, not iterative, solvers of Ridge
_NONE = Metadata()

UPDATED_SCORE = Promise(
    "difference of the updated score of the selected columns from the same score computed again",
    f"{TIE:g}, at which scores are tied; for discriminants one row per fold",
    "one more subset in closed form",
)
OWN_SCORE = Promise(
    "difference of the score of the selected columns from that of the estimator",
    "0: the estimator is fitted to every subset",
    "none",
)
_FAR = 1e3  # mean square of y over its variance, above which uncentered sums lose too many digits


@runtime_checkable
class Estimator(Protocol):
    """The interface of scikit-learn's estimators."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit the model to rows."""


@runtime_checkable
class Splitter(Protocol):
    """The interface of scikit-learn's cross-validation splitters."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Yield training and test rows."""


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

    if name == "linear":
        return _least_squares(linear_model.LinearRegression)
    if name == "discriminant":
        return discriminant_analysis.LinearDiscriminantAnalysis()
    if name == "logistic":
        return linear_model.LogisticRegression(max_iter=1000)
    if name == "tree":
        return (tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor)(random_state=0)
    return (neighbors.KNeighborsClassifier if classes else neighbors.KNeighborsRegressor)()


def _least_squares(cls: Any) -> Any:
    """Least squares that drops no direction because of small units; since scikit-learn 1.9 ``tol`` decides that."""
    return cls(tol=1e-13) if "tol" in inspect.signature(cls).parameters else cls()


def scores_for(
    model: Any,
    X: Any,
    y: np.ndarray | None,
    *,
    scoring: Any,
    cv: Any,
    n_jobs: int | None,
    closed: bool,
    tally: Tally,
    for_numbers: str,
    metadata: Metadata = _NONE,
) -> tuple[SubsetScores, Outcome]:
    """Return the scorer of subsets, and how it works; ``for_numbers`` as in ``folds_of``."""
    y, codes = _target(model, y)
    given = X if X.dtype.kind in "iub" or is_sparse(X) else X.astype(np.float64, copy=False)  # integers may be codes
    X = given if is_sparse(X) else given.astype(np.float64, copy=False)
    least_squares, discriminant = _is(model, "LinearRegression", "Ridge"), _is(model, "LinearDiscriminantAnalysis")
    if scoring == "wilks":
        assert y is not None  # see ``has_wilks``
        target, classes = (Target.of_numbers(y).values, None) if codes is None else (codes, int(codes.max()) + 1)
        return Wilks.of(X, target, classes, tally), Outcome("closed form", "Wilks' lambda on all rows")
    scorer = scorer_of(model, scoring)
    folds = folds_of(cv, X, y, classifier=is_classifier(model), for_numbers=for_numbers, **metadata.split)
    tie, unit, one_target = 0.0, 1.0, y is not None and y.ndim == 1
    if least_squares and _is_named(scoring, SQUARES) and one_target:  # both routes select the same columns
        assert y is not None
        tie, (y, unit) = TIE, _standardized_target(y, SQUARES[scoring])
    refit = Refitted(model, scorer, given, y, folds, n_jobs, tally, tie, unit, metadata)
    if closed and y is not None and one_target and not is_sparse(X) and not (metadata.fit or metadata.score):
        plain = tie > 0 and _is_plain_least_squares(model)
        if plain and (model.fit_intercept or np.mean(y**2) < _FAR * np.var(y)):
            return LeastSquaresScores.of(
                X, y, folds, intercept=model.fit_intercept, alpha=float(getattr(model, "alpha", 0)),
                cutoff=0.0 if _is(model, "Ridge") else getattr(model, "tol", 0.0), metric=SQUARES[scoring],
                refit=refit, tally=tally, unit=unit,
            ), Outcome("closed form", "least squares, updated one column at a time")  # fmt: skip
        if discriminant and codes is not None and _is_named(scoring, (None, "accuracy")) and _is_plain(model):
            C = int(codes.max()) + 1
            if all(len(np.unique(codes[train])) == C < len(train) for train, _ in folds):
                return DiscriminantScores.of(
                    X, codes, folds, C, tol=model.tol, refit=refit, tally=tally
                ), Outcome("closed form", "linear discriminants, updated one column at a time")  # fmt: skip
    return refit, Outcome("refitting", f"{type(model).__name__} is fitted to every subset and fold")


def accuracy_of(scores: SubsetScores, columns: Sequence[int], score: float) -> Accuracy:
    """Return how far the updated score of the selected columns is from the same score computed again."""
    if isinstance(scores, Refitted):
        return OWN_SCORE.checked(0.0, 0.0)
    bound = scores.tie
    if isinstance(scores, DiscriminantScores):  # a row whose classes are tied may change its class
        bound = float(np.mean([1 / len(fold.y) for fold in scores.folds]))
    again = float(replace(scores, tally=Tally()).many(np.array([sorted(columns)]))[0])  # type: ignore[type-var]
    both_undefined = np.isnan(again) and np.isnan(score)
    return UPDATED_SCORE.checked(0.0 if both_undefined else abs(again - score) / max(1.0, abs(again)), bound)


def has_wilks(model: Any, X: Any, y: np.ndarray | None) -> bool:
    """Whether Wilks' lambda is available for a model and these rows."""
    known = _is(model, "LinearRegression", "Ridge", "LinearDiscriminantAnalysis")
    return known and y is not None and y.ndim == 1 and not is_sparse(X)


def scorer_of(model: Any, scoring: Any) -> Any:
    """Return scikit-learn's scorer of a name or function."""
    if isinstance(scoring, str) and scoring not in (known := get_scorer_names()):
        raise ParameterError(
            f"{scoring!r} is not the name of a scorer. {did_you_mean(scoring, known, 3)}"
            "Choose a scorer of scikit-learn, such as 'accuracy' or 'r2' (`sklearn.metrics.get_scorer_names()`)."
        )
    try:
        return check_scoring(model, scoring=scoring)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"The scorer {scoring!r} does not fit {type(model).__name__}: {str(error).splitlines()[0]} Choose a "
            "scorer of scikit-learn, such as 'accuracy' or 'r2' (`sklearn.metrics.get_scorer_names()`)."
        ) from error


def _standardized_target(y: np.ndarray, metric: str) -> tuple[np.ndarray, float]:
    """y divided by a power of two near its standard deviation, and the resulting divisor of the metric."""
    step = float(power_of_two(Target.of_numbers(y).standardized().scale))
    power = {"r2": 0, "neg_root_mean_squared_error": 1, "neg_mean_squared_error": 2}[metric]
    with np.errstate(over="ignore", under="ignore"):
        unit = float(np.float64(step) ** power)
    if not np.finfo(np.float64).tiny <= unit < np.inf:
        raise DataError(
            f"`y` has a standard deviation of about {step:.0e}, so its squares overflow or underflow. Use "
            "the scoring 'r2', or rescale `y`."
        )
    return y / step, unit


def folds_of(cv: Any, X: Any, y: np.ndarray | None, *, classifier: bool, for_numbers: str, **metadata: Any) -> Folds:
    """Return the training and test rows of each fold, by scikit-learn's rules; they are the same for all subsets.

    ``for_numbers`` is what a user sets if y holds numbers, not classes; ``metadata`` is for the splitter: groups.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            folds = list(check_cv(cv, y, classifier=classifier).split(X, y, **metadata))
    except Exception as error:
        raise DataError(
            f"Cross-validation ({cv!r}) cannot split the {X.shape[0]} rows "
            f"(`{str(error).splitlines()[0].rstrip('.')}`). Choose fewer folds, or pass more rows. If `y` holds "
            f"numbers rather than classes, set {for_numbers}."
        ) from error
    for each in caught:
        warn(
            f"{str(each.message).rstrip('.')}. Choose fewer folds (`cv`), or drop rare classes. If `y` holds numbers "
            f"rather than classes, set {for_numbers}.",
            DataWarning,
        )
    if not folds:
        raise ParameterError(
            f"Cross-validation ({cv!r}) has no folds. Pass a number of folds (`a splitter, or pairs of row index "
            "arrays`)."
        )
    rows = np.arange(X.shape[0])
    try:
        found = [(rows[train], rows[test]) for train, test in folds]
    except (IndexError, TypeError, ValueError) as error:
        raise ParameterError(
            f"`cv`: a fold is not a pair of training and test rows: {error}. Pass pairs of row index arrays, with "
            f"indices from 0 to {len(rows) - 1}."
        ) from error
    if not all(len(train) and len(test) for train, test in found):
        raise ParameterError("`cv`: a fold has no training rows or no test rows. Every fold needs both.")
    return found


def _target(model: Any, y: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    """y as the model needs it, and the class index of each row if the model is a classifier."""
    if y is None or y.ndim == 2:  # no target, or several
        return y, None
    if is_classifier(model):
        return y, classes_of(y)[1]
    if is_regressor(model) and y.dtype.kind in "iuf" and y.min() == y.max():
        raise DataError("`y` is constant, so no column can predict it. Pass a `y` that varies.")
    if not _is(model, "LinearRegression", "Ridge"):
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


def _is_named(scoring: Any, names: Any) -> bool:
    return (scoring is None or isinstance(scoring, str)) and scoring in names


def _is_plain_least_squares(model: Any) -> bool:
    alpha = getattr(model, "alpha", 0.0)
    return (
        not model.positive
        and isinstance(alpha, numbers.Real)
        and float(alpha) >= 0
        and getattr(model, "solver", "auto") in _DIRECT
    )


def _is_plain(model: Any) -> bool:
    return model.priors is None and not model.shrinkage and model.covariance_estimator is None


def is_instance(model: Any) -> bool:
    """Whether a model is an instance that can be cloned, not a class."""
    return not inspect.isclass(model) and hasattr(model, "get_params")


def warn_of_constants(X: Any, names: list[str]) -> None:
    """Warn of constant columns; refuse data where every column is constant."""
    if is_sparse(X):
        constant = (X.max(axis=0).toarray() == X.min(axis=0).toarray()).ravel()
    else:
        constant = X.max(axis=0) == X.min(axis=0)
    if constant.all():
        raise DataError("Every column is constant, so no column can be selected. Pass columns that vary.")
    if constant.any():
        which = np.flatnonzero(constant)
        many = len(which) > 1
        warn(
            f"{'Columns' if many else 'Column'} {listed(names, which)} {'are' if many else 'is'} constant and cannot "
            "predict `y`. Drop constant columns.",
            DataWarning,
        )
