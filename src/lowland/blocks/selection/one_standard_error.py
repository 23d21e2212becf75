"""Which of a row of models, from the simplest to the richest, cross-validation chooses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ValidationCurve:
    """Mean losses over the folds of each model, and their standard errors."""

    mean: np.ndarray  # (m,)
    error: np.ndarray  # (m,)

    @classmethod
    def of(cls, losses: np.ndarray) -> ValidationCurve:
        """Of the losses of m models on F folds, (m, F)."""
        F = losses.shape[1]
        error = losses.std(axis=1, ddof=1) / np.sqrt(F) if F > 1 else np.zeros(len(losses))
        return cls(losses.mean(axis=1), error)

    def chosen(self, rule: str) -> int:
        """The model of the least loss, or the simplest within one standard error of it (Breiman and others 1984).

        Losses that differ by rounding are the same, and the simpler model wins.
        """
        near = 1e-12 * np.abs(self.mean).max()
        best = int(np.argmax(self.mean <= self.mean.min() + near))
        if rule == "min":
            return best
        return int(np.argmax(self.mean <= self.mean[best] + self.error[best] + near))
