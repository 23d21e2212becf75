"""The whole state of a table in one file: a zip of JSON, Parquet and float32 files; nothing in it is executed."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path
from typing import Any

from lowland.data.open import open_table
from lowland.data.stored_table import write_table_file
from lowland.data.write import atomic_write
from lowland.errors import FileProblem
from lowland.explorer.errors import RequestError
from lowland.explorer.folder import in_units
from lowland.explorer.session import Session, new_id
from lowland.explorer.workspace import FILES_OF_A_MAP, Workspace

FORMAT, SUFFIX = 1, ".lowland-session"
HEAD, CELLS = "session.json", "table.parquet"
KEPT_OF_A_MAP = (
    "name", "method", "parameters", "fitted", "fitted_rows", "warnings", "n", "components", "seconds", "memory",
    "measures", "scores", "curves", "basis", "measured", "has_transform",
)  # fmt: skip
MOST_HEAD = 256 * 2**20  # bytes of JSON
CHUNK = 2**20


def write_archive(here: Session, t: str, target: Path) -> None:
    """Write the cells, roles, finished maps, selections and the page's state of a table."""
    table, stored = here.table(t, ready=True), here.stored(t)
    maps = [record for record in here.store.all("map", table=t) if record["status"] == "done"]
    state = here.store.get("state", t)
    head = {
        "format": FORMAT,
        "table": {
            "name": table["name"], "rows": table["rows"], "scale": table["scale"], "image_shape": table["image_shape"],
            "roles": {column["name"]: column["role"] for column in table["columns"]},
        },
        "maps": [{"id": m["id"], **{key: m[key] for key in KEPT_OF_A_MAP if key in m}} for m in maps],
        "selections": [{k: s[k] for k in ("name", "count", "mask")} for s in here.store.all("selection", table=t)],
        "state": None if state is None else state["state"],
    }  # fmt: skip
    cells = target.with_name(f"{target.stem}-cells.parquet")
    try:
        write_table_file(stored.select(range(len(stored.names))), cells, {})
        with atomic_write(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(HEAD, json.dumps(head, allow_nan=False))
            archive.write(cells, CELLS, zipfile.ZIP_STORED)
            for record in maps:
                for path in sorted(here.workspace.map(record["id"]).iterdir()):
                    if FILES_OF_A_MAP.fullmatch(path.name):
                        archive.write(path, f"maps/{record['id']}/{path.name}")
    finally:
        cells.unlink(missing_ok=True)


def open_archive(here: Session, path: Path, name: str) -> dict[str, Any]:
    """Restore a table with its maps and selections from a file, under new ids; return the record of the table."""
    folder = path.parent
    made: list[str] = []  # maps
    try:
        with zipfile.ZipFile(path) as archive:
            _check_sizes(archive, here.limits.table_bytes)
            with archive.open(HEAD) as file:
                head = json.loads(file.read(MOST_HEAD))
            if head["format"] != FORMAT:
                raise FileProblem(
                    f"{name!r} was saved by another version of Lowland (format {head['format']}). "
                    "Open it with that version."
                )
            _extract(archive, CELLS, folder / CELLS, here.limits.table_bytes)
            rows = int(open_table(folder / CELLS).n or 0)
            ids = {str(each["id"]): new_id() for each in head["maps"]}
            made.extend(ids.values())
            found = [_restored_map(here.workspace, archive, each, ids[str(each["id"])], rows) for each in head["maps"]]
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, AttributeError, EOFError, RuntimeError) as error:
        for each in made:
            here.workspace.remove(here.workspace.map(each))
        raise FileProblem(
            f"{name!r} is not a saved session, or it is damaged ({type(error).__name__}). Save it again."
        ) from error
    return _restored_table(here, head, found, ids, folder)


def _restored_table(
    here: Session, head: dict[str, Any], maps: list[dict[str, Any]], ids: dict[str, str], folder: Path
) -> dict[str, Any]:
    about = head["table"]
    roles = {str(column): str(role) for column, role in about["roles"].items()}
    message = {"path": str(folder / CELLS), "read": {}, "roles": roles}
    record = here.add_table(
        str(about["name"])[:200], f"session: {about['name']}", message, first_map=None, id=folder.name,
        scale=about["scale"] if about["scale"] in ("none", "standard", "auto") else "auto",
    )  # fmt: skip
    t = record["id"]
    for each in maps:
        here.store.put("map", {**each, "table": t, "created": time.time(), "private": {"version": 0, "inputs": {}}})
    for selection in head["selections"]:
        kept = {"name": str(selection["name"])[:200], "count": int(selection["count"]), "mask": str(selection["mask"])}
        here.store.put("selection", {"id": new_id(), "table": t, "created": time.time(), **kept})
    if head["state"] is not None:
        text = json.dumps(head["state"])
        for old, new in ids.items():  # the page names maps by their ids
            text = text.replace(json.dumps(old), json.dumps(new))
        here.store.put("state", {"id": t, "table": t, "state": json.loads(text)})
    return record


def _restored_map(
    workspace: Workspace, archive: zipfile.ZipFile, about: dict[str, Any], name: str, rows: int
) -> dict[str, Any]:
    """Extract the files of a map, and return its record."""
    folder, old = workspace.map(name), str(about["id"])
    folder.mkdir(parents=True, exist_ok=True)
    components, n = int(about["components"]), int(about["n"])
    for member in archive.infolist():
        place, _, file = member.filename.rpartition("/")
        if place == f"maps/{old}" and FILES_OF_A_MAP.fullmatch(file):
            _extract(archive, member.filename, folder / file, member.file_size)
    coordinates = folder / "coordinates.f32"
    if n != rows or not coordinates.exists() or coordinates.stat().st_size != 4 * components * n:
        raise ValueError("the coordinates do not match the rows")
    record: dict[str, Any] = {
        "status": "done", "stage": None, "fraction": 1.0, "seconds_left": None, "error": None, "version": 1,
        **{key: about[key] for key in KEPT_OF_A_MAP if key in about}, "id": name,
    }  # fmt: skip
    record["has_transform"] = bool(record.get("has_transform")) and (folder / "model.lowland").exists()
    return record


def _check_sizes(archive: zipfile.ZipFile, most: int) -> None:
    total = sum(member.file_size for member in archive.infolist())
    if total > most:
        raise RequestError(
            413, f"The session unpacks to {in_units(total)}; the limit is {in_units(most)}. Save fewer maps."
        )


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
