"""The record of the outcome of a solver."""

from lowland.errors import ParameterError
from lowland.math.optimize.outcome import Divergence, Outcome


def test_the_trace_counts_iterations_after_the_initial_value():
    found = Outcome.of_trace("descent", [3.0, 2.0, 1.0], "it is flat")
    assert (found.iterations, found.converged, found.trace) == (2, True, (3.0, 2.0, 1.0))
    assert not Outcome.of_trace("descent", [3.0], "no step was allowed", converged=False).converged


def test_the_representation_includes_the_reason():
    assert str(Outcome("eigh", "few columns")) == "eigh: few columns"


def test_divergence_has_its_own_exception():
    assert issubclass(Divergence, ParameterError)
