"""Regularization paths: models at decreasing penalties, their cross-validation, and stability selection.

The data are the moments of the folds where these suffice, otherwise the rows. Both give the problem of all rows and of
every split.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, like, take, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataError, ParameterError
from lowland.math.optimize.outcome import Outcome
from lowland.math.selection.column_statistics import check_squares
from lowland.math.selection.columns import rows_in_memory
from lowland.math.selection.cross_validation import Folds
from lowland.math.selection.lasso import LogLoss, Solution, SquaredLoss, inverse_scale, loss_and_probabilities
from lowland.math.selection.subset_search import Move
from lowland.math.statistics.labels import Target, shown
from lowland.math.statistics.moments import Moments
from lowland.run.run import Run

LassoProblem = SquaredLoss | LogLoss

_HALVINGS = 40
MOST_PENALTIES = 100_000
_LOWEST = 1e-6  # fraction of the largest penalty down to which the path is extended where columns are missing
MOST_GROUPS = 64  # with more groups than this, the rows are kept instead of their sums
_GROUPS = 16  # groups into which rows are divided to sample halves, where only moments are stored


@dataclass(frozen=True)
class LassoPath:
    """The models at the penalties of a grid, from the largest to the smallest."""

    solutions: tuple[Solution, ...]
    null_loss: float  # of the null model, without any column
    solver: str = SquaredLoss.solver

    @property
    def alphas(self) -> np.ndarray:
        """The penalties, (m,), in decreasing order."""
        return np.array([each.alpha for each in self.solutions])

    @property
    def coef(self) -> np.ndarray:
        """The coefficients, (m, K, d); K = 1 for numbers and for two classes."""
        return np.stack([each.coef for each in self.solutions])

    @property
    def dual_gaps(self) -> np.ndarray:
        """The duality gaps as fractions of the null model's loss, (m,)."""
        return np.array([each.gap for each in self.solutions])

    @property
    def entry_alphas(self) -> np.ndarray:
        """The largest penalty at which each column is active, (d,); zero for a column that never is."""
        took_part = np.stack([each.support for each in self.solutions])  # (m, d)
        return np.where(took_part.any(axis=0), self.alphas[np.argmax(took_part, axis=0)], 0.0)

    def moves(self) -> Iterator[Move]:
        """Yield every entry and removal of a column; the score is the fraction of the null loss explained there."""
        inside: tuple[int, ...] = ()
        for each in self.solutions:
            now, score = each.support, 1 - each.loss / self.null_loss
            gone = [j for j in inside if not now[j]]
            for action, columns in (("remove", gone), ("add", _entering(each, list(inside)))):
                for j in columns:
                    inside = tuple(i for i in inside if i != j) if action == "remove" else tuple(sorted((*inside, j)))
                    yield Move(action, j, float(score), inside)

    def outcome(self, tol: float) -> Outcome:
        """Return the outcome of the solver; ``tol`` is the duality gap at which a penalty counts as solved."""
        gaps = self.dual_gaps
        return Outcome(
            self.solver,
            iterations=sum(each.steps for each in self.solutions),
            converged=bool((gaps <= tol).all()),
            trace=tuple(gaps.tolist()),
        )


def lasso_path(
    G: np.ndarray,
    q: np.ndarray,
    alphas: int | Sequence[float] | np.ndarray = 100,
    *,
    y_squares: float = 1.0,
    eps: float = 1e-3,
    tol: float = 1e-9,
    max_iter: int = 100_000,
) -> LassoPath:
    """Minimize β'Gβ/2 - q'β + α Σ_j |β_j| on a grid of decreasing penalties α, by least-angle regression.

    Parameters
    ----------
    G : ndarray of shape (d, d)
        Z'Z/n of centered columns: their correlations, if standardized.
    q : ndarray of shape (d,)
        Z'y/n: their correlations with the target, if it is standardized too.
    alphas : int or sequence of float
        Number of penalties, or the penalties themselves.
    y_squares : float
        y'y/n, 1 for a standardized target. The duality gap is relative to it.
    eps : float
        Smallest penalty of the grid as a fraction of the largest.
    tol : float
        Duality gap at which a penalty counts as solved, as a fraction of y'y/2n.
    max_iter : int
        Largest number of times that a column enters or leaves.

    Returns
    -------
    LassoPath
        ``alphas`` (m,) in decreasing order, ``coef`` (m, 1, d), ``entry_alphas`` (d,), ``dual_gaps`` (m,).

    Examples
    --------
    >>> import numpy as np
    >>> path = lasso_path(np.eye(2), np.array([0.8, -0.5]), [0.6, 0.1])
    >>> path.coef[:, 0].round(3).tolist()
    [[0.2, 0.0], [0.7, -0.4]]
    """
    G, q = np.asarray(G, dtype=np.float64), np.asarray(q, dtype=np.float64)
    problem = SquaredLoss.of_covariances(G, q, float(y_squares))
    return path_of(problem, grid_of(alphas, problem.alpha_max, eps), tol, max_iter)


