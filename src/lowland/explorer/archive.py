"""A table with its maps as one file: a saved session, of which nothing is executed."""

from __future__ import annotations

import json
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from lowland.data.open import open_table
from lowland.data.stored_table import write_table_file
from lowland.data.write import atomic_write
from lowland.errors import FileProblem
from lowland.explorer.folder import check_size
from lowland.explorer.queue import Limits
from lowland.explorer.requests import checked_json, decoded_mask
from lowland.explorer.session import Impute, Role, Scale, Session, new_id
from lowland.explorer.workspace import FILES_OF_A_MAP, FILES_OF_ANSWERS, Record, Workspace
from lowland.methods.registry import find_method
from lowland.trial.records import Score

FORMAT, SUFFIX = 1, ".lowland-session"
HEAD, CELLS = "session.json", "table.parquet"
MOST_HEAD = 256 * 2**20  # bytes of JSON
CHUNK = 2**20


def write_archive(here: Session, t: str, target: Path) -> None:
    """Write the cells, roles, finished maps, selections and the page's state of a table."""
    table, stored = here.table(t, ready=True), here.stored(t)
    maps = [record for record in here.store.all("map", table=t) if record["status"] == "done"]
    states = here.store.all("state", table=t)
    head = {
        "format": FORMAT,
        "table": {
            "name": table["name"], "rows": table["rows"], "scale": table["scale"],
            "impute": table["impute"], "image_shape": table["image_shape"],
            "roles": {column["name"]: column["role"] for column in table["columns"]},
        },
        "maps": [
            {key: m[key] for key in SavedMap.model_fields if key in m} | {"answers": answered(m)}
            for m in map(here.public, maps)
        ],
        "selections": [{k: s[k] for k in ("name", "count", "mask")} for s in here.store.all("selection", table=t)],
        "state": states[-1]["state"] if states else None,
    }  # fmt: skip
    cells = target.with_name(f"{target.stem}-cells.parquet")
    try:
        write_table_file(stored.select(range(len(stored.names))), cells, {})
        with atomic_write(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(HEAD, json.dumps(head, allow_nan=False))
            archive.write(cells, CELLS, zipfile.ZIP_STORED)
            for record in maps:
                for path in sorted(here.workspace.map(record["id"]).iterdir()):
                    if FILES_OF_A_MAP.fullmatch(path.name) or FILES_OF_ANSWERS.fullmatch(path.name):
                        archive.write(path, f"maps/{record['id']}/{path.name}")
    finally:
        cells.unlink(missing_ok=True)


def answered(record: Record) -> dict[str, Any]:
    """The questions about a map that have answers."""
    return {question: each for question, each in record["answers"].items() if each["status"] == "done"}


class SavedMeasure(BaseModel):
    """A measure per row of a saved map."""

    name: str
    low: float
    high: float
    better: Literal["lower", "higher"]


@dataclass(frozen=True)
class SavedScore(Score):
    """A score of a saved map; JSON has no NaN, so a value may be None."""

    value: float | None  # type: ignore[assignment]


class SavedAxis(BaseModel):
    """An axis of a saved map: the result of ``lowland.trial.fit.axes_of``."""

    name: str
    share: float | None
    columns: list[str]


class SavedAnswer(BaseModel):
    """A question about a saved map; the answer is in a file."""

    status: Literal["done"]
    of: str | None = None


class SavedMap(BaseModel):
    """A map in a saved session: the fields of its record that are kept."""

    id: str
    name: str = Field(max_length=200)
    method: str
    parameters: dict[str, Any]
    fitted: dict[str, Any] | None = None
    fitted_rows: int | None = None
    warnings: list[str]
    n: int = Field(ge=1)
    components: int = Field(ge=1)
    axes: list[SavedAxis] = []
    seconds: float | None
    memory: int | None
    measures: list[SavedMeasure]
    scores: dict[str, SavedScore]
    curves: list[str]
    basis: str | None
    measured: bool
    has_transform: bool
    outdated: bool = False
    learns_labels: bool = False
    read: list[str] | None = None
    replaces: str | None = None
    start: list[dict[str, Any]] | None = None
    warm: bool = False
    answers: dict[Literal["reliability", "groups", "axes", "surface", "region"], SavedAnswer] = {}


class SavedTable(BaseModel):
    """The table of a saved session."""

    name: str
    scale: Scale
    impute: Impute
    roles: dict[str, Role]


class SavedSelection(BaseModel):
    """A named selection of a saved session."""

    name: str = Field(max_length=200)
    mask: str


class SavedSession(BaseModel):
    """The JSON of a saved session."""

    table: SavedTable
    maps: list[SavedMap]
    selections: list[SavedSelection]
    state: Any


@dataclass
class Unpacked:
    """A session whose files are in the workspace, under new ids."""

    head: SavedSession
    rows: int
    ids: dict[str, str]  # new ids of the maps by the old ones


def unpack(workspace: Workspace, limits: Limits, path: Path, name: str) -> Unpacked:
    """Check a session and write its files to the workspace; nothing is left of one that is damaged."""
    made: list[str] = []  # maps
    try:
        with zipfile.ZipFile(path) as archive:
            declared = sum(member.file_size for member in archive.infolist())  # ``_extract`` holds it to that
            check_size(path, declared, limits.table_bytes)
            with archive.open(HEAD) as file:
                head = checked_json(file.read(MOST_HEAD))
            if head["format"] != FORMAT:
                raise FileProblem(
                    f"{name!r} was saved by another version of Lowland (format {head['format']}). "
                    "Open it with that version."
                )
            session = SavedSession.model_validate(head)
            _extract(archive, CELLS, path.parent / CELLS, limits.table_bytes)
            rows = int(open_table(path.parent / CELLS).n or 0)
            for selection in session.selections:
                decoded_mask(selection.mask, rows)
            ids = {each.id: new_id() for each in session.maps}
            for each in session.maps:
                made.append(ids[each.id])
                _unpack_map(archive, each, workspace.map(ids[each.id]), rows)
    except BaseException as error:
        for new in made:
            workspace.remove(workspace.map(new))
        if isinstance(error, FileProblem | OSError) or not isinstance(error, Exception):
            raise
        raise FileProblem(
            f"{name!r} is not a saved session, or it is damaged ({type(error).__name__}). Save it again."
        ) from error
    return Unpacked(session, rows, ids)


def restore(here: Session, unpacked: Unpacked, folder: Path) -> dict[str, Any]:
    """Add the table, maps, selections and the state of a session; return the record of the table."""
    head, about = unpacked.head, unpacked.head.table
    message = {"path": str(folder / CELLS), "read": {}, "roles": dict(about.roles)}
    record = here.add_table(
        about.name[:200], f"session: {about.name[:200]}", message, first_map=None, id=folder.name, scale=about.scale,
        impute=about.impute,
    )  # fmt: skip
    t = record["id"]
    for each in head.maps:
        kept = {
            "status": "done", "stage": None, "fraction": 1.0, "seconds_left": None, "error": None, "version": 1,
            "run": 0, **each.model_dump(mode="json"), "id": unpacked.ids[each.id], "measured": True,
        }  # fmt: skip
        kept["replaces"] = unpacked.ids.get(each.replaces or "")
        kept["has_transform"] &= (here.workspace.map(kept["id"]) / "model.lowland").exists()
        roles: dict[str, Any] = {"roles": {}} if kept.pop("outdated") else {}  # it differs from what the table has
        private = {"version": -1, "inputs": {}, **roles}
        here.store.put("map", {**kept, "table": t, "created": time.time(), "private": private})
    for selection in head.selections:
        count = int(decoded_mask(selection.mask, unpacked.rows).sum())
        kept = {"id": new_id(), "table": t, "created": time.time(), **selection.model_dump(), "count": count}
        here.store.put("selection", kept)
    if head.state is not None:
        text = json.dumps(head.state)
        for old, new in unpacked.ids.items():  # the page names maps by their ids
            text = text.replace(json.dumps(old), json.dumps(new))
        here.store.put("state", {"id": t, "table": t, "state": json.loads(text)})
    return record


def _unpack_map(archive: zipfile.ZipFile, about: SavedMap, folder: Path, rows: int) -> None:
    """Extract the files of a map, and check that they are those of its record."""
    find_method(about.method)
    given = [about.parameters, about.fitted or {}, *(about.start or [])]
    if not all(name.isidentifier() for parameters in given for name in parameters):  # the page shows them as code
        raise ValueError("a parameter has no name")
    folder.mkdir(parents=True, exist_ok=True)
    for member in archive.infolist():
        place, _, file = member.filename.rpartition("/")
        known = FILES_OF_A_MAP.fullmatch(file) or FILES_OF_ANSWERS.fullmatch(file)
        if place == f"maps/{about.id}" and known:
            _extract(archive, member.filename, folder / file, member.file_size)
    sizes = {"coordinates.f32": 4 * about.components * rows}
    sizes |= {f"trust-{number}.f32": 4 * rows for number in range(len(about.measures))}
    found = {path.name: path.stat().st_size for path in folder.iterdir()}
    sizes |= {file: 4 * rows for file in found if file.startswith("point-")}
    for question in about.answers:
        checked_json((folder / f"answer-{question}.json").read_bytes())
    if about.n != rows or any(found.get(file) != size for file, size in sizes.items()):
        raise ValueError("the coordinates do not match the rows")
    if (folder / "curves.json").exists():
        curves = checked_json((folder / "curves.json").read_bytes())
        if not all(isinstance(curve, dict) for curve in curves.values()):
            raise ValueError("a curve is not an object")


def _extract(archive: zipfile.ZipFile, member: str, target: Path, most: int) -> None:
    """Write one member to a path that we choose; the size that the archive declares is not trusted."""
    size = 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, atomic_write(target) as temporary, open(temporary, "wb") as file:
        while piece := source.read(CHUNK):
            size += len(piece)
            if size > most:
                raise ValueError("larger than declared")
            file.write(piece)
