"""Where a network is trained: numpy on the CPU, or torch on any device."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, is_torch, on_accelerator, to_numpy
from lowland.errors import MissingExtra, ParameterError


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

    def empty(self, shape: tuple[int, ...]) -> Array:
        """Return an uninitialized array."""
        if self.name == "numpy":
            return np.empty(shape, dtype=self.dtype)
        import torch

        return torch.empty(shape, dtype=getattr(torch, self.dtype), device=self.device)

    def adam(self, theta: Array) -> Any:
        """Return the Adam optimizer of theta, which it updates in place."""
        return _NumpyAdam(theta) if self.name == "numpy" else _TorchAdam(theta)


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
                f"`device={device!r}`: numpy runs only on the CPU. Leave `device=None`, or use `engine='torch'` (pip "
                'install "lowland[torch]").'
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


_BETAS = (0.9, 0.999)
_EPSILON = 1e-8


class _NumpyAdam:
    """Adam (Kingma and Ba 2015) in numpy, all updates in place."""

    def __init__(self, theta: np.ndarray) -> None:
        self.theta = theta
        self.first, self.second, self.scratch = (np.zeros_like(theta) for _ in range(3))
        self.steps = 0

    def step(self, g: np.ndarray, rate: float) -> None:
        self.steps += 1
        work = self.scratch
        for moment, beta, power in ((self.first, _BETAS[0], 1), (self.second, _BETAS[1], 2)):
            moment *= beta
            np.multiply(g, g if power == 2 else 1, out=work)
            work *= 1 - beta
            moment += work
        first, second = (1 - beta**self.steps for beta in _BETAS)  # both began at zero
        np.sqrt(self.second, out=work)
        work *= 1 / second**0.5
        work += _EPSILON
        np.divide(self.first, work, out=work)
        work *= rate / first
        self.theta -= work


class _TorchAdam:
    """Adam in torch. torch.optim would work as well, but takes two seconds to import."""

    def __init__(self, theta: Any) -> None:
        import torch

        self.theta, self.sqrt = theta, torch.sqrt
        self.first, self.second, self.scratch = (torch.zeros_like(theta) for _ in range(3))
        self.steps = 0

    def step(self, g: Any, rate: float) -> None:
        self.steps += 1
        first, root = 1 - _BETAS[0] ** self.steps, (1 - _BETAS[1] ** self.steps) ** 0.5
        self.first.lerp_(g, 1 - _BETAS[0])
        self.second.mul_(_BETAS[1]).addcmul_(g, g, value=1 - _BETAS[1])
        work = self.sqrt(self.second, out=self.scratch).add_(_EPSILON * root)
        self.theta.addcdiv_(self.first, work, value=-rate * root / first)
