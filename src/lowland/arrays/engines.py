"""Where a network is trained: numpy on the CPU, or torch on any device."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lowland.arrays.namespace import Array, is_torch, on_accelerator, to_numpy, xp_of
from lowland.errors import MissingExtra, ParameterError, install_command


@dataclass(frozen=True)
class Engine:
    """An array library, a device and a precision."""

    name: Literal["numpy", "torch"]
    device: str = "cpu"
    dtype: Literal["float32", "float64"] = "float32"

    def array(self, values: Array) -> Array:
        """Return values in this library, on this device, in this precision; without a copy where possible."""
        if self.name == "numpy":
            return np.ascontiguousarray(to_numpy(values), dtype=self.dtype)
        import torch

        if not is_torch(values):
            values = np.ascontiguousarray(to_numpy(values), dtype=self.dtype)  # torch warns about read-only arrays
            values = torch.as_tensor(values if values.flags.writeable else values.copy())
        return values.to(device=self.device, dtype=getattr(torch, self.dtype)).contiguous()

    def copy(self, values: Array) -> Array:
        """Return a copy of the values, otherwise as ``array``."""
        found = self.array(values)
        return found.copy() if self.name == "numpy" else found.clone()


def choose_engine(
    asked: Literal["auto", "numpy", "torch"], device: str | None, home: Array, dtype: Literal["float32", "float64"]
) -> Engine:
    """Return the requested engine; 'auto' is torch where it is installed. ``home`` is on the device of the rows."""
    installed = importlib.util.find_spec("torch") is not None
    if asked == "torch" and not installed:
        raise MissingExtra("torch", "torch")
    if asked == "numpy" or not installed:
        if device not in (None, "cpu"):
            raise ParameterError(
                f"`device={device!r}`: numpy runs only on the CPU. Leave `device=None`, or use `engine='torch'`: "
                f"{install_command('torch')}."
            )
        return Engine("numpy", dtype=dtype)
    if device is None:
        return Engine("torch", str(home.device) if on_accelerator(home) else "cpu", dtype)
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        there = " or 'cuda'" if torch.cuda.is_available() else ""
        raise ParameterError(
            f"`device={device!r}`: torch cannot use this device ({reason}). Leave `device=None` for the device of "
            f"the data, or choose 'cpu'{there}."
        ) from error
    return Engine("torch", device, dtype)


def has_kernels(X: Array) -> bool:
    """Whether the kernels for devices run where X is: they need Triton, which torch brings along for CUDA."""
    return is_torch(X) and X.device.type == "cuda" and importlib.util.find_spec("triton") is not None


@contextmanager
def torch_on(threads: int) -> Iterator[None]:
    """Limit the number of threads of torch, and restore it at the end."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(min(before, threads))
    try:
        yield
    finally:
        torch.set_num_threads(before)


class AdamSteps:
    """Adam (Kingma and Ba 2015) of weights that it updates in place. torch.optim takes two seconds to import."""

    def __init__(self, theta: Array) -> None:
        xp = xp_of(theta)
        self.theta, self.first, self.second, self.steps = theta, xp.zeros_like(theta), xp.zeros_like(theta), 0

    def step(self, g: Array, rate: float) -> None:
        """Move the weights by one step against the gradient g."""
        self.steps += 1
        self.first *= 0.9
        self.first += g * (1 - 0.9)
        self.second *= 0.999
        self.second += g * g * (1 - 0.999)
        first, second = (1 - beta**self.steps for beta in (0.9, 0.999))  # both moments began at zero
        move = xp_of(g).sqrt(self.second)
        move *= 1 / second**0.5
        move += 1e-8
        move = self.first / move
        move *= rate / first
        self.theta -= move
