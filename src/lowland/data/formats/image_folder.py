"""A folder of images of one size: one row per image, one column per pixel, read in slabs by Pillow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.columns import TableFile
from lowland.data.passes import Passes, Slab
from lowland.data.paths import images_in
from lowland.data.read_options import ReadOptions
from lowland.data.rows import Rows
from lowland.errors import DataError, FileProblem, MissingExtra

FILE = "file"  # the column of file names


class ImageTable(TableFile):
    """The images of a folder; the names of the files are the ids of the rows."""

    id_name = FILE

    def __init__(self, path: Path, read: ReadOptions | None = None, source: str | None = None) -> None:
        (read or ReadOptions()).refuse_others((), "a folder of images")
        self.source, self.files = source or repr(str(path)), images_in(path)
        self.passes = Passes(self.source, self.files)
        self.mode, self.size = self._common_size()
        channels = 1 if self.mode == "L" else 3
        width, height = self.size
        self.image_shape = (height, width) if channels == 1 else (height, width, channels)
        self.names = [FILE, *(f"pixel {j}" for j in range(height * width * channels))]
        kind = "gray levels" if channels == 1 else "colors"
        self.notes.append(f"{self.source} contains {len(self.files):,} images of {width} × {height} pixels, {kind}.")

    def _common_size(self) -> tuple[str, tuple[int, int]]:
        """Return the mode and size of the images; only their headers are read."""
        found = [_head(file) for file in self.files]
        sizes = Counter(size for _, size in found)
        if len(sizes) > 1:
            common = sizes.most_common(1)[0][0]
            odd = [(f.name, size) for f, (_, size) in zip(self.files, found, strict=True) if size != common]
            shown = ", ".join(f"{name} ({w} × {h})" for name, (w, h) in odd[:3])
            raise DataError(
                f"The images of {self.source} have {len(sizes)} sizes. Most are {common[0]} × {common[1]}; others: "
                f"{shown}{f' and {len(odd) - 3:,} more' if len(odd) > 3 else ''}. Resize or remove them."
            )
        is_gray = all(mode in ("1", "L", "LA", "I;16") for mode, _ in found)
        return "L" if is_gray else "RGB", found[0][1]

    def rows_at(self, keep: list[int]) -> Rows:
        """Return the pixels at these positions as Rows."""
        if 0 in keep:
            raise DataError(f"Column {FILE!r} of {self.source} contains text. Leave it out: `drop=[{FILE!r}]`.")
        pixels = np.asarray(keep, dtype=np.int64) - 1
        names = tuple(self.names[j] for j in keep)
        shape = self.image_shape if keep == list(range(1, len(self.names))) else None
        return ImageRows(
            files=self.files, mode=self.mode, pixels=pixels, names=names, source=self.source, passes=self.passes,
            image_shape=shape,
        )  # fmt: skip

    def _values(self, j: int, *, missing_text: bool) -> np.ndarray:
        if j == 0:
            return np.array([file.name for file in self.files])
        return np.asarray(self.rows_at([j]).to_array())[:, 0]

    def first_text_column(self) -> str | None:
        """Return the name of the column of file names."""
        return FILE


@dataclass(kw_only=True)
class ImageRows(Rows):
    """The pixels of images, in float32, from 0 to 1."""

    files: list[Path]
    mode: str
    pixels: np.ndarray
    names: tuple[str, ...] | None
    source: str
    passes: Passes | None
    image_shape: tuple[int, ...] | None = None  # if all pixels are kept, in their order
    n: int = field(init=False)
    d: int = field(init=False)
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.float32), init=False)

    def __post_init__(self) -> None:
        self.n, self.d = len(self.files), len(self.pixels)

    def pieces(self) -> Iterator[Any]:
        """Yield slabs of pixels."""
        assert self.passes is not None
        slabs = (self.files[i : i + self.slab] for i in range(0, self.n, self.slab))
        return self.passes.numbered((np.stack([self._read(f) for f in files]) for files in slabs), len)

    def height(self, piece: Slab) -> int:
        """Return the number of images in a slab."""
        return len(piece.raw)

    def prepare(self, piece: Slab) -> np.ndarray:
        """Return the pixels as floats."""
        return piece.raw[:, self.pixels].astype(np.float32) / np.float32(255)

    def _read(self, file: Path) -> np.ndarray:
        return _opened(file, lambda image: np.asarray(image.convert(self.mode), dtype=np.uint8).ravel())


def _head(file: Path) -> tuple[str, tuple[int, int]]:
    return _opened(file, lambda image: (image.mode, image.size))


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
