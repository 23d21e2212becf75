"""Values as JSON, as HTML for notebooks, and images as PNG."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterable
from html import escape
from typing import Any


def to_plain(
    value: Any, *, non_finite: Callable[[float], Any] = lambda number: None, unknown: Callable[[Any], Any] = repr
) -> Any:
    """Return a value in JSON's own types: None, booleans, numbers, strings, lists, and dicts with string keys.

    Numpy arrays and numbers become lists and numbers. JSON has no NaN and no infinity: ``non_finite`` replaces them, by
    default with None. ``unknown`` replaces any other object, by default with its repr.

    Examples
    --------
    >>> import numpy as np
    >>> to_plain({"x": np.array([1.0, np.inf]), 3: (True, len)})
    {'x': [1.0, None], '3': [True, '<built-in function len>']}
    >>> to_plain([float("nan"), 2], non_finite=str)
    ['nan', 2]
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else non_finite(value)
    if isinstance(value, dict):
        return {str(key): to_plain(item, non_finite=non_finite, unknown=unknown) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if value and all(type(item) is float for item in value) and math.isfinite(sum(value)):
            return list(value)
        return [to_plain(item, non_finite=non_finite, unknown=unknown) for item in value]
    if hasattr(value, "tolist"):  # numpy arrays and numbers
        return to_plain(value.tolist(), non_finite=non_finite, unknown=unknown)
    return unknown(value)


_LEFT = ' style="text-align:left"'  # notebooks align cells to the right


def html_table(rows: list[tuple[Any, ...]], head: tuple[Any, ...] = (), caption: str = "") -> str:
    """Return rows of values as a small HTML table for notebooks; all text is escaped, and nothing is loaded.

    Examples
    --------
    >>> html_table([("a < b",)])
    '<table><tbody><tr><th style="text-align:left">a &lt; b</th></tr></tbody></table>'
    """
    title = f"<p>{_escaped(caption)}</p>" if caption else ""  # a <caption> would be as narrow as the table
    first = f"<thead><tr>{''.join(f'<th{_LEFT}>{_escaped(name)}</th>' for name in head)}</tr></thead>" if head else ""
    lines = ""
    for name, *rest in rows:
        cells = "".join(f"<td{_LEFT}>{_escaped(value)}</td>" for value in rest)
        lines += f"<tr><th{_LEFT}>{_escaped(name)}</th>{cells}</tr>"
    return f"{title}<table>{first}<tbody>{lines}</tbody></table>"


def html_list(texts: Iterable[str]) -> str:
    """Return sentences as a list in HTML; nothing if there are none."""
    items = "".join(f"<li>{_escaped(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def _escaped(value: Any) -> str:
    if value is None:
        return "–"
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def png(image: Any) -> bytes:
    """Return an array of bytes, (h, w) gray or (h, w, 3) color, as PNG."""
    height, width = image.shape[:2]
    lines = b"".join(b"\0" + line.tobytes() for line in image)  # the first byte of a line: no filter
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if image.ndim == 2 else 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    chunks = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
