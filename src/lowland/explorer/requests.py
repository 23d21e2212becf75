"""What routes share: the session, requests of limited size, binary answers, columns, masks and images."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import struct
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from fastapi import Depends, HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from lowland.explorer.session import Session
from lowland.explorer.workspace import RequestError

MOST_BYTES = 64 * 2**20  # of a body of JSON; uploads are streamed instead, and have their own limit


def body_schema(**content: Any) -> dict[str, Any]:
    """Return the description of a body that a route reads itself, for OpenAPI: by kind, "form" or "json"."""
    kinds = {"form": "multipart/form-data", "json": "application/json"}
    return {"requestBody": {"required": True, "content": {kinds[k]: {"schema": v} for k, v in content.items()}}}


FILE = {"type": "object", "required": ["file"], "properties": {"file": {"type": "string", "format": "binary"}}}
PATH = {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}


class ErrorAnswer(BaseModel):
    """The answer to a request that fails."""

    error: str  # a sentence
    type: str


class CheckedRequest(Request):
    """A request whose JSON has no NaN, no infinity and no broken characters, which no answer could contain."""

    async def body(self) -> bytes:
        """Return the body, up to the limit."""
        if not hasattr(self, "_body"):
            body = bytearray()
            async for part in self.stream():
                body += part
                if len(body) > MOST_BYTES:
                    raise HTTPException(413, f"The request is larger than {MOST_BYTES // 2**20} MiB. Send less at once")
            self._body = bytes(body)
        return self._body

    async def json(self) -> Any:
        """Return the JSON of the body."""
        if not hasattr(self, "_json"):
            try:
                self._json = checked_json(await self.body())
            except ValueError as error:
                raise HTTPException(422, f"The request is not valid JSON: {error}") from error
        return self._json


class CheckedRoute(APIRoute):
    """A route that receives checked requests."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return the handler of the route."""
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            return await handle(CheckedRequest(request.scope, request.receive))

        return checked


def checked_json(text: bytes) -> Any:
    """Parse JSON; a ValueError says what is wrong with it."""
    try:
        found = json.loads(text)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(str(error)) from error
    except UnicodeError as error:
        raise ValueError("a string contains characters that are not Unicode") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        raise ValueError("a number is infinite, NaN or too long") from error
    return found


def media_type(kind: str) -> dict[str, Any]:
    """Return the options of a route whose answer is not JSON, for OpenAPI."""
    return {"response_class": Response, "responses": {200: {"content": {kind: {}}}}}


BINARY = media_type("application/octet-stream")


def binary(request: Request, data: bytes) -> Response:
    """Return bytes; a browser that has them already gets 304."""
    tag = f'"{hashlib.sha256(data).hexdigest()[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type="application/octet-stream", headers=headers)


def column_bytes(header: dict[str, Any], values: bytes) -> bytes:
    """Return a column: the length of the header (uint32), the header as JSON, padded to 8 bytes, then the values."""
    text = json.dumps(header, allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % 8)
    return struct.pack("<I", len(text)) + text + values


def encoded_mask(mask: np.ndarray) -> str:
    """Return a mask of rows as bits, least significant first, in base64."""
    return base64.b64encode(np.packbits(mask, bitorder="little").tobytes()).decode("ascii")


def decoded(text: str, name: str) -> bytes:
    """Return what a text in base64 contains."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError(422, f"{name}: it is not valid base64. Reload the page.") from error


def decoded_mask(text: str, n: int) -> np.ndarray:
    """Return the mask of n rows, (n,) bool, from base64."""
    bits = np.frombuffer(decoded(text, "mask"), dtype=np.uint8)
    if len(bits) != -(-n // 8):
        raise RequestError(422, f"mask: it has {len(bits)} bytes, but the table has {n:,} rows. Reload the page.")
    return np.unpackbits(bits, count=n, bitorder="little").astype(bool)


def session_of(request: Request) -> Session:
    """Return the session of the app."""
    return request.app.state.session


CurrentSession = Annotated[Session, Depends(session_of)]
