"""Exports and more tables: subsets, files of selected rows, the offline report, saved sessions, new rows on a map."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from lowland.data.stored_table import with_integers, write_table_file
from lowland.explorer.archive import SUFFIX, restore, unpack, write_archive
from lowland.explorer.queue import Job
from lowland.explorer.requests import (
    BINARY,
    FILE,
    PATH,
    CheckedRoute,
    CurrentSession,
    binary,
    body_schema,
    decoded_mask,
)
from lowland.explorer.routes.analysis import map_coordinates
from lowland.explorer.routes.tables import MaskRequest, store_upload
from lowland.explorer.session import Session, new_id, unique_names
from lowland.explorer.workspace import RequestError, not_found, read_json, write_array
from lowland.methods.registry import FIRST
from lowland.run.processes import TaskOutcome

WHOLE = ("integer", "id", "constant")  # kinds of columns whose numbers may be whole
router = APIRouter(tags=["exports"], route_class=CheckedRoute)


class SubsetRequest(MaskRequest):
    """A selection that becomes a table of its own."""

    name: str | None = Field(default=None, max_length=200)
    first_map: str | None = FIRST


@router.post("/api/tables/{t}/subset", status_code=201)
async def subset(here: CurrentSession, t: str, wanted: SubsetRequest) -> dict[str, Any]:
    """Make a table of the selected rows, with the same roles; its maps are computed again."""
    table, stored = here.table(t, ready=True), here.stored(t)
    rows = np.flatnonzero(decoded_mask(wanted.mask, stored.n))
    if not len(rows):
        raise RequestError(422, "The selection is empty. Select some rows first.")
    name = wanted.name or f"{len(rows):,} rows of {table['name']}"
    new = new_id()
    path = here.workspace.table(new) / "rows.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    await run_in_threadpool(write_array, path, rows)
    roles = {column["name"]: column["role"] for column in table["columns"]}
    message = {
        "stored": str(here.workspace.table(t) / "table.arrow"), "selected": str(path), "name": name, "roles": roles,
        "id_name": next((column for column, role in roles.items() if role == "id"), None),
        "image_shape": table["image_shape"],
    }  # fmt: skip
    record = here.add_table(
        name, f"selection of {table['name']}", message, first_map=wanted.first_map, id=new, parent=t,
        scale=table["scale"], impute=table["impute"],
    )  # fmt: skip
    return here.public(record)


class ExportRequest(BaseModel):
    """Rows to write to a file: those of the mask, or all; with the coordinates of some maps."""

    mask: str | None = None
    format: Literal["csv", "parquet"] = "csv"
    maps: list[str] = Field(default_factory=list, max_length=100)


@router.post("/api/tables/{t}/export", **BINARY)
def export(here: CurrentSession, t: str, wanted: ExportRequest) -> Response:
    """Write rows of a table, with coordinates, as .csv or .parquet; a part of the rows has their numbers, from 0."""
    table, stored = here.table(t, ready=True), here.stored(t)
    rows = None if wanted.mask is None else np.flatnonzero(decoded_mask(wanted.mask, stored.n))
    more: dict[str, np.ndarray] = {}
    for m, name in zip(wanted.maps, unique_names([here.map(m)["name"] for m in wanted.maps]), strict=True):
        Z = map_coordinates(here, t, m)
        for j in range(Z.shape[1]):
            more[f"{name} {j + 1}"] = Z[:, j] if rows is None else Z[rows, j]
    path = _temporary(here, f".{wanted.format}")
    cells = with_integers(
        stored.select(range(len(stored.names)), rows), [c["name"] for c in table["columns"] if c["kind"] in WHOLE]
    )
    write_table_file(cells, path, more, row_numbers=rows)
    return _sent(path, table["name"], "" if rows is None else " selection")


class ReportRequest(BaseModel):
    """The maps of a report; none: all that are done."""

    maps: list[str] = Field(default_factory=list, max_length=200)


@router.post("/api/tables/{t}/report", **BINARY)
def report(here: CurrentSession, t: str, wanted: ReportRequest) -> Response:
    """Write the maps of a table as one HTML file that opens offline."""
    from lowland.explorer.study import study_of
    from lowland.study.report import write_report

    table = here.table(t, ready=True)
    maps = [here.map(m, done=True) for m in wanted.maps]
    maps = maps or [record for record in here.store.all("map", table=t) if record["status"] == "done"]
    if not maps:
        raise RequestError(409, "No map of this table is done yet. Compute one first.")
    path = _temporary(here, ".html")
    write_report(study_of(here, table, maps), path)
    return _sent(path, table["name"])


# --- sessions ---


@router.get("/api/tables/{t}/archive", **BINARY)
def archive(here: CurrentSession, t: str) -> Response:
    """Return a table with its maps, selections and view in one file, which the explorer can open again."""
    table = here.table(t, ready=True)
    path = _temporary(here, SUFFIX)
    write_archive(here, t, path)
    return _sent(path, table["name"])


@router.post("/api/archives", status_code=201, openapi_extra=body_schema(form=FILE))
async def open_session(here: CurrentSession, request: Request) -> dict[str, Any]:
    """Open a saved session, in the part ``file`` of a form."""
    name = new_id()

    def checked(name: str) -> str:
        if not name.lower().endswith(SUFFIX):
            raise RequestError(415, f"{name[-80:]!r}: choose a saved session, a file that ends in {SUFFIX}.")
        return f"session{SUFFIX}"

    path, shown = await store_upload(here, request, name, checked)
    try:
        unpacked = await run_in_threadpool(unpack, here.workspace, here.limits, path, shown)
    except BaseException:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise
    path.unlink(missing_ok=True)
    return here.public(restore(here, unpacked, path.parent))


# --- new rows on a map ---


@router.post("/api/maps/{m}/place", status_code=201, openapi_extra=body_schema(form=FILE, json=PATH))
async def place(here: CurrentSession, m: str, request: Request) -> dict[str, Any]:
    """Place the rows of a file on a map: {"path": ...} in the folder, or an upload in the part ``file`` of a form."""
    record = here.map(m, done=True)
    if not record["has_transform"]:
        raise RequestError(
            409,
            f"{record['method']} cannot place new rows on a map, or was fitted to a part of the rows. "
            "Compute another map.",
        )
    new = new_id()
    if request.headers.get("content-type", "").startswith("multipart/"):
        path, shown = await store_upload(here, request, new)
    else:
        body = await request.json()
        if not isinstance(body, dict) or not isinstance(body.get("path"), str):
            raise RequestError(422, "path: name a file of the folder, or upload one in a form.")
        path = here.folder.readable(body["path"])
        shown = path.name
    placed = {
        "id": new, "map": m, "table": record["table"], "name": shown, "n": None, "status": "queued", "error": None,
        "created": time.time(),
    }  # fmt: skip
    here.store.put("placed", placed)
    folder = here.workspace.map(m)
    message = {
        "task": "lowland.explorer.tables:place_rows", "path": str(path), "model": str(folder / "model.lowland"),
        "to": str(folder / f"placed-{new}.f32"),
        "components": record["components"], "table_bytes": here.limits.table_bytes,
    }  # fmt: skip

    def ended(outcome: TaskOutcome) -> None:
        fields: dict[str, Any] = {"status": outcome.status, "error": outcome.error}
        if outcome.status == "done":
            fields["n"] = outcome.result["n"]
        here.update("placed", new, **fields)
        here.workspace.remove(here.workspace.upload(new))

    here.follow(new, Job(message, "read", "The new rows"), ended)
    return placed


@router.get("/api/maps/{m}/placed")
async def placed_rows(here: CurrentSession, m: str) -> list[dict[str, Any]]:
    """List the rows that were placed on a map."""
    here.map(m)
    return here.store.all("placed", map=m)


@router.get("/api/maps/{m}/placed/{p}", **BINARY)
async def placed_coordinates(here: CurrentSession, m: str, p: str, request: Request) -> Response:
    """Return the coordinates of placed rows, float32, component after component."""
    found = _placed(here, m, p)
    return binary(request, (here.workspace.map(m) / f"placed-{found['id']}.f32").read_bytes())


@router.get("/api/maps/{m}/placed/{p}/names")
async def placed_names(here: CurrentSession, m: str, p: str) -> Any:
    """Return the row names of placed rows, or null."""
    found = _placed(here, m, p)
    return read_json(here.workspace.map(m) / f"placed-{found['id']}.json")


@router.delete("/api/maps/{m}/placed/{p}")
async def remove_placed(here: CurrentSession, m: str, p: str) -> dict[str, Any]:
    """Remove placed rows from a map."""
    _placed(here, m, p, done=False)
    if p in here.tasks:
        here.queue.cancel(here.tasks[p])
    here.store.delete("placed", p)
    for suffix in (".f32", ".json"):
        (here.workspace.map(m) / f"placed-{p}{suffix}").unlink(missing_ok=True)
    return {"id": p, "status": "deleted"}


def _placed(here: Session, m: str, p: str, *, done: bool = True) -> dict[str, Any]:
    found = here.store.get("placed", p)
    if found is None or found["map"] != m:
        raise not_found("set of placed rows", p)
    if done and found["status"] != "done":
        raise RequestError(409, found["error"] or "The rows are still being placed. Try again in a moment.")
    return found


# --- files ---


def _temporary(here: Session, suffix: str) -> Path:
    folder = here.workspace.root / "exports"
    folder.mkdir(exist_ok=True)
    return folder / f"{new_id()}{suffix}"


def _sent(path: Path, table: str, what: str = "") -> Response:
    """Send a file once, named after the table, then remove it."""
    stem = re.sub(r"[^\w. ()+-]", "_", Path(table).stem).strip(" .")[:100] or "table"
    plain = f"{stem}{what}{path.suffix}"
    return FileResponse(
        path,
        media_type="application/octet-stream",
        filename=plain,
        background=BackgroundTask(path.unlink, missing_ok=True),
    )
