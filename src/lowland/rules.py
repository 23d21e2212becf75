"""Rules that choose the number of components from a spectrum: give one as ``n_components``."""

from lowland.blocks.spectra.component_rules import (
    Cumulative,
    Downstream,
    EachAtLeast,
    EigenvalueAbove,
    Kaiser,
    Knee,
    ParallelAnalysis,
    Rule,
)

__all__ = [
    "Cumulative",
    "Downstream",
    "EachAtLeast",
    "EigenvalueAbove",
    "Kaiser",
    "Knee",
    "ParallelAnalysis",
    "Rule",
]
