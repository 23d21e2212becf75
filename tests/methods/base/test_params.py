"""Declared parameters: types, limits, messages and checks."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pytest

import lowland
from lowland.errors import ParameterError
from lowland.methods.base.params import Described, admits, check_parameters, in_words, parameters_of


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (int, [1, np.int64(2)], [1.0, True, "1", None]),
        (float, [1, 0.5, np.float32(2)], [True, "1", None]),
        (bool, [True, np.bool_(False)], [0, 1]),
        (int | None, [None, 3], [0.5]),
        (Literal["a", "b"], ["a"], ["c", 1]),
        (Literal[1], [1], [True, "1"]),
        (Callable[..., Any], [len], [1]),
        (Sequence[float] | np.ndarray, [[1.0], np.ones(2)], [3, np.array(3.0), b"x"]),
        (Sequence[Sequence[float]], [[[1.0], (2.0,)], [np.ones(2)]], [(1, 2), ["ab"], 3]),
        (Any, [object()], []),
    ],
)
def test_values_of_a_type(kind, good, bad):
    assert all(admits(kind, value) for value in good)
    assert not any(admits(kind, value) for value in bad)


@pytest.mark.parametrize(
    "value", [np.zeros((900, 2)).tolist(), np.zeros((900, 2)), "x" * 5000, dict.fromkeys(range(900))]
)
def test_long_values_are_shortened_in_messages(value):
    with pytest.raises(ParameterError, match="max_iter") as error:
        lowland.TSNE(max_iter=value).fit(np.eye(9))
    assert len(str(error.value)) < 300


def test_types_in_messages():
    assert in_words(int | None) == "an integer or None"
    assert in_words(Literal["a", "b"]) == "one of 'a', 'b'"
    assert in_words(float | Literal["auto"] | None) == "a number, 'auto' or None"
    assert in_words(bool) == "True or False"
    assert in_words(bool | Literal["auto"]) == "True, False or 'auto'"
    assert in_words(Literal["a", "b"] | None) == "'a', 'b' or None"
    assert in_words(str | Callable[[float], float]) == "a string or a function"
    assert in_words(np.ndarray | dict[str, float]) == "an array or a dictionary"


def test_limits_are_checked_for_numbers():
    tol = next(p for p in parameters_of(lowland.PCA) if p.name == "tol")
    assert tol.fits(0.0)
    assert not tol.fits(-1e-9)
    assert tol.wanted == "a number, at least 0"
    with pytest.raises(ParameterError, match=r"PCA\(tol=-1\): the parameter 'tol' must be a number, at least 0\."):
        check_parameters(lowland.PCA(tol=-1))


def test_the_order_is_that_of_the_signature():
    assert [p.name for p in parameters_of(lowland.IncrementalPCA)][:2] == ["n_components", "whiten"]


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (lowland.KernelPCA, "kernel"),
        (lowland.SpectralEmbedding, "affinity"),
        (lowland.MDS, "metric"),
        (lowland.FeatureAgglomeration, "pooling_func"),
    ],
)
def test_a_function_missing_from_a_file_is_requested_by_one_message(method, name):
    model = method(**{name: Described("<function f>", name)})
    words = rf"was loaded .* description of {name}: <function f>.*set_params\({name}=\.\.\.\)"
    with pytest.raises(ParameterError, match=words):
        model.fit(np.eye(5))
