"""What the report draws over a map: arrows of the columns that follow its axes, and contours of the largest columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowland.evidence.describe import Description, Heights
from lowland.evidence.problem import LEAST_ROWS, open_problem
from lowland.math.statistics.sampling import evenly_spread
from lowland.study.result import ShownTable, Trial

MOST_ROWS = 2000  # by which columns are fitted to a map
PERMUTATIONS = 199
MOST_COLUMNS, SURFACES = 20, 8  # with arrows, and with contours, of a map
GRID = 32  # points of a surface along each axis


def drawn_columns(
    trial: Trial, table: ShownTable, add: Callable[[np.ndarray], Any], *, surfaces: bool
) -> dict[str, Any] | None:
    """Return the arrows and the surfaces of the numeric columns over a map; None without columns or two axes.

    ``add`` stores the heights of a surface on its grid.
    """
    Z = trial.Z
    if Z is None or Z.shape[1] < 2 or not table.names:
        return None
    picked = np.arange(len(Z))
    if len(Z) > MOST_ROWS:
        picked = np.flatnonzero(evenly_spread(len(Z), MOST_ROWS, np.random.default_rng(0)))
    placed = np.isfinite(Z[picked]).all(axis=1)
    if placed.sum() < LEAST_ROWS or not np.ptp(Z[picked[placed]], axis=0).any():
        return None
    some = np.asarray(Z[picked[placed]], dtype=np.float64)
    columns = {name: table.values[picked[placed], j].astype(np.float64) for j, name in enumerate(table.names)}
    found = Description.of(open_problem(some, some, None, None), columns, 0, PERMUTATIONS)
    if not found.columns:
        return None
    arrows = found.drawn_arrows(MOST_COLUMNS)
    drawn: list[Heights] = []
    if surfaces:
        drawn = [found.drawn_surface(name, GRID) for name in found.arrow_names[:SURFACES]]
    return {
        "columns": [
            {"name": c.name, "r2": c.r2, "p_value": c.p_value, "direction": c.direction} for c in arrows.columns
        ],
        "center": arrows.center,
        "spread": arrows.spread,
        "surfaces": [
            {
                "name": each.surface.name, "r2": each.surface.r2, "p_value": each.surface.p_value,
                "x": each.x, "y": each.y, "heights": add(each.heights.astype(np.float32)),
            }
            for each in drawn
        ],
    }  # fmt: skip
