"""Rows in, rows out: everything a user can pass becomes Rows; outputs are written whole or not at all."""

from lowland.data.samples import (
    Sample,
    available,
    concentric_circles,
    ellipse,
    load,
    low_rank,
    moved_digits,
    moved_patch,
    randu,
    s_curve,
    sphere,
    swiss_roll,
)

__all__ = [
    "Sample",
    "available",
    "concentric_circles",
    "ellipse",
    "load",
    "low_rank",
    "moved_digits",
    "moved_patch",
    "randu",
    "s_curve",
    "sphere",
    "swiss_roll",
]