def path_of(
    problem: LassoProblem, alphas: np.ndarray, tol: float, max_iter: int, tick: Callable[[], Any] = lambda: None
) -> LassoPath:
    """Return the path of a problem; ``tick`` is called after each penalty."""
    found = [problem.start()]
    for alpha in alphas:  # with warm starts
        found.append(problem.at(float(alpha), found[-1], tol, max_iter))
        tick()
    return LassoPath(tuple(found[1:]), found[0].loss, problem.solver)


def grid_of(alphas: Any, alpha_max: float, eps: float, *, unit: float = 1.0) -> np.ndarray:
    """Return penalties in decreasing order: a geometric grid of the given number, or the given penalties.

    Given penalties are divided by ``unit``.
    """
    if not alpha_max > 0:
        raise DataError(
            "Every covariance of a column with `y` is zero, up to rounding error, so no column enters at any "
            "penalty. Pass columns that are correlated with `y`."
        )
    if isinstance(alphas, numbers.Integral):
        m = int(alphas)
        if m > MOST_PENALTIES:
            raise ParameterError(f"{m:,} penalties are too many. Choose at most {MOST_PENALTIES:,}.")
        return np.geomspace(alpha_max, alpha_max * eps, m) if m > 1 else np.array([alpha_max * eps])
    try:
        given = np.asarray(alphas, dtype=np.float64) / unit
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"The penalties {alphas!r}: {error}. Pass the number of penalties, or a list of positive numbers."
        ) from error
    if given.ndim != 1 or given.size == 0 or not np.isfinite(given).all() or (given <= 0).any():
        raise ParameterError("The penalties must be finite and positive. Pass a list of at least one such number.")
    return np.sort(given)[::-1]


def first_to_enter(
    problem: LassoProblem, alphas: np.ndarray, k: int, tol: float, max_iter: int, *, linger: bool = False
) -> tuple[list[int], Solution]:
    """Return the first k columns to enter, in order, and the last model that uses no others.

    Without ``linger`` the model is the first with k columns. Where several columns enter between two penalties of the
    grid, the interval is bisected until they enter one at a time. Where fewer than k have entered at the end of the
    grid, smaller penalties are tried.
    """
    order: list[int] = []
    found = problem.start()
    smaller = min(float(alphas[-1]) / 2, problem.alpha_max) * 0.5 ** np.arange(_HALVINGS)
    smaller = smaller[smaller > _LOWEST * min(float(alphas[0]), problem.alpha_max)]
    for alpha in (*alphas.tolist(), *smaller.tolist()):
        if len(order) == k and not (linger and alpha >= alphas[-1]):
            break
        now = problem.at(alpha, found, tol, max_iter)
        new = _entering(now, order)
        if len(order) + len(new) > k:
            return _bisect(problem, found, now, order, k, tol, max_iter)
        order, found = order + new, now
    return order, found


def _bisect(
    problem: LassoProblem, before: Solution, after: Solution, order: list[int], k: int, tol: float, max_iter: int
) -> tuple[list[int], Solution]:
    """Bisect the interval between two penalties until exactly k columns have entered."""
    for _ in range(_HALVINGS):
        if len(order) == k:
            break
        now = problem.at(math.sqrt(before.alpha * after.alpha), before, tol, max_iter)
        new = _entering(now, order)
        if len(order) + len(new) > k:
            after = now
        else:
            order, before = order + new, now
    return order + _entering(after, order)[: k - len(order)], before


