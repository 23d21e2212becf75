"""Sequential feature selection."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import numpy as np
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from lowland.arrays.namespace import is_array, is_sparse, to_numpy
from lowland.data.open import open_rows
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, Stopped, warn
from lowland.math.optimize.outcome import Outcome
from lowland.math.selection.columns import check_constant, constant_columns
from lowland.math.selection.cross_validation import Splitter
from lowland.math.selection.model_scores import Estimator, model_of, scores_for
from lowland.math.selection.subset_scores import Metadata, Tally, of_order_one
from lowland.math.selection.subset_search import Step, final_step, n_scores, numbered, removes_columns, search
from lowland.math.statistics.labels import classes_of
from lowland.methods.base import costs
from lowland.methods.base.choices import folds_parameter, positional, refusal
from lowland.methods.base.column_map import ColumnMap, integer_table
from lowland.methods.base.method import attribute, param
from lowland.run.run import Run

_RECEIVERS = (("splitter", "split"), ("estimator", "fit"), ("scorer", "score"))  # of metadata
_FOR_NUMBERS = "`estimator='linear'`"  # what a user sets if y holds numbers, not classes


class SequentialFeatureSelector(
    MetaEstimatorMixin,
    ColumnMap,
    verb="select-sequential",
    title="sequential selection",
    group="Columns",
    cost=costs.subsets,
    reads_y=True,
    needs_y=True,
    width_parameter="n_features_to_select",
    order_free=False,
):
    """Sequential feature selection: forward, backward, floating or exhaustive search by cross-validated model score.

    Problem: find the subset S of k columns that maximizes J(S), the cross-validated score of a model fitted to the
    columns of S alone. There are d!/(k!(d - k)!) such subsets, so a greedy search changes one column at a time.

    1. Score a subset: in closed form for least squares and linear discriminant analysis, from the moments of the folds,
       otherwise by fitting the model to every fold.
    2. Forward: add the column that increases J most. Backward: remove the column whose removal decreases J least.
    3. Floating: after each step, reverse steps as long as that improves on the best subset of the same size.
       Exhaustive: score all subsets, by branch and bound where J cannot decrease when a column is added.
    4. ``transform`` returns the selected columns.

    See Also
    --------
    L1Selector : all columns at once, by a penalty.
    FeatureFilter : fast scores of one column at a time.

    Notes
    -----
    The score of the selected columns is optimistic, because they were selected by it: estimate performance with the
    selector inside a cross-validated pipeline. Prefer ``FeatureFilter`` for very many columns, ``L1Selector`` for a
    fast linear search, and ``PCA`` if linear combinations of the columns are acceptable.

    References
    ----------
    Whitney 1971, A direct method of nonparametric measurement selection, IEEE Transactions on Computers C-20,
    doi:10.1109/T-C.1971.223410.

    Pudil, Novovičová and Kittler 1994, Floating search methods in feature selection, Pattern Recognition Letters 15,
    doi:10.1016/0167-8655(94)90127-9.

    Narendra and Fukunaga 1977, A branch and bound algorithm for feature subset selection, IEEE Transactions on
    Computers C-26, doi:10.1109/TC.1977.1674939.

    Examples
    --------
    >>> from lowland import SequentialFeatureSelector
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> selector = SequentialFeatureSelector(n_features_to_select=3).fit(wine.X, wine.y)
    >>> selector.get_support(indices=True).tolist(), round(selector.score_, 3)
    ([0, 3, 6], 0.933)
    """

    estimator: Literal["linear", "discriminant", "logistic", "tree", "neighbors"] | Estimator | None = positional(
        None,
        "Name of the model that scores a subset, or an estimator. None means 'discriminant' for classes and "
        "'linear' for numbers.",
        wanted="None, 'linear', 'discriminant', 'logistic', 'tree', 'neighbors', or an estimator",
    )
    n_features_to_select: int | float | Literal["auto"] = param(
        "auto",
        "Number of columns to select, or a fraction of them. 'auto' stops when the gain is below `tol`, or at "
        "half of the columns if `tol` is None.",
        wanted="an integer of at least 1, a fraction above 0 and at most 1, or 'auto'",
    )
    tol: float | None = param(
        None,
        "For 'auto': stop when a step improves the score by less than this. A larger one selects fewer columns. "
        "Negative only for backward searches.",
    )
    direction: Literal["forward", "backward", "floating-forward", "floating-backward", "exhaustive"] = param(
        "forward", "Search: add columns, remove columns, either with floating steps, or score all subsets."
    )
    scoring: str | Callable[..., Any] | None = param(
        None,
        "Name of a scorer, or a function of the model with X and y. None means the model's own score, 'wilks' is "
        "1 - Wilks' lambda.",
        wanted="the name of a scorer, a function, or None",
    )
    cv: int | Splitter | Iterable[Any] | None = folds_parameter()
    n_jobs: int | None = param(
        None, "Number of subsets fitted in parallel, where the model is refitted. -1 means all processors."
    )
    closed_form: bool = param(
        True, "Score least squares and linear discriminants in closed form. False refits the model every time."
    )

    score_: float = attribute("Score of the selected columns, or NaN if no step was needed.")
    n_subsets_: int = attribute("Number of subsets scored.", when="where the search was not interrupted")
    solver_: Outcome = attribute("How subsets were scored: in closed form or by refitting, and why.")
    interrupted_: bool = attribute("Whether the search was interrupted. The best columns found so far are selected.")

    # --- fit ---

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Select columns of X that predict y: one value per row, or the name of a column of the frame or file.

        ``params`` are passed to the estimator, the splitter and the scorer that request them: ``groups``,
        ``sample_weight``. This needs ``sklearn.set_config(enable_metadata_routing=True)``.

        Ctrl-C stops the search and keeps the path so far, with the best subset on it.
        """
        return self._fit(X, y, metadata=self._routed(params))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata goes to the estimator, to the splitter and to the scorer."""
        router = MetadataRouter(owner=self)
        named = self.estimator is None or isinstance(self.estimator, str)  # a named model requests no metadata
        model = LinearRegression() if named else self.estimator
        if not named:
            router.add(estimator=model, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        cv = self.cv if hasattr(self.cv, "split") else None  # an iterable of folds can be read only once
        splitter = check_cv(cv, classifier=is_classifier(model))
        router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        if self.scoring != "wilks" and not (named and self.scoring is None):
            scorer = check_scoring(model, scoring=self.scoring)
            router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router

    def _routed(self, params: dict[str, Any]) -> Metadata:
        if not params:
            return Metadata()
        if not get_config()["enable_metadata_routing"]:
            raise ParameterError(
                f"SequentialFeatureSelector.fit({', '.join(params)}=...) is only supported if metadata routing is "
                "enabled. Call sklearn.set_config(enable_metadata_routing=True), and request the metadata, such as "
                "estimator.set_fit_request(sample_weight=True)."
            )
        routed = process_routing(self, "fit", **params)
        to = {name: dict(getattr(routed.get(name, {}), method, {})) for name, method in _RECEIVERS}
        return Metadata(to["splitter"], to["estimator"], to["scorer"])

    def _fit(self, X: Any, y: Any = None, weights: Any = None, **given: Any) -> Self:
        stops: list[BaseException] = []
        super()._fit(X, y, weights, stops=stops, **given)
        for stop in stops:  # the search so far is a valid, shorter search
            words = (
                f"SequentialFeatureSelector was stopped after {len(self.path_)} steps. The result so far is available: "
                "path_ holds the steps, support_ the best subset among them."
            )
            if isinstance(stop, Stopped):
                stop.args = (words,)
            else:
                stop.add_note(words)
            raise stop
        return self

    def _solve(
        self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None,
        stops: list[BaseException] | None = None, metadata: Metadata | None = None,
    ) -> None:  # fmt: skip
        """Score subsets, search, keep the path; what interrupts the search after its first step goes to ``stops``."""
        if self._params.n_jobs == 0:
            raise refusal(self, "it must not be zero.", "Choose a positive number, -1 or None.", "n_jobs")
        self._fitted.allow_nan = self._takes_nan
        X = self._table(rows, run)
        model, k = model_of(self.estimator, y, for_numbers=_FOR_NUMBERS), self._count(rows.d)
        names = self._names(rows)
        check_constant(constant_columns(X), names)
        if self.estimator in (None, "linear", "discriminant") and not rows.is_sparse:
            X, _ = of_order_one(X)  # these models do not depend on the units of the columns
        self.classes_ = classes_of(y)[0] if y is not None and y.ndim == 1 and is_classifier(model) else None
        self.n_samples_ = int(X.shape[0])
        total = None if self.n_features_to_select == "auto" and self.tol else n_scores(rows.d, k, self.direction)
        path: list[Step] = []
        try:
            with run.stage("scoring subsets", total) as stage:
                tally = Tally(stage.advance)
                scores, outcome = scores_for(
                    model, X, y, scoring=self.scoring, cv=self.cv, n_jobs=self.n_jobs, closed=self.closed_form,
                    tally=tally, for_numbers=_FOR_NUMBERS, metadata=metadata or Metadata(),
                )  # fmt: skip
                gain = self.tol / scores.unit if self.tol is not None and self.n_features_to_select == "auto" else None
                moves = search(scores, k, self.direction, gain)
                for step in numbered((move._replace(score=move.score * scores.unit) for move in moves), names):
                    path.append(step)  # one by one: an interrupted search keeps its path
                self.n_subsets_ = tally.n
        except (KeyboardInterrupt, Stopped) as stop:
            if stops is None or not path:
                raise
            stops.append(stop)
        if tally.failures:
            warn(
                f"{len(tally.failures)} of {tally.n} subsets were skipped because the model could not be fitted. "
                f"{tally.failures[0]}",
                DataWarning,
            )
        best = final_step(path, self.direction) if path else None
        self.path_, self.interrupted_ = tuple(path), bool(stops)
        self.support_ = np.isin(np.arange(rows.d), range(rows.d) if best is None else best.features)
        self.score_ = math.nan if best is None else best.score
        self._record_convergence(outcome)

    # --- checks ---

    def _open(self, X: Any, y: Any) -> tuple[Rows, Any]:
        if self.estimator is not None and not isinstance(self.estimator, str):
            if not _is_instance(self.estimator):
                reason = "it must be an instance with get_params, such as LinearRegression(), not a class."
                raise refusal(self, reason, "", "estimator")
            if y is None and not self._tags_of_model().target_tags.required:  # the model needs no target
                return open_rows(X), None
        if self.estimator == "linear" or _is_instance(self.estimator):
            several = _several_targets(y)
            if several is not None:
                rows = open_rows(X)
                if rows.n is not None and len(several) != rows.n:
                    raise DataError(
                        f"`y` has shape {several.shape}, but `X` has {rows.n} rows. Pass one row of targets per row "
                        "of `X`."
                    )
                return rows, several
        return super()._open(X, y)

    def _takes(self, rows: Rows) -> bool:
        return not rows.is_sparse or self._takes_sparse

    @property
    def _takes_sparse(self) -> bool:
        if isinstance(self.estimator, str):
            return self.estimator != "discriminant"
        return self._tags_of_model().input_tags.sparse

    @property
    def _takes_nan(self) -> bool:
        """Whether the estimator accepts NaN; of a pipeline, whose tag does not say so, whether its first step does."""
        steps = [step for _, step in getattr(self.estimator, "steps", ()) if hasattr(step, "__sklearn_tags__")]
        return (get_tags(steps[0]) if steps else self._tags_of_model()).input_tags.allow_nan

    def _table(self, rows: Rows, run: Run) -> Any:
        """All rows on the host, where models are fitted; sparse rows in column format."""
        X: Any = integer_table(rows)
        if X is None:  # an estimator that accepts NaN gets it
            X = rows.to_array() if self._fitted.allow_nan else run.to_array(rows, "SequentialFeatureSelector")
        return X.tocsc() if is_sparse(X) else to_numpy(X)

    def _count(self, d: int) -> int:
        """The number of columns at which the search ends, at least one."""
        k, removes = self.n_features_to_select, removes_columns(self.direction)
        if self.tol is not None and not math.isfinite(self.tol):
            reason = "`tol` must be a finite number, the smallest gain that continues the search, or `None`."
            raise refusal(self, reason, "", "tol")
        if self.tol is not None and self.tol < 0 and not removes:
            reason = "`tol` must be strictly positive when doing forward selection."
            remedy = "Negative values are for backward searches: they bound the loss per removed column."
            raise refusal(self, reason, remedy, "tol")
        if isinstance(k, str):
            half = d - d // 2 if removes else max(1, d // 2)  # scikit-learn takes half of the steps
            return half if self.tol is None else 1 if removes else d
        return self._check_count(k, d)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.allow_nan = self._takes_nan
        return tags

    def _tags_of_model(self) -> Tags:
        """The tags of the estimator; for a name, or an estimator that a model file does not keep, the defaults."""
        return get_tags(self.estimator) if hasattr(self.estimator, "__sklearn_tags__") else super().__sklearn_tags__()

    # --- out ---

    def _facts(self) -> dict[str, Any]:
        own = "score of the model (accuracy for classes, R² for numbers)"
        words = own if self.scoring is None else getattr(self.scoring, "__name__", str(self.scoring))
        words = "1 - Wilks' lambda on all rows" if words == "wilks" else f"{words}, on held-out rows"
        facts = {"score": self.score_, "subsets scored": vars(self).get("n_subsets_")}
        return {**facts, **super()._facts(), "step score": words}


def _several_targets(y: Any) -> np.ndarray | None:
    """y as an array of several targets per row, (n, q); None where y is a single target or the name of a column."""
    if y is None or isinstance(y, str):
        return None
    values = to_numpy(y) if is_array(y) else np.asarray(y)
    return values if values.ndim == 2 and values.shape[1] > 1 else None


def _is_instance(model: Any) -> bool:
    """Whether a model is an instance that can be cloned, not a class."""
    return not inspect.isclass(model) and hasattr(model, "get_params")
