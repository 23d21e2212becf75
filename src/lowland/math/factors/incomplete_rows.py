"""The M-step of factor analysis with missing values: factors of the expected moments, as of those of complete rows."""

from __future__ import annotations

import numpy as np

from lowland.math.factors.correlations import Correlations
from lowland.math.factors.maximum_likelihood import factor_loadings
from lowland.math.factors.model import NO_NOISE
from lowland.math.missing.latent_model import LatentModel
from lowland.math.statistics.moments import Moments
from lowland.run.run import Run


class FitFactors:
    """Fits k factors; each fit starts from the uniquenesses of the one before."""

    def __init__(self, k: int, lower: float, max_iter: int, run: Run) -> None:
        self.k, self.lower, self.max_iter, self.run = k, lower, max_iter, run
        self.first: np.ndarray | None = None

    def __call__(self, moments: Moments) -> LatentModel:
        """Return the model of greatest likelihood."""
        correlations = Correlations.of(moments)
        varying, v = correlations.varying, len(correlations.R)
        first = self.first if self.first is not None and len(self.first) == v else None
        found = factor_loadings(
            correlations.root, min(self.k, v), lower=self.lower, first=first, max_iter=self.max_iter, run=self.run
        )
        self.first = found.uniquenesses
        unit, L = np.full(len(varying), np.sqrt(NO_NOISE)), np.zeros((len(varying), found.loadings.shape[1]))
        unit[varying] = np.sqrt(found.uniquenesses * correlations.variances[varying])
        L[varying] = found.loadings / np.sqrt(found.uniquenesses)[:, None]
        return LatentModel(moments.mean, unit, L)
