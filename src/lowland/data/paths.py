"""Paths that can be read, and the ending that says how."""

from __future__ import annotations

import os
from pathlib import Path

from lowland.errors import FileProblem, MissingFile

NUMPY = (".npy", ".npz")  # without names of columns
READABLE = (*NUMPY, ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


def suffix_of(path: Path) -> str:
    """Return the ending that says how to read a file, such as .csv.gz; '' for a folder."""
    name = path.name.lower()
    return next((suffix for suffix in sorted(READABLE, key=len, reverse=True) if name.endswith(suffix)), path.suffix)


def check_readable(path: Path) -> None:
    """Refuse a file that is not there or may not be read."""
    if not os.path.exists(path):
        raise MissingFile(f"There is no file {str(path)!r}. Check the name and the folder.")
    if not os.access(path, os.R_OK):
        raise FileProblem(f"{str(path)!r} may not be read by this user. Ask its owner for permission to read it.")


def readable_suffix(path: Path) -> str:
    """Return the ending of a file that can be read, or .parquet for a folder of parts."""
    check_readable(path)
    return ".parquet" if path.is_dir() else suffix_of(path)
