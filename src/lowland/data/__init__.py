"""Rows in, rows out: everything a user can pass becomes Rows; outputs are written whole or not at all."""

from lowland.data.datasets.generators import (
    Dataset,
    available,
    concentric_circles,
    ellipse,
    load_dataset,
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
