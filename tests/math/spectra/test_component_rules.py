"""Rules for the number of components, on spectra with known results."""

import numpy as np
import pytest

from lowland.errors import DataError, ParameterError
from lowland.math.spectra.component_rules import (
    Cumulative,
    EachAtLeast,
    EigenvalueAbove,
    Fixed,
    Kaiser,
    Knee,
    Minka,
    ParallelAnalysis,
    Spectrum,
    _noise_spectrum,
    as_rule,
)


def test_rules_on_a_spectrum_known_by_hand():
    values = np.array([4.0, 3.0, 2.0, 1.0])
    S = Spectrum(values, 10.0, 4, 100, 4, variances=np.full(4, 2.5))
    assert Cumulative(0.65).decide(S).n_components == 2
    assert Cumulative(0.75).decide(S).n_components == 3
    assert EachAtLeast(0.2).decide(S).n_components == 3
    assert EigenvalueAbove(3.0).decide(S).n_components == 1
    assert Kaiser().decide(S).n_components == 2
    bend = Spectrum(np.array([10.0, 9.0, 1.0, 0.9, 0.8, 0.7]), 22.4, 6, 100, 6)
    assert Knee().decide(bend).n_components == 2


def test_rules_request_more_eigenvalues_when_undecided():
    leading = Spectrum(np.array([4.0, 3.0]), 10.0, 4, 100, 4)
    assert Cumulative(0.65).decide(leading).n_components == 2
    assert Cumulative(0.9).decide(leading) is None
    assert EachAtLeast(0.2).decide(leading) is None
    assert Knee().decide(leading) is None


def test_the_simulated_noise_spectrum_agrees_with_simulated_rows():
    """Bartlett's decomposition against plain simulation."""
    rng, deviations = np.random.default_rng(0), np.array([1.0, 2.0, 0.5, 1.0])
    direct = np.mean([_noise_spectrum(30, deviations, rng) for _ in range(600)], axis=0)
    rows = [np.linalg.eigvalsh(np.cov((rng.standard_normal((30, 4)) * deviations).T))[::-1] for _ in range(600)]
    np.testing.assert_allclose(direct, np.mean(rows, axis=0), rtol=0.05)


def test_allowed_values_of_n_components():
    assert as_rule(3) == Fixed(3)
    assert as_rule(None) == Fixed(None)
    assert as_rule(0.9) == Cumulative(0.9)
    assert isinstance(as_rule("mle"), Minka)
    assert as_rule(Kaiser()) == Kaiser()
    for wrong in (1.5, "many", True):
        with pytest.raises(ParameterError, match=r"number of components.*integer.*fraction"):
            as_rule(wrong)
    with pytest.raises(ParameterError, match=r"Cumulative\(fraction=1\)"):
        Cumulative(1)


def test_minkas_dimension_of_one_strong_direction():
    spectrum = Spectrum(np.array([50.0, 1.0, 0.98, 1.02]), 53.0, 4, 500, 4)
    assert Minka().decide(spectrum).n_components == 1
    with pytest.raises(DataError, match="n_samples >= n_features"):
        Minka().decide(Spectrum(np.array([1.0, 0.5]), 1.5, 2, 2, 4))


def test_noise_of_equal_variances_is_not_kept():
    values = np.sort(np.linalg.eigvalsh(np.cov(np.random.default_rng(0).standard_normal((200, 6)).T)))[::-1]
    spectrum = Spectrum(values, values.sum(), 6, 200, 6, variances=np.ones(6))
    none = ParallelAnalysis(50, 0.99).decide(spectrum)  # the first is always kept, and the reason agrees
    assert none.n_components == 1
    assert none.reason == "no component above the eigenvalues of uncorrelated columns; the first is kept"
    strong = Spectrum(values * [9, 5, 1, 1, 1, 1], 20.0, 6, 200, 6, variances=np.ones(6))
    assert ParallelAnalysis(50).decide(strong).n_components == 2
