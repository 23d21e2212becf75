"""A sparse table in a study: made dense if that is small, else reduced by PCA, which does not make it dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.rows import Rows
from lowland.errors import ParameterError
from lowland.methods.pca import PCA
from lowland.run.settings import config, settings

Reduction: Any = PCA
DENSE_UP_TO = 2**27  # bytes of the dense table in float64
COMPONENTS = 100  # to which a larger table is reduced


def dense_table(rows: Rows, scale: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return a sparse table as a dense one, (n, d) or (n, 100), and what was done, as sentences."""
    X: Any = rows.to_array()
    n, d = X.shape
    if 8 * n * d <= min(DENSE_UP_TO, settings().budget // 4) or min(n, d) <= COMPONENTS:
        return np.asarray(X.toarray(), dtype=np.float32 if X.dtype == np.float32 else np.float64), ()
    if scale != "none":
        raise ParameterError(
            f"the sparse table of {n:,} rows and {d:,} columns is too large to be standardized.",
            "Use `scale='none'`, or reduce it first, for example with `TruncatedSVD(50)`.",
            method="compare",
            scale=scale,
        )
    with config(progress=False):
        pca = Reduction(COMPONENTS, random_state=0).fit(X)
        Z = to_numpy(pca.transform(X))
    kept = float(np.sum(to_numpy(pca.explained_variance_ratio_)))
    return Z, (
        f"The sparse table has {d:,} columns. It was reduced to {COMPONENTS} principal components, which explain "
        f"{kept:.1%} of the variance. All methods and measures use these components.",
    )
