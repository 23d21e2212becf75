"""Self-organizing maps."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.precision import result_dtype
from lowland.blocks.codebooks.codebook import Codebook, NearestIndex
from lowland.blocks.codebooks.grids import Grid, usual_grid
from lowland.blocks.codebooks.som_batch import (
    Schedule,
    TrainedMap,
    principal_plane,
    quantization_sums,
    train_in_batches,
)
from lowland.blocks.codebooks.som_maps import GridPosition, PrototypeAt
from lowland.blocks.codebooks.som_online import train_online
from lowland.blocks.optimize.outcome import Outcome
from lowland.blocks.spectra.component_rules import Fixed
from lowland.blocks.spectra.principal_axes import Axes, principal_axes
from lowland.blocks.statistics.labels import ClassLabels
from lowland.blocks.statistics.rescaling import power_of_two
from lowland.blocks.statistics.uniform_scaling import UniformScaling
from lowland.data.rows import Rows
from lowland.errors import DataWarning, ParameterError, warn
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.row_map import RowMap
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run


class SelfOrganizingMap(
    RowMap,
    verb="som",
    streams=True,
    predicts="unit",
    width_parameter=None,
    study=StudyHints(parameters={"coordinates": "smooth"}),
):
    """Self-organizing map: a grid of prototypes bent through the rows, so that neighbours on it stand for like rows.

    Problem: prototypes w_1 … w_u on a grid with W = HS / Hc: each is the mean of the rows won by itself and by its
    neighbours, these weighted by their nearness on the grid, H; a row is won by the prototype nearest to it.

    1. Choose the grid: 5 √n units, its sides as the first two principal deviations (``blocks.codebooks.grids``).
    2. Start on the principal plane (``blocks.spectra.principal_axes``).
    3. Batch: each epoch finds who wins what (a fold), and smooths it along the grid while the radius shrinks; further
       epochs at the last radius until the map settles. Online: each row in turn pulls its unit and the neighbours
       (``blocks.codebooks.som_batch``, ``som_online``).
    4. Coordinates are the place of a row's unit on the grid; the way back is the unit's prototype.

    Cost: 2 n u d operations and one pass over the rows an epoch, some 30 epochs; memory u d, never the table (online:
    the table). Prefer ``PCA`` for a plane that is flat, ``MDS`` to see distances between single rows.

    Attributes: ``prototypes_`` (u, d), ``grid_`` (rows, columns), ``positions_`` (u, 2), ``hits_`` and ``u_matrix_``
    (rows, columns), ``quantization_error_``, ``topographic_error_``, ``trace_`` (quantisation error at the start and
    after each epoch; online: that met in each epoch, and at the end), ``radii_`` (of each epoch; online: the first and
    the last), ``n_iter_``, ``converged_``, ``stopped_because_``, ``n_samples_``, ``n_features_in_``,
    ``feature_names_in_``.

    Reference: Kohonen 1982, doi:10.1007/BF00337288; Kohonen 2013, doi:10.1016/j.neunet.2012.09.018 (batch).

    Examples
    --------
    >>> from lowland import SelfOrganizingMap
    >>> from lowland.data import load_dataset
    >>> som = SelfOrganizingMap((6, 10)).fit(load_dataset("iris").X)
    >>> som.transform(load_dataset("iris").X).shape, int(som.hits_.sum())
    ((150, 2), 150)
    """

    grid: Sequence[float] | np.ndarray | str | None = param(
        None,
        "Rows and columns, such as (20, 30) or '20x30'; None: 5 √n units, sides as the principal deviations.",
        positional=True,
        wanted="two whole numbers of at least 1, such as (20, 30), a text such as '20x30', or None",
    )
    topology: Literal["hexagonal", "rectangular"] = param("hexagonal", "Six neighbours a unit, or eight.")
    training: Literal["batch", "online"] = param("batch", "With all rows an epoch, or one row after the other.")
    epochs: int = param(20, "Passes over the rows while the radius shrinks.", at_least=1)
    neighborhood: Literal["gaussian", "bubble"] = param(
        "gaussian", "How neighbours take part: by their nearness, or all alike within the radius."
    )
    radius: float | None = param(
        None, "First radius, in units; None: a quarter of the longer side.", at_least=1e-3, at_most=1e6
    )
    final_radius: float = param(
        1.0, "Last radius: the smaller, the nearer to the rows and the less in order.", at_least=1e-3, at_most=1e6
    )
    decay: Literal["exponential", "linear", "inverse"] = param("exponential", "How radius and learning rate fall.")
    learning_rate: float = param(0.05, "Online: first share of the way to a row its unit moves.", above=0, at_most=1)
    final_learning_rate: float = param(0.01, "Online: last such share.", above=0, at_most=1)
    convergence_epochs: int = param(
        100, "Batch: further epochs at the last radius, at most, until the map settles; 0: none.", at_least=0
    )
    tol: float = param(
        1e-3, "Batch: share of the quantisation error that an epoch must change for another to follow.", at_least=0
    )
    coordinates: Literal["unit", "smooth"] = param(
        "unit", "What transform gives: the place of the unit, or where near it the row lies."
    )
    random_state: RandomState = param(None, "Online: seed of the order of the rows.", at_least=0)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Principal plane, grid, training, and what the last pass says of the map."""
        self._check_falls()
        axes = principal_axes(rows, run, Fixed(min(2, rows.d, rows.n or 2)))
        grid = self._choose_grid(axes)
        start, scaling = self._start(axes, grid)
        schedule = self._schedule(grid)
        if self.training == "batch":
            found = train_in_batches(rows, run, grid, scaling, start, schedule)
        else:
            found = self._train_online(rows, run, grid, scaling, start, schedule)
        self._keep(found, grid, axes)

    def _check_falls(self) -> None:
        """Refuse a radius or a rate that would grow."""
        for first in ("radius", "learning_rate") if self.training == "online" else ("radius",):
            last = f"final_{first}"
            a, b = getattr(self, first), getattr(self, last)
            if a is not None and b > a:
                raise ParameterError(
                    f"SelfOrganizingMap({first}={a:g}, {last}={b:g}): it would grow, and a map is trained while it "
                    f"falls. Choose {last} of at most {a:g}."
                )

    def _choose_grid(self, axes: Axes) -> Grid:
        n = axes.columns.rows
        asked = grid_sides(self.grid)
        if asked is None:
            return Grid(*usual_grid(n, to_numpy(axes.pairs.values), self.topology), self.topology)
        if asked[0] * asked[1] > n:
            raise ParameterError(
                f"SelfOrganizingMap(grid={asked[0]}x{asked[1]}): {asked[0] * asked[1]} units are more than the "
                f"{n} rows of the data, so some could win none. Choose at most {n} units, or leave grid=None."
            )
        return Grid(*asked, self.topology)

    def _start(self, axes: Axes, grid: Grid) -> tuple[np.ndarray, UniformScaling]:
        """Units on the principal plane, and the scaling of the rows."""
        mean, variances = to_numpy(axes.columns.mean), to_numpy(axes.columns.variances)
        if not np.any(variances > 0):
            warn(
                "The rows do not vary: every column is constant, or varies too little to be squared. All units "
                "coincide, and every row is won by the first. Check the data.",
                DataWarning,
            )
        values, vectors = to_numpy(axes.pairs.values), to_numpy(axes.pairs.vectors)
        units = principal_plane(grid, mean, vectors[:, :2], np.sqrt(np.maximum(values[:2], 0)))
        return units, UniformScaling(mean, float(power_of_two(np.sqrt(variances.sum()))))

    def _schedule(self, grid: Grid) -> Schedule:
        first = max(self.final_radius, max(grid.rows, grid.columns) / 4) if self.radius is None else self.radius
        return Schedule(
            self.epochs,
            (float(first), float(self.final_radius)),
            (self.learning_rate, self.final_learning_rate),
            self.decay,
            self.neighborhood,
            self.convergence_epochs,
            self.tol,
        )

    def _train_online(
        self, rows: Rows, run: Run, grid: Grid, scaling: UniformScaling, start: np.ndarray, schedule: Schedule
    ) -> TrainedMap:
        X = to_numpy(run.to_array(rows, "Online training"))
        prototypes, trace = train_online(X, run, grid, scaling, start, schedule, self._generator())
        sums = quantization_sums(rows, run, prototypes, grid)
        trace.append(sums.error / sums.rows)
        return TrainedMap(
            prototypes, sums, schedule.radius, Outcome.of_trace("online", trace, "the schedule has ended")
        )

    def _keep(self, found: TrainedMap, grid: Grid, axes: Axes) -> None:
        """Set the fitted attributes, the units in the precision and the library of the data."""
        mean = axes.columns.mean
        xp = xp_of(mean)
        kind = result_dtype(xp, found.prototypes.dtype)
        self.grid_ = (grid.rows, grid.columns)
        self.prototypes_ = like(found.prototypes, mean, kind)
        self.positions_ = like(grid.positions, mean, kind)
        self.u_matrix_ = like(grid.u_matrix(np.asarray(found.prototypes, dtype=np.float64)), mean, kind)
        self.hits_ = like(found.sums.counts.reshape(self.grid_), mean, xp.int64)
        self.n_samples_ = int(found.sums.rows)
        self.quantization_error_ = found.sums.error / found.sums.rows
        self.topographic_error_ = found.sums.torn / found.sums.rows
        self.trace_, self.radii_ = found.outcome.trace, found.radii
        self.n_iter_ = found.outcome.iterations
        self.converged_, self.stopped_because_ = found.outcome.converged, found.outcome.stopped_because
        if not self.converged_:
            warn(
                f"SelfOrganizingMap: the map had not settled when {self.stopped_because_}. Raise tol or "
                "convergence_epochs; convergence_epochs=0 ends with the schedule, and a gaussian neighborhood settles "
                "sooner than a bubble.",
                ConvergenceWarning,
            )

    # --- rows and units ---

    def _grid(self) -> Grid:
        check_is_fitted(self)
        return Grid(*self.grid_, self.topology)

    def _encoding(self) -> GridPosition:
        return GridPosition(Codebook.of(self.prototypes_), self._grid(), self.coordinates == "smooth")

    def _decoding(self) -> PrototypeAt:
        prototypes = np.asarray(to_numpy(self.prototypes_), dtype=np.float64)
        return PrototypeAt(prototypes, self._grid(), self.coordinates == "smooth")

    def _encoding_width(self) -> int:
        return 2

    def predict(self, X: Any) -> Any:
        """Return the number of each row's unit, counted row by row of the grid from 0."""
        rows, run = self._rows_to_map(X)
        numbers = run.gather(NearestIndex(Codebook.of(self.prototypes_)), rows, 1, name="finding units")[:, 0]
        return ClassLabels(np.arange(self._grid().units))(numbers)

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Fit to the rows of X and return the number of each row's unit."""
        return self.fit(X, y).predict(X)

    def component_plane(self, column: int | str) -> Array:
        """Return one column of the prototypes as it lies on the grid, (rows, columns); by number or name."""
        check_is_fitted(self)
        names = list(getattr(self, "feature_names_in_", []))
        j = names.index(column) if column in names else column
        d = self.n_features_in_
        if isinstance(j, bool) or not isinstance(j, int | np.integer) or not -d <= j < d:
            known = f" or a name such as {names[0]!r}" if names else ""
            raise ParameterError(f"component_plane({column!r}): give a number from 0 to {d - 1}{known}.")
        return xp_of(self.prototypes_).reshape(self.prototypes_[:, int(j)], self.grid_)

    def errors(self, X: Any) -> tuple[float, float]:
        """Return quantisation and topographic error of other rows: how far they lie from the map, and how torn it is.

        The first is the mean distance of a row to its unit; the second the share of rows whose two nearest units are
        no neighbours on the grid.
        """
        rows, run = self._rows_to_map(X)
        sums = quantization_sums(rows, run, self.prototypes_, self._grid())
        return sums.error / sums.rows, sums.torn / sums.rows

    def _facts(self) -> dict[str, Any]:
        return {
            "grid": f"{self.grid_[0]} x {self.grid_[1]}, {self.topology}",
            "quantisation error": self.quantization_error_,
            "topographic error": self.topographic_error_,
            "units that won no row": int(np.sum(to_numpy(self.hits_) == 0)),
        }


def grid_sides(grid: Any) -> tuple[int, int] | None:
    """Return rows and columns as they were asked for: two whole numbers, or a text such as '20x20'."""
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
        raise ParameterError(
            f"SelfOrganizingMap(grid={grid!r}): give rows and columns, two whole numbers of at least 1, such as "
            "(20, 30) or '20x30'."
        )
    return int(sides[0]), int(sides[1])
