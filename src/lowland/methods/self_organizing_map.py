"""Self-organizing maps."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, like, result_dtype, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataWarning, ParameterError, warn
from lowland.math.optimize.outcome import Snapshot, Watch
from lowland.math.prototypes.codebook import Codebook, NearestIndex
from lowland.math.prototypes.grids import Grid, usual_grid
from lowland.math.prototypes.som import (
    GridPosition,
    PrototypeAt,
    Schedule,
    TrainedMap,
    map_errors,
    principal_plane,
    train_in_batches,
    train_online,
)
from lowland.math.spectra.component_rules import Fixed
from lowland.math.spectra.principal_axes import Axes, principal_axes
from lowland.math.statistics.labels import ClassLabels
from lowland.math.statistics.rescaling import UniformScaling, power_of_two
from lowland.methods.base import costs
from lowland.methods.base.choices import positional
from lowland.methods.base.method import InvertibleMethod, RandomState, attribute, param
from lowland.methods.base.traits import Callback, StudyHints
from lowland.run.run import Run


class SelfOrganizingMap(
    InvertibleMethod,
    verb="som",
    title="SOM",
    group="Networks and prototypes",
    cost=costs.units,
    streams=True,
    all_rows=(lambda p: p.training == "online", "for online training"),
    predicts="unit",
    width_parameter=None,
    study=StudyHints(parameters={"coordinates": "smooth"}),
):
    """Self-organizing map (SOM): a grid of prototypes fitted so that neighboring units represent similar points.

    Each of u units on a two-dimensional grid has a prototype w_k in the space of the columns. The best-matching unit of
    a point is the unit whose prototype is nearest. Batch training looks for prototypes with

        w_k = Σ_l h_kl s_l / Σ_l h_kl n_l,    h_kl = exp(-|p_k - p_l|² / 2r²)

    where s_l is the sum and n_l the number of the points of unit l, p_l its position on the grid and r the radius of
    the neighborhood. Each prototype is a weighted mean of its points and those of nearby units.

    1. Choose the grid: 5 √n units, with sides in the ratio of the first two principal standard deviations.
    2. Initialize the prototypes on the plane of the first two principal components.
    3. Batch training: each epoch finds the best-matching unit of every point in one pass and recomputes all prototypes,
       while the radius decreases. Further epochs at the final radius follow until the map converges. Online training:
       the points are presented one at a time, and each moves its best-matching unit and the neighbors of that unit
       toward itself.
    4. The coordinates of a point are the grid position of its best-matching unit. The inverse transform returns the
       prototype of the unit.

    See Also
    --------
    VectorQuantizer : prototypes without a grid.
    UMAP : a position for each point.

    Notes
    -----
    Standardize the columns if their units of measurement differ.

    Prefer ``PCA`` for a linear projection whose axes have a meaning, and ``MDS`` to see distances between single
    points.

    References
    ----------
    .. [1] Kohonen (1982). Self-organized formation of topologically correct feature maps. Biological Cybernetics 43.
       doi:10.1007/BF00337288
    .. [2] Kohonen (2013). Essentials of the self-organizing map. Neural Networks 37. doi:10.1016/j.neunet.2012.09.018
    .. [3] Vesanto and Alhoniemi (2000). Clustering of the self-organizing map. IEEE Transactions on Neural Networks 11.
       doi:10.1109/72.846731

    Examples
    --------
    >>> from lowland import SelfOrganizingMap
    >>> from lowland.data import load_dataset
    >>> som = SelfOrganizingMap((6, 10)).fit(load_dataset("iris").X)
    >>> som.transform(load_dataset("iris").X).shape, int(som.hits_.sum())
    ((150, 2), 150)
    """

    grid: Sequence[float] | np.ndarray | str | None = positional(
        None,
        "Rows and columns of the grid, such as '20x30'. More units show more detail, with fewer points each. None "
        "means about 5 √n units.",
        wanted="two integers of at least 1, rows and columns, such as (20, 30), a string such as '20x30', or None",
    )
    topology: Literal["hexagonal", "rectangular"] = param(
        "hexagonal", "Shape of the grid: six neighbors per unit, or eight."
    )
    training: Literal["batch", "online"] = param(
        "batch", "Training rule: 'batch' uses all points in each epoch, 'online' one point at a time."
    )
    epochs: int = param(
        20,
        "Number of passes over the points while the radius decreases. More passes order the map better and take "
        "longer.",
        at_least=1,
    )
    neighborhood: Literal["gaussian", "bubble"] = param(
        "gaussian", "Weight of the other units: Gaussian in the grid distance, or constant within the radius."
    )
    radius: float | None = param(
        None,
        "Initial radius, in grid units. If it is too small, the map may be folded. None means a quarter of the "
        "longer side of the grid.",
        at_least=1e-3,
        at_most=1e6,
    )
    final_radius: float = param(
        1.0,
        "Final radius. A smaller one lowers the quantization error and raises the topographic error.",
        at_least=1e-3,
        at_most=1e6,
    )
    decay: Literal["exponential", "linear", "inverse"] = param(
        "exponential", "Decay of the radius and the learning rate."
    )
    learning_rate: float = param(0.05, "Online: initial learning rate.", above=0, at_most=1)
    final_learning_rate: float = param(0.01, "Online: final learning rate.", above=0, at_most=1)
    convergence_epochs: int = param(
        100,
        "Batch: maximum number of further epochs at the final radius, until convergence. With 0, training stops "
        "at the end of the schedule.",
        at_least=0,
    )
    tol: float = param(
        1e-3,
        "Batch: training has converged when an epoch changes the quantization error by less than this fraction.",
        at_least=0,
    )
    coordinates: Literal["unit", "smooth"] = param(
        "unit", "What transform returns: the position of the unit, or a position within the cell of the unit."
    )
    random_state: RandomState = param(None, "Online: seed for the order of the points.", at_least=0)

    prototypes_: Array = attribute("Prototypes, one per unit, row by row of the grid.", "(n_units, n_features_in_)")
    grid_: tuple[int, int] = attribute("Number of rows and columns of the grid.")
    positions_: Array = attribute("Positions of the units in the plane. Neighbors are 1 apart.", "(n_units, 2)")
    hits_: Array = attribute("Number of training points per unit.", "grid_")
    u_matrix_: Array = attribute("Mean distance between the prototype of a unit and those of its neighbors.", "grid_")
    quantization_error_: float = attribute("Mean distance between a point and the prototype of its best-matching unit.")
    topographic_error_: float = attribute("Fraction of points whose two nearest units are not neighbors on the grid.")
    trace_: tuple[float, ...] = attribute(
        "Quantization error at the initialization and after each epoch. Online: the mean during each epoch, then "
        "the final error."
    )
    radii_: tuple[float, ...] = attribute("Radius of each epoch. Online: the initial and the final radius.")
    n_iter_: int = attribute("Number of epochs.")
    converged_: bool = attribute("Whether training converged, or ended with its schedule as planned.")
    stopped_because_: str = attribute("Why training stopped.")

    def fit(self, X: Any, y: Any = None, callback: Callback = None) -> Self:
        """Fit to the rows of X. ``y`` is not used.

        ``callback`` receives a snapshot (iteration, total, embedding, value) after every epoch: the coordinates of all
        rows on the grid, which take one more pass over the rows, and the quantization error. If it returns False, the
        fit ends with the map so far.
        """
        return self._fit(X, y, callback=callback)

    def _solve(
        self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, callback: Callback = None
    ) -> None:
        self._check_decay()
        axes = principal_axes(rows, run, Fixed(min(2, rows.d, rows.n or 2)))
        grid = self._choose_grid(axes)
        start, scaling = self._start(axes, grid)
        schedule = self._schedule(grid)
        watch = None if callback is None else self._watch(callback, rows, run, grid)
        if self.training == "batch":
            found = train_in_batches(rows, run, grid, scaling, start, schedule, watch)
        else:
            found = train_online(rows, run, grid, scaling, start, schedule, self._generator(), watch)
        self._keep(found, grid, axes)

    def _watch(self, callback: Callable[[Snapshot], Any], rows: Rows, run: Run, grid: Grid) -> Watch:
        """Report the positions of all rows for the prototypes so far."""
        total = self.epochs + (self.convergence_epochs if self.training == "batch" else 0)

        def shown(epoch: int, prototypes: Array, error: float) -> Any:
            place = GridPosition(Codebook.of(prototypes), grid, self.coordinates == "smooth")
            return callback(Snapshot(epoch, total, run.gather(place, rows, 2, name="placing rows"), error))

        return shown

    def _check_decay(self) -> None:
        for first in ("radius", "learning_rate") if self.training == "online" else ("radius",):
            last = f"final_{first}"
            a, b = getattr(self, first), getattr(self, last)
            if a is not None and b > a:
                raise ParameterError(
                    f"`SelfOrganizingMap({first}={a:g}, {last}={b:g})`: the final value exceeds the initial one, but "
                    f"it must not increase during training. Choose `{last}` of at most {a:g}."
                )

    def _choose_grid(self, axes: Axes) -> Grid:
        n = axes.columns.rows
        asked = grid_sides(self.grid)
        if asked is None:
            return Grid(*usual_grid(n, to_numpy(axes.pairs.values), self.topology), self.topology)
        if asked[0] * asked[1] > n:
            raise ParameterError(
                f"SelfOrganizingMap(grid={asked[0]}x{asked[1]}): the grid has {asked[0] * asked[1]} units, but the "
                f"data has {n} rows. Choose at most {n} units, or leave `grid=None`."
            )
        return Grid(*asked, self.topology)

    def _start(self, axes: Axes, grid: Grid) -> tuple[np.ndarray, UniformScaling]:
        """Return the prototypes on the principal plane, and the scaling of the rows."""
        mean, variances = to_numpy(axes.columns.mean), to_numpy(axes.columns.variances)
        if not np.any(variances > 0):
            warn(
                "Every column is constant, or its variance underflows. All prototypes coincide, and the first unit is "
                "the best-matching unit of every row. Check the data.",
                DataWarning,
            )
        values, vectors = to_numpy(axes.pairs.values), to_numpy(axes.pairs.vectors)
        units = principal_plane(grid, mean, vectors[:, :2], np.sqrt(np.maximum(values[:2], 0)))
        return units, UniformScaling(mean, float(power_of_two(np.sqrt(variances.sum()))))

    def _schedule(self, grid: Grid) -> Schedule:
        first = max(self.final_radius, max(grid.rows, grid.columns) / 4) if self.radius is None else self.radius
        radii, rates = (float(first), float(self.final_radius)), (self.learning_rate, self.final_learning_rate)
        return Schedule(self.epochs, radii, rates, self.decay, self.neighborhood, self.convergence_epochs, self.tol)

    def _keep(self, found: TrainedMap, grid: Grid, axes: Axes) -> None:
        mean = axes.columns.mean
        xp = xp_of(mean)
        kind = result_dtype(xp, found.prototypes.dtype)
        self.grid_ = (grid.rows, grid.columns)
        self.prototypes_ = like(found.prototypes, mean, kind)
        self.positions_ = like(grid.positions, mean, kind)
        self.u_matrix_ = like(grid.u_matrix(np.asarray(found.prototypes, dtype=np.float64)), mean, kind)
        self.hits_ = like(found.errors.hits.reshape(self.grid_), mean, xp.int64)
        self.n_samples_ = int(found.errors.hits.sum())
        self.quantization_error_, self.topographic_error_ = found.errors.quantization, found.errors.topographic
        self.trace_, self.radii_ = found.outcome.trace, found.radii
        self.converged_, self.stopped_because_ = found.outcome.converged, found.outcome.stopped_because
        self._record_convergence(
            found.outcome,
            "Raise `tol` or `convergence_epochs`, or set `convergence_epochs=0` to stop at the end of the schedule. "
            "`neighborhood='gaussian'` converges faster than 'bubble'.",
            problem=f"SelfOrganizingMap did not converge: {self.stopped_because_}.",
        )

    # --- mapping rows to units ---

    def _grid(self) -> Grid:
        check_is_fitted(self)
        return Grid(*self.grid_, self._params.topology)

    def _encoding(self) -> GridPosition:
        return GridPosition(Codebook.of(self.prototypes_), self._grid(), self._params.coordinates == "smooth")

    def _decoding(self) -> PrototypeAt:
        prototypes = np.asarray(to_numpy(self.prototypes_), dtype=np.float64)
        return PrototypeAt(prototypes, self._grid(), self._params.coordinates == "smooth")

    def _encoding_width(self) -> int:
        return 2

    def predict(self, X: Any) -> Any:
        """Return the index of the best-matching unit of each row, counted from 0, row by row of the grid."""
        rows, run = self._rows_to_map(X)
        find = NearestIndex(Codebook.of(self.prototypes_))
        numbers = run.gather(find, rows, 1, name="finding best-matching units")[:, 0]
        return ClassLabels(np.arange(self._grid().units))(numbers)

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Fit to the rows of X and return the index of the best-matching unit of each row."""
        return self.fit(X, y).predict(X)

    def component_plane(self, column: int | str) -> Array:
        """Return one column of the prototypes arranged on the grid, (rows, columns). Give its index or its name."""
        check_is_fitted(self)
        names = list(getattr(self, "feature_names_in_", []))
        j = names.index(column) if column in names else column
        d = self.n_features_in_
        if isinstance(j, bool) or not isinstance(j, int | np.integer) or not -d <= j < d:
            known = f" or a column name such as {names[0]!r}" if names else ""
            raise ParameterError(
                f"component_plane({column!r}): the data has {d} columns. Give an index from 0 to {d - 1}{known}."
            )
        return xp_of(self.prototypes_).reshape(self.prototypes_[:, int(j)], self.grid_)

    def errors(self, X: Any) -> tuple[float, float]:
        """Return the quantization error and the topographic error of the rows of X.

        The quantization error is the mean distance between a point and the prototype of its best-matching unit. The
        topographic error is the fraction of points whose two nearest units are not neighbors on the grid.
        """
        rows, run = self._rows_to_map(X)
        found = map_errors(rows, run, self.prototypes_, self._grid())
        return found.quantization, found.topographic

    def _facts(self) -> dict[str, Any]:
        return {
            "grid": f"{self.grid_[0]} x {self.grid_[1]}, {self._params.topology}",
            "quantization error": self.quantization_error_,
            "topographic error": self.topographic_error_,
            "dead units": int(np.sum(to_numpy(self.hits_) == 0)),
        }


def grid_sides(grid: Any) -> tuple[int, int] | None:
    """Return the rows and columns of the grid from two integers or a string such as '20x20'."""
    if grid is None:
        return None
    parts: Any = grid.tolist() if isinstance(grid, np.ndarray) else grid
    if isinstance(grid, str):
        parts = re.split(r"\s*[x×,]\s*", grid.strip().lower())
    try:
        sides = [float(part) for part in parts]
    except (TypeError, ValueError):
        sides = []
    if len(sides) != 2 or any(not math.isfinite(side) or side != int(side) or side < 1 for side in sides):
        reason = "give rows and columns as two integers of at least 1, such as '20x30'."
        raise ParameterError(reason, method="SelfOrganizingMap", grid=grid)
    return int(sides[0]), int(sides[1])
