"""A matplotlib figure that a notebook shows as the last expression of a cell, with or without pyplot."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure outside of pyplot's global state: it needs no display, and is freed with its last reference."""

    grows = True  # its height may be adapted to the legend

    def _repr_png_(self) -> bytes:
        """Return the picture. IPython asks for it unless pyplot has registered its own format for figures."""
        buffer = BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()
