"""How kernels are compiled: with notification, without the GIL, and without a writable folder."""

import ctypes
import gc
import sys

import numba
import numpy as np
import pytest

from lowland import kernels
from lowland.kernels import compile as compiling

SOURCE = """
def total(x):
    s = 0.0
    for i in range(x.size):
        s += x[i]
    return s
"""


def total():
    """A function that belongs to no file: there is no folder in which its machine code could be cached."""
    names = {}
    exec(SOURCE, names)
    return names["total"]


def test_compilation_is_reported_and_timed():
    seen, before = [], kernels.compiling["seconds"]
    kernels.watchers.append(seen.append)
    try:
        add = compiling.kernel(total())
        assert add(np.arange(4.0)) == 6.0
        assert add(np.arange(5.0)) == 10.0  # compiled once
    finally:
        kernels.watchers.remove(seen.append)
    assert seen == [True, False]
    assert kernels.compiling["seconds"] > before
    assert add.targetoptions["nogil"]


def test_ctrl_c_in_a_callback_of_the_compiler_is_not_lost():
    @ctypes.CFUNCTYPE(None)
    def interrupted():
        raise KeyboardInterrupt

    hook, listener = sys.unraisablehook, compiling._CompileListener()
    listener.on_start(None)
    interrupted()  # Python prints "Exception ignored" and goes on
    with pytest.raises(KeyboardInterrupt):
        listener.on_end(None)
    assert sys.unraisablehook == hook
    listener.on_start(None)
    listener.on_end(None)  # the next compilation is not concerned


def test_what_the_compiler_leaves_does_not_start_the_garbage_collector_at_once():
    listener, begun = compiling._CompileListener(), []

    def watch(phase, details):
        begun.append(details["generation"])

    before = gc.isenabled()
    gc.enable()
    try:
        listener.on_start(None)
        left = [[] for _ in range(100_000)]  # as many as a compilation leaves
        gc.callbacks.append(watch)
        listener.on_end(None)
        left.append([])  # a new object
    finally:
        gc.callbacks.remove(watch)
        (gc.enable if before else gc.disable)()
    assert not begun


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_rests_during_a_compilation_and_is_as_before_after_it(collects):
    listener, before = compiling._CompileListener(), gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        listener.on_start(None)
        listener.on_start(None)  # a kernel that the first one calls
        listener.on_end(None)
        assert not gc.isenabled()
        listener.on_end(None)
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()


def test_compiled_kernels_are_cached_in_a_writable_folder(monkeypatch):
    asked = []

    def njit(**options):
        asked.append(options.get("cache"))
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(numba, "njit", njit)
    function = total()
    assert compiling.kernel(function) is function
    assert asked == [True, None]


def test_a_kernel_is_compiled_for_types_and_not_for_constants():
    names = {}
    exec("def plus(x, n): return x + n\ndef call(x): return plus(x, 1) + plus(x, 2) + plus(x, n=x)", names)
    plus = names["plus"] = compiling.kernel(names["plus"])
    assert compiling.kernel(names["call"])(3) == 15
    assert len(plus.signatures) == 1


def test_vector_kernels_keep_nan_and_infinity():
    add = compiling.vector_kernel(total())
    assert np.isnan(add(np.array([1.0, np.nan])))
    assert np.isinf(add(np.array([1.0, np.inf])))
