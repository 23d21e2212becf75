"""Sums over segments of a tensor: consecutive rows that belong together."""

from __future__ import annotations

from typing import Any


def segment_sums(values: Any, counts: Any) -> Any:
    """Return the sum of the first counts[0] rows, of the next counts[1] rows, …; (m, …), zero for an empty segment.

    A segment is added up in the order of its rows, so the bits are the same every time, also on a GPU.
    """
    import torch

    return torch.segment_reduce(values, "sum", lengths=counts, axis=0, unsafe=True)
