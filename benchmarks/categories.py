"""Tables of categories compared with prince."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import agree, alternate
from benchmarks.registry import Plan, job


def answers(n: int, columns: int = 20) -> Any:
    """Return a frame of related columns of text, five levels each."""
    import pandas as pd

    rng = np.random.default_rng(0)
    shift = rng.integers(0, 3, (n, columns)) * rng.integers(0, 2, (n, columns))
    codes = (rng.integers(0, 5, (n, 1)) + shift) % 5
    return pd.DataFrame({f"q{j}": np.array(list("abcde"))[codes[:, j]] for j in range(columns)})


def _ours(X: Any) -> Any:
    from lowland import MultipleCorrespondenceAnalysis

    return MultipleCorrespondenceAnalysis(2).fit(X)


def _prince(X: Any) -> Any:
    import prince

    return prince.MCA(n_components=2, random_state=0).fit(X)


@job("MultipleCorrespondenceAnalysis.fit of 100,000 × 20 columns of text, five levels each")
def categories(plan: Plan) -> Iterator[Line]:
    X = answers(plan.size(100_000, 2_000))
    for kind, table in (("text", X), ("categories", X.astype("category"))):
        times = alternate({"ours": partial(_ours, table), "peer": partial(_prince, table)}, plan.repeat)
        ours, peer = times.answers["ours"], times.answers["peer"]
        agree("inertias", ours.eigenvalues_, peer.eigenvalues_, within=1e-8)
        head = table.head(1000)
        theirs = peer.row_coordinates(head).to_numpy()
        agree("coordinates", np.abs(ours.transform(head)), np.abs(theirs), within=1e-8)
        bars = () if plan.quick else (Bar("speed", 10.0),)
        yield times.line(f"{kind}, against prince", "ours", "peer", required=bars)
