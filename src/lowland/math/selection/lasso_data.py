"""Data of the lasso: moments of the folds, or rows in memory. Both give the problem of all rows and of every split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, warn
from lowland.math.selection.columns import listed, rows_in_memory
from lowland.math.selection.filters import check_squares
from lowland.math.selection.lasso import LassoProblem, Solution, SquaresOfMoments, SquaresOfRows, inverse_scale
from lowland.math.selection.logistic_lasso import LogLoss, log_loss
from lowland.math.statistics.fold_moments import MOST_GROUPS, GroupMoments, Layout, MomentsByGroup
from lowland.math.statistics.labels import shown
from lowland.math.statistics.targets import Target
from lowland.run.run import Run

_GROUPS = 16  # groups into which rows are divided to sample halves, where only moments are stored


class LassoData:
    """The problem of all rows, and the problems of both sets of every split."""

    layout: Layout
    mean: np.ndarray  # (d,)
    scale: np.ndarray  # (d,), zero for a constant column

    def whole(self) -> LassoProblem:
        """Return the problem of all rows."""
        raise NotImplementedError

    def part(self, split: int, side: int) -> LassoProblem | None:
        """Return the problem of one set of a split; None where it holds a single class."""
        raise NotImplementedError

    def losses(self, split: int, found: Sequence[Solution]) -> np.ndarray:
        """Return the losses on the second set of a split, of models fitted to the first."""
        raise NotImplementedError


@dataclass(frozen=True)
class MomentsSample(LassoData):
    """A target of numbers and the moments of each part of the rows."""

    moments: GroupMoments
    layout: Layout
    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, moments: GroupMoments, layout: Layout, *, standardize: bool) -> MomentsSample:
        """Compute the scales from all rows, so that a column has the same penalty in every split."""
        total = moments.of(np.arange(layout.groups))
        check_squares(total.n, total.mean[:-1], np.diagonal(total.scatter)[:-1], total.rounding)
        deviations = np.sqrt(total.variances[:-1] * ((total.n - 1) / total.n))
        return cls(moments, layout, total.mean[:-1], deviations if standardize else np.sign(deviations))

    def whole(self) -> LassoProblem:
        """Return the problem of all rows."""
        return SquaresOfMoments.of(self.moments.of(np.arange(self.layout.groups)), self.scale)

    def part(self, split: int, side: int) -> LassoProblem | None:
        """Return the problem of one set of a split."""
        return SquaresOfMoments.of(self.moments.of(self.layout.splits[split][side]), self.scale)

    def losses(self, split: int, found: Sequence[Solution]) -> np.ndarray:
        """Return the mean squared errors on the second set from its moments: (δ'Sδ)/n + (mean error)²."""
        train, test = (self.moments.of(parts) for parts in self.layout.splits[split])
        B = np.concatenate([each.coef for each in found]) * inverse_scale(
            self.scale
        )  # (m, d), in the original units of the columns
        V = np.column_stack([-B, np.ones(len(B))])
        spread = ((V @ test.scatter) * V).sum(axis=1) / test.n
        return spread + (V @ (test.mean - train.mean)) ** 2


@dataclass(frozen=True)
class RowsSample(LassoData):
    """A target of numbers or classes and the rows in memory."""

    Z: np.ndarray  # (n, d) float64, centered and scaled
    target: Target
    layout: Layout
    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, target: Target, layout: Layout, *, standardize: bool) -> RowsSample:
        """Center and scale all rows together."""
        mean = X.mean(axis=0, dtype=np.float64)
        Z = X - mean
        Z -= Z.mean(axis=0)  # the rounding error of the first mean
        with np.errstate(over="ignore"):
            deviations = np.sqrt((Z**2).mean(axis=0))
        if not np.isfinite(deviations).all():
            raise DataError("The columns are too large: their squares overflow. Rescale the columns.")
        rounding = 8 * np.finfo(X.dtype).eps
        check_squares(len(X), mean, len(X) * deviations**2, rounding**2, double=True)
        deviations[deviations <= rounding * np.abs(mean)] = 0.0
        scale = deviations if standardize else np.sign(deviations)
        Z *= inverse_scale(scale)
        return cls(Z, target, layout, mean, scale)

    def whole(self) -> LassoProblem:
        """Return the problem of all rows."""
        return self._problem(np.arange(len(self.Z)))

    def part(self, split: int, side: int) -> LassoProblem | None:
        """Return the problem of one set of a split; None where it holds a single class."""
        rows = self.layout.rows(self.layout.splits[split][side])
        if self.target.classes is not None and np.ptp(self.target.values[rows]) == 0:
            return None
        return self._problem(rows)

    def _problem(self, rows: np.ndarray) -> LassoProblem:
        Z, y = self.Z[rows], self.target.values[rows]
        return (
            SquaresOfRows.of(Z, y)
            if self.target.classes is None
            else LogLoss.of(Z, np.unique(y, return_inverse=True)[1])
        )

    def losses(self, split: int, found: Sequence[Solution]) -> np.ndarray:
        """Return mean squared errors, or means of -log p of the true class."""
        train, test = (self.layout.rows(parts) for parts in self.layout.splits[split])
        Z, y = self.Z[test], self.target.values[test]
        if self.target.classes is None:
            Z = Z - self.Z[train].mean(axis=0)
            errors = (y - self.target.values[train].mean())[:, None] - Z @ np.concatenate([s.coef for s in found]).T
            return (errors**2).mean(axis=0)
        K = found[0].coef.shape[0]
        Y = (y[:, None] == (np.arange(K) if K > 1 else [1])).astype(np.float64)
        return np.array([log_loss(Z @ s.coef.T + s.intercept, Y) for s in found])


