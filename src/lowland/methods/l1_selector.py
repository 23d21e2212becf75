"""Feature selection by L1 regularization: the lasso, L1 logistic regression and stability selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.data.rows import Rows
from lowland.errors import DataWarning, warn, with_remedy
from lowland.math.selection import lasso_path
from lowland.math.selection.columns import check_constant
from lowland.math.selection.cross_validation import Splitter, best_model, folds_of
from lowland.math.selection.lasso import Solution
from lowland.math.selection.lasso_path import LassoData, LassoPath, LassoProblem, Layout, in_own_units
from lowland.math.selection.subset_search import numbered
from lowland.math.statistics.labels import Kind, Target
from lowland.methods.base import costs
from lowland.methods.base.choices import folds_parameter, positional
from lowland.methods.base.column_map import ColumnMap
from lowland.methods.base.method import RandomState, attribute, param
from lowland.run.run import Run

_KINDS: dict[str | None, Kind] = {"linear": "numbers", "logistic": "classes", None: "auto"}
_FOR_NUMBERS = "`estimator='linear'`"  # what a user sets if y holds numbers, not classes


class L1Selector(
    ColumnMap,
    verb="select-l1",
    title="L1 selection",
    group="Columns",
    cost=costs.lasso,
    streams=True,
    all_rows=(lambda p: p.estimator == "logistic", "for classes"),
    reads_y=True,
    needs_y=True,
    width_parameter="n_features_to_select",
    order_free=False,
    quick={"n_features_to_select": 2, "alphas": 20},  # on noise the rule would select one column, and warn
):
    """L1 feature selection: columns with nonzero coefficients in a lasso or L1-penalized logistic regression.

    Problem: minimize loss(β) + α Σ_j |β_j|, where Z holds the standardized columns. The loss is |y - Zβ|²/2n for
    numbers and the mean of -log p(class) for classes. For large α every β_j is zero. As α decreases, columns enter.

    1. Compute the moments of columns and target for each fold, in one pass. Classes, and data with more columns than
       rows, need the rows in memory.
    2. Compute the regularization path by scikit-learn's least-angle regression. For classes: proximal Newton steps,
       until the duality gap of each penalty is below ``tol``.
    3. Choose the penalty by cross-validation. Or select the columns that random halves of the rows select repeatedly,
       or the first k columns to enter the path.
    4. ``transform`` returns the selected columns.

    See Also
    --------
    TreeSelector : thresholds instead of a linear model.
    SequentialFeatureSelector : search by the score of any model.
    FeatureFilter : fast scores of one column at a time.

    Notes
    -----
    Among strongly correlated columns the lasso selects one, and which one may change with the rows. rule='stability'
    shows how often each is selected. The penalty shrinks the coefficients, so refit the final model on the selected
    columns. Prefer ``SequentialFeatureSelector`` with direction='exhaustive' for the best subset without shrinkage, and
    ``TreeSelector`` for nonlinear effects.

    References
    ----------
    Tibshirani 1996, Regression shrinkage and selection via the lasso, Journal of the Royal Statistical Society B 58,
    doi:10.1111/j.2517-6161.1996.tb02080.x.

    Efron, Hastie, Johnstone and Tibshirani 2004, Least angle regression, The Annals of Statistics 32,
    doi:10.1214/009053604000000067.

    Friedman, Hastie and Tibshirani 2010, Regularization paths for generalized linear models via coordinate descent,
    Journal of Statistical Software 33, doi:10.18637/jss.v033.i01.

    Meinshausen and Bühlmann 2010, Stability selection, Journal of the Royal Statistical Society B 72,
    doi:10.1111/j.1467-9868.2010.00740.x.

    Shah and Samworth 2013, Variable selection with error control, Journal of the Royal Statistical Society B 75,
    doi:10.1111/j.1467-9868.2011.01034.x.

    Examples
    --------
    >>> from lowland import L1Selector
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> selector = L1Selector(3).fit(wine.X, wine.y)
    >>> selector.get_support(indices=True).tolist()
    [0, 11, 12]
    """

    n_features_to_select: int | None = positional(
        None,
        "Number of columns to select: the first to enter, or the most stable. None lets `rule` choose.",
        at_least=1,
    )
    rule: Literal["one-standard-error", "min", "stability"] = param(
        "one-standard-error",
        "Choice of the penalty: the largest within one standard error of the minimum cross-validated loss, the "
        "minimum, or stability selection.",
    )
    estimator: Literal["linear", "logistic"] | None = param(
        None,
        "'linear' is least squares. 'logistic' is for classes and needs all rows in memory. None decides by the "
        "values of y.",
    )
    alphas: int | Sequence[float] | None = param(
        None,
        "Number of penalties, or the penalties themselves. None means 100, or 50 for classes.",
        at_least=1,
        wanted="an integer of at least 1, a list of numbers, or None",
    )
    eps: float | None = param(
        None,
        "Smallest penalty of the grid as a fraction of the largest. A smaller one admits more columns. None means "
        "0.001, or 0.01 for classes.",
        at_least=1e-15,
        at_most=1.0,
    )
    standardize: bool = param(True, "Scale columns to standard deviation 1, so that units do not affect selection.")
    cv: int | Splitter | Iterable[Any] | None = folds_parameter()
    threshold: float = param(
        0.75,
        "For stability: fraction of the halves that must select a column. A larger one selects fewer columns.",
        above=0.5,
        at_most=1.0,
    )
    expected_false_positives: float = param(
        1.0,
        "For stability: bound on the expected number of false positives. A larger one selects more columns.",
        above=0.0,
    )
    n_subsamples: int = param(
        100, "For stability: number of random halves, sampled in complementary pairs.", at_least=2
    )
    tol: float = param(
        1e-9, "Duality gap at which a penalty counts as solved, as a fraction of the null model's loss.", above=0.0
    )
    max_iter: int = param(
        100_000,
        "Largest number of times that a column enters or leaves, or of Newton steps per penalty for classes.",
        at_least=1,
    )
    random_state: RandomState = param(None, "Seed of the random halves.", at_least=0)

    alpha_: float = attribute("Selected penalty.")
    coef_: np.ndarray = attribute(
        "Coefficients at alpha_ in the original units of the columns. For classes 2-D, one row per logit.",
        "(n_features_in_,) or (K, n_features_in_)",
    )
    intercept_: Any = attribute("Intercept at alpha_, for classes one per logit.", "() or (K,)")
    alphas_: np.ndarray = attribute("Penalties of the path, in decreasing order.", "(m,)")
    coef_path_: np.ndarray = attribute(
        "Coefficients at each penalty in the original units, 3-D for more than two classes.",
        "(m, n_features_in_) or (m, K, n_features_in_)",
    )
    entry_alphas_: np.ndarray = attribute(
        "Largest penalty at which the coefficients of a column are nonzero, or 0 if it never enters.",
        "(n_features_in_,)",
    )
    cv_losses_: np.ndarray | None = attribute(
        "Loss of each penalty on the held-out rows of each fold, or None without cross-validation.", "(m, n_folds)"
    )
    stability_: np.ndarray | None = attribute(
        "Fraction of the random halves that select each column, or None without stability selection.",
        "(n_features_in_,)",
    )
    error_bound_: float | None = attribute(
        "Bound on the expected number of false positives, or None unless stability selection decided their number."
    )
    dual_gaps_: np.ndarray = attribute("Duality gap at each penalty, as a fraction of the null model's loss.", "(m,)")
    n_iter_: int = attribute("Number of times that a column enters or leaves the path, or of Newton steps.")
    converged_: bool = attribute("Whether the duality gap reached tol at every penalty.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        assert y is not None
        if self.n_features_to_select is not None:
            self._check_count(self.n_features_to_select, rows.d)
        self.cv_losses_ = None
        self.stability_ = None
        self.error_bound_ = None
        target = Target.of(y, _KINDS[self.estimator], for_numbers=_FOR_NUMBERS).standardized()
        names, layout_of = self._names(rows), partial(self._layout, target)
        sample = lasso_path.sample_of(rows, run, target, layout_of, standardize=self.standardize)
        check_constant(sample.scale == 0, names)
        problem = sample.whole()
        alphas = self._grid(problem.alpha_max, target)
        F = len(sample.layout.splits)
        total = len(alphas) + (2 * F if self.rule == "stability" else F * len(alphas))
        with run.stage("computing regularization paths", total) as stage, blas_on_one_thread():
            path = lasso_path.path_of(problem, alphas, self.tol, self.max_iter, stage.advance)
            self._keep_path(path, sample, target, names)
            if self.rule == "stability":
                chosen = self._most_stable(problem, alphas, sample, names, stage.advance)
            elif self.n_features_to_select is not None:
                chosen = self._first(problem, alphas)
            else:
                chosen = self._validated(path, sample, target, names, stage.advance)
        self._keep(chosen, sample, target)

    def _layout(self, target: Target, parts: int) -> Layout:
        """The split of the rows: folds, random halves, or all rows where neither is needed."""
        n, classes = len(target.values), target.classes is not None
        if self.rule == "stability":
            return Layout.of_halves(n, -(-self.n_subsamples // 2), parts, self._generator())
        if self.n_features_to_select is not None:
            return Layout(np.zeros(n, dtype=np.int64), 1, [])
        folds = folds_of(self.cv, np.empty((n, 0)), target.values, classifier=classes, for_numbers=_FOR_NUMBERS)
        layout = Layout.of_folds(folds, n)
        with with_remedy(f"If `y` holds numbers rather than classes, set {_FOR_NUMBERS}."):
            lasso_path.check_classes_of_folds(target, layout)
        return layout

    def _grid(self, alpha_max: float, target: Target) -> np.ndarray:
        """The penalties; the grid for classes is shorter, since its smallest penalties would only overfit."""
        count, eps = (100, 1e-3) if target.classes is None else (50, 1e-2)
        alphas = count if self.alphas is None else self.alphas
        return lasso_path.grid_of(alphas, alpha_max, self.eps or eps, unit=target.scale)

    # --- three selection rules ---

    def _validated(
        self, path: LassoPath, sample: LassoData, target: Target, names: Sequence[str], tick: Callable[[], None]
    ) -> tuple[np.ndarray, Solution]:
        """The columns with nonzero coefficients at the penalty that cross-validation chooses."""
        losses = lasso_path.cross_validated_losses(sample, path.alphas, self.tol, self.max_iter, tick)
        self.cv_losses_ = losses * target.scale**2
        best = path.solutions[best_model(losses, self.rule)]
        support = best.support
        if not support.any():
            first = int(np.argmax(self.entry_alphas_))
            support = np.arange(len(support)) == first
            warn(
                f"`L1Selector(rule={self.rule!r})`: cross-validation selects the null model, so no column improves "
                f"the prediction of `y` on held-out rows. Only column {names[first]!r}, the first to enter, is "
                "selected. Set `n_features_to_select` for the first few columns, or `rule='min'`.",
                DataWarning,
            )
        return support, best

    def _first(self, problem: LassoProblem, alphas: np.ndarray) -> tuple[np.ndarray, Solution]:
        """The first k columns to enter, and the last model on the path that uses no other column."""
        k = int(self.n_features_to_select or 1)
        order, best = lasso_path.first_to_enter(problem, alphas, k, self.tol, self.max_iter, linger=True)
        return self._filled(order, np.abs(best.gradient).max(axis=0), k), best

    def _most_stable(
        self,
        problem: LassoProblem,
        alphas: np.ndarray,
        sample: LassoData,
        names: Sequence[str],
        tick: Callable[[], None],
    ) -> tuple[np.ndarray, Solution]:
        """The columns that most halves select; the model is the one of all rows with as many columns."""
        d, k = int((sample.scale > 0).sum()), self.n_features_to_select
        q = max(lasso_path.entrants_allowed(d, self.threshold, self.expected_false_positives), k or 0)
        often = lasso_path.selection_frequencies(
            sample, min(q, d), alphas / alphas[0], self.tol, self.max_iter, tick
        )  # fmt: skip
        self.stability_ = often
        _, best = lasso_path.first_to_enter(problem, alphas, min(q, d), self.tol, self.max_iter, linger=True)
        if k is not None:
            sizes = np.abs(best.coef).max(axis=0)
            order = [int(j) for j in np.lexsort((-sizes, -often)) if often[j] > 0]
            return self._filled(order, sizes, k), best
        self.error_bound_ = lasso_path.error_bound(d, self.threshold, q)
        support = often >= self.threshold - 1e-12
        if self.error_bound_ > self.expected_false_positives * (1 + 1e-9):
            warn(
                f"`L1Selector(expected_false_positives={self.expected_false_positives:g})`: each half selects at "
                f"least one of {d} columns, so the bound on false positives cannot be below {self.error_bound_:.3g}. "
                f"Set `expected_false_positives={self.error_bound_:.3g}` or more, or a threshold closer to 1.",
                DataWarning,
            )
        if not support.any():
            most = int(np.argmax(often))
            support = np.arange(len(support)) == most
            warn(
                f"`L1Selector(threshold={self.threshold:g})`: no column is selected in {self.threshold:.0%} of the "
                f"halves. Only column {names[most]!r}, the most frequent with {often[most]:.0%}, is "
                "selected. Lower `threshold`, or raise `expected_false_positives`, which lets each half select more "
                f"than {q}.",
                DataWarning,
            )
        return support, best

    def _filled(self, order: Sequence[int], sizes: np.ndarray, k: int) -> np.ndarray:
        """Mark the first k columns; where fewer entered, add those with the largest ``sizes``."""
        support, missing = lasso_path.fill_support(order, sizes, k)
        if missing:
            warn(
                f"`L1Selector(n_features_to_select={k})`: only {k - missing} columns enter the path, even at the "
                f"smallest penalty. The others are constant or linear combinations of them, and {missing} of these "
                f"were "
                f"added. Choose at most {k - missing}.",
                DataWarning,
            )
        return support

    # --- fitted attributes ---

    def _keep_path(self, path: LassoPath, sample: LassoData, target: Target, names: Sequence[str]) -> None:
        self.alphas_ = path.alphas * target.scale
        coef = np.stack([in_own_units(each, sample, target)[0] for each in path.solutions])  # (m, K, d)
        self.coef_path_ = coef[:, 0] if target.classes is None or coef.shape[1] == 1 else coef
        self.entry_alphas_ = path.entry_alphas * target.scale
        self.path_ = tuple(numbered(path.moves(), names))
        self.dual_gaps_ = path.dual_gaps
        outcome = path.outcome(self.tol)
        self.converged_ = outcome.converged
        self.classes_, self.n_samples_ = target.classes, len(target.values)
        short = int((self.dual_gaps_ > self.tol).sum())
        problem = f"L1Selector did not converge at {short} of {len(self.alphas_)} penalties: the duality gap is still"
        largest = f"(largest gap {self.dual_gaps_.max():.1e}) after {self.max_iter} iterations."
        self._record_convergence(
            outcome,
            "Raise `max_iter` or `tol`, or raise `eps` to drop the smallest penalties.",
            problem=f"{problem} above tol={self.tol:g} {largest}",
        )

    def _keep(self, chosen: tuple[np.ndarray, Solution], sample: LassoData, target: Target) -> None:
        self.support_, best = chosen
        self.alpha_ = best.alpha * target.scale
        coef, intercept = in_own_units(best, sample, target)
        self.coef_ = coef[0] if target.classes is None else coef
        self.intercept_ = float(intercept[0]) if target.classes is None else intercept

    def _facts(self) -> dict[str, Any]:
        facts = {"penalty": self.alpha_, "bound on expected false positives": self.error_bound_}
        return {**facts, **super()._facts(), "step score": "fraction of the null model's loss explained after the step"}
