"""The areas of the hunt, by name; each is a file in areas/."""

from __future__ import annotations

import importlib

from hunt.cases import Area

NAMES = (
    "methods", "parameters", "duplicates", "sparse", "simulations", "model-files", "data-files", "spellings", "kills",
    "interrupts", "disks", "memory", "budgets", "caches", "dask-workers",
)  # fmt: skip


def all_areas() -> dict[str, Area]:
    """All areas, in the order of the table."""
    return {name: find_area(name) for name in NAMES}


def find_area(name: str) -> Area:
    """Return an area by its name; also the one that fails on purpose, which no table includes."""
    return importlib.import_module(f"hunt.areas.{name.replace('-', '_')}").AREA
