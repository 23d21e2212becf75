"""Paths of readable files, and their format by extension."""

from __future__ import annotations

import os
import re
from pathlib import Path

from lowland.errors import FileProblem, MissingFile

NUMPY = (".npy", ".npz")  # without column names
READABLE = (
    *NUMPY, ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".parquet", ".feather", ".arrow", ".jsonl", ".jsonl.gz",
    ".ndjson", ".xlsx", ".ods", ".h5ad",
)  # fmt: skip
IMAGES = (".png", ".jpg", ".jpeg")


def suffix_of(path: Path) -> str:
    """Return the extension that gives the format of a file, such as .csv.gz; '' for a folder."""
    name = path.name.lower()
    return next((suffix for suffix in sorted(READABLE, key=len, reverse=True) if name.endswith(suffix)), path.suffix)


def check_readable(path: Path) -> None:
    """Raise an error for a file that does not exist or cannot be read."""
    if not os.path.exists(path):
        raise MissingFile(f"There is no file {str(path)!r}. Check the name and the folder.")
    if not os.access(path, os.R_OK):
        raise FileProblem(f"Permission denied: {str(path)!r} cannot be read. Ask its owner for read permission.")


def natural_order(path: Path) -> tuple[tuple[tuple[int, str | int], ...], str]:
    """Return a key that sorts names as a reader expects: numbers by value, so part.2 before part.10."""
    parts = re.split(r"(\d+)", path.name)
    return tuple((1, int(part)) if part.isdecimal() else (0, part) for part in parts), path.name


def readable_suffix(path: Path) -> str:
    """Return the extension of a readable file, or .parquet or .png for a folder of Parquet files or images."""
    check_readable(path)
    if not path.is_dir():
        return suffix_of(path)
    return ".png" if images_in(path) and not any(path.glob("*.parquet")) else ".parquet"


def images_in(folder: Path) -> list[Path]:
    """Return the images in a folder, in natural order."""
    return sorted((p for p in folder.iterdir() if p.suffix.lower() in IMAGES), key=natural_order)
