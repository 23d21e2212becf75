"""Suggestions for a misspelled name: the only place that decides "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable

CUTOFF = 0.6  # similarity from 0 to 1 below which a name is not suggested; that of a name that begins the word


def closest(word: str, known: Iterable[str], n: int = 3, *, cutoff: float = CUTOFF) -> list[str]:
    """Return at most ``n`` names similar to a word, the most similar first; case, - and _ do not matter.

    A name that begins the word is similar to it.

    >>> closest("Isomp", ["isomap", "pca", "kernel-pca"]), closest("initialization", ["init", "n_iter"])
    (['isomap'], ['init'])
    """
    import difflib  # needed only for wrong names

    matcher, likeness = difflib.SequenceMatcher(b=_folded(word)), {}
    for name in known:
        matcher.set_seq1(_folded(name))
        is_start = len(name) > 2 and _folded(word).startswith(_folded(name))
        likeness[name] = max(matcher.ratio(), CUTOFF if is_start else 0.0)
    return [name for name in sorted(likeness, key=lambda name: -likeness[name]) if likeness[name] >= cutoff][:n]


def abbreviated(word: str, known: Iterable[str], n: int = 3) -> list[str]:
    """Return the names that a word may abbreviate: one of their parts, their initials, or else a substring.

    >>> abbreviated("fa", ["factor-analysis", "fast-ica"]), abbreviated("ica", ["factor-analysis", "fast-ica"])
    (['factor-analysis'], ['fast-ica'])
    """
    word, names, found = _folded(word), list(known), []
    for name in names:
        parts = [part for part in _folded(name).split("-") if part]
        initials = [part[0] for part in parts]
        if word in {*parts, "".join(initials), "".join([*initials[:-1], *parts[-1:]])}:  # kernel, pca, kp and kpca
            found.append(name)
    return (found or [name for name in names if len(word) > 2 and word in _folded(name)])[:n]


def suggested(word: str, known: Iterable[str]) -> list[str]:
    """Return the names to suggest for a word: those it may abbreviate, or the most similar one."""
    names = list(known)
    return abbreviated(word, names) or closest(word, names, n=1)


def did_you_mean(word: object, known: Iterable[str], n: int = 1) -> str:
    """Return a question with the most similar names, to be followed by another sentence; empty if none is similar.

    >>> did_you_mean("eucledian", ["euclidean", "cosine"])
    "Did you mean 'euclidean'? "
    """
    near = closest(word, known, n) if isinstance(word, str) else []
    return f"Did you mean {' or '.join(map(repr, near))}? " if near else ""


def _folded(name: str) -> str:
    return name.lower().replace("_", "-")
