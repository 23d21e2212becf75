"""Choice among nested models, from the simplest to the most complex, by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ValidationCurve:
    """The mean loss over the folds of each model, and its standard error."""

    mean: np.ndarray  # (m,)
    error: np.ndarray  # (m,)

    @classmethod
    def of(cls, losses: np.ndarray) -> ValidationCurve:
        """Return the curve of the losses of m models on F folds, (m, F)."""
        F = losses.shape[1]
        error = losses.std(axis=1, ddof=1) / np.sqrt(F) if F > 1 else np.zeros(len(losses))
        return cls(losses.mean(axis=1), error)

    def chosen(self, rule: str) -> int:
        """Return the model with the minimum loss, or the simplest within one standard error (Breiman and others 1984).

        Losses that differ by rounding error are tied, and the simpler model is chosen.
        """
        near = 1e-12 * np.abs(self.mean).max()
        best = int(np.argmax(self.mean <= self.mean.min() + near))
        if rule == "min":
            return best
        return int(np.argmax(self.mean <= self.mean[best] + self.error[best] + near))
