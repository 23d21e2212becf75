"""Analysis: search, filters, distances, neighbors, clusters, selections, and what sets a selection apart."""

from __future__ import annotations

import base64
import math
import time
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from lowland.evidence.contrasts import Effect, effect_of_levels, effect_of_numbers, sort_effects
from lowland.explorer.analysis import (
    MOST_FOR_DENSITY,
    MOST_LEVELS,
    cluster_names,
    clusters_of,
    distances_from,
    nearest,
    rows_where,
    rows_with_text,
)
from lowland.explorer.requests import BINARY, CheckedRoute, CurrentSession, binary, decoded_mask, encoded_mask
from lowland.explorer.routes.tables import MaskRequest, numbers_of
from lowland.explorer.session import Session, new_id
from lowland.explorer.tables import PreparedRows
from lowland.explorer.workspace import RequestError, not_found, read_floats

router = APIRouter(tags=["analysis"], route_class=CheckedRoute)
MOST_FOUND = 10_000  # rows of one answer to a search
MOST_NEIGHBORS = 1_000
MOST_EFFECTS = 500  # columns of one answer
NUMBERS = ("number", "integer", "date")


# --- search and filters ---


@router.get("/api/tables/{t}/search")
def search(here: CurrentSession, t: str, q: str, column: int | None = None, most: int = 1_000) -> dict[str, Any]:
    """Find the rows with a cell that contains a text, in one column or in all; equal cells come first.

    If there are more than ``most``, ``mask`` has all of them.
    """
    stored = here.stored(t)
    if not q.strip():
        raise RequestError(422, "q: the text to search for is empty. Enter some letters or digits.")
    columns = list(range(len(stored.names)))
    if column is not None:
        columns = numbers_of(str(column), len(stored.names), "columns")
    rows, found = rows_with_text(stored, q, columns, max(1, min(most, MOST_FOUND)))
    total = int(found.sum())
    return {"rows": rows, "total": total, "mask": encoded_mask(found) if total > len(rows) else None}


class Condition(BaseModel):
    """A condition on one column: ``op`` is =, !=, <, <=, >, >=, contains, in, missing or present."""

    column: int
    op: str
    value: Any = None


class FilterRequest(BaseModel):
    """Conditions that all must hold."""

    conditions: list[Condition] = Field(max_length=100)


@router.post("/api/tables/{t}/filter")
def filtered(here: CurrentSession, t: str, wanted: FilterRequest) -> dict[str, Any]:
    """Return the mask of the rows that satisfy all conditions."""
    keep = rows_where(here.stored(t), [each.model_dump() for each in wanted.conditions])
    return {"mask": encoded_mask(keep), "count": int(keep.sum())}


# --- nearness ---


@router.get("/api/tables/{t}/distances", **BINARY)
def distances(here: CurrentSession, t: str, row: int, request: Request) -> Response:
    """Return the distances of all rows from one, in the space to which the methods are fitted: float32."""
    return binary(request, _distances(here, t, row).astype("<f4").tobytes())


@router.get("/api/tables/{t}/neighbors")
def neighbors(here: CurrentSession, t: str, row: int, k: int = 15) -> dict[str, Any]:
    """Return the nearest neighbors of a row in the space to which the methods are fitted."""
    found = _distances(here, t, row)
    rows = nearest(found, row, max(1, min(k, MOST_NEIGHBORS)))
    return {"row": row, "rows": rows.tolist(), "distances": found[rows].tolist()}


def _distances(here: Session, t: str, row: int) -> np.ndarray:
    X = here.prepared_rows(t)
    numbers_of(str(row), len(X), "rows")
    return distances_from(X, row)


class ClusterRequest(BaseModel):
    """Clusters of the rows: on a map, or without one in the space to which the methods are fitted."""

    map: str | None = None
    clusters: int = Field(default=8, ge=2, le=200)
    algorithm: Literal["k-means", "density"] = "k-means"