def _entering(found: Solution, order: list[int]) -> list[int]:
    """Columns that are active for the first time, the largest coefficient first."""
    sizes = np.abs(found.coef).max(axis=0)
    sizes[order] = 0.0
    new = np.flatnonzero(sizes)
    return new[np.argsort(-sizes[new], kind="stable")].tolist()


def fill_support(order: Sequence[int], sizes: np.ndarray, k: int) -> tuple[np.ndarray, int]:
    """Mark the first k columns, (d,) bool; where fewer entered, add those with the largest ``sizes``.

    Also return how many were added.
    """
    support = np.isin(np.arange(len(sizes)), order[:k])
    missing = k - int(support.sum())
    if missing:
        near = np.where(support, -1.0, sizes)
        support[np.argsort(-near, kind="stable")[:missing]] = True
    return support, missing


# --- data: moments of groups of rows, which serve every training set made of these groups, or the rows ---


@dataclass(frozen=True)
class GroupMoments:
    """The moments of the columns and, last, of the target, for every group of the rows."""

    groups: tuple[Moments | None, ...]  # None: no row of that group so far

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.groups, other.groups, strict=True)
        return type(self)(tuple(b if a is None else a if b is None else a + b for a, b in pairs))

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return all(group is None or group.is_finite() for group in self.groups)

    def of(self, chosen: np.ndarray) -> Moments:
        """Return the moments of some groups together, in numpy."""
        met = [self.groups[p] for p in chosen]
        total = reduce(add, (group for group in met if group is not None))
        return Moments(total.n, total.rows, to_numpy(total.mean), to_numpy(total.scatter), total.rounding)


def moments_by_group(X: Array, y: np.ndarray, group: np.ndarray, groups: int) -> GroupMoments:
    """Return the moments of a chunk; y should be standardized, since it is converted to the precision of X."""
    table = xp_of(X).concat([X, like(y, X)[:, None]], axis=1)  # (m, d + 1)
    found: list[Moments | None] = [None] * groups
    for p in np.unique(group):
        rows = np.flatnonzero(group == p)
        mine = table if len(rows) == len(group) else take(table, rows)
        found[p] = Moments.of(mine)
    return GroupMoments(tuple(found))


