"""Online training of self-organizing maps: each row moves its best-matching unit and its neighbors toward itself."""

from __future__ import annotations

import numpy as np

from lowland.math.optimize.outcome import Watch
from lowland.math.prototypes.codebook import Codebook
from lowland.math.prototypes.grids import Grid
from lowland.math.prototypes.som_batch import Schedule, decayed
from lowland.math.statistics.rescaling import UniformScaling
from lowland.run.run import Run

_STEPS = 1 << 14  # rows between two checks for a stop


def train_online(
    X: np.ndarray,
    run: Run,
    grid: Grid,
    scaling: UniformScaling,
    start: np.ndarray,
    schedule: Schedule,
    rng: np.random.Generator,
    watch: Watch | None = None,
) -> tuple[np.ndarray, list[float]]:
    """Train with one row at a time, shuffled in each epoch. Return the prototypes and the mean error of each epoch."""
    from lowland.kernels.som import learn_rows

    W = np.ascontiguousarray(scaling.apply(start).T, dtype=X.dtype)  # (d, u)
    row, column = np.divmod(np.arange(grid.units), grid.columns)
    halves = 2 * column + (row % 2 if grid.topology == "hexagonal" else 0)
    n, steps = len(X), max(1, len(X) * schedule.epochs - 1)

    def prototypes() -> np.ndarray:
        return Codebook(scaling, W.T.astype(np.float64)).prototypes

    bubble, trace = schedule.neighborhood == "bubble", []
    for epoch in run.iterate("training the map", schedule.epochs):
        order, error = rng.permutation(n), 0.0
        with run.stage("one epoch", n) as stage:
            for begin in range(0, n, _STEPS):
                some = order[begin : begin + _STEPS]
                t = (epoch * n + begin + np.arange(len(some))) / steps
                radii, rates = (decayed(ends, t, schedule.decay) for ends in (schedule.radius, schedule.rate))
                error += learn_rows(
                    X, some, scaling.shift, scaling.unit, W, halves, row, grid.height, radii, rates, bubble
                )
                stage.advance(len(some))
        trace.append(error * scaling.unit / n)
        if watch is not None and watch(epoch + 1, prototypes(), trace[-1]) is False:
            break
    return prototypes().astype(X.dtype), trace
