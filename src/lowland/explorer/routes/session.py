"""The page itself, the session, its events, and the files of the folder."""

from __future__ import annotations

import mimetypes
import os
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

import lowland
from lowland.explorer.requests import CheckedRoute, CurrentSession, media_type
from lowland.explorer.session import Session
from lowland.explorer.workspace import RequestError

router = APIRouter(route_class=CheckedRoute)
PAGES = Path(lowland.__file__).parent / "pages"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}


def about(here: Session) -> dict[str, Any]:
    """Return what the page needs to know about the session."""
    limits = here.limits
    return {
        "version": lowland.__version__,
        "folder": str(here.folder.root),
        "workspace": str(here.workspace.root),
        "table": here.first,
        "limits": {
            "upload_bytes": limits.upload_bytes, "memory_bytes": limits.memory_bytes, "seconds": limits.seconds,
            "table_bytes": limits.table_bytes, "at_once": limits.at_once, "rows": limits.rows,
            "columns": limits.columns,
        },
    }  # fmt: skip


@router.get("/", include_in_schema=False)
async def page(request: Request) -> Response:
    """Return the page."""
    return static("explorer/index.html", request)


@router.get("/pages/{path:path}", include_in_schema=False)
async def module(path: str, request: Request) -> Response:
    """Return a module, a style sheet or an icon of the page."""
    return static(path, request)


def static(path: str, request: Request) -> Response:
    """Return a file of the pages; the browser asks each time whether it has changed."""
    found = (PAGES / path.replace("\0", "")).resolve()
    if PAGES.resolve() not in found.parents or not os.path.isfile(found) or found.suffix == ".py":
        raise RequestError(404, f"There is no page {path[:100]!r}.")
    stat = found.stat()
    tag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    kind = TYPES.get(found.suffix) or mimetypes.guess_type(found.name)[0] or "application/octet-stream"
    return Response(found.read_bytes(), media_type=kind, headers=headers)


@router.get("/api/session", tags=["session"])
async def session(here: CurrentSession) -> dict[str, Any]:
    """Return the version, the folder and the limits."""
    return about(here)


@router.get("/api/events", tags=["session"], **media_type("text/event-stream"))
async def events(here: CurrentSession) -> StreamingResponse:
    """Stream server-sent events: ``session``, ``table``, ``map`` and ``live``."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(here.events.stream(about(here)), media_type="text/event-stream", headers=headers)


@router.get("/api/files", tags=["session"])
def files(here: CurrentSession, path: str = "") -> dict[str, Any]:
    """List a folder within the folder of the explorer."""
    return here.folder.entries(path)