def sample_of(
    rows: Rows, run: Run, target: Target, layout_of: Callable[[int], Layout], *, standardize: bool
) -> LassoData:
    """Return the moments of the parts where these are sufficient and smaller, otherwise the rows.

    ``layout_of`` divides the rows into groups; its argument is the largest useful number of groups.
    """
    n, d = len(target.values), rows.d
    in_memory = target.classes is not None or d > n
    layout = layout_of(n if in_memory else _GROUPS)
    if not in_memory and layout.groups <= MOST_GROUPS:
        run.require(16 * layout.groups * (d + 1) ** 2, "The moments of the folds", "Use fewer folds")
        by_group = MomentsByGroup(layout.groups)
        moments = run.fold(rows, by_group, target.values, layout.group, name="summing moments")
        return MomentsSample.of(moments, layout, standardize=standardize)
    why = (
        "All rows must be in memory, because y holds classes, there are more columns than rows, or the folds divide "
        f"the rows into more than {MOST_GROUPS} groups; this"
    )
    run.require(3 * 8 * n * d, why, "Use fewer rows, columns or folds, or a numeric `y`, which needs only moments")
    return RowsSample.of(rows_in_memory(rows, run, n, "The L1 penalty"), target, layout, standardize=standardize)


def check_classes_of_folds(target: Target, layout: Layout) -> None:
    """Refuse folds without training rows of some class."""
    if target.classes is None:
        return
    for train, _ in layout.splits:
        counts = np.bincount(target.values[layout.rows(train)], minlength=len(target.classes))
        if not counts.all():
            raise DataError(
                f"A fold has no row of class {shown(target.classes[int(np.argmin(counts))])} in its training rows. "
                "Choose fewer folds (`cv`), or drop classes with so few rows."
            )


def check_columns(sample: LassoData, names: Sequence[str]) -> None:
    """Warn of constant columns, which never enter; refuse data where every column is constant."""
    constant = np.flatnonzero(sample.scale == 0)
    if len(constant) == len(names):
        raise DataError("Every column is constant, so no column can predict `y`. Pass columns that vary.")
    if len(constant):
        many = len(constant) > 1
        warn(
            f"{'Columns' if many else 'Column'} {listed(names, constant)} {'are' if many else 'is'} constant and never "
            f"{'enter' if many else 'enters'} the path. Drop constant columns.",
            DataWarning,
        )


def in_own_units(found: Solution, sample: LassoData, target: Target) -> tuple[Any, Any]:
    """Return coefficients and intercepts in the original units of the columns, (K, d) and (K,)."""
    coef = found.coef * inverse_scale(sample.scale) * target.scale
    return coef, found.intercept * target.scale + target.center - coef @ sample.mean
