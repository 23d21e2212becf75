"""The logistic function and SiLU; in torch by its compiled functions, in one pass over memory."""

from __future__ import annotations

from lowland.arrays.namespace import Array, is_torch, xp_of


def logistic(a: Array) -> Array:
    """Return 1 / (1 + exp(-a))."""
    if is_torch(a):
        import torch

        return torch.sigmoid(a)
    s = xp_of(a).tanh(0.5 * a)  # no overflow at either end
    s *= 0.5
    s += 0.5
    return s


def silu(a: Array) -> Array:
    """Return a · logistic(a)."""
    if is_torch(a):
        import torch

        return torch.nn.functional.silu(a)
    s = logistic(a)
    s *= a
    return s


def torch_silu_backward(delta: Array, a: Array) -> Array:
    """Return delta times the derivative of SiLU at a, for tensors."""
    import torch

    return torch.ops.aten.silu_backward(delta, a)
