"""Names that do not hide the data: short ones, in legends next to the axes, and placed without overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from lowland.plots.style import INK, figure_of, plain

LONGEST = 28  # characters of a name at an axis
_IN_LEGEND = 26
_FEW = 16  # names in one column beside the axes
_SMALLER = (("x-small", 18), ("xx-small", 12), (5, 8))  # size of the letters and longest name in a crowded panel
_SHORT = 18  # characters of names beside the axes
_TURNS = np.radians([0, 25, -25, 50, -50, 80, -80, 115, -115, 150, -150])  # relative to the direction of the arrow
_STEPS = (0.0, 1.0, 2.0, 3.0, 4.5, 6.0)  # distance from the tip, in heights of a name
_ALONG = np.linspace(0.1, 1, 12)  # points of an arrow that a name should not cover


# --- legends ---


def shorten(names: Sequence[str], most: int = LONGEST) -> list[str]:
    """Return names of at most ``most`` characters, "beginning…end"; different names stay different."""
    words = [" ".join(str(name).split()) for name in names]
    while True:
        tail = max(1, round(0.4 * (most - 1)))
        short = [word if len(word) <= most else f"{word[: most - 1 - tail]}…{word[-tail:]}" for word in words]
        if len(set(short)) == len(set(words)) or most >= max(map(len, words)):
            return short
        most += 4


def legend_of(
    ax: Any, marks: list[Any], names: Sequence[str], *, inside: int = 0, most: int = _IN_LEGEND, **options: Any
) -> Any:
    """Draw a legend: inside the axes up to ``inside`` short names, else beside the axes, or below them in columns."""
    words = shorten(names, most)
    longest = max(map(len, words))
    if longest <= _SHORT and len(words) <= _FEW and len(words) > inside:
        return _drawn(ax, marks, words, loc="center left", bbox_to_anchor=(1.0, 0.5), **options)
    if len(words) <= inside and longest <= most:
        return _drawn(ax, marks, words, **options)
    return _below(ax, marks, words, **options)


def legend_above(ax: Any, marks: list[Any], names: Sequence[str]) -> float:
    """Draw a legend above the axes, in as many columns as fit; return its height in points."""
    box = _in_columns(ax, marks, shorten(names, _IN_LEGEND), loc="lower left", bbox_to_anchor=(0, 1))
    return 72 / figure_of(ax).dpi * float(box.get_window_extent().height)


def _below(ax: Any, marks: list[Any], words: list[str], **options: Any) -> Any:
    """A legend below the axes and their label. A new figure becomes higher, so that the axes keep their size."""
    from matplotlib.transforms import ScaledTranslation

    figure = figure_of(ax)
    under = ax.transAxes + ScaledTranslation(0, -0.26 - 0.2 * bool(ax.get_xlabel()), figure.dpi_scale_trans)
    options |= {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": under}
    box = _in_columns(ax, marks, words, **options)
    if getattr(figure, "grows", False):
        figure.set_figheight(figure.get_figheight() + float(box.get_window_extent().height) / figure.dpi)
        return box
    for fontsize, most in _SMALLER:  # axes of the user: the legend takes at most a third of their height
        if box.get_window_extent().height <= ax.get_window_extent().height / 3:
            break
        box = _in_columns(ax, marks, shorten(words, most), **options, fontsize=fontsize)
    return box


def _in_columns(ax: Any, marks: list[Any], words: list[str], **options: Any) -> Any:
    """As many columns as the axes are wide."""
    one = _drawn(ax, marks, words, **options).get_window_extent().width
    figure, wide = figure_of(ax), ax.get_window_extent().width
    if getattr(figure, "grows", False):
        wide = max(wide, 0.88 * figure.bbox.width)  # the layout makes its only axes wider
    across = max(1, min(len(words), int(wide // one)))
    lines = math.ceil(len(words) / across)
    return _drawn(ax, marks, words, ncols=math.ceil(len(words) / lines), **options)


def _drawn(ax: Any, marks: list[Any], words: list[str], **options: Any) -> Any:
    """A legend of all names: matplotlib would leave out names that begin with an underscore."""
    look = {"frameon": False, "fontsize": "small", "labelcolor": INK, "columnspacing": 1.2, **options}
    box = ax.legend(marks, [str(i) for i in range(len(marks))], **look)
    for text, word in zip(box.get_texts(), words, strict=True):
        text.set_text(plain(word))
    return box


# --- placement ---


def place_names(start: np.ndarray, tips: np.ndarray, sizes: np.ndarray, frame: np.ndarray) -> np.ndarray:
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


def move_apart(centers: np.ndarray, sizes: np.ndarray, frame: np.ndarray) -> np.ndarray:
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
