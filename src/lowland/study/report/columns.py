"""Arrays as text inside a page: small integers in base64, one block per array, decoded on demand."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STEPS = 65_534  # coordinates and values are rounded to this many steps of their range; the next code means "missing"
SHADES = 254  # the same for values that only set a color


@dataclass
class Blocks:
    """The arrays of one page, in order."""

    texts: list[str] = field(default_factory=list)

    def add(self, array: np.ndarray) -> dict[str, Any]:
        """Add an array; return the index of its block and its data type."""
        kind = {"u1": "u1", "u2": "u2", "u4": "u4", "f4": "f4", "f8": "f8"}[array.dtype.str[1:]]
        little = np.ascontiguousarray(array, dtype=np.dtype(kind).newbyteorder("<"))
        self.texts.append(base64.b64encode(little.tobytes()).decode("ascii"))
        return {"block": len(self.texts) - 1, "kind": kind}

    def add_texts(self, texts: Iterable[str]) -> dict[str, Any]:
        """Add texts without spaces; return the index of their block."""
        self.texts.append(" ".join(texts))
        return {"block": len(self.texts) - 1}


def column(values: np.ndarray, blocks: Blocks, exact: bool = True) -> dict[str, Any]:
    """Encode a column: one byte per value for few distinct values, else exact, or in 65,534 steps of its range."""
    values = np.asarray(values, dtype=np.float64)
    present = np.isfinite(values)
    levels = _levels(values[present])
    if levels is not None:
        codes = np.full(len(values), 255, dtype=np.uint8)
        codes[present] = np.searchsorted(levels, values[present])
        return {**blocks.add(codes), "levels": levels.tolist()}
    low, high = value_range(values)
    if exact and max(-low, high) < float(np.finfo(np.float32).max):
        return {**blocks.add(np.where(present, values, np.nan).astype(np.float32)), "low": low, "high": high}
    return {**blocks.add(rounded(values, low, high, STEPS)), "low": low, "high": high}


def rounded(values: np.ndarray, low: float, high: float, steps: int) -> np.ndarray:
    """Values as integer steps between low and high; a non-finite value becomes the largest number of the type."""
    dtype = np.uint8 if steps <= SHADES else np.uint16
    values = np.asarray(values, dtype=np.float64)
    present = np.isfinite(values)
    codes = np.full(values.shape, np.iinfo(dtype).max, dtype=dtype)
    width = high - low
    # Halving before the subtraction keeps a range from -1e308 to 1e308 finite.
    fraction = (
        (values[present] / 2 - low / 2) / (width / 2 if np.isfinite(width) else high / 2 - low / 2) if width else 0.0
    )
    codes[present] = np.rint(np.clip(fraction, 0, 1) * steps).astype(dtype)
    return codes


def value_range(values: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest finite value; 0 and 0 if there is none."""
    present = values[np.isfinite(values)]
    return (float(present.min()), float(present.max())) if present.size else (0.0, 0.0)


def bulk_range(values: np.ndarray) -> tuple[float, float]:
    """The range of the values to which an axis is fitted: without outliers, if they are few and far.

    The bulk is what remains without 0.5% of the values at each end, or 3 of 75 or more. Values beyond half its width
    from it are outliers if the range of the others is at most a third of the whole.
    """
    low, high = value_range(values)
    present = np.sort(values[np.isfinite(values)].astype(np.float64))
    few = max(int(0.005 * len(present)), min(3, len(present) // 25))
    if not 0 < few < len(present) / 2:
        return low, high
    first, last = present[few], present[-1 - few]
    edge = (last - first) / 2
    inside = present[(present >= first - edge) & (present <= last + edge)]
    if not 0 < 3 * (inside[-1] - inside[0]) <= high - low < math.inf:
        return low, high
    return float(inside[0]), float(inside[-1])


def codes_of(texts: list[str | None], names: list[str]) -> np.ndarray:
    """The index of each text among the names, in the smallest type; its largest number means "missing"."""
    dtype = next(t for t in (np.uint8, np.uint16, np.uint32) if len(names) < np.iinfo(t).max)
    place: dict[str | None, int] = {name: i for i, name in enumerate(names)}
    place[None] = int(np.iinfo(dtype).max)
    return np.fromiter((place[text] for text in texts), dtype=dtype, count=len(texts))


def _levels(present: np.ndarray) -> np.ndarray | None:
    """The distinct values, sorted; None if there are more than a byte can encode."""
    if len(np.unique(present[:1000])) > 255:  # avoids sorting long columns
        return None
    levels = np.unique(present)
    return levels if len(levels) <= 255 else None
