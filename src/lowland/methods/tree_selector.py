"""Selection by a decision tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Tags

from lowland.arrays.namespace import to_numpy
from lowland.blocks.selection.one_standard_error import ValidationCurve
from lowland.blocks.selection.scorers import Splitter, folds_of, scorer_of, tell_of_constants
from lowland.blocks.selection.subset_search import path_table
from lowland.blocks.selection.tree_importance import (
    features_of,
    in_own_units,
    leaves_at,
    ranks_of,
    shuffled_losses,
    steps_of,
    validated,
)
from lowland.blocks.selection.tree_pruning import Pruning, rules_of, weakest_links
from lowland.blocks.statistics.targets import Kind, Target
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.methods.base.column_map import ColumnMap
from lowland.methods.base.estimator import RandomState, param
from lowland.run.run import Run

_KINDS: dict[str | None, Kind] = {"regressor": "numbers", "classifier": "classes", None: "auto"}


class TreeSelector(
    ColumnMap,
    verb="select-tree",
    reads_y=True,
    needs_y=True,
    width_parameter="n_features_to_select",
    order_free=False,
    quick={"n_features_to_select": 2, "n_repeats": 2},  # of noise the rule would keep one column, and warn
):
    """Selection by a decision tree: the columns in which a tree still splits after it was grown and pruned.

    Problem: minimise R(T) + α |leaves of T| over the trees T that pruning leaves of a grown one, R the impurity of the
    leaves; α by cross-validation. The columns are those of the splits of T.

    1. Grow a tree to the end on the ranks of the values, with scikit-learn's ``DecisionTreeClassifier`` or
       ``DecisionTreeRegressor``.
    2. Find the complexity α at which every split goes, the weakest first (``blocks.selection.tree_pruning``).
    3. Grow one tree for each fold, prune it through all α, and choose α by the losses on the rows held out
       (``blocks.selection.tree_importance``, ``blocks.selection.one_standard_error``).
    4. Shuffle one column at a time of the rows held out: what the score loses is the column's importance.
    5. Rows keep the columns of the pruned tree, or the k most important.

    Cost: F + 1 trees of about n d log²n each, and n times the columns met times ``n_repeats`` for the importances.
    Prefer ``L1Selector`` where effects are linear: it needs fewer rows, and reads files once.

    Attributes: ``support_`` (d,) bool, ``features_grown_``, ``features_pruned_``, ``leaves_at_`` (d,) complexity at
    which each column leaves, ``path_`` (a ``Step`` for each that leaves), ``alpha_``, ``alphas_`` (m,), ``n_leaves_``
    (m,), ``cv_losses_`` (m, F), ``permutation_importances_`` and ``permutation_deviations_`` (d,),
    ``impurity_importances_`` (d,), ``rules_``, ``score_``, ``classes_``, ``n_features_to_select_``, ``n_samples_``.

    Reference: Breiman, Friedman, Olshen and Stone 1984, doi:10.1201/9781315139470; Breiman 2001,
    doi:10.1023/A:1010933404324.

    Examples
    --------
    >>> from lowland import TreeSelector
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> selector = TreeSelector().fit(wine.X, wine.y)
    >>> selector.get_support(indices=True).tolist(), round(selector.score_, 2)
    ([6, 10, 11, 12], 0.9)
    """

    n_features_to_select: int | None = param(
        None, "How many columns to keep, by permutation; None: those in which the pruned tree splits.", at_least=1,
        positional=True,
    )  # fmt: skip
    rule: Literal["one-standard-error", "min"] = param(
        "one-standard-error", "The smallest tree within a standard error of the least loss, or that of the least."
    )
    estimator: Literal["classifier", "regressor"] | None = param(
        None, "What the tree predicts: classes or numbers; None: as y looks."
    )
    max_depth: int | None = param(None, "Levels to which the tree is grown; None: to the end.", at_least=1)
    min_samples_leaf: int = param(1, "Rows that a leaf must hold.", at_least=1)
    scoring: str | Callable[..., Any] | None = param(
        None, "Name of the scorer of the importances, or a function of estimator and X and y; None: accuracy or R².",
        wanted="the name of a scorer, a function, or None",
    )  # fmt: skip
    cv: int | Splitter | Iterable[Any] | None = param(
        5, "Number of folds, a splitter, or pairs of training and test rows; classes are spread evenly over folds.",
        at_least=2, wanted="a number of folds of 2 or more, a splitter, or pairs of row numbers",
    )  # fmt: skip
    n_repeats: int = param(5, "How often a column is shuffled in each fold.", at_least=1)
    random_state: RandomState = param(None, "Seed of the shuffles, and of the order in which splits are tried.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Grow, prune, validate, shuffle; keep what is met in the pruned tree or matters most."""
        assert y is not None
        self._check_count(rows.d)
        names = self._names(rows)
        X = self._columns(rows, run, len(y), names)
        Z = ranks_of(X)
        target = Target.of(y, _KINDS[self.estimator]).standardized()
        model = self._tree(classes=target.classes is not None)
        scorer = scorer_of(model, self.scoring)
        folds = folds_of(
            self.cv, Z, target.values, classifier=target.classes is not None, for_numbers="estimator='regressor'"
        )
        with run.stage("growing trees", 1 + 2 * len(folds)) as stage:
            grown = clone(model).fit(Z, target.values)
            self._check_split(grown, len(Z))
            goes_at = weakest_links(grown.tree_)
            pruning = Pruning.of(goes_at)
            stage.advance()
            losses = validated(model, Z, target.values, folds, pruning.alphas, stage.advance)
            best = ValidationCurve.of(losses).chosen(self.rule)
            model.set_params(ccp_alpha=float(pruning.alphas[best]))
            drops = shuffled_losses(model, scorer, Z, target, folds, self.n_repeats, self._generator(), stage.advance)
        pruned = in_own_units(clone(model).fit(Z, target.values), target)
        self._keep_pruning(grown, goes_at, pruning, losses, target, best, names)
        self.features_pruned_ = features_of(pruned.tree_)
        self.permutation_importances_ = drops.mean(axis=1)
        self.permutation_deviations_ = drops.std(axis=1)
        self.impurity_importances_ = pruned.feature_importances_
        self.rules_ = rules_of(pruned, names, X, target.classes)
        self.support_ = self._chosen(int(grown.tree_.feature[0]), names)

    # --- the parts ---

    def _columns(self, rows: Rows, run: Run, n: int, names: list[str]) -> np.ndarray:
        """All rows on the host."""
        why = "TreeSelector: a tree needs all rows in memory; that"
        run.require(3 * 8 * n * rows.d, why, "Use fewer rows or columns")
        X = to_numpy(run.to_array(rows, "TreeSelector"))
        if len(X) != n:
            raise DataError(f"X has {len(X)} rows and y has {n} values. Give one value for each row.")
        if (X.min(axis=0) == X.max(axis=0)).all():
            raise DataError("Every column is constant, so a tree has nothing to split. Pass columns that vary.")
        tell_of_constants(X, names)
        return X

    def _tree(self, *, classes: bool) -> Any:
        kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
        seed = int(self._generator().integers(2**31 - 1))
        return kind(max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf, random_state=seed)

    def _keep_pruning(
        self,
        grown: Any,
        goes_at: np.ndarray,
        pruning: Pruning,
        losses: np.ndarray,
        target: Target,
        best: int,
        names: list[str],
    ) -> None:
        """Set what growing and pruning tell; numbers in their own units again."""
        curve = ValidationCurve.of(losses)
        unit = target.scale**2
        self.features_grown_ = features_of(grown.tree_)
        self.leaves_at_ = leaves_at(grown.tree_, goes_at, self.n_features_in_) * unit
        self.alphas_, self.n_leaves_ = pruning.alphas * unit, pruning.n_leaves
        self.alpha_ = float(self.alphas_[best])
        self.cv_losses_ = losses * unit
        scores = 1 - curve.mean  # accuracy, or R² since numbers have unit variance here
        self.score_ = float(scores[best])
        self.path_ = steps_of(self.leaves_at_ / unit, self.features_grown_, pruning.alphas, scores, names)
        self.classes_, self.n_samples_ = target.classes, len(target.values)

    def _chosen(self, root: int, names: list[str]) -> np.ndarray:
        """The columns of the pruned tree, or the k most important; ties by when they leave, and by impurity."""
        d, k = self.n_features_in_, self.n_features_to_select
        if k is not None:
            ranks = np.lexsort((-self.impurity_importances_, -self.leaves_at_, -self.permutation_importances_))
            return np.isin(np.arange(d), ranks[:k])
        if self.features_pruned_.size:
            return np.isin(np.arange(d), self.features_pruned_)
        warn(
            f"Pruning (rule={self.rule!r}) leaves the bare root: as far as these rows tell, no split helps to predict "
            f"y. Column {names[root]!r}, in which the grown tree splits first, is kept alone. Give "
            "n_features_to_select for the best few, or rule='min'.",
            DataWarning,
        )
        return np.arange(d) == root

    # --- checks ---

    def _check_count(self, d: int) -> None:
        k = self.n_features_to_select
        if k is not None and k > d:
            raise ParameterError(f"TreeSelector(n_features_to_select={k}): n_features={d}. Choose at most {d}.")

    def _check_split(self, grown: Any, n: int) -> None:
        if grown.tree_.node_count == 1:
            raise ParameterError(
                f"TreeSelector(min_samples_leaf={self.min_samples_leaf}): no split of the {n} rows leaves so many on "
                "both sides, so the tree has one leaf and no column. Lower min_samples_leaf."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # trees are grown on the host, and support_ stays there
        return tags

    # --- out ---

    def rules(self) -> str:
        """Return the pruned tree as a text of conditions, in the units of the columns."""
        return self.rules_

    def path_table(self) -> str:
        """Return the path as a text: step, which column left, validated score of what is left, columns after it."""
        return path_table(self.path_)

    def _facts(self) -> dict[str, Any]:
        words = f"{'R²' if self.classes_ is None else 'accuracy'} on rows held out, of the tree after it"
        told = {"score": self.score_, "complexity": self.alpha_, **super()._facts()}
        return {**told, "score of a step": words, "rules": self.rules_}
