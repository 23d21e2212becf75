"""Rows and a target as sparse models see them: as moments of parts, or as rows in memory. Either gives problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.precision import rounding_of
from lowland.blocks.selection.filters import check_squares
from lowland.blocks.selection.lasso import LassoProblem, LogLoss, Solution, SquaresOfMoments, SquaresOfRows, log_loss
from lowland.blocks.statistics.fold_moments import Layout, PartMoments
from lowland.blocks.statistics.labels import shown
from lowland.blocks.statistics.targets import Target
from lowland.errors import DataError, DataWarning, warn


class LassoData:
    """What gives the problem of all rows, and those of the two sets of every split."""

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
        """Return the loss on the second set of a split of models found on the first."""
        raise NotImplementedError


@dataclass(frozen=True)
class MomentsSample(LassoData):
    """Numbers to predict from rows of which the moments are known, part by part."""

    moments: PartMoments
    layout: Layout
    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, moments: PartMoments, layout: Layout, *, standardize: bool) -> MomentsSample:
        """Scales are those of all rows, in every split: so all splits pay the same penalty for a column."""
        total = moments.of(np.arange(layout.parts))
        check_squares(total.n, total.mean[:-1], np.diagonal(total.scatter)[:-1], total.rounding)
        deviations = np.sqrt(total.variances[:-1] * ((total.n - 1) / total.n))
        return cls(moments, layout, total.mean[:-1], deviations if standardize else np.sign(deviations))

    def whole(self) -> LassoProblem:
        """Return the problem of all rows."""
        return SquaresOfMoments.of(self.moments.of(np.arange(self.layout.parts)), self.scale)

    def part(self, split: int, side: int) -> LassoProblem | None:
        """Return the problem of one set of a split."""
        return SquaresOfMoments.of(self.moments.of(self.layout.splits[split][side]), self.scale)

    def losses(self, split: int, found: Sequence[Solution]) -> np.ndarray:
        """Mean squared errors on the second set, which its moments tell: (δ'Sδ)/n + (mean error)²."""
        train, test = (self.moments.of(parts) for parts in self.layout.splits[split])
        B = np.concatenate([each.coef for each in found]) * _over(self.scale)  # (m, d), of columns in their own units
        V = np.column_stack([-B, np.ones(len(B))])
        spread = ((V @ test.scatter) * V).sum(axis=1) / test.n
        return spread + (V @ (test.mean - train.mean)) ** 2


@dataclass(frozen=True)
class RowsSample(LassoData):
    """Numbers or classes to predict from rows in memory."""

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
        Z -= Z.mean(axis=0)  # what the first mean has lost to rounding
        with np.errstate(over="ignore"):
            deviations = np.sqrt((Z**2).mean(axis=0))
        if not np.isfinite(deviations).all():
            raise DataError("The columns are too large for float64: their squares overflow. Rescale the columns.")
        rounding = rounding_of(X.dtype)
        check_squares(len(X), mean, len(X) * deviations**2, rounding**2, double=True)
        deviations[deviations <= rounding * np.abs(mean)] = 0.0
        scale = deviations if standardize else np.sign(deviations)
        Z *= _over(scale)
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
        """Mean squared errors, or the mean of -log p of the true class."""
        train, test = (self.layout.rows(parts) for parts in self.layout.splits[split])
        Z, y = self.Z[test], self.target.values[test]
        if self.target.classes is None:
            Z = Z - self.Z[train].mean(axis=0)
            errors = (y - self.target.values[train].mean())[:, None] - Z @ np.concatenate([s.coef for s in found]).T
            return (errors**2).mean(axis=0)
        K = found[0].coef.shape[0]
        Y = (y[:, None] == (np.arange(K) if K > 1 else [1])).astype(np.float64)
        return np.array([log_loss(Z @ s.coef.T + s.intercept, Y) for s in found])


def check_classes_of_folds(target: Target, layout: Layout) -> None:
    """Refuse folds that leave a class without rows to learn from."""
    if target.classes is None:
        return
    for train, _ in layout.splits:
        counts = np.bincount(target.values[layout.rows(train)], minlength=len(target.classes))
        if not counts.all():
            raise DataError(
                f"A fold leaves no row of class {shown(target.classes[int(np.argmin(counts))])} to learn from. Choose "
                "fewer folds (cv), or leave classes of so few rows out; if y holds quantities and no classes, say so "
                "with estimator='linear'."
            )


def check_columns(sample: LassoData, names: Sequence[str]) -> None:
    """Warn of constant columns, which never enter; refuse rows where there are no others."""
    constant = np.flatnonzero(sample.scale == 0)
    if len(constant) == len(names):
        raise DataError("Every column is constant, so none says anything of y. Pass columns that vary.")
    if len(constant):
        listed = ", ".join(repr(names[j]) for j in constant[:5]) + ", …" * (len(constant) > 5)
        many = len(constant) > 1
        warn(
            f"{'Columns' if many else 'Column'} {listed} {'are' if many else 'is'} constant and never "
            f"{'enter' if many else 'enters'}. Leave constant columns out.",
            DataWarning,
        )


def in_own_units(found: Solution, sample: LassoData, target: Target) -> tuple[Any, Any]:
    """Return coefficients and intercepts of the columns as they came, (K, d) and (K,)."""
    coef = found.coef * _over(sample.scale) * target.scale
    return coef, found.intercept * target.scale + target.center - coef @ sample.mean


def _over(scale: np.ndarray) -> np.ndarray:
    return np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
