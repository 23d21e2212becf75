"""What the axes and regions of a map mean: fitted vectors, smooth surfaces, local loadings and contrasts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.arrays.random import generator
from lowland.data.arrow_columns import numbers_and_texts, open_arrow, whole_table
from lowland.data.open import as_vector
from lowland.errors import DataError, ParameterError
from lowland.evidence.clusters import find_clusters, label_codes
from lowland.evidence.contrasts import Effect, effect_of_levels, effect_of_numbers, sort_effects
from lowland.evidence.problem import MapProblem, open_problem
from lowland.evidence.reliability import false_discovery_rates
from lowland.evidence.surfaces import Surface, ThinPlate
from lowland.math.statistics.labels import missing_labels
from lowland.plain import html_table
from lowland.run.run import Run
from lowland.suggestions import did_you_mean

PERMUTATIONS = 999
_SURFACE_PERMUTATIONS, _SURFACE_SIZE = 199, 10  # dimension of the spline, as in ordisurf
_REACH = 0.06  # distance from a point up to which a surface is drawn, relative to the map
_MOST_LEVELS = 50  # a text with more levels, or one level per two rows, is not a category
_MOST_REGIONS, _REGION_ROWS = 8, 25  # regions of the map; rows of a region, at least
_STEP = 0.5  # of a derivative, in standard deviations of the column within the region
_PLACED, _LEAST_PLACED = 20_000, 5  # rows that transform places for all derivatives; points per region, at least
_RIDGE = 0.1  # of local regressions, relative to the number of rows


@dataclass(frozen=True, eq=False)
class FittedColumn:
    """How a column is related to the axes of a map.

    Attributes
    ----------
    name : str
        The column.
    r2 : float
        Numbers: fraction of the column's variance that a linear function of the axes explains. Categories: fraction of
        the squared distances of the points from their center that lies between the centers of the levels.
    p_value, q_value : float
        Fraction of random permutations with as large an r², and the same corrected for the number of columns.
    direction : array of shape (k,) or None
        Numbers: unit vector in the map in which the column increases fastest.
    centers : dict from level to array of shape (k,), or None
        Categories: mean of the points of each level.
    n : int
        Rows where the column is observed.
    """

    name: str
    r2: float
    p_value: float
    q_value: float
    direction: np.ndarray | None
    centers: dict[str, np.ndarray] | None
    n: int


@dataclass(frozen=True, eq=False)
class Region:
    """How the map moves with the columns in one region.

    Attributes
    ----------
    label : str or int
        The region.
    size : int
        Number of rows.
    center : array of shape (k,)
        Median of the points.
    loadings : array of shape (k, d)
        Movement in the map when a column increases by its standard deviation within the region.
    drivers : list of (str, float)
        Columns by the length of their movement, longest first, with the fraction of all squared movement.
    """

    label: Any
    size: int
    center: np.ndarray
    loadings: np.ndarray
    drivers: list[tuple[str, float]]


@dataclass(frozen=True, eq=False)
class Arrows:
    """The columns as a page draws them over a map."""

    columns: list[FittedColumn]
    center: np.ndarray  # (k,) of the points
    spread: float  # their root mean squared distance from it


@dataclass(frozen=True, eq=False)
class Heights:
    """A surface on a grid over a map."""

    surface: Surface
    x: np.ndarray  # (g,)
    y: np.ndarray  # (g,)
    heights: np.ndarray  # (g, g), a row per y; NaN far from all points


@dataclass(frozen=True, eq=False)
class Description:
    """What the axes and regions of a map mean.

    Attributes
    ----------
    columns : list of FittedColumn
        The columns by r², largest first.
    arrows : array of shape (k, number of numeric columns)
        Directions of the numeric columns times the square root of r², for ``plots.biplot(Z, arrows, arrow_names)``.
    summary : str
        A paragraph to quote.
    """

    problem: MapProblem = field(repr=False)
    columns: list[FittedColumn]
    values: dict[str, np.ndarray] = field(repr=False)  # numbers, NaN where missing; or texts
    random_state: int

    @classmethod
    def of(
        cls, problem: MapProblem, values: dict[str, np.ndarray], seed: int, permutations: int = PERMUTATIONS
    ) -> Description:
        """Describe a map by columns of numbers (NaN where missing) or texts; constant columns are left out."""
        varying = {name: column for name, column in values.items() if _varies(column)}
        fitted = _fit_columns(problem, varying, permutations, np.random.default_rng(seed))
        return cls(problem, fitted, varying, seed)

    @property
    def arrow_names(self) -> list[str]:
        """Names of the numeric columns, by r²."""
        return [column.name for column in self.columns if column.direction is not None]

    @property
    def arrows(self) -> np.ndarray:
        """Directions of the numeric columns times the square root of r², (k, number of columns)."""
        found = [np.sqrt(c.r2) * c.direction for c in self.columns if c.direction is not None]
        return np.stack(found, axis=1) if found else np.empty((self.problem.Z.shape[1], 0))

    @cached_property
    def _spline(self) -> ThinPlate:
        if self.problem.Z.shape[1] < 2:
            raise DataError("The map has one axis. A surface needs two. Fit the method with `n_components=2`.")
        return ThinPlate.over(self.problem.Z[:, :2], _SURFACE_SIZE, np.random.default_rng(self.random_state))

    def surface(self, name: str) -> Surface:
        """Return a smooth surface of a numeric column over the first two axes of the map.

        Draw it with ``plots.surface``. It shows what an arrow cannot: columns that are largest in the middle, or along
        a curve.
        """
        y = self.values.get(name)
        if y is None or y.dtype.kind != "f":
            known = did_you_mean(name, self.arrow_names) or f"Choose one of {', '.join(self.arrow_names[:10])}."
            raise ParameterError(f"`{name}` is not a numeric column. {known}".strip())
        rng = np.random.default_rng(self.random_state)
        there = np.isfinite(y)
        spline = self._spline if there.all() else ThinPlate.over(self.problem.Z[there, :2], _SURFACE_SIZE, rng)
        if np.ptp(y[there]) == 0:
            raise DataError(f"Column `{name}` is constant, so it has no surface.")
        return spline.fit(name, y[there], _SURFACE_PERMUTATIONS, rng)

    def drawn_arrows(self, most: int) -> Arrows:
        """Return the columns of largest r², at most so many, and where an arrow begins."""
        Z = self.problem.Z
        center = Z.mean(axis=0)
        return Arrows(self.columns[:most], center, float(np.sqrt(((Z - center) ** 2).sum(axis=1).mean())))

    def drawn_surface(self, name: str, grid: int) -> Heights:
        """Return the surface of a column on a grid over the map."""
        from scipy.spatial import cKDTree

        surface, Z = self.surface(name), self.problem.Z[:, :2]
        low, high = Z.min(axis=0), Z.max(axis=0)
        x, y = (np.linspace(low[i], high[i], grid) for i in range(2))
        at = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        near = cKDTree(Z).query(at)[0] <= _REACH * float(np.max(high - low))
        return Heights(surface, x, y, np.where(near, surface(at), np.nan).reshape(grid, grid))

    def regions(self, labels: Any = None) -> list[Region]:
        """Return how the map moves with the columns, region by region: the Jacobian of ``transform``.

        Parameters
        ----------
        labels : array-like of shape (n,) or None, default None
            Region of each row. None means up to eight regions of nearby points (k-means).

        Returns
        -------
        list of Region
            The derivatives of the coordinates by the columns, averaged over points of the region. Without a model that
            can place rows, or with many columns, they are those of a regression within the region.
        """
        if self.problem.pairwise:
            raise DataError("This map was made from distances, so it has no columns. Describe it by other columns.")
        if labels is None:
            count = int(np.clip(self.problem.n // (2 * _REGION_ROWS), 1, _MOST_REGIONS))
            codes, names = find_clusters(self.problem.Z, count)
        else:
            codes, names = label_codes(labels, self.problem.kept)
        sizes = np.bincount(codes[codes >= 0], minlength=len(names))
        tested = [c for c in np.argsort(-sizes, kind="stable") if sizes[c] >= min(_REGION_ROWS, self.problem.n)]
        if not tested:
            raise DataError(f"No region has {_REGION_ROWS} rows. Pass larger regions.")
        rng = np.random.default_rng(self.random_state)
        found = []
        for i in Run().iterate("moving points along columns", len(tested)):
            rows = np.flatnonzero(codes == tested[i])
            loadings = _loadings(self.problem, rows, len(tested), rng)
            length = np.sum(loadings**2, axis=0)
            total = float(length.sum()) or 1.0
            order = np.argsort(-length, kind="stable")
            drivers = [(self.problem.names[j], float(length[j]) / total) for j in order]
            center = np.median(self.problem.Z[rows], axis=0)
            found.append(Region(names[tested[i]], len(rows), center, loadings, drivers))
        return found

    def contrasts(self, labels: Any = None) -> dict[Any, list[Effect]]:
        """Return which columns set each cluster apart from the other rows, largest effect first.

        Parameters
        ----------
        labels : array-like of shape (n,) or None, default None
            Cluster of each row. -1 or a missing label: no cluster. None means dense regions of the map (HDBSCAN).

        Notes
        -----
        The intervals hold for labels that come from elsewhere. Clusters that were found in the same rows are chosen to
        differ, so their effects have no interval (None). If you pass such clusters yourself, ignore the intervals.
        """
        from dataclasses import replace

        codes, names = find_clusters(self.problem.Z) if labels is None else label_codes(labels, self.problem.kept)
        coded = {name: _coded(values) for name, values in self.values.items() if values.dtype.kind == "O"}
        found = {}
        for c, label in enumerate(names):
            chosen = codes == c
            effects = sort_effects(
                effect_of_levels(name, *coded[name], chosen) if name in coded
                else effect_of_numbers(name, values, chosen)
                for name, values in self.values.items()
            )  # fmt: skip
            found[label] = effects if labels is not None else [replace(e, interval=None) for e in effects]
        return found

    @cached_property
    def summary(self) -> str:
        """A paragraph to quote."""
        related = [c for c in self.columns if c.q_value <= 0.05]
        if not related:
            return f"None of the {len(self.columns)} columns is related to the axes of the map."
        first = ", ".join(f"{c.name} (r² = {c.r2:.2f}, p = {c.p_value:.3f})" for c in related[:3])
        more = f" {len(related)} of {len(self.columns)} columns are related at a false discovery rate of 5%."
        return f"The axes of the map follow {first}.{more}"

    def __repr__(self) -> str:
        return f"Description: {self.summary}"

    def _repr_html_(self) -> str:
        """Return the first ten columns as a table, which a notebook shows."""
        rows = [(c.name, f"{c.r2:.2f}", f"{c.p_value:.3f}", f"{c.q_value:.3f}") for c in self.columns[:10]]
        return html_table(rows, ("column", "r²", "p-value", "q-value"), self.summary)


def describe(model: Any, X: Any, *, columns: Any = None, method: Any = None, random_state: Any = None) -> Description:
    """Describe what the axes and regions of a map mean.

    Parameters
    ----------
    model : fitted estimator, Pipeline, or array-like of shape (n, k)
        Fitted model, or the coordinates of a map made elsewhere.
    X : array-like of shape (n, d) or path
        The data that the map shows, or its distances if the model expects them.
    columns : table with n rows, path, or None, default None
        The columns to describe the map by: numbers and categories, with missing values. None means those of X.
    method : estimator or None, default None
        For coordinates made elsewhere: the unfitted estimator that compares rows as the map does.
    random_state : int, Generator or None, default None
        Seed of permutations and samples. None uses the same seed every time.

    Returns
    -------
    Description
        ``columns``: fitted vectors of all columns with r² and permutation p-values. ``surface(name)``: a smooth
        surface. ``regions()``: local loadings. ``contrasts()``: what sets clusters apart. ``summary``.

    Notes
    -----
    Fitted vectors are those of ``envfit`` in the R package vegan. Surfaces are close to its ``ordisurf``, whose basis
    depends on the unit of the map. The p-values test whether a column is related to the map more than a random
    permutation of it. Columns from which the map was made nearly always are, even if they are noise. For them the
    p-value is no evidence. Whether the map itself shows structure is a question for ``lowland.reliability``.

    References
    ----------
    Oksanen, J., et al. vegan: Community Ecology Package. https://CRAN.R-project.org/package=vegan

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("iris").X
    >>> found = lowland.describe(lowland.PCA(2).fit(X), X)
    >>> found.columns[0].name, round(found.columns[0].r2, 3)
    ('x2', 0.998)
    """
    rng = generator(0 if random_state is None else random_state)
    seed = int(rng.integers(2**31 - 1))
    problem = open_problem(model, X, None, method)
    if columns is None and problem.pairwise:
        raise DataError("This map was made from distances. Pass the table to describe it by as `columns`.")
    found = Description.of(problem, _opened(problem, X, columns), seed)
    if not found.columns:
        raise DataError("The table has no column to describe the map by: all are constant, or free text.")
    return found


def _opened(problem: MapProblem, X: Any, columns: Any) -> dict[str, np.ndarray]:
    """The columns by name for the rows with coordinates: floats with NaN, and texts with None."""
    if columns is None and (is_sparse(problem.X) or is_sparse(X)):
        dense = problem.X.tocsc()
        found = {name: dense[:, [j]].toarray()[:, 0].astype(np.float64) for j, name in enumerate(problem.names)}
    else:
        arrow, names, _ = open_arrow(X if columns is None else columns)
        numbers, texts = numbers_and_texts(whole_table(arrow, names))
        both = {name: numbers[name] if name in numbers else texts[name] for name in names}
        found = {name: as_vector(values, len(problem.kept), name)[problem.kept] for name, values in both.items()}
    return found


def _varies(values: np.ndarray) -> bool:
    """Whether a column can describe a map: numbers that differ, or a category."""
    if values.dtype.kind == "O":
        levels = {str(v) for v in values[~missing_labels(values)]}
        return 2 <= len(levels) <= min(_MOST_LEVELS, len(values) // 2)
    known = values[np.isfinite(values)]
    return len(known) >= 3 and bool(np.ptp(known) > 0)


def _coded(values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Levels as indices, -1 where missing, and their names."""
    known = ~missing_labels(values)
    codes = np.full(len(values), -1)
    levels, codes[known] = np.unique(values[known].astype(str), return_inverse=True)
    return codes, levels.tolist()


