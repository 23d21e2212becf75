"""Reading and writing tables, and example data sets."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    """Import the data sets at their first use: methods need only the rest of this folder."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lowland.data.datasets import catalog, dataset, generators

    module = next(each for each in (catalog, generators, dataset) if hasattr(each, name))
    return getattr(module, name)
