"""Maps: methods, estimates, computing, coordinates, live snapshots, trust, curves, the model file and the code."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from lowland.errors import LowlandError
from lowland.explorer.catalog import catalog, checked_method
from lowland.explorer.queue import Job
from lowland.explorer.repeat import code_of
from lowland.explorer.requests import BINARY, CheckedRoute, CurrentSession, binary, decoded, decoded_mask
from lowland.explorer.routes.tables import MaskRequest
from lowland.explorer.session import Session
from lowland.explorer.workspace import FILES_OF_ANSWERS, RequestError, read_json

router = APIRouter(tags=["maps"], route_class=CheckedRoute)
MOST_WAIT = 60.0  # seconds that a request waits for an estimate
MOST_GROUPS = 100  # classes that are tested
ESTIMATED = ("seconds", "low", "high", "bytes", "basis")


class MapRequest(BaseModel):
    """A map to compute: parameters that are left out suit the size of the table."""

    table: str
    method: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    name: str | None = Field(default=None, max_length=200)
    replaces: str | None = None  # the map whose place it takes in the page
    warm: bool = False  # whether it starts from the coordinates of that map


class MapChange(BaseModel):
    """What is to change in a map."""

    name: str = Field(max_length=200)


@router.get("/api/methods")
async def methods() -> list[dict[str, Any]]:
    """List the methods with the parameters that a form can set."""
    return catalog()


@router.post("/api/estimates")
async def estimates(here: CurrentSession, wanted: MapRequest) -> dict[str, Any]:
    """Estimate the time and memory of a map, as ``plan`` does; ``basis`` says what will be computed.

    If there is no estimate, ``seconds`` is null and ``reason`` says why.
    """
    here.table(wanted.table)
    try:
        return await _estimate(here, wanted)
    except LowlandError as error:
        return {**dict.fromkeys(ESTIMATED), "reason": str(error)}


async def _estimate(here: Session, wanted: MapRequest) -> dict[str, Any]:
    entry, parameters = checked_method(wanted.method, wanted.parameters), wanted.parameters
    about = [wanted.table, here.table(wanted.table)["version"], entry.name, parameters]
    name = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:24]
    if name not in here.tasks:
        task = "lowland.explorer.maps:estimate"
        message = {"task": task, "method": entry.name, "parameters": parameters, **here.inputs_of(wanted.table)}
        here.follow(name, Job(message, "read", "The estimate"), lambda outcome: None)
    future = here.tasks[name].outcome
    assert future is not None
    try:
        outcome = await asyncio.wait_for(asyncio.shield(future), MOST_WAIT)
    except TimeoutError as error:
        raise RequestError(503, "The estimate waits for maps that are being computed. Try again later.") from error
    if outcome.status != "done":
        raise RequestError(422, outcome.error or "The time cannot be estimated.")
    return {**{key: outcome.result[key] for key in ESTIMATED}, "reason": None}


@router.post("/api/maps", status_code=201)
async def compute(here: CurrentSession, wanted: MapRequest) -> dict[str, Any]:
    """Add a map; it is queued, and its progress comes by events."""
    name = checked_method(wanted.method, wanted.parameters).name
    record = here.add_map(wanted.table, name, wanted.parameters, wanted.name, wanted.replaces, warm=wanted.warm)
    return here.public(record)


@router.get("/api/maps")
async def maps(here: CurrentSession, table: str | None = None) -> list[dict[str, Any]]:
    """List the maps, of one table or of all, oldest first."""
    found = here.store.all("map") if table is None else here.store.all("map", table=table)
    return [here.public(record) for record in found]


@router.get("/api/maps/{m}")
async def one_map(here: CurrentSession, m: str) -> dict[str, Any]:
    """Return a map."""
    return here.public(here.map(m))


@router.patch("/api/maps/{m}")
async def rename(here: CurrentSession, m: str, wanted: MapChange) -> dict[str, Any]:
    """Rename a map."""
    return here.public(here.put("map", {**here.map(m), "name": wanted.name}))


@router.post("/api/maps/{m}/cancel")
async def cancel(here: CurrentSession, m: str) -> dict[str, Any]:
    """Stop computing a map."""
    return here.public(here.cancel_map(m))


@router.post("/api/maps/{m}/restart")
async def restart(here: CurrentSession, m: str) -> dict[str, Any]:
    """Compute a map again that is outdated, failed, was canceled or is broken; the new one takes its place."""
    return here.public(here.restart_map(m))


@router.delete("/api/maps/{m}")
async def delete(here: CurrentSession, m: str) -> dict[str, Any]:
    """Delete a map."""
    here.delete_map(m)
    return {"id": m, "status": "deleted"}


# --- results ---


@router.get("/api/maps/{m}/coordinates", **BINARY)
async def coordinates(here: CurrentSession, m: str, request: Request) -> Response:
    """Return the coordinates: float32, component after component; NaN for a row that is not on the map."""
    here.map(m, done=True)
    return binary(request, (here.workspace.map(m) / "coordinates.f32").read_bytes())


@router.get("/api/maps/{m}/live", **BINARY)
async def live(here: CurrentSession, m: str, request: Request) -> Response:
    """Return the latest snapshot of a map that is being computed, in the form of coordinates."""
    record = here.map(m)
    path = here.workspace.map(m) / "live.f32"
    if record["status"] == "done":
        path = here.workspace.map(m) / "coordinates.f32"
    if not path.exists():
        raise RequestError(404, "There is no snapshot of this map yet.")
    return binary(request, path.read_bytes())


@router.get("/api/maps/{m}/trust/{measure}", **BINARY)
async def trust(here: CurrentSession, m: str, measure: str, request: Request) -> Response:
    """Return a measure of quality per row, float32; NaN for a row that was not measured."""
    record = here.map(m, done=True)
    names = [each["name"] for each in record["measures"]]
    if measure not in names:
        known = f"Choose one of {', '.join(names)}." if names else "The quality is still being measured."
        raise RequestError(404, f"The map has no measure {measure[:60]!r} per row. {known}")
    return binary(request, (here.workspace.map(m) / f"trust-{names.index(measure)}.f32").read_bytes())


@router.get("/api/maps/{m}/curves")
async def curves(here: CurrentSession, m: str) -> Any:
    """Return the curves of a map by name: scree, loadings, Shepard, R_NX, as {x, y, x_name, y_name, kind}."""
    here.map(m, done=True)
    path = here.workspace.map(m) / "curves.json"
    return read_json(path) if path.exists() else {}


# --- questions: is it real, and what do its axes mean? ---


class GroupsRequest(BaseModel):
    """Clusters or classes that are shown: the codes of the rows in base64. A code beyond the levels means none."""

    name: str = Field(max_length=200)
    kind: Literal["u1", "u2"]
    codes: str
    levels: list[str] = Field(min_length=2, max_length=MOST_GROUPS)


@router.post("/api/maps/{m}/answers/reliability", status_code=202)
async def ask_reliability(here: CurrentSession, m: str) -> dict[str, Any]:
    """Ask whether a map is real: reliability and stability of its points, and whether its dense regions are groups."""
    return here.public(here.ask(m, "reliability", {}))


@router.post("/api/maps/{m}/answers/groups", status_code=202)
async def ask_groups(here: CurrentSession, m: str, wanted: GroupsRequest) -> dict[str, Any]:
    """Ask whether clusters or classes are separate groups in the data."""
    size = {"u1": 1, "u2": 2}[wanted.kind] * here.map(m, done=True)["n"]
    if len(decoded(wanted.codes, "codes")) != size:
        raise RequestError(422, "codes: there must be one for each row. Reload the page.")
    return here.public(here.ask(m, "groups", wanted.model_dump()))


@router.post("/api/maps/{m}/answers/axes", status_code=202)
async def ask_axes(here: CurrentSession, m: str) -> dict[str, Any]:
    """Ask which columns follow the axes of a map: those it was made from, labels, and those that are only shown."""
    columns = here.table(here.map(m)["table"], ready=True)["columns"]
    used = [j for j, column in enumerate(columns) if column["role"] in ("feature", "label", "keep", "weight")]
    return here.public(here.ask(m, "axes", {"columns": used}))


class SurfaceRequest(BaseModel):
    """A column of numbers."""

    column: int = Field(ge=0)


@router.post("/api/maps/{m}/answers/surface", status_code=202)
async def ask_surface(here: CurrentSession, m: str, wanted: SurfaceRequest) -> dict[str, Any]:
    """Ask for a smooth surface of a column over the first two axes of a map."""
    columns = here.table(here.map(m)["table"], ready=True)["columns"]
    if wanted.column >= len(columns):
        raise RequestError(404, f"The table has no column {wanted.column}. It has {len(columns)} columns.")
    name = columns[wanted.column]["name"]
    return here.public(here.ask(m, "surface", {"column": wanted.column, "name": name}))


@router.post("/api/maps/{m}/answers/region", status_code=202)
async def ask_region(here: CurrentSession, m: str, wanted: MaskRequest) -> dict[str, Any]:
    """Ask how a map moves with the columns where the selected rows are."""
    count = int(decoded_mask(wanted.mask, here.map(m, done=True)["n"]).sum())
    return here.public(here.ask(m, "region", {"mask": wanted.mask, "name": f"{count:,} rows"}))


@router.get("/api/maps/{m}/answers/{question}")
async def answer(here: CurrentSession, m: str, question: str) -> Any:
    """Return the answer to a question about a map."""
    return read_json(_answer_file(here, m, question, f"answer-{question}.json"))


@router.get("/api/maps/{m}/answers/{question}/{value}", **BINARY)
async def points_of_answer(here: CurrentSession, m: str, question: str, value: str, request: Request) -> Response:
    """Return a value of each row, float32: class, p, stability or region. NaN: not known."""
    return binary(request, _answer_file(here, m, question, f"point-{value}.f32").read_bytes())


def _answer_file(here: Session, m: str, question: str, name: str) -> Path:
    asked = here.map(m, done=True)["answers"].get(question)
    path = here.workspace.map(m) / name
    if asked is None or asked["status"] != "done" or not FILES_OF_ANSWERS.fullmatch(name) or not path.exists():
        raise RequestError(404, "There is no answer to this question yet. Ask it first.")
    return path


@router.delete("/api/maps/{m}/answers/{question}")
async def forget_answer(here: CurrentSession, m: str, question: str) -> dict[str, Any]:
    """Stop answering a question, or forget its answer."""
    return here.public(here.forget_answer(m, question))


@router.get("/api/maps/{m}/model", **BINARY)
async def model(here: CurrentSession, m: str) -> Response:
    """Return the fitted model, with the steps that prepare its rows: a file for ``lowland.load``."""
    record = here.map(m, done=True)
    path = here.workspace.map(m) / "model.lowland"
    if not path.exists():
        raise RequestError(404, "The model of this map cannot be saved. Use the Python code to fit it again.")
    name = f"{record['method'].lower()}.lowland"
    return FileResponse(path, media_type="application/octet-stream", filename=name)


@router.get("/api/maps/{m}/code")
async def code(here: CurrentSession, m: str) -> dict[str, str]:
    """Return the Python and the command line that repeat a map."""
    record = here.map(m)
    return code_of(here.table(record["table"]), record)
