"""Time and memory of the manifold methods by the number of points, from 1,000 to 1,000,000."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.fresh import fresh
from benchmarks.lines import Line
from benchmarks.measure import peak_beyond, stopwatch
from benchmarks.registry import Plan, job

RESULT = Path(__file__).with_name("growth.json")
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
SHORT = 5.0  # seconds of fits, before which another is made
LONGEST = 240.0  # seconds: a method that took longer is not tried on more points

# each by the route one would take at that size: all pairs while they fit, landmarks beyond
CURVES: dict[str, tuple[str, dict[str, Any], int]] = {
    "Isomap": ("Isomap", {"n_neighbors": 12}, 10_000),
    "Isomap, 500 landmarks": ("Isomap", {"n_neighbors": 12, "n_landmarks": 500}, SIZES[-1]),
    "LLE": ("LocallyLinearEmbedding", {"n_neighbors": 12}, SIZES[-1]),
    "LLE, modified": ("LocallyLinearEmbedding", {"n_neighbors": 12, "method": "modified"}, SIZES[-1]),
    "LLE, Hessian": ("LocallyLinearEmbedding", {"n_neighbors": 12, "method": "hessian"}, SIZES[-1]),
    "LLE, LTSA": ("LocallyLinearEmbedding", {"n_neighbors": 12, "method": "ltsa"}, SIZES[-1]),
    "Laplacian eigenmaps": ("SpectralEmbedding", {"n_neighbors": 12}, SIZES[-1]),
    "diffusion map": ("DiffusionMap", {"n_neighbors": 12}, SIZES[-1]),
}


@job("Time and memory by the number of points, Swiss rolls, 12 neighbors")
def growth(plan: Plan) -> Iterator[Line]:
    sizes = [n for n in SIZES if n <= plan.size(SIZES[-1], 3_000)]
    curves: dict[str, list[list[float]]] = {}
    for name, (method, params, most) in CURVES.items():
        points: list[list[float]] = []
        for n in (n for n in sizes if n <= most):
            points.append([n, *fresh(one_fit, method, params, n)])
            if points[-1][1] > LONGEST:
                break
        curves[name] = points
        n, seconds, memory = points[-1]
        yield Line(f"{name}, {n:,.0f} points", seconds, memory=memory)
    if not plan.quick:
        RESULT.write_text(json.dumps(curves, indent=1) + "\n")


def one_fit(method: str, params: dict[str, Any], n: int) -> tuple[float, int | None]:
    """Return seconds and peak memory of one fit to n points of a Swiss roll, after one that compiled the kernels."""
    import warnings

    from lowland.data import swiss_roll
    from lowland.methods.registry import load_method

    warnings.simplefilter("ignore")  # disconnected graphs: only the cost matters here
    cls = load_method(method)
    cls(2, **{**params, **({"n_landmarks": 50} if "n_landmarks" in params else {})}).fit(swiss_roll(400, seed=1).X)
    X = swiss_roll(n, seed=0).X
    seconds: list[float] = []
    memory = peak_beyond(lambda: seconds.append(stopwatch(lambda: cls(2, **params).fit(X))[0]))
    while len(seconds) < 5 and sum(seconds) < SHORT:  # the shortest of a few, where they take no time
        seconds.append(stopwatch(lambda: cls(2, **params).fit(X))[0])
    return min(seconds), memory