def _fit_columns(
    problem: MapProblem, values: dict[str, np.ndarray], permutations: int, rng: np.random.Generator
) -> list[FittedColumn]:
    """The relation of each column to the axes, and its p-value: all columns see the same permutations."""
    n, Z = problem.n, problem.Z
    basis, _ = np.linalg.qr(Z - Z.mean(axis=0))
    span = np.sqrt(((Z - Z.mean(axis=0)) ** 2).sum())
    plain = {name: y for name, y in values.items() if y.dtype.kind == "f"}
    whole = [name for name, y in plain.items() if np.isfinite(y).all()]
    Y = np.stack([_unit(plain[name]) for name in whole], axis=1) if whole else np.empty((n, 0))
    others = {name: _Partial.of(Z, y) for name, y in values.items() if name not in whole}
    r2 = ((basis.T @ Y) ** 2).sum(axis=0)
    as_good, as_good_of = np.zeros(len(whole)), dict.fromkeys(others, 0.0)
    for _ in Run().iterate("permuting rows", permutations):
        order = rng.permutation(n)
        as_good += ((basis[order].T @ Y) ** 2).sum(axis=0) >= r2 - 1e-12
        for name, part in others.items():
            as_good_of[name] += part.r2(order) >= part.observed - 1e-12
    counts: dict[str, float] = dict(zip(whole, as_good.tolist(), strict=True)) | as_good_of
    p = {name: (1 + count) / (1 + permutations) for name, count in counts.items()}
    q = dict(zip(p, false_discovery_rates(np.array(list(p.values()))), strict=True))
    found = []
    for name, y in values.items():
        there = np.isfinite(y) if y.dtype.kind == "f" else ~missing_labels(y)
        direction, centers = None, None
        if y.dtype.kind == "f":
            slope = np.linalg.lstsq(Z[there] - Z[there].mean(axis=0), _unit(y[there]), rcond=None)[0] * span
            direction = slope / (np.linalg.norm(slope) or 1.0)
        else:
            codes, levels = _coded(y)
            centers = {level: Z[codes == c].mean(axis=0) for c, level in enumerate(levels)}
        strength = float(r2[whole.index(name)]) if name in whole else others[name].observed
        found.append(FittedColumn(name, strength, p[name], float(q[name]), direction, centers, int(there.sum())))
    return sorted(found, key=lambda column: -column.r2)


