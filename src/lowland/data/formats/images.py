"""A folder of images of one size: one row per image, one column per pixel, read in slabs by Pillow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.files import images_in
from lowland.data.reader import RowsReader
from lowland.data.rows import Rows, StreamRows, stamps_of
from lowland.errors import DataError, FileProblem, MissingExtra

FILE, FOLDER = "file", "folder"  # the columns of the names of files and of subfolders


class ImageReader(RowsReader):
    """The images of a folder; the names of the files are the ids of the rows, those of subfolders their labels."""

    id_name = FILE

    def __init__(self, path: Path, source: str) -> None:
        self.files = images_in(path)
        self.mode, (width, height) = _common_size(self.files, source)
        self.image_shape = (height, width) if self.mode == "L" else (height, width, 3)
        self.names = [f"pixel {j}" for j in range(int(np.prod(self.image_shape)))]
        self.label_name = FOLDER if any(file.parent != path for file in self.files) else None
        self.beside = (FILE,) if self.label_name is None else (FILE, FOLDER)
        self.source, self.n, self.stamps = source, len(self.files), stamps_of(self.files)
        kind = "gray levels" if self.mode == "L" else "colors"
        self.notes.append(f"{source} contains {len(self.files):,} images of {width} × {height} pixels, {kind}.")

    def _beside(self, name: str) -> np.ndarray:
        return np.array([file.name if name == FILE else file.parent.name for file in self.files])

    def rows_at(self, keep: list[int]) -> Rows:
        """Return the pixels at these positions as Rows of float32, from 0 to 1."""

        def pixels(image: Any) -> np.ndarray:
            return np.asarray(image.convert(self.mode), dtype=np.uint8).ravel()

        def read(slab: int) -> Iterator[np.ndarray]:
            for start in range(0, len(self.files), slab):
                yield np.stack([_opened(file, pixels) for file in self.files[start : start + slab]])

        return StreamRows(
            read, lambda piece: piece[:, keep].astype(np.float32) / np.float32(255), len(self.files), len(keep),
            np.dtype(np.float32), tuple(self.names[j] for j in keep), self.source, stamps=self.stamps,
            image_shape=self.image_shape if len(keep) == len(self.names) else None,
        )  # fmt: skip


def _common_size(files: list[Path], source: str) -> tuple[str, tuple[int, int]]:
    """Return the mode and size of the images; only their headers are read."""
    found = [_opened(file, lambda image: (image.mode, image.size)) for file in files]
    sizes = Counter(size for _, size in found)
    if len(sizes) > 1:
        common = sizes.most_common(1)[0][0]
        odd = [(f.name, size) for f, (_, size) in zip(files, found, strict=True) if size != common]
        shown = ", ".join(f"{name} ({w} × {h})" for name, (w, h) in odd[:3])
        raise DataError(
            f"The images of {source} have {len(sizes)} sizes. Most are {common[0]} × {common[1]}, others are "
            f"{shown}{f' and {len(odd) - 3:,} more' if len(odd) > 3 else ''}. Resize or remove them."
        )
    is_gray = all(mode in ("1", "L", "LA", "I;16") for mode, _ in found)
    return "L" if is_gray else "RGB", found[0][1]


def _opened(file: Path, use: Any) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtra("Pillow", "images") from error
    try:
        with Image.open(file) as image:
            return use(image)
    except (OSError, ValueError, SyntaxError) as error:
        raise FileProblem(f"{str(file)!r} is not a valid image ({error}). Remove it, or write it again.") from error
