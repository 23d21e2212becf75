"""Selection by a sparse linear model."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from lowland.arrays.namespace import to_numpy
from lowland.blocks.selection import lasso_path as l1_paths
from lowland.blocks.selection.lasso import LassoProblem, Solution
from lowland.blocks.selection.lasso_data import (
    LassoData,
    MomentsSample,
    RowsSample,
    check_classes_of_folds,
    check_columns,
    in_own_units,
)
from lowland.blocks.selection.one_standard_error import ValidationCurve
from lowland.blocks.selection.scorers import Splitter, folds_of
from lowland.blocks.selection.subset_search import path_table
from lowland.blocks.statistics.fold_moments import MOST_PARTS, Layout, MomentsByPart
from lowland.blocks.statistics.targets import Kind, Target
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.methods.base.column_map import ColumnMap
from lowland.methods.base.estimator import RandomState, param
from lowland.run.local import blas_on_one_thread
from lowland.run.run import Run

_KINDS: dict[str | None, Kind] = {"linear": "numbers", "logistic": "classes", None: "auto"}
_PARTS = 16  # into which rows are cut to draw halves, where their moments are all that is kept


class L1Selector(
    ColumnMap,
    verb="select-l1",
    streams=True,
    reads_y=True,
    needs_y=True,
    width_parameter="n_features_to_select",
    order_free=False,
    quick={"n_features_to_select": 2, "alphas": 20},  # of noise the rule would keep one column, and warn
):
    """Selection by a sparse linear model: a penalty on absolute coefficients leaves only columns that are needed.

    Problem: minimise loss(β) + α Σ_j |β_j|, with |y - Zβ|²/2n as loss for numbers and the mean of -log p(class) for
    classes, Z the standardised columns. Where α is large every β_j is zero; as it falls, columns enter.

    1. Sum the moments of columns and target, fold by fold, in one pass (``blocks.statistics.fold_moments``); classes, and more
       columns than rows, need the rows in memory (``blocks.selection.lasso_data``).
    2. Follow the path down a grid of penalties by coordinate descent on the covariances, each penalty from the one
       before, until the duality gap is closed; classes by Newton steps of that kind (``blocks.selection.lasso``).
    3. Choose the penalty by cross-validation (``blocks.selection.one_standard_error``); or keep what random halves of the rows
       choose again and again; or the first k columns to enter (``blocks.selection.lasso_path``).
    4. Rows keep the chosen columns.

    Cost: n d² for the moments, whatever the number of folds, then about a² a sweep for a columns that take part. Prefer
    ``SequentialFeatureSelector`` for the best few columns of a model (exhaustive: the best subset, without the
    shrinkage of the penalty), ``TreeSelector`` where effects are not linear.

    Attributes: ``support_`` (d,) bool, ``alpha_``, ``coef_`` and ``intercept_`` in the columns' own units, ``alphas_``
    (m,), ``coef_path_`` (m, d) or (m, K, d), ``entered_at_`` (d,), ``path_`` (a ``Step`` for every coming and going),
    ``cv_losses_`` (m, F), ``stability_`` (d,) and ``error_bound_`` (else None), ``dual_gaps_`` (m,), ``n_iter_``,
    ``converged_``, ``classes_``, ``n_features_to_select_``, ``n_samples_``.

    Reference: Tibshirani 1996, doi:10.1111/j.2517-6161.1996.tb02080.x; Friedman, Hastie and Tibshirani 2010,
    doi:10.18637/jss.v033.i01; Meinshausen and Bühlmann 2010, doi:10.1111/j.1467-9868.2010.00740.x; Shah and Samworth
    2013, doi:10.1111/j.1467-9868.2011.01034.x.

    Examples
    --------
    >>> from lowland import L1Selector
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> selector = L1Selector(3).fit(wine.X, wine.y)
    >>> selector.get_support(indices=True).tolist()
    [0, 11, 12]
    """

    n_features_to_select: int | None = param(
        None, "How many columns to keep: the first to enter, or the most stable; None: by the rule.", at_least=1,
        positional=True,
    )  # fmt: skip
    rule: Literal["one-standard-error", "min", "stability"] = param(
        "one-standard-error", "The largest penalty within a standard error of the least loss, that, or stability."
    )
    estimator: Literal["linear", "logistic"] | None = param(
        None, "Least squares for numbers; logistic for classes, with all rows in memory; None: as y looks."
    )
    alphas: int | Sequence[float] | None = param(
        None,
        "Number of penalties, or the penalties themselves; None: 100, for classes 50.",
        at_least=1,
        wanted="a whole number of 1 or more, a list of numbers, or None",
    )
    eps: float | None = param(
        None,
        "Least penalty of the grid as a share of the largest; None: 0.001, for classes 0.01.",
        above=0.0,
        at_most=1.0,
    )
    standardize: bool = param(True, "Give all columns the same deviation, so that units do not choose.")
    cv: int | Splitter | Iterable[Any] | None = param(
        5, "Number of folds, a splitter, or pairs of training and test rows; classes are spread evenly over folds.",
        at_least=2, wanted="a number of folds of 2 or more, a splitter, or pairs of row numbers",
    )  # fmt: skip
    threshold: float = param(
        0.75, "With stability: share of the halves that must choose a column.", above=0.5, at_most=1.0
    )
    expected_false: float = param(1.0, "With stability: wrong columns that may be kept on average.", above=0.0)
    n_subsamples: int = param(100, "With stability: halves of the rows, drawn in pairs.", at_least=2)
    tol: float = param(1e-9, "Duality gap at which a penalty is solved, as a share of the loss at none.", above=0.0)
    max_iter: int = param(100_000, "Sweeps over the columns, or Newton steps for classes, at each penalty.", at_least=1)
    random_state: RandomState = param(None, "Seed of the halves.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Sum moments or take the rows, follow the path, choose a penalty."""
        assert y is not None
        self._check_count(rows.d)
        self.cv_losses_: np.ndarray | None = None
        self.stability_: np.ndarray | None = None
        self.error_bound_: float | None = None
        target = Target.of(y, _KINDS[self.estimator]).standardized()
        sample = self._sample(rows, run, target, y)
        names = self._names(rows)
        check_columns(sample, names)
        problem = sample.whole()
        alphas = self._grid(problem.alpha_max, target)
        with run.stage("following paths", self._n_solutions(alphas, sample)) as stage, blas_on_one_thread():
            found = []
            for each in l1_paths.follow(problem, alphas, self.tol, self.max_iter):
                found.append(each)
                stage.advance()
            self._keep_path(found, sample, target, problem.start().loss, names)
            if self.rule == "stability":
                chosen = self._most_stable(problem, alphas, sample, stage.advance)
            elif self.n_features_to_select is not None:
                chosen = self._first(problem, alphas)
            else:
                chosen = self._validated(found, sample, target, stage.advance)
        self._keep(chosen, sample, target)

    # --- the sample ---

    def _sample(self, rows: Rows, run: Run, target: Target, y: np.ndarray) -> LassoData:
        """Moments of the parts of the rows where these tell all and are fewer, else the rows themselves."""
        n, d = len(y), rows.d
        in_memory = target.classes is not None or d > n
        layout = self._layout(target, y, n if in_memory else _PARTS)
        in_memory = in_memory or layout.parts > MOST_PARTS
        if not in_memory:
            run.require(16 * layout.parts * (d + 1) ** 2, "L1Selector: the moments of the folds", "Use fewer folds")
            by_part = MomentsByPart(layout.parts)
            moments = run.fold(rows, by_part, target.values, layout.part, name="summing moments")
            return MomentsSample.of(moments, layout, standardize=self.standardize)
        why = (
            f"L1Selector: classes, more columns than rows, or folds that cut the rows into more than {MOST_PARTS} "
            "parts, need all rows in memory; that"
        )
        run.require(3 * 8 * n * d, why, "Use fewer rows, columns or folds, or numbers as y, whose moments are enough")
        X = to_numpy(run.to_array(rows, "L1Selector"))
        if len(X) != n:
            raise DataError(f"X has {len(X)} rows and y has {n} values. Give one value for each row.")
        return RowsSample.of(X, target, layout, standardize=self.standardize)

    def _layout(self, target: Target, y: np.ndarray, parts: int) -> Layout:
        """Which rows go together: folds, halves, or all of them where nothing is drawn."""
        n, classes = len(y), target.classes is not None
        if self.rule == "stability":
            return Layout.of_halves(n, -(-self.n_subsamples // 2), parts, self._generator())
        if self.n_features_to_select is not None:
            return Layout(np.zeros(n, dtype=np.int64), 1, [])
        folds = folds_of(self.cv, np.empty((n, 0)), target.values, classifier=classes)
        layout = Layout.of_folds(folds, n)
        check_classes_of_folds(target, layout)
        return layout

    # --- three ways to choose ---

    def _validated(
        self, found: Sequence[Solution], sample: LassoData, target: Target, tick: Callable[[], None]
    ) -> tuple[np.ndarray, Solution]:
        """The columns that take part at the penalty that cross-validation chooses."""
        alphas = np.array([each.alpha for each in found])
        losses = l1_paths.validated(sample, alphas, self.tol, self.max_iter, tick)
        self.cv_losses_ = losses * target.scale**2
        best = found[ValidationCurve.of(losses).chosen(self.rule)]
        support = best.support
        if not support.any():
            first = int(np.argmax(self.entered_at_))
            support = np.arange(len(support)) == first
            warn(
                f"Cross-validation (rule={self.rule!r}) chooses the model without any column: as far as these rows "
                f"tell, none helps to predict y. Column {self._name(first)}, the first to enter, is kept alone. Give "
                "n_features_to_select for the first few, or rule='min'.",
                DataWarning,
            )
        return support, best

    def _first(self, problem: LassoProblem, alphas: np.ndarray) -> tuple[np.ndarray, Solution]:
        """The first k columns to enter, and the last model on the path that has no others."""
        k = int(self.n_features_to_select or 1)
        order, best = l1_paths.first_to_enter(problem, alphas, k, self.tol, self.max_iter, linger=True)
        return self._filled(order, np.abs(best.gradient).max(axis=0), k), best

    def _most_stable(
        self, problem: LassoProblem, alphas: np.ndarray, sample: LassoData, tick: Callable[[], None]
    ) -> tuple[np.ndarray, Solution]:
        """The columns that most halves of the rows choose; the model is that of all rows with as many columns."""
        d, k = int((sample.scale > 0).sum()), self.n_features_to_select
        q = max(l1_paths.entrants_allowed(d, self.threshold, self.expected_false), k or 0)
        self.stability_ = shares = l1_paths.selection_frequencies(
            sample, min(q, d), alphas / alphas[0], self.tol, self.max_iter, tick
        )
        _, best = l1_paths.first_to_enter(problem, alphas, min(q, d), self.tol, self.max_iter, linger=True)
        if k is not None:
            sizes = np.abs(best.coef).max(axis=0)
            ranked = np.lexsort((-sizes, -shares)).tolist()
            return self._filled([j for j in ranked if shares[j] > 0][:k], sizes, k), best
        self.error_bound_ = l1_paths.expected_false(d, self.threshold, q)
        support = shares >= self.threshold - 1e-12
        if self.error_bound_ > self.expected_false * (1 + 1e-9):
            warn(
                f"L1Selector(expected_false={self.expected_false:g}): each half must choose a column, and with {d} "
                f"that vary up to {self.error_bound_:.3g} wrong ones are then expected. Give expected_false="
                f"{self.error_bound_:.3g} or more, or a threshold nearer to one.",
                DataWarning,
            )
        if not support.any():
            most = int(np.argmax(shares))
            support = np.arange(len(support)) == most
            warn(
                f"No column is chosen by {self.threshold:.0%} of the halves. Column {self._name(most)}, which comes "
                f"nearest with {shares[most]:.0%}, is kept alone. Lower the threshold, or raise expected_false, which "
                f"lets each half choose more than {q}.",
                DataWarning,
            )
        return support, best

    def _filled(self, order: Sequence[int], sizes: np.ndarray, k: int) -> np.ndarray:
        """Mark the first k columns; where fewer entered, those nearest to it fill up."""
        support = np.isin(np.arange(len(sizes)), order[:k])
        missing = k - int(support.sum())
        if missing:
            near = np.where(support, -1.0, sizes)
            support[np.argsort(-near, kind="stable")[:missing]] = True
            warn(
                f"L1Selector(n_features_to_select={k}): only {k - missing} columns enter however small the penalty, "
                f"the others repeat them or do not vary. {missing} of these are kept with them. Choose at most "
                f"{k - missing}.",
                DataWarning,
            )
        return support

    # --- what is kept ---

    def _keep_path(
        self, found: Sequence[Solution], sample: LassoData, target: Target, null: float, names: Sequence[str]
    ) -> None:
        self.alphas_ = np.array([each.alpha for each in found]) * target.scale
        path = np.stack([in_own_units(each, sample, target)[0] for each in found])  # (m, K, d)
        self.coef_path_ = path[:, 0] if target.classes is None or path.shape[1] == 1 else path
        self.entered_at_ = l1_paths.entered_at(found) * target.scale
        self.path_ = l1_paths.steps_of(found, null, names)
        self.dual_gaps_ = np.array([each.gap for each in found])
        self.n_iter_ = sum(each.steps for each in found)
        self.converged_ = bool((self.dual_gaps_ <= self.tol).all())
        self.classes_, self.n_samples_ = target.classes, len(target.values)
        if not self.converged_:
            short = int((self.dual_gaps_ > self.tol).sum())
            warn(
                f"L1Selector: at {short} of {len(found)} penalties the duality gap stayed above tol={self.tol:g} (at "
                f"most {self.dual_gaps_.max():.1e}) after {self.max_iter} iterations. Raise max_iter or tol, or raise "
                "eps, which leaves the smallest penalties out.",
                ConvergenceWarning,
            )

    def _keep(self, chosen: tuple[np.ndarray, Solution], sample: LassoData, target: Target) -> None:
        self.support_, best = chosen
        self.alpha_ = best.alpha * target.scale
        coef, intercept = in_own_units(best, sample, target)
        self.coef_ = coef[0] if target.classes is None else coef
        self.intercept_: Any = float(intercept[0]) if target.classes is None else intercept

    # --- checks ---

    def _check_count(self, d: int) -> None:
        k = self.n_features_to_select
        if k is not None and k > d:
            raise ParameterError(f"L1Selector(n_features_to_select={k}): n_features={d}. Choose at most {d}.")

    def _name(self, j: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return repr(f"x{j}" if names is None else names[j])

    def _grid(self, alpha_max: float, target: Target) -> np.ndarray:
        """The penalties; classes have a shorter grid, at whose end they are fitted far better than is of use."""
        numbers_wanted = target.classes is None
        given: Any = self.alphas if self.alphas is not None else (100 if numbers_wanted else 50)
        if not isinstance(given, numbers.Integral):
            try:
                given = np.asarray(given, dtype=np.float64) / target.scale
            except (TypeError, ValueError) as error:
                raise ParameterError(
                    f"alphas={self.alphas!r}: {error}. Give a number of penalties, or a list of numbers above zero."
                ) from error
        return l1_paths.grid_of(given, alpha_max, self.eps or (1e-3 if numbers_wanted else 1e-2))

    def _n_solutions(self, alphas: np.ndarray, sample: LassoData) -> int:
        """How many models there are to find, where halves count as one."""
        F = len(sample.layout.splits)
        return len(alphas) + (2 * F if self.rule == "stability" else F * len(alphas))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # models are fitted on the host, and support_ stays there
        return tags

    # --- out ---

    def path_table(self) -> str:
        """Return the path as a text: step, which column came or went, share of the loss explained, columns after it."""
        return path_table(self.path_)

    def _facts(self) -> dict[str, Any]:
        told = {"penalty": self.alpha_, "wrong columns expected at most": self.error_bound_}
        return {**told, **super()._facts(), "score of a step": "the share of the loss that is explained after it"}
