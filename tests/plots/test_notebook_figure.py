"""Figures in notebooks: a PNG for the display, nothing registered with pyplot."""

import gc
import pickle
import subprocess
import sys
import warnings
import weakref

import numpy as np
from matplotlib.figure import Figure

from lowland import plots

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_notebook_shows_a_figure():
    """IPython asks an object for ``_repr_png_`` and base64-encodes the bytes."""
    figure = plots.embedding(np.eye(3))
    assert figure._repr_png_().startswith(PNG)
    assert isinstance(figure, Figure)  # so that the format which pyplot registers for figures applies, once
    assert figure._repr_html_() is None
    assert pickle.loads(pickle.dumps(figure))._repr_png_() == figure._repr_png_()


def test_figures_need_no_pyplot_and_no_display():
    code = (
        "import sys; from lowland import plots; "
        "assert plots.scree([2, 1])._repr_png_(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_many_figures_are_freed_and_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = [weakref.ref(plots.scree([2, 1])) for _ in range(10)]
    gc.collect()
    assert not any(one() for one in kept)
