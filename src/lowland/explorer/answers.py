"""Binary answers with an ETag, the encoding of columns and masks, and small PNG images."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import struct
import zlib
from typing import Any

import numpy as np
from fastapi import Request, Response

from lowland.explorer.errors import RequestError

FINAL = "private, max-age=31536000, immutable"


def answers(kind: str) -> dict[str, Any]:
    """Return the options of a route whose answer is not JSON, for OpenAPI."""
    return {"response_class": Response, "responses": {200: {"content": {kind: {}}}}}


BINARY = answers("application/octet-stream")


def binary(request: Request, data: bytes, *, final: bool = True, headers: dict[str, str] | None = None) -> Response:
    """Return bytes; a browser that has them already gets 304."""
    tag = f'"{hashlib.sha256(data).hexdigest()[:24]}"'
    shown = {"ETag": tag, "Cache-Control": FINAL if final else "no-cache", **(headers or {})}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=shown)
    return Response(data, media_type="application/octet-stream", headers=shown)


def column_bytes(header: dict[str, Any], values: bytes) -> bytes:
    """Return a column: the length of the header (uint32), the header as JSON, padded to 8 bytes, then the values."""
    text = json.dumps(header, allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % 8)
    return struct.pack("<I", len(text)) + text + values


def encoded_mask(mask: np.ndarray) -> str:
    """Return a mask of rows as bits, least significant first, in base64."""
    return base64.b64encode(np.packbits(mask, bitorder="little").tobytes()).decode("ascii")


def decoded_mask(text: str, n: int) -> np.ndarray:
    """Return the mask of n rows, (n,) bool, from base64."""
    try:
        bits = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
    except (binascii.Error, ValueError) as error:
        raise RequestError(422, "mask: it is not valid base64. Reload the page.") from error
    if len(bits) != -(-n // 8):
        raise RequestError(422, f"mask: it has {len(bits)} bytes, but the table has {n:,} rows. Reload the page.")
    return np.unpackbits(bits, count=n, bitorder="little").astype(bool)


def png(pixels: np.ndarray) -> bytes:
    """Return an image, (h, w) gray or (h, w, 3) color, uint8, as PNG."""
    height, width = pixels.shape[:2]
    kind = 0 if pixels.ndim == 2 else 2
    lines = np.ascontiguousarray(pixels, dtype=np.uint8).reshape(height, -1)
    raw = np.column_stack([np.zeros(height, dtype=np.uint8), lines]).tobytes()

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
