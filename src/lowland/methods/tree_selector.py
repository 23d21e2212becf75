"""Feature selection by a pruned decision tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from lowland.data.rows import Rows
from lowland.errors import DataWarning, warn
from lowland.math.optimize.outcome import Outcome
from lowland.math.selection.columns import check_constant, constant_columns, rows_in_memory
from lowland.math.selection.cross_validation import Splitter, best_model, folds_of, scorer_of
from lowland.math.selection.subset_search import numbered
from lowland.math.selection.trees import (
    Pruning,
    cross_validated_losses,
    features_of,
    grow,
    in_own_units,
    permutation_importances,
    ranks_of,
    removal_alphas,
    removals,
    rules_of,
    weakest_links,
)
from lowland.math.statistics.labels import Kind, Target
from lowland.methods.base import costs
from lowland.methods.base.choices import folds_parameter, positional, refusal
from lowland.methods.base.column_map import ColumnMap
from lowland.methods.base.method import RandomState, attribute, param
from lowland.run.run import Run

_KINDS: dict[str | None, Kind] = {"regressor": "numbers", "classifier": "classes", None: "auto"}
_FOR_NUMBERS = "`estimator='regressor'`"  # what a user sets if y holds numbers, not classes


class TreeSelector(
    ColumnMap,
    verb="select-tree",
    title="tree selection",
    group="Columns",
    cost=costs.trees,
    reads_y=True,
    needs_y=True,
    width_parameter="n_features_to_select",
    order_free=False,
    quick={"n_features_to_select": 2, "n_repeats": 2},  # on noise the rule would select one column, and warn
):
    """Decision tree selection: the columns used by a CART tree after cost-complexity pruning.

    Problem: minimize R(T) + α |leaves of T| over the subtrees T of a fully grown tree, where R is the impurity of the
    leaves and α is chosen by cross-validation. The selected columns are those in the splits of T.

    1. Grow a full tree on the ranks of the values, with scikit-learn's ``DecisionTreeClassifier`` or
       ``DecisionTreeRegressor``.
    2. Compute the complexity α at which each split is pruned, weakest link first.
    3. Grow one tree per fold, prune it at every α, and choose α by the loss on the held-out rows.
    4. Permute each column in the held-out rows: the decrease of the score is its permutation importance.
    5. ``transform`` returns the columns of the pruned tree, or the k most important ones.

    See Also
    --------
    L1Selector : a linear model.
    SequentialFeatureSelector : search by the score of any model.

    Notes
    -----
    A single tree has high variance: other rows may give other splits, and of two correlated columns it often uses only
    one. Prefer ``L1Selector`` if effects are linear: it needs fewer rows and reads files in one pass.

    References
    ----------
    Breiman, Friedman, Olshen and Stone 1984, Classification and Regression Trees, doi:10.1201/9781315139470.

    Breiman 2001, Random forests, Machine Learning 45, doi:10.1023/A:1010933404324.

    Examples
    --------
    >>> from lowland import TreeSelector
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> selector = TreeSelector(random_state=0).fit(wine.X, wine.y)
    >>> selector.get_support(indices=True).tolist(), round(selector.score_, 2)
    ([6, 10, 11, 12], 0.9)
    """

    n_features_to_select: int | None = positional(
        None,
        "Number of columns to select by permutation importance. None selects those of the pruned tree.",
        at_least=1,
    )
    rule: Literal["one-standard-error", "min"] = param(
        "one-standard-error",
        "Choice of the tree: the smallest within one standard error of the minimum cross-validated loss, or the "
        "minimum.",
    )
    estimator: Literal["classifier", "regressor"] | None = param(
        None, "Type of tree: for classes or for numbers. None decides by the values of y."
    )
    max_depth: int | None = param(None, "Largest depth of the tree. None means unlimited.", at_least=1)
    min_samples_leaf: int = param(1, "Smallest number of rows in a leaf. A larger one gives smaller trees.", at_least=1)
    scoring: str | Callable[..., Any] | None = param(
        None, "Name of the scorer, or a function of the estimator with X and y. None means accuracy or R².",
        wanted="the name of a scorer, a function, or None",
    )  # fmt: skip
    cv: int | Splitter | Iterable[Any] | None = folds_parameter()
    n_repeats: int = param(
        5,
        "Number of permutations of each column per fold. More permutations are more precise and take longer.",
        at_least=1,
    )
    random_state: RandomState = param(
        None, "Seed of the permutations and of the order in which splits are tried.", at_least=0
    )

    features_grown_: np.ndarray = attribute("Indices of the columns used by the full tree.", "(n_grown,)")
    features_pruned_: np.ndarray = attribute("Indices of the columns used by the pruned tree.", "(n_pruned,)")
    removal_alphas_: np.ndarray = attribute(
        "Complexity at which the last split in each column is pruned, or 0 for a column that is never used.",
        "(n_features_in_,)",
    )
    alpha_: float = attribute("Selected complexity parameter.")
    alphas_: np.ndarray = attribute("Complexity parameters of the nested subtrees, in decreasing order.", "(m,)")
    n_leaves_: np.ndarray = attribute("Number of leaves at each complexity.", "(m,)")
    cv_losses_: np.ndarray = attribute(
        "Error rate or squared error of each complexity on the held-out rows of each fold.", "(m, n_folds)"
    )
    score_: float = attribute("Cross-validated accuracy or R² of the pruned tree.")
    permutation_importances_: np.ndarray = attribute(
        "Mean decrease of the score on held-out rows when a column is permuted.", "(n_features_in_,)"
    )
    permutation_importances_std_: np.ndarray = attribute(
        "Standard deviation of that decrease over folds and repeats.", "(n_features_in_,)"
    )
    impurity_importances_: np.ndarray = attribute(
        "Normalized decrease of impurity due to each column on the training rows.", "(n_features_in_,)"
    )
    rules_: str = attribute("The pruned tree as nested conditions, in the units of the columns.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        assert y is not None
        if self.n_features_to_select is not None:
            self._check_count(self.n_features_to_select, rows.d)
        names = self._names(rows)
        X = self._columns(rows, run, len(y), names)
        Z = ranks_of(X)
        target = Target.of(y, _KINDS[self.estimator], for_numbers=_FOR_NUMBERS).standardized()
        classes = target.classes is not None
        model = self._tree(classes=classes)
        scorer = scorer_of(model, self.scoring)
        folds = folds_of(self.cv, Z, target.values, classifier=classes, for_numbers=_FOR_NUMBERS)
        with run.stage("growing trees", 1 + 2 * len(folds)) as stage:
            grown = grow(model, Z, target.values)
            if grown.tree_.node_count == 1:
                reason = f"no split of {len(Z)} rows leaves {self.min_samples_leaf} on both sides: no column is used."
                raise refusal(self, reason, "Lower `min_samples_leaf`.", "min_samples_leaf")
            node_alphas = weakest_links(grown.tree_)
            pruning = Pruning.of(node_alphas)
            stage.advance()
            losses = cross_validated_losses(model, Z, target.values, folds, pruning.alphas, stage.advance)
            best = best_model(losses, self.rule)
            model.set_params(ccp_alpha=float(pruning.alphas[best]))
            drops = permutation_importances(
                model, scorer, Z, target, folds, self.n_repeats, self._generator(), stage.advance
            )
        pruned = in_own_units(grow(model, Z, target.values), target)
        unit = target.scale**2
        self.features_grown_, self.features_pruned_ = features_of(grown.tree_), features_of(pruned.tree_)
        last = removal_alphas(grown.tree_, node_alphas, self.n_features_in_)
        self.removal_alphas_ = last * unit
        self.alphas_, self.n_leaves_ = pruning.alphas * unit, pruning.n_leaves
        self.alpha_ = float(self.alphas_[best])
        self.cv_losses_ = losses * unit
        scores = 1 - losses.mean(axis=1)  # accuracy, or R², since y has unit variance here
        self.score_ = float(scores[best])
        self.path_ = tuple(numbered(removals(last, self.features_grown_, pruning.alphas, scores), names))
        self.classes_, self.n_samples_ = target.classes, len(target.values)
        self.permutation_importances_ = drops.mean(axis=1)
        self.permutation_importances_std_ = drops.std(axis=1)
        self.impurity_importances_ = pruned.feature_importances_
        self._record_convergence(Outcome("cart", "pruned by cross-validation"))
        self.rules_ = rules_of(pruned, names, X, target.classes)
        self.support_ = self._chosen(int(grown.tree_.feature[0]), names)

    # --- the parts ---

    def _columns(self, rows: Rows, run: Run, n: int, names: list[str]) -> np.ndarray:
        X = rows_in_memory(rows, run, n, "TreeSelector")
        check_constant(constant_columns(X), names)
        return X

    def _tree(self, *, classes: bool) -> Any:
        kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
        seed = int(self._generator().integers(2**31 - 1))
        return kind(max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf, random_state=seed)

    def _chosen(self, root: int, names: list[str]) -> np.ndarray:
        """The columns of the pruned tree, or the k most important; ties are broken by removal alpha, then impurity."""
        d, k = self.n_features_in_, self.n_features_to_select
        if k is not None:
            ranks = np.lexsort((-self.impurity_importances_, -self.removal_alphas_, -self.permutation_importances_))
            return np.isin(np.arange(d), ranks[:k])
        if self.features_pruned_.size:
            return np.isin(np.arange(d), self.features_pruned_)
        warn(
            f"`TreeSelector(rule={self.rule!r})`: the pruned tree has no split, so no column improves the prediction "
            f"of `y` on held-out rows. Only column {names[root]!r}, the first split of the full tree, is selected. "
            "Set `n_features_to_select` for the best few columns, or `rule='min'`.",
            DataWarning,
        )
        return np.arange(d) == root

    # --- out ---

    def rules(self) -> str:
        """Return the pruned tree as nested conditions, in the units of the columns."""
        return self.rules_

    def _facts(self) -> dict[str, Any]:
        words = f"{'R²' if self.classes_ is None else 'accuracy'} of the pruned tree after the step, on held-out rows"
        facts = {"score": self.score_, "complexity parameter": self.alpha_, **super()._facts()}
        return {**facts, "step score": words, "rules": self.rules_}
