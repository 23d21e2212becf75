"""Reading and writing tables; example data sets."""

from lowland.data.datasets.catalog import available, load_dataset
from lowland.data.datasets.dataset import Dataset
from lowland.data.datasets.generators import (
    concentric_circles,
    ellipse,
    low_rank,
    moved_digits,
    moved_patch,
    randu,
    s_curve,
    sphere,
    swiss_roll,
)

__all__ = [
    "Dataset",
    "available",
    "concentric_circles",
    "ellipse",
    "load_dataset",
    "low_rank",
    "moved_digits",
    "moved_patch",
    "randu",
    "s_curve",
    "sphere",
    "swiss_roll",
]
