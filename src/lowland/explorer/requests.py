"""Requests with JSON: limited in size, and only what can be stored and sent back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

MOST_BYTES = 64 * 2**20  # of a body of JSON; uploads are streamed instead, and have their own limit


def described(**content: Any) -> dict[str, Any]:
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
