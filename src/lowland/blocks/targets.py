"""What a model is to predict: numbers, or classes by number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowland.blocks.labels import classes_of
from lowland.blocks.model_scores import holds_classes
from lowland.errors import DataError


@dataclass(frozen=True)
class Target:
    """What is to be predicted: numbers seen from their mean in their deviation, or classes by number."""

    values: np.ndarray  # (n,)
    center: float = 0.0
    scale: float = 1.0
    classes: np.ndarray | None = None

    @classmethod
    def of(cls, y: np.ndarray, estimator: str | None, folds: int) -> Target:
        """Classes or numbers, as is said of y with "logistic" or "linear", else by what it holds."""
        if estimator == "logistic" or (estimator is None and holds_classes(y, folds)):
            classes, codes = classes_of(y)
            return cls(codes, classes=classes)
        try:
            values = y.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"y does not hold numbers: {error}. For classes choose estimator='logistic'.") from error
        if not np.isfinite(values).all():
            raise DataError("Input y contains NaN or infinity. Give every row a value, or leave those rows out.")
        center = float(values.mean())
        values = values - center
        scale = float(np.sqrt(values @ values / len(values)))
        if scale <= 8 * np.finfo(np.float64).eps * abs(center):
            raise DataError("y is constant, so no column explains it. Pass a y that varies.")
        return cls(values / scale, center, scale)

    @property
    def own(self) -> np.ndarray:
        """y as it came: labels, or numbers in their own unit."""
        return self.values * self.scale + self.center if self.classes is None else self.classes[self.values]
