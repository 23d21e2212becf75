"""Latent semantic analysis of documentation pages: topics form clusters, and axes are interpretable.

The texts are docstrings of the functions of seven installed modules, without their examples. Words are weighted by
TF-IDF, which gives thousands of mostly zero columns. Truncated SVD reduces them to eight (latent semantic analysis).
The module of a text is not part of the input.
"""

import importlib
import inspect
import re

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from gallery import panels, show, title
from lowland import TruncatedSVD, plots, quality
from lowland.plots.style import INK

TOPICS = {
    "linear algebra": "scipy.linalg",
    "Fourier": "scipy.fft",
    "statistics": "scipy.stats",
    "signals": "scipy.signal",
    "special functions": "scipy.special",
    "images": "scipy.ndimage",
    "scores": "sklearn.metrics",
}
EXAMPLES = re.compile(r"^\s*(>>>|\.\.\.).*$", re.MULTILINE)
PLACES = re.compile(r"\b(numpy|np|scipy|sklearn)(\.\w+)+")  # module names would reveal the topic


def pages(module: str, most: int = 70) -> list[str]:
    """Docstrings of the functions of a module with more than 60 words, spread over the alphabet."""
    members = vars(importlib.import_module(module))
    found = [members[name] for name in sorted(members) if not name.startswith("_")]
    texts = [inspect.getdoc(one) or "" for one in found if inspect.isfunction(one) or isinstance(one, np.ufunc)]
    long = [text for text in texts if len(text.split()) > 60]
    return long[:: max(1, len(long) // most)][:most]


collection = [(topic, text) for topic, module in enumerate(TOPICS.values()) for text in pages(module)]
y = np.array([topic for topic, _ in collection])
texts = [PLACES.sub(" ", EXAMPLES.sub(" ", text)) for _, text in collection]
weigh = TfidfVectorizer(stop_words="english", min_df=3, max_df=0.4, sublinear_tf=True, token_pattern="[a-z]{3,}")
T = weigh.fit_transform(texts)  # (n, words), sparse
words = weigh.get_feature_names_out()

svd = TruncatedSVD(8).fit(T)
Z = svd.transform(T)
right = quality.nearest_neighbor_accuracy(Z, y).value
chance = float(np.bincount(y).max() / len(y))
assert len(y) > 250, "several hundred texts"
assert T.nnz < 0.1 * T.shape[0] * T.shape[1], "most words occur in few texts"
assert right > 0.7 > 2 * chance, (right, chance)

figure, axes = panels(1, 3, (10, 4.4))
for ax, i in zip(axes[0], (1, 3), strict=False):
    names = (f"axis {i + 1}", f"axis {i + 2}")
    plots.embedding(Z[:, i : i + 2], y, label_names=list(TOPICS), axis_names=names, size=16, ax=ax)
    ax.set_aspect("auto")
    ax.get_legend().remove()
    title(ax, f"{len(y)} texts, axes {i + 1} and {i + 2} of 8")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False, fontsize="small"
)
ax = axes[0, 2]
ax.set_axis_off()
title(ax, "Words with the largest loadings")
for line, axis in enumerate(svd.components_[1:7]):
    order = np.argsort(axis)
    height = 0.95 - line * 0.165
    ax.text(0.02, height, f"{line + 2}", fontsize="large", color=INK, va="top")
    ax.text(0.1, height, "+ " + ", ".join(words[order[:-5:-1]]), fontsize="small", color=INK, va="top")
    ax.text(0.1, height - 0.065, "– " + ", ".join(words[order[:4]]), fontsize="small", color=INK, va="top")
show(
    figure,
    f"{len(y)} texts with {len(words):,} distinct words are embedded in eight dimensions. Five nearest neighbors "
    f"predict the topic with an accuracy of {right:.0%}. Majority-class baseline: {chance:.0%}.",
)
