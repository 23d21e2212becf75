"""Sequential feature selection."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Tags, get_tags

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.blocks.selection import subset_search as selection
from lowland.blocks.selection.closed_form_scores import Tally, of_order_one
from lowland.blocks.selection.scorers import (
    Estimator,
    Splitter,
    is_instance,
    model_of,
    scores_for,
    tell_of_constants,
)
from lowland.blocks.selection.subset_search import Step, path_table
from lowland.blocks.statistics.labels import classes_of
from lowland.data.open import open_rows
from lowland.data.rows import Rows
from lowland.errors import DataWarning, ParameterError, Stopped, warn
from lowland.methods.base.column_map import ColumnMap
from lowland.methods.base.estimator import param
from lowland.run.run import Run

SEARCHES: dict[str, Callable[..., Any]] = {
    "forward": selection.forward,
    "backward": selection.backward,
    "floating-forward": selection.floating_forward,
    "floating-backward": selection.floating_backward,
    "exhaustive": selection.exhaustive,
}


class SequentialFeatureSelector(
    ColumnMap,
    verb="select-sequential",
    reads_y=True,
    needs_y=True,
    width_parameter="n_features_to_select",
    order_free=False,
):
    """Sequential feature selection: columns are added or removed one at a time by how well a model does with them.

    Problem: choose S of k columns to maximise J(S), the cross-validated score of a model fitted to the columns of S
    alone. There are d!/(k!(d - k)!) such S, so the search walks from one to the next by one column.

    1. Find the model's score of a subset: in closed form for least squares and discriminants, where the folds' moments
       are summed once (``blocks.selection.closed_form_scores``), else by fitting it to every fold (``blocks.selection.refit_scores``).
    2. Add the column that raises J most (forward), or remove the one whose loss lowers it least (backward).
    3. Floating: after each step go back as long as that beats the best subset of that size so far
       (``blocks.selection.subset_search``). Exhaustive: look at all, with bounds where J cannot fall when a column is added.
    4. Rows keep the chosen columns.

    Cost: k d scores of a subset, each F fits; in closed form F n d² once and about F k² d a step. Prefer a filter
    where columns are very many, ``PCA`` where a few sums of columns will do as well as a few columns.

    Attributes: ``support_`` (d,) bool, ``n_features_to_select_``, ``path_`` (a ``Step`` for every move: number, action,
    feature, name, score, size, features), ``score_`` of the chosen columns, ``n_subsets_`` that were scored,
    ``solver_`` (the route), ``interrupted_``, ``n_samples_``, ``classes_`` (None for numbers).

    Reference: Whitney 1971, doi:10.1109/T-C.1971.223410; Pudil, Novovičová and Kittler 1994,
    doi:10.1016/0167-8655(94)90127-9; Narendra and Fukunaga 1977, doi:10.1109/TC.1977.1674939.

    Examples
    --------
    >>> from lowland import SequentialFeatureSelector
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> selector = SequentialFeatureSelector(n_features_to_select=3).fit(wine.X, wine.y)
    >>> selector.get_support(indices=True).tolist(), round(selector.score_, 3)
    ([0, 3, 6], 0.933)
    """

    estimator: Literal["linear", "discriminant", "logistic", "tree", "neighbors"] | Estimator | None = param(
        None,
        "The model that scores: a name or an estimator; None: discriminant for classes, linear for numbers.",
        positional=True,
        wanted="None, 'linear', 'discriminant', 'logistic', 'tree', 'neighbors', or an estimator",
    )
    n_features_to_select: int | float | Literal["auto"] = param(
        "auto",
        "How many columns to keep, or the share of them; auto: as long as each gains tol, or half of them.",
        wanted="a whole number of 1 or more, a share above 0 and up to 1, or 'auto'",
    )
    tol: float | None = param(None, "With auto: stop when a step gains less than this; below 0 only where removing.")
    direction: Literal["forward", "backward", "floating-forward", "floating-backward", "exhaustive"] = param(
        "forward", "Add columns, remove them, either with steps back, or look at all subsets."
    )
    scoring: str | Callable[..., Any] | None = param(
        None,
        "Name of a scorer, or a function of estimator and X and y; None: the estimator's own; wilks: of all rows.",
        wanted="the name of a scorer, a function, or None",
    )
    cv: int | Splitter | Iterable[Any] | None = param(
        5,
        "Number of folds, a splitter, or pairs of training and test rows; classes are spread evenly over folds.",
        at_least=2,
        wanted="a number of folds of 2 or more, a splitter, or pairs of row numbers",
    )
    n_jobs: int | None = param(
        None, "Subsets that are fitted at a time, where the model is fitted; -1: all processors."
    )
    closed_form: bool = param(True, "Update least squares and discriminants by a column; False: fit them each time.")

    # --- fit ---

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the columns of X by y: one value a row, or the name of a column of the frame or file.

        Ctrl-C stops the search at once and keeps the path so far, with the best columns on it.
        """
        return self._fit(X, y)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Score subsets, walk from one to the next, keep the path."""
        X = self._rows(rows, run)
        model, k = model_of(self.estimator, y), self._count(rows.d)
        names = self._names(rows)
        tell_of_constants(X, names)
        if self.estimator in (None, "linear", "discriminant") and not rows.is_sparse:
            X, _ = of_order_one(X)  # which changes nothing for these models, in whatever units columns come
        classes = classes_of(y)[0] if y is not None and is_classifier(model) else None
        self._of: tuple[int, np.ndarray | None] = int(X.shape[0]), classes
        with run.stage("scoring subsets", self._n_scores(rows.d, k)) as stage:
            tally = Tally(stage.advance)
            scores, self.solver_ = scores_for(
                model, X, y, scoring=self.scoring, cv=self.cv, n_jobs=self.n_jobs, closed=self.closed_form, tally=tally
            )
            gain = self.tol / scores.unit if self.tol is not None and self.n_features_to_select == "auto" else None
            for move in SEARCHES[self.direction](scores, k, gain):
                told = move._replace(score=move.score * scores.unit)
                self._path.append(Step.of(len(self._path) + 1, told, names))
        self.n_subsets_ = tally.n
        if tally.failures:
            warn(f"{len(tally.failures)} of {tally.n} subsets were passed over. {tally.failures[0]}", DataWarning)
        self._keep(rows.d, interrupted=False)

    def _fit(self, X: Any, y: Any = None, weights: Any = None) -> Self:
        self._path: list[Step] = []
        self._of = 0, None
        try:
            return super()._fit(X, y, weights)
        except (KeyboardInterrupt, Stopped) as stop:
            if self._path:  # what is found so far is a whole answer to a smaller question
                self._keep_so_far(y, stop)
            raise
        finally:
            del self._path, self._of

    def _keep_so_far(self, y: Any, stop: BaseException) -> None:
        """Make the path so far the result, and say so with the interruption, which goes on."""
        self._record_label_name(y)
        self._keep(self.n_features_in_, interrupted=True)
        self._solved = True
        words = (
            f"SequentialFeatureSelector was stopped after {len(self._path)} steps. What it found so far is kept: "
            "path_, and in support_ the best columns on it."
        )
        if isinstance(stop, Stopped):
            stop.args = (words,)
        else:
            stop.add_note(words)

    def _keep(self, d: int, *, interrupted: bool) -> None:
        """Set the fitted attributes: the best subset of the size that the search came to."""
        self.path_ = tuple(self._path)
        self.n_samples_, self.classes_ = self._of
        self.support_ = np.ones(d, dtype=bool)
        self.score_ = math.nan
        if self.path_:
            removes = self.direction in ("backward", "floating-backward")
            size = (min if removes else max)(step.size for step in self.path_)
            best = max((step for step in self.path_ if step.size == size), key=lambda step: step.score)
            self.support_ = np.isin(np.arange(d), best.features)
            self.score_ = best.score
        self.interrupted_ = interrupted

    # --- checks ---

    def _open(self, X: Any, y: Any) -> tuple[Rows, Any]:
        if self.estimator is not None and not isinstance(self.estimator, str):
            if not is_instance(self.estimator):
                raise ParameterError(
                    f"SequentialFeatureSelector(estimator={self.estimator!r}): the parameter 'estimator' must be an "
                    "estimator such as LinearRegression(), an object with get_params, and no class."
                )
            if y is None and not self._tags_of_model().target_tags.required:  # it looks at X alone
                return open_rows(X), None
        return super()._open(X, y)

    def _takes(self, rows: Rows) -> bool:
        return not rows.is_sparse or self._takes_sparse

    @property
    def _takes_sparse(self) -> bool:
        if isinstance(self.estimator, str):
            return self.estimator != "discriminant"
        return self._tags_of_model().input_tags.sparse

    def _rows(self, rows: Rows, run: Run) -> Any:
        """All rows on the host, where models are fitted; sparse ones by columns."""
        X = run.to_array(rows, "SequentialFeatureSelector")
        if not rows.is_sparse:  # the folds' parts, and two scatters for each
            numbers_held = 3 * X.shape[0] * rows.d + 2 * self._n_folds * rows.d**2
            run.require(8 * numbers_held, "Sequential feature selection", "Use fewer rows or columns")
        return X.tocsc() if is_sparse(X) else to_numpy(X)

    @property
    def _n_folds(self) -> int:
        return int(self.cv) if isinstance(self.cv, numbers.Integral) else 5

    def _count(self, d: int) -> int:
        """How many columns to come to, at least one."""
        k, removes = self.n_features_to_select, self.direction in ("backward", "floating-backward")
        if self.tol is not None and not math.isfinite(self.tol):
            raise ParameterError(
                f"SequentialFeatureSelector(tol={self.tol}): tol must be a finite number. Give the least gain, or None."
            )
        if self.tol is not None and self.tol < 0 and not removes:
            raise ParameterError(
                f"SequentialFeatureSelector(tol={self.tol}): tol must be strictly positive when doing forward "
                "selection. Below zero it bounds what a removal may cost."
            )
        if isinstance(k, str):
            half = d - d // 2 if removes else max(1, d // 2)  # scikit-learn takes half of the steps
            return half if self.tol is None else 1 if removes else d
        return self._number_of(k, d)

    def _n_scores(self, d: int, k: int) -> float | None:
        """How many subsets there are to score, where that is known."""
        if self.direction in ("forward", "backward") and not (self.n_features_to_select == "auto" and self.tol):
            sizes = range(d - k + 1, d + 1) if self.direction == "forward" else range(k + 1, d + 1)
            return float(sum(sizes))
        return None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # models are fitted on the host, and support_ stays there
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _tags_of_model(self) -> Tags:
        """What the estimator says of itself; of a name, or one that a file does not keep, what every method says."""
        return get_tags(self.estimator) if hasattr(self.estimator, "__sklearn_tags__") else super().__sklearn_tags__()

    # --- out ---

    def path_table(self) -> str:
        """Return the path as a text: step, what was added or removed, score, number of columns after it."""
        return path_table(self.path_)

    def _facts(self) -> dict[str, Any]:
        own = "the model's own (accuracy of classes, R² of numbers)"
        words = own if self.scoring is None else getattr(self.scoring, "__name__", str(self.scoring))
        words = "1 less Wilks' lambda, of all rows" if words == "wilks" else f"{words}, on rows held out"
        told = {"score": self.score_, "subsets scored": vars(self).get("n_subsets_")}
        return {**told, **super()._facts(), "score of a step": words}