@dataclass(frozen=True)
class Layout:
    """The group of each row, and the groups of the two sets of every split."""

    group: np.ndarray  # (n,)
    groups: int
    splits: list[tuple[np.ndarray, np.ndarray]]  # groups to train and to test on, or two halves

    @classmethod
    def of_folds(cls, folds: Folds, n: int) -> Self:
        """Group rows that are always in the same set into one group: without overlap, one group per fold."""
        group, signs = np.zeros(n, dtype=np.int64), np.zeros((1, 0), dtype=np.int8)  # (groups, folds so far)
        for first, second in folds:
            if np.bincount(np.concatenate([first, second]), minlength=n).max() > 1:
                raise ParameterError(
                    "`cv`: a fold contains a row twice, in its training rows, in its test rows, or in both. Use each "
                    "row at most once per fold: repeated rows are not supported, and held-out rows must not be "
                    "trained on."
                )
            mark = np.zeros(n, dtype=np.int64)  # 0: in neither, 1: in the first, 2: in the second
            mark[first], mark[second] = 1, 2
            code = 3 * group + mark
            met = np.flatnonzero(np.bincount(code, minlength=3 * len(signs)))
            place = np.zeros(3 * len(signs), dtype=np.int64)
            place[met] = np.arange(len(met))
            group, signs = place[code], np.column_stack([signs[met // 3], (met % 3).astype(np.int8)])
        return cls(group, len(signs), [(np.flatnonzero(s == 1), np.flatnonzero(s == 2)) for s in signs.T])

    @classmethod
    def of_halves(cls, n: int, pairs: int, groups: int, random: np.random.Generator) -> Self:
        """Split the rows into groups at random; each pair of halves is a random half of the groups, and the rest.

        Every half is then as likely as any other of its size, as the error bound requires.
        """
        groups = min(groups, n)
        group, half = random.permutation(n) % groups, groups // 2
        drawn = [random.permutation(groups) for _ in range(pairs)]
        return cls(group, groups, [(np.sort(order[:half]), np.sort(order[half : 2 * half])) for order in drawn])

    def rows(self, groups: np.ndarray) -> np.ndarray:
        """Return the rows of some groups."""
        chosen = np.zeros(self.groups, dtype=bool)
        chosen[groups] = True
        return np.flatnonzero(chosen[self.group])


@dataclass(frozen=True)
class MomentsSample:
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
        return SquaredLoss.of_moments(self.moments.of(np.arange(self.layout.groups)), self.scale)

    def part(self, split: int, side: int) -> LassoProblem | None:
        """Return the problem of one set of a split."""
        return SquaredLoss.of_moments(self.moments.of(self.layout.splits[split][side]), self.scale)

    def losses(self, split: int, found: Sequence[Solution]) -> np.ndarray:
        """Return the mean squared errors on the second set from its moments: (δ'Sδ)/n + (mean error)²."""
        train, test = (self.moments.of(parts) for parts in self.layout.splits[split])
        B = np.concatenate([each.coef for each in found]) * inverse_scale(self.scale)  # (m, d), in original units
        V = np.column_stack([-B, np.ones(len(B))])
        spread = ((V @ test.scatter) * V).sum(axis=1) / test.n
        return spread + (V @ (test.mean - train.mean)) ** 2


@dataclass(frozen=True)
class RowsSample:
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
        if self.target.classes is None:
            return SquaredLoss.of_rows(Z, y)
        return LogLoss.of(Z, np.unique(y, return_inverse=True)[1])

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
        return np.array([loss_and_probabilities(Z @ s.coef.T + s.intercept, Y)[0] for s in found])


LassoData = MomentsSample | RowsSample


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
        by_group = partial(moments_by_group, groups=layout.groups)
        moments = run.fold(rows, by_group, target.values, layout.group, name="summing moments")
        return MomentsSample.of(moments, layout, standardize=standardize)
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


def in_own_units(found: Solution, sample: LassoData, target: Target) -> tuple[Any, Any]:
    """Return coefficients and intercepts in the original units of the columns, (K, d) and (K,)."""
    coef = found.coef * inverse_scale(sample.scale) * target.scale
    return coef, found.intercept * target.scale + target.center - coef @ sample.mean


def cross_validated_losses(
    sample: LassoData, alphas: np.ndarray, tol: float, max_iter: int, tick: Callable[[], Any]
) -> np.ndarray:
    """Return the loss of each penalty on the held-out rows of each fold, (m, F)."""
    losses = np.empty((len(alphas), len(sample.layout.splits)))
    for fold in range(losses.shape[1]):
        problem = sample.part(fold, 0)
        assert problem is not None  # checked before
        losses[:, fold] = sample.losses(fold, path_of(problem, alphas, tol, max_iter, tick).solutions)
    return losses


# --- stability selection: columns that the lasso selects repeatedly on random halves of the rows ---


def selection_frequencies(
    sample: LassoData, q: int, fractions: np.ndarray, tol: float, max_iter: int, tick: Callable[[], Any]
) -> np.ndarray:
    """Return the fraction of the halves in which each column is among the first q to enter, (d,).

    ``fractions`` are the penalties of a grid, as fractions of the largest of each half.
    """
    counts = np.zeros(len(sample.scale))
    for pair in range(len(sample.layout.splits)):
        for side in (0, 1):
            problem = sample.part(pair, side)
            if problem is not None and problem.alpha_max > 0:
                counts[first_to_enter(problem, problem.alpha_max * fractions, q, tol, max_iter)[0]] += 1
            tick()
    return counts / (2 * len(sample.layout.splits))


def entrants_allowed(d: int, threshold: float, expected_false_positives: float) -> int:
    """Return how many columns each half may select, so that the bound on false positives holds."""
    return max(1, min(d, math.floor(math.sqrt(expected_false_positives * (2 * threshold - 1) * d) + 1e-9)))


def error_bound(d: int, threshold: float, q: int) -> float:
    """Return the bound on the expected number of false positives, q²/((2π - 1)d).

    Meinshausen and Bühlmann (2010) for exchangeable noise columns. Shah and Samworth (2013), with complementary pairs
    of halves, without that condition: for columns that a half selects less often than at random.
    """
    return q**2 / ((2 * threshold - 1) * d)
