"""Agreement with R's fastICA: the numbers in the JSON file beside this one."""

import json
from pathlib import Path

import numpy as np
import pytest

from lowland import FastICA, quality
from lowland.data import load_dataset

REFERENCE = json.loads((Path(__file__).parent / "fastICA_mixed.json").read_text())
MIXING = np.array(REFERENCE["inputs"]["true_mixing_X_eq_S_At"])
W_INIT = np.array(REFERENCE["inputs"]["w_init"])


def fitted(algorithm, fun, X, K):
    """Ours from R's initial matrix: W0 belongs to R's white columns, whose signs differ from ours."""
    signs = np.sign(np.sum(FastICA().fit(X).whitening_ * K.T, axis=1))
    tol = 1e-10 if algorithm == "picard" else 1e-13
    return FastICA(algorithm=algorithm, fun=fun, tol=tol, max_iter=2000, w_init=W_INIT * signs).fit(X)


@pytest.mark.parametrize("algorithm", ["parallel", "deflation", "picard"])
@pytest.mark.parametrize("fun", ["logcosh", "exp"])
def test_fastica_mixed(algorithm, fun, data_folder):
    X = load_dataset("ica_mixed").X
    expected = REFERENCE["result"][f"{'deflation' if algorithm == 'deflation' else 'parallel'}_{fun}"]
    ica = fitted(algorithm, fun, X, np.array(expected["K"]))
    KW, S, A = (np.array(expected[name]) for name in ("unmixing_KW", "S_first5", "A"))
    overlap = ica.components_ @ np.linalg.inv(KW.T)  # a signed permutation
    order, signs = np.argmax(np.abs(overlap), axis=1), np.sign(overlap[range(4), np.argmax(np.abs(overlap), axis=1)])
    assert sorted(order) == [0, 1, 2, 3]
    # R compares cosines of single rows with 1e-10 or 1e-12: deflation leaves an angle of about 1e-6
    atol = 2e-6 if algorithm == "deflation" else 5e-8
    np.testing.assert_allclose(ica.components_, signs[:, None] * KW.T[order], atol=atol)
    np.testing.assert_allclose(ica.transform(X[:5]), S[:, order] * signs, atol=2 * atol)
    np.testing.assert_allclose(ica.mixing_, (signs[:, None] * A[order]).T, atol=2 * atol)


@pytest.mark.parametrize("algorithm", ["parallel", "deflation", "picard"])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube"])
def test_the_true_mixing_is_found(algorithm, fun, data_folder):
    """Warnings are errors here: no false warning about Gaussian sources either."""
    sample = load_dataset("ica_mixed")
    ica = FastICA(algorithm=algorithm, fun=fun, random_state=0).fit(sample.X)
    assert quality.amari_distance(ica.components_, MIXING).value < 0.03
    assert quality.amari_distance(ica.components_, MIXING * sample.truth.std(axis=0)).value < 0.03
    assert ica.n_gaussian_ == 0
    matches = np.abs(np.corrcoef(ica.transform(sample.X).T, sample.truth.T)[:4, 4:])
    assert np.all(matches.max(axis=1) > 0.998)
