"""Registry of the jobs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from benchmarks.lines import Line

Data = Literal["real", "synthetic", "none"]


@dataclass(frozen=True)
class Plan:
    """Options of a run: small or full sizes, and the number of rounds."""

    quick: bool
    repeat: int

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full


@dataclass(frozen=True)
class Job:
    """A named comparison; ``run`` yields its lines. Jobs of one family share a table."""

    name: str
    title: str
    run: Callable[[Plan], Iterable[Line]]
    data: Data
    family: str


_FAMILIES = {  # heading on the page of results, and the modules with its jobs
    "PCA, imports and compilation": ("jobs",),
    "Real tables": ("real",),
    "Linear methods": ("discriminants", "factors", "independent", "pursuit", "autoencoder"),
    "Distances and kernels": ("scaling", "stress", "kernels"),
    "Neighbors and graphs": ("neighbors", "isomap", "lle", "laplacian"),
    "Intrinsic dimension and growth": ("dimension", "growth"),
    "Selection, clusters and networks": ("selection", "som", "filters", "clustering", "nets", "sparse_models"),
    "Quality and comparison": ("quality", "study"),
    "Neighbor embeddings": ("embeddings",),
    "Categories and missing values": ("categories", "incomplete"),
    "Explorer": ("explorer",),
}
METHODS = "Methods against scikit-learn, on the digits"
_declared: dict[str, Job] = {}


def job(
    title: str, data: Data = "synthetic"
) -> Callable[[Callable[[Plan], Iterable[Line]]], Callable[[Plan], Iterable[Line]]]:
    """Register a function as a job under its name; ``data`` tells what it is measured on."""

    def declare(run: Callable[[Plan], Iterable[Line]]) -> Callable[[Plan], Iterable[Line]]:
        if run.__name__ in _declared:
            raise ValueError(f"There are two jobs named {run.__name__}. Rename one of them.")
        _declared[run.__name__] = Job(run.__name__, title, run, data, _family_of(run))
        return run

    return declare


def _family_of(run: Callable[[Plan], Iterable[Line]]) -> str:
    module = run.__module__.rpartition(".")[2]
    return next(family for family, modules in _FAMILIES.items() if module in modules)


def all_jobs() -> dict[str, Job]:
    """Return the declared jobs by name, then one for every method."""
    for name in (name for modules in _FAMILIES.values() for name in modules):
        importlib.import_module(f"benchmarks.{name}")  # registers its jobs
    from benchmarks.methods import method_jobs

    return {**_declared, **{each.name: each for each in method_jobs()}}
