"""Placement of names without overlap: next to the tips of arrows, or near the centers of classes."""

from __future__ import annotations

from itertools import combinations

import numpy as np

_TURNS = np.radians([0, 25, -25, 50, -50, 80, -80, 115, -115, 150, -150])  # relative to the direction of the arrow
_STEPS = (0.0, 1.0, 2.0, 3.0, 4.5, 6.0)  # distance from the tip, in heights of a name
_ALONG = np.linspace(0.1, 1, 12)  # points of an arrow that a name should not cover


def places_of_names(start: np.ndarray, tips: np.ndarray, sizes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Return the center of each name's box, (m, 2), placed one after the other where it hides least.

    start : (2,) origin of all arrows; tips : (m, 2); sizes : (m, 2) width and height of the names; frame : (2, 2)
    lower left
    and upper right corner of the area for names. All in the same unit, such as pixels.
    """
    arrows = (start + _ALONG[:, None, None] * (tips - start)).reshape(-1, 2)
    low, high = np.empty((0, 2)), np.empty((0, 2))  # corners of the names placed so far
    middles = np.empty_like(tips)
    for j, (tip, size) in enumerate(zip(tips, sizes, strict=True)):
        angle = np.arctan2(*(tip - start)[::-1])
        turns, steps = (grid.ravel() for grid in np.meshgrid(_TURNS, _STEPS))
        ways = np.column_stack([np.cos(angle + turns), np.sin(angle + turns)])  # (c, 2)
        near = np.abs(ways) @ size / 2 + 0.25 * size[1]  # at this distance the box does not cover the arrow
        found = tip + ways * (near + steps * size[1])[:, None]
        a, b = found - size / 2, found + size / 2
        inside = _common(a, b, frame[:1], frame[1:])[:, 0]
        on_names = _common(a, b, low, high).sum(axis=1)
        on_arrows = _within(arrows, a[:, None], b[:, None]).sum(axis=1)
        leaders = tip + _ALONG[:, None, None] * (found - tip)  # (12, c, 2)
        crossed = _within(leaders[:, :, None], low, high).any(axis=0).sum(axis=1)
        area = size.prod()
        cost = (
            20 * (on_names + area - inside) / area + 0.5 * on_arrows + 2 * crossed + 0.6 * steps + 0.4 * np.abs(turns)
        )
        best = cost.argmin()
        middles[j], low, high = found[best], np.vstack([low, a[best]]), np.vstack([high, b[best]])
    return middles


def moved_apart(centers: np.ndarray, sizes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Return the centers of boxes, (m, 2), moved apart until none overlap, or 200 times, and kept in the frame.

    centers : (m, 2); sizes : (m, 2) width and height; frame : (2, 2) lower left and upper right corner.
    """
    moved = centers.astype(float)
    inner = frame[0] + sizes / 2, np.maximum(frame[1] - sizes / 2, frame[0] + sizes / 2)
    for _ in range(200):
        crowded = False
        for i, j in combinations(range(len(moved)), 2):
            between = moved[i] - moved[j]
            overlap = (sizes[i] + sizes[j]) / 2 - np.abs(between)
            if (overlap > 0.5).all():
                axis, crowded = int(overlap.argmin()), True  # the shorter way out
                step = (overlap[axis] + 1) / 2 * (1 if between[axis] >= 0 else -1)
                moved[i, axis] += step
                moved[j, axis] -= step
        moved = np.clip(moved, *inner)
        if not crowded:
            break
    return moved


def _within(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.asarray(np.all((points > low) & (points < high), axis=-1))


def _common(a: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The area of the intersection of boxes from a to b with boxes from low to high, (c, m)."""
    sides = np.minimum(b[:, None], high) - np.maximum(a[:, None], low)
    return np.maximum(sides, 0).prod(axis=2)
