"""Legends and names that do not crowd out the data: shortened names, and columns below the axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lowland.plots.style import INK, figure_of, plain

LONGEST = 28  # characters of a name at an axis
_IN_LEGEND = 26
_FEW = 16  # names in one column beside the axes
_SMALLER = (("x-small", 18), ("xx-small", 12), (5, 8))  # size of the letters and longest name in a crowded panel
_SHORT = 18  # characters of names beside the axes


def shortened(names: Sequence[str], most: int = LONGEST) -> list[str]:
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
    words = shortened(names, most)
    longest = max(map(len, words))
    if longest <= _SHORT and len(words) <= _FEW and len(words) > inside:
        return _drawn(ax, marks, words, loc="center left", bbox_to_anchor=(1.0, 0.5), **options)
    if len(words) <= inside and longest <= most:
        return _drawn(ax, marks, words, **options)
    return _below(ax, marks, words, **options)


def legend_above(ax: Any, marks: list[Any], names: Sequence[str]) -> float:
    """Draw a legend above the axes, in as many columns as fit; return its height in points."""
    box = _in_columns(ax, marks, shortened(names, _IN_LEGEND), loc="lower left", bbox_to_anchor=(0, 1))
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
        box = _in_columns(ax, marks, shortened(words, most), **options, fontsize=fontsize)
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
