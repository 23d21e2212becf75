"""Univariate feature filters and mRMR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.utils import Tags

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.data.open import open_rows
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.math.optimize.outcome import Outcome
from lowland.math.selection import filter_scores as scoring
from lowland.math.selection.column_statistics import ColumnsAndMoments, FilterScores, joined_scores
from lowland.math.selection.columns import listed
from lowland.math.selection.dependence import ColumnReader, column_scores, discrete_columns
from lowland.math.selection.filter_scores import IN_MEMORY, StatisticName
from lowland.math.selection.subset_search import Step, numbered
from lowland.math.statistics.labels import Target
from lowland.methods.base import costs
from lowland.methods.base.choices import positional
from lowland.methods.base.column_map import ColumnMap
from lowland.methods.base.method import RandomState, attribute, param
from lowland.run.run import Run


class FeatureFilter(
    ColumnMap,
    verb="select-filter",
    title="feature filter",
    group="Columns",
    cost=costs.column_scores,
    streams=True,
    all_rows=(lambda p: callable(p.statistic) or p.statistic in IN_MEMORY, "for statistics of ranks or neighbors"),
    takes_sparse=True,
    reads_y=True,
    width_parameter="n_features_to_select",
    missing_parameter="missing",
    missing_remedy="Set `missing='available'` to score each column by its observed values.",
):
    """Feature filter: selects the columns with the largest univariate score, such as ANOVA F or mutual information.

    Problem: select the columns j with the largest s(x_j, y), a statistic of one column and the target. No model is
    fitted. For mRMR (minimum redundancy, maximum relevance): the columns with the largest s(x_j, y) minus the mean of
    s(x_j, x_i) over the columns i that are already selected.

    1. Compute the statistic in one pass: variance, Pearson correlation, ANOVA F, chi-square. Or compute it in memory:
       Spearman correlation, distance correlation, mutual information.
    2. For mRMR: add columns one at a time, each relevant and not redundant.
    3. Select the best k columns, a fraction of them, those above a threshold, or those that pass at a chosen false
       discovery rate.
    4. ``transform`` returns the selected columns.

    See Also
    --------
    L1Selector : columns with nonzero coefficients in a linear model.
    SequentialFeatureSelector : search by the score of any model.

    Notes
    -----
    A filter scores each column alone, so it misses columns that are informative only together. Prefer
    ``SequentialFeatureSelector`` for those, ``L1Selector`` for a linear model, and ``PCA`` if linear combinations of
    the columns are acceptable. Fit the filter inside a cross-validated pipeline: a selection from all rows has used the
    test rows.

    References
    ----------
    Guyon and Elisseeff 2003, An introduction to variable and feature selection, Journal of Machine Learning Research 3,
    https://jmlr.org/papers/v3/guyon03a.html.

    Benjamini and Hochberg 1995, Controlling the false discovery rate, Journal of the Royal Statistical Society B 57,
    doi:10.1111/j.2517-6161.1995.tb02031.x.

    Székely, Rizzo and Bakirov 2007, Measuring and testing dependence by correlation of distances, The Annals of
    Statistics 35, doi:10.1214/009053607000000505.

    Kraskov, Stögbauer and Grassberger 2004, Estimating mutual information, Physical Review E 69,
    doi:10.1103/PhysRevE.69.066138.

    Peng, Long and Ding 2005, Feature selection based on mutual information, IEEE Transactions on Pattern Analysis and
    Machine Intelligence 27, doi:10.1109/TPAMI.2005.159.

    Examples
    --------
    >>> from lowland import FeatureFilter
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> best = FeatureFilter(n_features_to_select=3).fit(wine.X, wine.y)
    >>> best.get_support(indices=True).tolist(), best.statistic_, best.scores_[6].round(1).item()
    ([6, 11, 12], 'anova', 233.9)
    """

    statistic: StatisticName | Callable[..., Any] = positional(
        "auto",
        "Statistic that scores a column, or a function of X and y. 'auto' is anova for classes and pearson for "
        "numbers.",
        wanted="'auto', 'variance', 'pearson', 'spearman', 'distance-correlation', 'mutual-information', 'anova', "
        "'chi2', 'mrmr', or a function of X and y",
    )
    n_features_to_select: int | float | Literal["auto"] = param(
        "auto",
        "Number or fraction of columns to select. 'auto' selects half, unless `threshold` or false_discovery_rate "
        "is set.",
        wanted="an integer of at least 1, a fraction above 0 and at most 1, or 'auto'",
    )
    threshold: float | None = param(
        None, "Select the columns whose score exceeds this. Correlations count by their absolute value."
    )
    false_discovery_rate: float | None = param(
        None,
        "Select by p-value, with at most this expected fraction of false discoveries. A larger fraction selects "
        "more columns.",
        above=0,
        at_most=1,
    )
    fdr_method: Literal["benjamini-hochberg", "benjamini-yekutieli"] = param(
        "benjamini-hochberg",
        "Control of the false discovery rate. 'benjamini-yekutieli' holds under any dependence and selects fewer "
        "columns.",
    )
    target: Literal["auto", "classes", "numbers"] = param(
        "auto",
        "Type of y. With 'auto', strings are classes, and so are integers with few distinct values and many rows each.",
    )
    n_neighbors: int = param(
        3,
        "Number of neighbors that estimate mutual information. More neighbors lower the variance and raise the bias.",
        at_least=1,
    )
    discrete_features: Literal["auto"] | bool | Sequence[float] | np.ndarray = param(
        "auto",
        "Discrete columns, for mutual information: all, none, a mask or indices. 'auto' means all if the rows are "
        "sparse, otherwise none.",
        wanted="'auto', True, False, a boolean mask over the columns, or column indices",
    )
    n_permutations: int = param(
        0,
        "Number of permutations for p-values of statistics that need the rows in memory. The smallest p-value is "
        "1 / (1 + n_permutations), so 999 is usual.",
        at_least=0,
    )
    mrmr_form: Literal["difference", "quotient"] = param(
        "difference", "For mrmr: relevance minus redundancy, or relevance divided by redundancy."
    )
    mrmr_redundancy: Literal["correlation", "mutual-information"] = param(
        "correlation",
        "For mrmr: measure of relevance and redundancy. Correlation needs one pass, mutual information the rows "
        "in memory.",
    )
    random_state: RandomState = param(None, "Seed of the permutations and of the noise that breaks ties.", at_least=0)
    missing: Literal["available"] | None = param(
        None,
        "How NaN is handled. With 'available', each column is scored by the rows in which it has a value, and "
        "transform keeps NaN. None means that NaN is an error.",
    )

    scores_: np.ndarray = attribute(
        "Score of each column. For mRMR, the criterion when it was selected.", "(n_features_in_,)"
    )
    pvalues_: np.ndarray | None = attribute(
        "p-value of each column, or None if the statistic has no test.", "(n_features_in_,)"
    )
    ranking_: np.ndarray = attribute("Rank of each column. The best has rank 1.", "(n_features_in_,)")
    statistic_: str = attribute("Name of the statistic used.")
    relevance_: np.ndarray = attribute(
        "Relevance of each column: its association with y.", "(n_features_in_,)", when="with statistic='mrmr'"
    )
    path_: tuple[Step, ...] = attribute(
        "Steps of the search: number, action, feature, name, score, size and features after the step.",
        when="with statistic='mrmr'",
    )

    # --- fit ---

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        self.statistic_, target = scoring.choose_statistic(
            self.statistic, y, self.target, for_numbers="`target='numbers'`"
        )
        self._check_choices(self.statistic_)
        self._fitted.allow_nan = rows.allow_nan = (
            self._handles_missing and not rows.is_sparse and self.statistic_ != "mrmr"
        )
        k = self.n_features_to_select  # where neither threshold nor rate decides
        least = max(1, rows.d // 2) if isinstance(k, str) else self._check_count(k, rows.d)
        if self.statistic_ == "mrmr":
            assert target is not None
            found, order = self._by_relevance(rows, run, target, least)
        else:
            scores = self._available_scores if self._handles_missing and not rows.is_sparse else self._scores
            found = scores(rows, run, y, target)
            order = scoring.ranked(np.where(found.constant, -np.inf, found.strength))  # constant columns come last
        if found.constant.all():
            raise DataError("Every column is constant, so no column can be selected. Pass columns that vary.")
        self.scores_, self.pvalues_, self.n_samples_ = found.values, found.pvalues, found.n
        self.ranking_ = np.empty(rows.d, dtype=np.int64)
        self.ranking_[order] = np.arange(1, rows.d + 1)
        self.support_ = self._support(found, least)
        self.classes_ = None if target is None else target.classes
        self._warn_of_support(found, rows)
        self._record_convergence(Outcome("univariate", self.statistic_))

    def _scores(
        self, rows: Rows, run: Run, y: np.ndarray | None, target: Target | None, columns: np.ndarray | None = None
    ) -> FilterScores:
        """The scores of all columns, in one pass or with the rows in memory; ``columns``: which ones the rows hold."""
        summed = scoring.one_pass(self.statistic_, target, lambda: self._names(rows))
        if summed is not None:
            return summed.scores(run.fold(rows, summed.of, *summed.aligned, name=summed.stage))
        X = self._in_memory(rows, run, y)
        if callable(self.statistic):
            return scoring.function_scores(self.statistic, X, y, run, self.n_permutations, self._seed())
        assert target is not None
        discrete = self._discrete(rows, columns)
        measure = scoring.measure_for(self.statistic_, target, discrete, self.n_neighbors, self._seed())
        return column_scores(ColumnReader(X), measure, run, self.n_permutations, self._seed())

    def _available_scores(self, rows: Rows, run: Run, y: np.ndarray | None, target: Target | None) -> FilterScores:
        """The scores of each column from the rows in which it has a value; columns of one pattern together."""
        X = to_numpy(run.to_array(rows, "FeatureFilter(missing='available')"))
        observed = ~np.isnan(X)
        if observed.all():
            return self._scores(rows, run, y, target)
        empty = np.flatnonzero(~observed.any(axis=0))
        if len(empty):
            raise DataError(f"Every value is missing in column {listed(self._names(rows), empty)}. Drop such columns.")
        warn(
            f"FeatureFilter: {np.mean(~observed):.1%} of the values are missing. Each column is scored by its "
            "available cases, which is unbiased only if values are missing completely at random (MCAR).",
            DataWarning,
        )
        patterns, group = np.unique(observed, axis=1, return_inverse=True)
        parts = []
        for g in range(patterns.shape[1]):
            here, columns = patterns[:, g], np.flatnonzero(group == g)
            part = ArrayRows(X[np.ix_(here, columns)], tuple(self._names(rows)[j] for j in columns))
            own = None if y is None else y[here]
            aim = None if target is None else target.among(here)
            if aim is not None and (aim.values == aim.values[0]).all():
                continue  # a target of one value says nothing about a column: score 0, p-value 1
            parts.append((columns, self._scores(part, run, own, aim, columns)))
        return joined_scores(parts, rows.d, len(X))

    def _by_relevance(self, rows: Rows, run: Run, target: Target, k: int) -> tuple[FilterScores, np.ndarray]:
        """Add columns one at a time, and keep the path."""
        if self.mrmr_redundancy == "correlation":
            of = partial(ColumnsAndMoments.of, classes=target.n_classes)
            relevance = scoring.by_correlation(run.fold(rows, of, target.values, name="computing correlations"))
        else:
            columns = ColumnReader(self._in_memory(rows, run, target.values))
            relevance = scoring.by_information(
                columns, target, self._discrete(rows), self.n_neighbors, self._seed(), run
            )
        steps = run.iterate("adding columns", k)
        moves, scores, order = scoring.mrmr(relevance, steps, quotient=self.mrmr_form == "quotient")
        self.path_, self.relevance_ = tuple(numbered(moves, self._names(rows))), relevance.values
        return FilterScores(scores, None, relevance.constant, relevance.n), order

    def _support(self, found: FilterScores, k: int) -> np.ndarray:
        if self.false_discovery_rate is not None:
            if found.pvalues is None:
                raise _no_pvalue(self.statistic_)
            yekutieli = self.fdr_method == "benjamini-yekutieli"
            return scoring.discoveries(found.pvalues, self.false_discovery_rate, any_dependence=yekutieli)
        if self.threshold is not None:
            return found.strength > self.threshold
        return self.ranking_ <= k

    # --- choices and checks ---

    def _open(self, X: Any, y: Any) -> tuple[Rows, Any]:
        if self.statistic == "variance" and not isinstance(y, str):
            return open_rows(X), None
        rows, target = super()._open(X, y)
        if target is None and self._wants_y:
            raise DataError(
                f"`FeatureFilter(statistic={self.statistic!r})` requires `y` to be passed, but the target `y` is "
                "`None`. Call fit(X, `y`) with one value per row, or choose `statistic='variance'`, which needs no "
                "target."
            )
        return rows, target

    @property
    def _wants_y(self) -> bool:
        return isinstance(self.statistic, str) and self.statistic != "variance"

    def _check_choices(self, name: str) -> None:
        refuse = partial(ParameterError, method="FeatureFilter")
        ways = ("n_features_to_select", "threshold", "false_discovery_rate")
        given = {way: getattr(self, way) for way in ways if getattr(self, way) not in (None, "auto")}
        if len(given) > 1:
            raise refuse("each of these determines how many columns are selected.", "Set only one.", given=given)
        if self.threshold is not None and np.isnan(self.threshold):
            raise refuse("no score exceeds NaN.", "Pass a number.", threshold=self.threshold)
        if self.n_permutations and name not in IN_MEMORY and not callable(self.statistic):
            reason = f"permutation p-values need a statistic in memory: {', '.join(IN_MEMORY)}, or a function."
            remedy = "Leave `n_permutations` out."
            raise refuse(reason, remedy, statistic=name, n_permutations=self.n_permutations)
        untested = name in ("variance", "mrmr") or (name == "mutual-information" and not self.n_permutations)
        if self.false_discovery_rate is not None and untested:
            raise _no_pvalue(name)
        if name == "mrmr" and self.threshold is not None:
            reason = "mRMR scores depend on the columns already selected, so no threshold applies to all of them."
            raise refuse(reason, "Set `n_features_to_select` instead.", statistic="mrmr", threshold=self.threshold)

    def _in_memory(self, rows: Rows, run: Run, y: np.ndarray | None) -> Any:
        """All rows on the host; sparse rows stay sparse."""
        X = run.to_array(rows, f"FeatureFilter(statistic={self.statistic!r})")
        if y is not None and X.shape[0] != len(y):
            raise DataError(
                f"{rows.source} has {X.shape[0]} rows, and `y` has {len(y)} values. Pass one value of `y` per row."
            )
        return X if is_sparse(X) else to_numpy(X)

    def _discrete(self, rows: Rows, columns: np.ndarray | None = None) -> np.ndarray:
        mask = discrete_columns(self.discrete_features, self.n_features_in_, rows.is_sparse)
        return mask if columns is None else mask[columns]

    def _seed(self) -> int:
        return int(self._generator().integers(2**31))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._wants_y
        tags.input_tags.positive_only = self.statistic == "chi2"
        return tags

    # --- out ---

    def _warn_of_support(self, found: FilterScores, rows: Rows) -> None:
        by = next((way for way in ("false_discovery_rate", "threshold") if getattr(self, way) is not None), None)
        if not self.support_.any():
            change = "Raise" if by == "false_discovery_rate" else "Lower"
            warn(
                f"No column passes {by}={getattr(self, str(by))}, so no column is selected. {change} {by}, or set "
                "`n_features_to_select`.",
                DataWarning,
            )
        taken = np.flatnonzero(self.support_ & found.constant)
        if len(taken):
            remedy = {"threshold": "Raise `threshold`", "false_discovery_rate": "Lower `false_discovery_rate`"}
            warn(
                f"Only {int((~found.constant).sum())} columns are not constant, and constant columns were selected as "
                f"well: {listed(self._names(rows), taken)}. {remedy.get(str(by), 'Select fewer columns')}.",
                DataWarning,
            )

    def _facts(self) -> dict[str, Any]:
        names, scores, ranking = self.get_feature_names_out(), self.scores_[self.support_], self.ranking_[self.support_]
        best_first = {str(names[i]): float(scores[i]) for i in np.argsort(ranking)}
        facts = {"statistic": self.statistic_, **super()._facts(), "scores": best_first}
        if "path" in facts:
            sign = "divided by" if self.mrmr_form == "quotient" else "minus"
            facts["step score"] = f"relevance {sign} redundancy"
        return facts


def _no_pvalue(name: str) -> ParameterError:
    remedies = {"variance": "Set", "mrmr": "Set", "mutual-information": "Set `n_permutations=999`, or set"}
    remedy = remedies.get(name, "Return scores and p-values, set `n_permutations=999`, or set")
    remedy += " `n_features_to_select` or `threshold` instead."
    reason = "the statistic has no p-value, and `false_discovery_rate` needs p-values."
    return ParameterError(reason, remedy, method="FeatureFilter", statistic=name)