def _unit(y: np.ndarray) -> np.ndarray:
    """A column with mean 0 and length 1."""
    y = y - y.mean()
    y = y / (np.abs(y).max() or 1.0)
    return np.asarray(y / (np.linalg.norm(y) or 1.0))


@dataclass(frozen=True, eq=False)
class _Partial:
    """A column with missing values, or a category: which rows it has, and r² when these are permuted."""

    rows: np.ndarray
    basis: np.ndarray  # orthonormal, of the axes for numbers and of the levels for categories
    target: np.ndarray
    observed: float

    @classmethod
    def of(cls, Z: np.ndarray, y: np.ndarray) -> _Partial:
        if y.dtype.kind == "f":
            rows = np.flatnonzero(np.isfinite(y))
            around = Z[rows] - Z[rows].mean(axis=0)
            basis, target = np.linalg.qr(around)[0], _unit(y[rows])[:, None]
        else:
            codes, levels = _coded(y)
            rows = np.flatnonzero(codes >= 0)
            inside = (codes[rows][:, None] == np.arange(len(levels))[None, :]).astype(np.float64)
            basis = inside / np.sqrt(inside.sum(axis=0))
            target = Z[rows] - Z[rows].mean(axis=0)
            target = target / np.sqrt((target**2).sum())
        return cls(rows, basis, target, float(((basis.T @ target) ** 2).sum()))

    def r2(self, order: np.ndarray) -> float:
        """r² with the rows in another order: that of ``order`` among the rows that the column has."""
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        turned = np.argsort(place[self.rows], kind="stable")
        return float(((self.basis[turned].T @ self.target) ** 2).sum())


