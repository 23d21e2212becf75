"""Thumbnails of the images of a table: small PNG files in base64, which the report shows."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence

import numpy as np

MAX_BYTES = 4_000_000  # of all thumbnails of a study
SIDES = (48, 32, 24, 16, 12)  # pixels of the longer side, from the best: the first that fits is taken
_TRIED = 200  # images that are encoded to estimate the size of all


def thumbnails_of(pixels: np.ndarray, shape: Sequence[int]) -> np.ndarray | None:
    """Return a PNG per row, (m,) strings in base64, or None if there are too many rows.

    ``pixels`` (m, d) are from 0 to 1; ``shape`` is (height, width) or (height, width, 3), whose product is d.
    """
    for side in SIDES:
        tried = [_png(_small(row.reshape(shape), side)) for row in pixels[:_TRIED]]
        if sum(map(len, tried)) / max(len(tried), 1) * len(pixels) <= MAX_BYTES:
            rest = [_png(_small(row.reshape(shape), side)) for row in pixels[_TRIED:]]
            return np.array([*tried, *rest], dtype=object)
    return None


def _small(image: np.ndarray, side: int) -> np.ndarray:
    """The image with a longer side of at most ``side`` pixels, each the mean of a block, in bytes."""
    shrink = min(1.0, side / max(image.shape[:2]))
    for axis in (0, 1):
        size = image.shape[axis]
        edges = np.linspace(0, size, max(1, round(size * shrink)) + 1).astype(int)
        widths = np.diff(edges).reshape([-1 if i == axis else 1 for i in range(image.ndim)])
        image = np.add.reduceat(image, edges[:-1], axis=axis) / widths
    return np.rint(np.clip(np.nan_to_num(image), 0, 1) * 255).astype(np.uint8)


def _png(image: np.ndarray) -> str:
    """A PNG of bytes, (h, w) or (h, w, 3), in base64."""
    height, width = image.shape[:2]
    lines = np.zeros((height, 1 + math.prod(image.shape[1:])), dtype=np.uint8)  # the first byte: no filter
    lines[:, 1:] = image.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if image.ndim == 2 else 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    chunks = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts)
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode("ascii")
