"""The record of how a solver went."""

from lowland.blocks.optimize.outcome import Divergence, Outcome
from lowland.errors import ParameterError


def test_a_trace_counts_the_iterations_after_its_start():
    found = Outcome.of_trace("descent", [3.0, 2.0, 1.0], "it is flat")
    assert (found.iterations, found.converged, found.trace) == (2, True, (3.0, 2.0, 1.0))
    assert not Outcome.of_trace("descent", [3.0], "no step was allowed", converged=False).converged


def test_a_choice_is_shown_with_its_reason():
    assert str(Outcome("eigh", "few columns")) == "eigh: few columns"


def test_divergence_can_be_told_apart_from_other_errors():
    assert issubclass(Divergence, ParameterError)