@router.post("/api/tables/{t}/clusters")
def clusters(here: CurrentSession, t: str, wanted: ClusterRequest) -> dict[str, Any]:
    """Divide the rows into clusters, to color by; code 255, or 65,535, means none."""
    X = here.prepared_rows(t) if wanted.map is None else map_coordinates(here, t, wanted.map)
    if wanted.algorithm == "density" and len(X) > MOST_FOR_DENSITY:
        raise RequestError(
            422,
            f"Density clustering takes too long for {len(X):,} rows: at most {MOST_FOR_DENSITY:,}. Choose k-means.",
        )
    codes = clusters_of(np.asarray(X), wanted.clusters, wanted.algorithm)
    levels = [f"cluster {j + 1}" for j in range(int(codes.max(initial=-1)) + 1)]
    if not here.table(t)["has_images"]:  # pixels are no names
        rows = PreparedRows(here.rows_folder(t))
        levels = cluster_names(rows.X, rows.names, codes)
    kind, none = ("u1", 255) if len(levels) < 255 else ("u2", 65_535)
    values = np.where(codes < 0, none, codes).astype(f"<{kind}")
    return {"kind": kind, "codes": base64.b64encode(values.tobytes()).decode("ascii"), "levels": levels}


def map_coordinates(here: Session, t: str, m: str) -> np.ndarray:
    """Return the coordinates of a map of a table, (n, k) float32."""
    record = here.map(m, done=True)
    if record["table"] != t:
        raise RequestError(422, f"The map {record['name']!r} shows another table. Choose a map of this one.")
    return read_floats(here.workspace.map(m) / "coordinates.f32").reshape(record["components"], -1).T


# --- selections ---


@router.post("/api/tables/{t}/contrast")
def contrast(here: CurrentSession, t: str, wanted: MaskRequest) -> dict[str, Any]:
    """Compare the selected rows with the others in every column; the columns that differ most come first."""
    record, stored = here.table(t), here.stored(t)
    selected = decoded_mask(wanted.mask, stored.n)
    count = int(selected.sum())
    if not 0 < count < stored.n:
        raise RequestError(422, "Select some rows, but not all of them, to compare them with the rest.")
    found = sort_effects(
        _effect(stored, j, column, selected)
        for j, column in enumerate(record["columns"])
        if column["role"] != "id" and column["kind"] not in ("id", "missing", "constant")
    )
    limit = 1e6  # JSON has no infinity
    shown = [
        {**vars(e), "effect": e.effect if math.isfinite(e.effect) else math.copysign(limit, e.effect)}
        for e in found[:MOST_EFFECTS]
    ]
    return {"count": count, "rest": stored.n - count, "columns": shown}


def _effect(stored: Any, j: int, column: dict[str, Any], selected: np.ndarray) -> Effect | None:
    values = None
    if column["kind"] in NUMBERS:
        values = stored.days(j) if column["kind"] == "date" else stored.numbers(j)
    if values is not None:
        return effect_of_numbers(column["name"], values, selected)
    coded = stored.codes(j, MOST_LEVELS)
    if coded is None or 2 * len(coded[1]) > stored.n:  # texts that hardly repeat
        return None
    codes, levels = coded
    return effect_of_levels(column["name"], codes, levels, selected)


class SelectionRequest(MaskRequest):
    """A selection with a name."""

    name: str = Field(min_length=1, max_length=200)


@router.get("/api/tables/{t}/selections")
async def selections(here: CurrentSession, t: str) -> list[dict[str, Any]]:
    """List the named selections of a table, oldest first."""
    here.table(t)
    return here.store.all("selection", table=t)


@router.post("/api/tables/{t}/selections", status_code=201)
def keep_selection(here: CurrentSession, t: str, wanted: SelectionRequest) -> dict[str, Any]:
    """Keep a selection under a name."""
    mask = decoded_mask(wanted.mask, here.stored(t).n)
    record = {
        "id": new_id(), "table": t, "name": wanted.name, "count": int(mask.sum()), "mask": wanted.mask,
        "created": time.time(),
    }  # fmt: skip
    here.store.put("selection", record)
    here.events.publish("selection", {"id": record["id"], "table": t})
    return record


@router.delete("/api/tables/{t}/selections/{s}")
async def delete_selection(here: CurrentSession, t: str, s: str) -> dict[str, Any]:
    """Delete a named selection; its rows stay."""
    found = here.store.get("selection", s)
    if found is None or found["table"] != t:
        raise not_found("selection", s)
    here.store.delete("selection", s)
    here.events.publish("selection", {"id": s, "table": t})
    return {"id": s, "status": "deleted"}