def _loadings(problem: MapProblem, rows: np.ndarray, regions: int, rng: np.random.Generator) -> np.ndarray:
    """The movement of the map per standard deviation of each column within the region, (k, d)."""
    X = problem.X[rows].toarray() if is_sparse(problem.X) else np.asarray(problem.X[rows], dtype=np.float64)
    sd, d = X.std(axis=0), X.shape[1]
    varies = np.flatnonzero(sd > 1e-12 * (np.abs(X).max(axis=0) + 1e-300))
    count = min(len(rows), _PLACED // (2 * max(1, len(varies)) * regions))
    out = np.zeros((problem.Z.shape[1], d))
    if problem.model is None or not hasattr(problem.model, "transform") or count < min(_LEAST_PLACED, len(rows)):
        W, target = (X[:, varies] - X[:, varies].mean(axis=0)) / sd[varies], problem.Z[rows]
        gram = W.T @ W + _RIDGE * len(rows) * np.eye(len(varies))
        out[:, varies] = np.linalg.solve(gram, W.T @ (target - target.mean(axis=0))).T
        return out
    center = np.median(problem.Z[rows], axis=0)
    near = np.argsort(((problem.Z[rows] - center) ** 2).sum(axis=1), kind="stable")[: max(count, len(rows) // 2)]
    base = X[np.sort(rng.permutation(near)[:count])]
    step = _STEP * sd[varies]
    moved = np.repeat(base[None, None], 2 * len(varies), axis=0).reshape(len(varies), 2, len(base), d)
    for i, j in enumerate(varies):
        moved[i, 0, :, j] += step[i]
        moved[i, 1, :, j] -= step[i]
    flat = moved.reshape(-1, d) * (1.0 if problem.units is None else problem.units)
    placed = np.asarray(to_numpy(problem.model.transform(flat.astype(problem.X.dtype, copy=False))), dtype=np.float64)
    both = placed.reshape(len(varies), 2, len(base), -1)
    out[:, varies] = np.nanmean(both[:, 0] - both[:, 1], axis=1).T / (2 * _STEP)
    return out
