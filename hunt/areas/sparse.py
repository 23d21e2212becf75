"""Sparse matrices with forged indices, an error; valid ones in unusual forms: the usual result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from hunt.areas.methods import SHORT
from hunt.cases import Area, Wrong
from hunt.laws import dense
from lowland import quality
from lowland.errors import LowlandError
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import entries, load_method

X = np.random.default_rng(0).random((40, 6)) * (np.random.default_rng(1).random((40, 6)) < 0.5) * [6, 5, 4, 3, 2, 1]
X[:, 0] += 1.0  # no empty row
Y = np.arange(40) % 3
FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok")
NUMBERS = (-(2**31), -7, -1, 40, 41, 6, 7, 1000, 2**20, 2**31 - 1)
QUALITY = ("trustworthiness", "raw_stress", "r_nx_area")


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Fit, transform or measure with one sparse matrix."""
    names = sorted(name for name in entries() if entries()[name].takes_sparse)
    name = names[seed % len(names)]
    form = FORMATS[seed // len(names) % len(FORMATS)]
    kind = ("matrix", "array")[int(rng.integers(2))]
    S = getattr(scipy.sparse, f"{form}_{kind}")(X)
    forged = form in ("csr", "csc", "coo", "bsr") and rng.random() < 0.7
    what = _forge(S, rng) if forged else _vary(S, rng)
    use = str(rng.choice(["fit", "transform", "partial_fit", "chunks", "quality"]))
    case = f"{name}.{use}, {form}_{kind}, {what}"
    try:
        Z = _use(name, use, S, folder)
    except LowlandError as error:
        if not forged and _accepts(name, use):
            raise Wrong(f"{case}: a valid matrix is refused: {error}") from None
        return f"refused: {case}: {error}"[:200]
    except Exception as error:
        error.args = (f"{case}: {error}",)
        raise
    if forged and not _is_valid(S):
        raise Wrong(f"{case}: accepted")
    if S.format not in ("lil", "dok"):
        S.data = S.data.astype(S.data.dtype.newbyteorder("="))  # scipy reads no other
    expected = _use(name, use, scipy.sparse.csr_array(S.toarray()), folder)
    if not np.allclose(Z, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(initial=1e-300)):
        raise Wrong(f"{case}: another result than with the usual form")
    return f"done: {case}"


def _use(name: str, use: str, S: Any, folder: Path) -> np.ndarray:
    if use == "quality":
        measure = getattr(quality, QUALITY[len(name) % len(QUALITY)])
        return np.asarray([measure(S, X[:, :2]).value])
    cls: Any = load_method(name)
    est = cls(**{**traits_of(cls).quick, **SHORT.get(name, {})})
    est = est.set_params(random_state=0) if "random_state" in est.get_params() else est
    if use == "partial_fit" and hasattr(est, "partial_fit"):
        return dense(est.partial_fit(S, Y).transform(X))
    if use == "chunks":
        usual = scipy.sparse.csr_array(X)
        return dense(est.fit([usual, S], np.concatenate([Y, Y])).transform(X))
    return dense(est.fit(X, Y).transform(S) if use == "transform" else est.fit(S, Y).transform(X))


def _accepts(name: str, use: str) -> bool:
    """Whether the usual form of the matrix is accepted."""
    try:
        _use(name, use, scipy.sparse.csr_array(X), Path())
    except LowlandError:
        return False
    return True


def _forge(S: Any, rng: np.random.Generator) -> str:
    """Write one number to an array of indices, or cut an array."""
    parts = ("row", "col") if S.format == "coo" else ("indices", "indptr")
    part = str(rng.choice([*parts, "data"]))
    array = getattr(S, part)
    if part == "data" or rng.random() < 0.2:
        setattr(S, part, array[: int(rng.integers(len(array)))])
        return f"{part} cut"
    place, value = int(rng.choice([0, len(array) - 1, rng.integers(len(array))])), int(rng.choice(NUMBERS))
    array[place] = value
    return f"{part}[{place}] = {value}"


def _vary(S: Any, rng: np.random.Generator) -> str:
    """Write the same matrix in an unusual way."""
    way = str(rng.choice(["as it is", "explicit zeros", "unsorted", "repeated", "int64", "float32", "big-endian"]))
    if S.format in ("lil", "dok"):
        return "as it is"
    if way == "explicit zeros":
        S.data[:1] = 0
    elif way == "unsorted" and S.format == "csr":
        for i in range(S.shape[0]):
            row = slice(S.indptr[i], S.indptr[i + 1])
            S.indices[row], S.data[row] = S.indices[row][::-1].copy(), S.data[row][::-1].copy()
        S.has_sorted_indices = S.has_canonical_format = False
    elif way == "repeated" and S.format == "coo":
        S.coords = tuple(np.concatenate([at, at]) for at in S.coords)
        S.data = np.concatenate([S.data, S.data]) / 2
    elif way == "int64" and S.format in ("csr", "csc"):
        S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    elif way in ("float32", "big-endian"):
        S.data = S.data.astype(np.float32).astype(np.float32 if way == "float32" else ">f8")
    return way


def _is_valid(S: Any) -> bool:
    """Whether a matrix can be read in Python, index by index."""
    if S.format == "coo":
        sizes = {len(S.data), *map(len, S.coords)}
        return len(sizes) == 1 and all(at.min() >= 0 and at.max() < n for at, n in zip(S.coords, S.shape, strict=True))
    pointers, width = np.asarray(S.indptr), S.shape[1 if S.format in ("csr", "bsr") else 0]
    width //= S.blocksize[1] if S.format == "bsr" else 1
    count = int(pointers[-1])
    if pointers[0] != 0 or (np.diff(pointers) < 0).any() or not count <= min(len(S.indices), len(S.data)):
        return False
    used = S.indices[:count]
    return len(S.indices) == len(S.data) and bool((used >= 0).all() and (used < width).all())


AREA = Area("sparse", "sparse matrices with forged indices and in unusual forms", run, cases=8_000, limit=20)
