"""Where a network is trained: numpy and torch take the same steps."""

import numpy as np
import pytest

from lowland.arrays.engines import AdamSteps, Engine, choose_engine, torch_on
from lowland.errors import MissingExtra, ParameterError


def test_adam_step_follows_the_paper_in_numpy_and_torch():
    pytest.importorskip("torch")
    gradients = np.random.default_rng(0).standard_normal((5, 3))
    theta, first, second = np.ones(3), np.zeros(3), np.zeros(3)
    for t, g in enumerate(gradients, 1):
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g**2
        theta = theta - 0.01 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    for name in ("numpy", "torch"):
        engine = Engine(name, dtype="float64")
        found = engine.copy(np.ones(3))
        adam = AdamSteps(found)
        for g in gradients:
            adam.step(engine.array(g), 0.01)
        np.testing.assert_allclose(np.asarray(found), theta, rtol=1e-12)


def test_the_requested_engine_is_used():
    assert choose_engine("numpy", None, np.ones(1), "float32") == Engine("numpy", "cpu", "float32")
    with pytest.raises(ParameterError, match=r"device=.*numpy.*CPU.*engine='torch'"):
        choose_engine("numpy", "cuda", np.ones(1), "float32")
    torch = pytest.importorskip("torch")
    assert choose_engine("auto", None, np.ones(1), "float64") == Engine("torch", "cpu", "float64")
    for device in ("cuda:99", "nowhere"):
        with pytest.raises(ParameterError, match=rf"device='{device}': torch cannot use.*device=None") as refused:
            choose_engine("torch", device, np.ones(1), "float32")
        assert ("or 'cuda'" in str(refused.value)) == torch.cuda.is_available()


def test_the_thread_count_of_torch_is_restored():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    with torch_on(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_a_missing_torch_is_reported(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    home = np.zeros(3)
    assert choose_engine("auto", None, home, "float32") == Engine("numpy")
    with pytest.raises(MissingExtra, match=r"\.\[torch\]"):
        choose_engine("torch", None, home, "float32")
    with pytest.raises(ParameterError, match=r"numpy.*CPU"):
        choose_engine("auto", "cuda", home, "float32")
