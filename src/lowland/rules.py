"""Rules that choose the number of components from the eigenvalues: pass one as ``n_components``."""

from lowland.math.spectra.component_rules import (
    Cumulative,
    Downstream,
    EachAtLeast,
    EigenvalueAbove,
    Kaiser,
    Knee,
    ParallelAnalysis,
    Rule,
)

__all__ = ["Cumulative", "Downstream", "EachAtLeast", "EigenvalueAbove", "Kaiser", "Knee", "ParallelAnalysis", "Rule"]
