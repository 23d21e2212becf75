"""Feature filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils import Tags

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.blocks.selection import mrmr
from lowland.blocks.selection.column_statistics import MomentsAndTarget
from lowland.blocks.selection.columns import ColumnReader, listed
from lowland.blocks.selection.dependence import column_scores, measure_for
from lowland.blocks.selection.discoveries import discoveries, ranked
from lowland.blocks.selection.filter_scores import IN_MEMORY, StatisticName, choose_statistic, one_pass
from lowland.blocks.selection.filters import FilterScores
from lowland.blocks.selection.function_scores import function_scores
from lowland.blocks.selection.mutual_information import discrete_columns
from lowland.blocks.selection.selection_path import numbered
from lowland.blocks.statistics.targets import Target
from lowland.data.open import open_rows
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.methods.base.column_map import ColumnMap
from lowland.methods.base.estimator import RandomState, param
from lowland.run.run import Run

_FOR_ONE_PASS = "Choose statistic='pearson', 'anova' or another that is summed in one pass, use fewer rows"


class FeatureFilter(
    ColumnMap,
    verb="select-filter",
    streams=True,
    takes_sparse=True,
    reads_y=True,
    width_parameter="n_features_to_select",
):
    """Feature filter: every column gets a score by itself, from the rows or from their target, and the best are kept.

    Problem: choose the columns j with the largest s(x_j, y), a statistic of one column and the target that costs no
    model; for mRMR those with the largest s(x_j, y) - mean of s(x_j, x_i) over the columns i chosen before.

    1. Sum the statistic in one pass: variance, Pearson's r, the F of an analysis of variance, chi-square
       (``blocks.selection.filters``); or score columns in memory: Spearman's ranks, distance correlation, mutual
       information (``blocks.selection.dependence``).
    2. mRMR: add the column that is relevant and not redundant, one after the other (``blocks.selection.mrmr``).
    3. Keep the best k, a fraction, those above a threshold, or those that pass a false discovery rate.
    4. Rows keep the chosen columns.

    Cost: one pass and n d operations; in memory d n log n; mRMR sums correlations, n d². Prefer
    ``SequentialFeatureSelector`` where columns matter together and not alone, ``PCA`` where sums of columns will do.

    Attributes: ``support_`` (d,) bool, ``scores_`` (d,), ``pvalues_`` (d,) or None, ``ranking_`` (d,), 1 for the best,
    ``n_features_to_select_``, ``statistic_`` (its name), ``n_samples_``, ``classes_``; for mRMR ``path_`` (a ``Step``
    for every column) and ``relevance_``.

    Reference: Guyon and Elisseeff 2003, https://jmlr.org/papers/v3/guyon03a.html; Székely, Rizzo and Bakirov 2007,
    doi:10.1214/009053607000000505; Kraskov, Stögbauer and Grassberger 2004, doi:10.1103/PhysRevE.69.066138; Peng, Long
    and Ding 2005, doi:10.1109/TPAMI.2005.159; Benjamini and Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.

    Examples
    --------
    >>> from lowland import FeatureFilter
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> best = FeatureFilter(n_features_to_select=3).fit(wine.X, wine.y)
    >>> best.get_support(indices=True).tolist(), best.statistic_, best.scores_[6].round(1).item()
    ([6, 11, 12], 'anova', 233.9)
    """

    statistic: StatisticName | Callable[..., Any] = param(
        "auto",
        "The statistic by name, or a function of X and y; auto: anova for classes, pearson for numbers.",
        positional=True,
        wanted="'auto', 'variance', 'pearson', 'spearman', 'distance-correlation', 'mutual-information', 'anova', "
        "'chi2', 'mrmr', or a function of X and y",
    )
    n_features_to_select: int | float | Literal["auto"] = param(
        "auto",
        "How many columns to keep, or the share of them; auto: half, or those that pass what is given below.",
        wanted="a whole number of 1 or more, a share above 0 and up to 1, or 'auto'",
    )
    threshold: float | None = param(None, "Keep the columns with a score above this, whatever its sign.")
    false_discovery_rate: float | None = param(
        None, "Keep as many as are expected to hold at most this share of false ones.", above=0, at_most=1
    )
    fdr_method: Literal["benjamini-hochberg", "benjamini-yekutieli"] = param(
        "benjamini-hochberg", "How the rate is kept; yekutieli: however the columns depend on each other."
    )
    target: Literal["auto", "classes", "numbers"] = param(
        "auto", "What y holds; auto: texts, or whole numbers of few kinds with many rows each, are classes."
    )
    n_neighbors: int = param(3, "Neighbours by which mutual information is estimated.", at_least=1)
    discrete_features: Literal["auto"] | bool | Sequence[float] | np.ndarray = param(
        "auto",
        "Columns that hold classes, for mutual information: all, none, a mask or places; auto: those of sparse rows.",
        wanted="'auto', True, False, a truth value for each column, or the places of some",
    )
    n_permutations: int = param(
        0, "Permutations for p-values, for the scores that need the rows in memory; 999 is usual.", at_least=0
    )
    mrmr_form: Literal["difference", "quotient"] = param(
        "difference", "For mrmr: relevance minus redundancy, or divided by it."
    )
    mrmr_redundancy: Literal["correlation", "mutual-information"] = param(
        "correlation", "For mrmr: what both are measured by; correlation takes one pass."
    )
    random_state: RandomState = param(None, "Seed of the permutations, and of the noise that sets equal values apart.")

    # --- fit ---

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Score the columns, rank them, keep some."""
        self.statistic_, target = choose_statistic(self.statistic, y, self.target, for_numbers="target='numbers'")
        self._check_choices(self.statistic_)
        least = self._count(rows.d)
        if self.statistic_ == "mrmr":
            assert target is not None
            found, order = self._by_relevance(rows, run, target, least)
        else:
            found = self._scores(rows, run, y, target)
            order = ranked(np.where(found.constant, -np.inf, found.strength))  # what does not vary comes last
        if found.constant.all():
            raise DataError("Every column is constant, so none says anything. Pass columns that vary.")
        self.scores_, self.pvalues_, self.n_samples_ = found.values, found.pvalues, found.n
        self.ranking_ = np.empty(rows.d, dtype=np.int64)
        self.ranking_[order] = np.arange(1, rows.d + 1)
        self.support_ = self._support(found, least)
        self.classes_ = None if target is None else target.classes
        self._warn_of_support(found, rows)

    def _scores(self, rows: Rows, run: Run, y: np.ndarray | None, target: Target | None) -> FilterScores:
        """The scores of all columns, from one pass or from rows in memory."""
        summed = one_pass(self.statistic_, target, lambda: self._names(rows))
        if summed is not None:
            return summed.scores(run.fold(rows, summed.of, *summed.aligned, name=summed.stage))
        X = self._in_memory(rows, run, y)
        if callable(self.statistic):
            return function_scores(self.statistic, X, y, run, self.n_permutations, self._seed())
        assert target is not None
        measure = measure_for(self.statistic_, target, self._discrete(rows), self.n_neighbors, self._seed())
        return column_scores(ColumnReader(X), measure, run, self.n_permutations, self._seed())

    def _by_relevance(self, rows: Rows, run: Run, target: Target, k: int) -> tuple[FilterScores, np.ndarray]:
        """Add columns one after the other, and keep the path."""
        if self.mrmr_redundancy == "correlation":
            remedy = "Choose mrmr_redundancy='mutual-information', or leave columns out first by another statistic"
            run.require(4 * 8 * rows.d**2, f"The {rows.d} x {rows.d} table of correlations", remedy)
            of = MomentsAndTarget(target.n_classes)
            relevance = mrmr.by_correlation(run.fold(rows, of, target.values, name="summing correlations"))
        else:
            columns = ColumnReader(self._in_memory(rows, run, target.values))
            relevance = mrmr.by_information(columns, target, self._discrete(rows), self.n_neighbors, self._seed(), run)
        search = mrmr.GreedyChoice(relevance, quotient=self.mrmr_form == "quotient")
        moves = (move for _, move in zip(run.iterate("adding columns", k), search.moves(k), strict=True))
        self.path_, self.relevance_ = tuple(numbered(moves, self._names(rows))), relevance.values
        return FilterScores(search.scores, None, relevance.constant, relevance.n), search.ranking()

    def _support(self, found: FilterScores, k: int) -> np.ndarray:
        """Which columns are kept."""
        if self.false_discovery_rate is not None:
            if found.pvalues is None:
                raise ParameterError(_no_pvalue(self.statistic_))
            yekutieli = self.fdr_method == "benjamini-yekutieli"
            return discoveries(found.pvalues, self.false_discovery_rate, any_dependence=yekutieli)
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
                f"FeatureFilter(statistic={self.statistic!r}) requires y to be passed, but the target y is None. Call "
                "fit(X, y) with one value a row (lowland fit --label COLUMN), or choose statistic='variance', which "
                "looks at X alone."
            )
        return rows, target

    @property
    def _wants_y(self) -> bool:
        return isinstance(self.statistic, str) and self.statistic != "variance"

    def _check_choices(self, name: str) -> None:
        """Refuse what contradicts itself before anything is read."""
        ways = ("n_features_to_select", "threshold", "false_discovery_rate")
        given = [way for way in ways if getattr(self, way) not in (None, "auto")]
        if len(given) > 1:
            raise ParameterError(f"{' and '.join(given)} both say how many columns to keep. Give one of them.")
        if self.threshold is not None and np.isnan(self.threshold):
            raise ParameterError("FeatureFilter(threshold=nan): no score is above NaN. Give a number.")
        in_memory = name in IN_MEMORY or callable(self.statistic)
        if self.n_permutations and not in_memory:
            raise ParameterError(
                f"FeatureFilter(statistic={name!r}, n_permutations={self.n_permutations}): permutations are for scores "
                f"of rows in memory: {', '.join(IN_MEMORY)}, or a function. Leave n_permutations out."
            )
        if self.false_discovery_rate is not None:
            permuted = name == "mutual-information" and self.n_permutations > 0
            if name in ("variance", "mrmr") or (name == "mutual-information" and not permuted):
                raise ParameterError(_no_pvalue(name))
        if name == "mrmr" and self.threshold is not None:
            raise ParameterError(
                "FeatureFilter(statistic='mrmr', threshold=...): its scores depend on what was chosen before. Give "
                "n_features_to_select."
            )

    def _count(self, d: int) -> int:
        """How many columns to keep, where that is said by a number."""
        k = self.n_features_to_select
        if isinstance(k, str):
            return max(1, d // 2)
        return self._check_count(k, d)

    def _in_memory(self, rows: Rows, run: Run, y: np.ndarray | None) -> Any:
        """All rows on the host; sparse ones stay so."""
        n = rows.n if y is None else len(y)
        if not rows.in_memory and n is not None:
            what = f"FeatureFilter(statistic={self.statistic!r}) needs whole columns in memory and"
            run.require(2 * n * rows.d * rows.dtype.itemsize, what, _FOR_ONE_PASS)
        X = run.to_array(rows, f"FeatureFilter(statistic={self.statistic!r})")
        if y is not None and X.shape[0] != len(y):
            raise DataError(f"There are {X.shape[0]} rows in {rows.source}, and {len(y)} values of y. Give one a row.")
        return X if is_sparse(X) else to_numpy(X)

    def _discrete(self, rows: Rows) -> np.ndarray:
        return discrete_columns(self.discrete_features, rows.d, rows.is_sparse)

    def _seed(self) -> int:
        return int(self._generator().integers(2**31))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # support_ stays on the host
        tags.target_tags.required = self._wants_y
        tags.input_tags.positive_only = self.statistic == "chi2"
        return tags

    # --- out ---

    def _warn_of_support(self, found: FilterScores, rows: Rows) -> None:
        by = next((way for way in ("false_discovery_rate", "threshold") if getattr(self, way) is not None), None)
        if not self.support_.any():
            change = "Raise it" if by == "false_discovery_rate" else "Lower it"
            warn(
                f"No column passes {by}={getattr(self, str(by))}, so none is kept. {change}, or give "
                "n_features_to_select.",
                DataWarning,
            )
        taken = np.flatnonzero(self.support_ & found.constant)
        if len(taken):
            remedy = {"threshold": "Raise threshold", "false_discovery_rate": "Lower false_discovery_rate"}
            warn(
                f"Only {int((~found.constant).sum())} columns vary, and constant ones were kept as well: "
                f"{listed(self._names(rows), taken)}. {remedy.get(str(by), 'Ask for fewer columns')}.",
                DataWarning,
            )

    def _facts(self) -> dict[str, Any]:
        names, scores, ranking = self.get_feature_names_out(), self.scores_[self.support_], self.ranking_[self.support_]
        best_first = {str(names[i]): float(scores[i]) for i in np.argsort(ranking)}
        facts = {"statistic": self.statistic_, **super()._facts(), "scores": best_first}
        if "path" in facts:
            facts["score of a step"] = f"relevance {'over' if self.mrmr_form == 'quotient' else 'less'} redundancy"
        return facts


def _no_pvalue(name: str) -> str:
    remedy = "Give n_permutations=999, or" if name == "mutual-information" else "Give"
    if name not in ("variance", "mrmr", "mutual-information"):
        remedy = "Return p-values beside the scores, give n_permutations=999, or give"
    return (
        f"FeatureFilter(statistic={name!r}) has no p-value, and a false discovery rate needs one. {remedy} "
        "n_features_to_select or threshold instead of false_discovery_rate."
    )
