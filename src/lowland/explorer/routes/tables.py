"""Tables: open, upload, examples, roles of columns, cells, columns as binary values, images, and the page's state."""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from lowland.explorer.folder import safe_name
from lowland.explorer.requests import (
    BINARY,
    FILE,
    CheckedRoute,
    CurrentSession,
    binary,
    body_schema,
    column_bytes,
    decoded_mask,
    media_type,
)
from lowland.explorer.session import Impute, Role, Scale, Session, new_id
from lowland.explorer.workspace import RequestError
from lowland.methods.registry import FIRST
from lowland.plain import png
from lowland.run.memory import show_bytes

router = APIRouter(tags=["tables"], route_class=CheckedRoute)
FORM_BYTES = 2**20  # of a form around its file
MOST_ROWS, MOST_CELLS = 1_000, 200_000  # of one answer


class ReadSettings(BaseModel):
    """Options of reading a file, as in ``lowland.open_rows``; what is left out is detected."""

    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing: list[str] | None = None
    array: str | None = None
    sheet: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that are set; an invalid one raises an error."""
        from lowland.data.read_options import ReadOptions

        found = {name: value for name, value in self.model_dump().items() if value is not None}
        ReadOptions(**found)
        return found


class OpenRequest(BaseModel):
    """A file in the folder of the explorer."""

    path: str
    read: ReadSettings = Field(default_factory=ReadSettings)
    name: str | None = None
    first_map: str | None = FIRST  # the method of the map that is computed at once; None: no map


class TableChange(BaseModel):
    """What is to change in a table; ``read`` reads the file again, most others prepare the rows again."""

    name: str | None = None
    roles: dict[str, Role] | None = None
    scale: Scale | None = None
    impute: Impute | None = None  # what replaces missing numbers
    read: ReadSettings | None = None
    image_shape: list[int] | None = None  # [height, width] or [height, width, 3]; []: the rows are not images


@router.get("/api/tables")
async def tables(here: CurrentSession) -> list[dict[str, Any]]:
    """List the tables, oldest first."""
    return [here.public(record) for record in here.store.all("table")]


@router.post("/api/tables", status_code=201)
async def open_table(here: CurrentSession, wanted: OpenRequest) -> dict[str, Any]:
    """Open a file or a folder of images or Parquet files within the folder of the explorer."""
    path = here.folder.readable(wanted.path)
    message = {"path": str(path), "read": wanted.read.given()}
    name = wanted.name or path.name
    record = here.add_table(name, here.folder.shown(path), message, first_map=wanted.first_map)
    return here.public(record)


@router.post("/api/uploads", status_code=201, openapi_extra=body_schema(form=FILE))
async def upload(here: CurrentSession, request: Request, first_map: str = FIRST) -> dict[str, Any]:
    """Upload a file, in the part ``file`` of a form, and open it."""
    name = new_id()
    path, _ = await store_upload(here, request, name)
    message = {"path": str(path), "read": {}}
    return here.public(here.add_table(path.name, f"upload: {path.name}", message, first_map=first_map or None, id=name))


async def store_upload(
    here: Session, request: Request, name: str, names: Callable[[str], str] = safe_name
) -> tuple[Path, str]:
    """Store an upload; return its path, and its name as the browser sent it. Nothing is left of one that fails."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise RequestError(400, "Send the file as multipart/form-data, in a part named 'file'.")
    folder = here.workspace.upload(name)
    try:
        form = await MultiPartParser(request.headers, _limited(here, request), max_files=1, max_fields=10).parse()
        try:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise RequestError(400, "The upload contains no complete part named 'file'. Choose a file.")
            path = folder / names(file.filename or "")
            folder.mkdir(parents=True, exist_ok=True)
            with open(path, "xb") as target:
                await run_in_threadpool(shutil.copyfileobj, file.file, target, 2**20)
        finally:
            await form.close()
    except (MultiPartException, UnicodeError) as error:
        raise RequestError(400, f"The upload is not a valid form ({error}). Send it again.") from error
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RequestError(
            507, f"The upload cannot be stored: {error.strerror}. Free some disk space, then try again."
        ) from error
    return path, file.filename or ""


async def _limited(here: Session, request: Request) -> AsyncGenerator[bytes, None]:
    """The body of a request, up to the limit for uploads; what it says about its size is believed first."""
    most, size = here.limits.upload_bytes, 0
    length = request.headers.get("content-length", "")
    said = int(length) if length.isdecimal() else 0
    async for part in request.stream():
        size += len(part)
        if max(size, said) > most + FORM_BYTES:
            raise RequestError(
                413,
                f"The file is larger than {show_bytes(most)}, the limit for uploads. Put it into the folder of the "
                "explorer and open it there: nothing is copied then. Or start the explorer with a larger limit.",
            )
        yield part


@router.get("/api/tables/{t}")
async def table(here: CurrentSession, t: str) -> dict[str, Any]:
    """Return a table."""
    return here.public(here.table(t))


@router.patch("/api/tables/{t}")
async def change(here: CurrentSession, t: str, wanted: TableChange) -> dict[str, Any]:
    """Rename a table, change the roles or the preparation of its columns, or read it again with other options."""
    record = here.table(t)
    if wanted.name is not None:
        record = here.put("table", {**record, "name": wanted.name[:200]})
    if wanted.image_shape is not None:
        shape, pixels = wanted.image_shape, len(_pixels(record))
        if shape and (len(shape) not in (2, 3) or min(shape) < 1 or (len(shape) == 3 and shape[2] != 3)):
            raise RequestError(422, "image_shape: write [height, width], or [height, width, 3] for colors.")
        if shape and int(np.prod(shape)) != pixels:
            raise RequestError(422, f"image_shape: the product must be {pixels}, the number of columns of pixels.")
        record = here.put("table", {**record, "image_shape": shape or None, "has_images": bool(shape)})
    if wanted.read is not None:
        record = here.read_again(t, wanted.read.given())
    elif wanted.roles or wanted.scale or wanted.impute or wanted.image_shape is not None:
        how: dict[str, str] = wanted.model_dump(include={"scale", "impute"}, exclude_none=True)
        record = here.set_roles(t, {**(wanted.roles or {})}, **how)
    return here.public(record)


@router.delete("/api/tables/{t}")
async def delete(here: CurrentSession, t: str) -> dict[str, Any]:
    """Delete a table with its maps; the file that was opened stays."""
    here.delete_table(t)
    return {"id": t, "status": "deleted"}


# --- cells ---


@router.get("/api/tables/{t}/rows")
def rows(here: CurrentSession, t: str, start: int = 0, count: int = 50) -> dict[str, Any]:
    """Return some consecutive rows."""
    stored = here.stored(t)
    count = max(0, min(count, MOST_ROWS, max(1, MOST_CELLS // max(1, len(stored.names)))))
    start = max(0, min(start, stored.n))
    return {"names": stored.names, "start": start, "rows": stored.cells(slice(start, start + count))}


@router.get("/api/tables/{t}/values")
def values(here: CurrentSession, t: str, rows: str, columns: str | None = None) -> dict[str, Any]:
    """Return the cells of some rows and columns, by their numbers: rows=1,2 and columns=0,3."""
    stored = here.stored(t)
    wanted = numbers_of(rows, stored.n, "rows")[:MOST_ROWS]
    chosen = list(range(len(stored.names))) if columns is None else numbers_of(columns, len(stored.names), "columns")
    chosen = chosen[: max(1, MOST_CELLS // max(1, len(wanted)))]
    names = [stored.names[j] for j in chosen]
    return {"names": names, "columns": chosen, "row_numbers": wanted, "rows": stored.cells(wanted, chosen)}


def numbers_of(text: str, n: int, what: str) -> list[int]:
    """Return numbers separated by commas, each from 0 to n - 1."""
    try:
        found = [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise RequestError(422, f"{what}={text[:80]!r}: write numbers separated by commas, such as 1,2.") from error
    if any(not 0 <= number < n for number in found):
        raise RequestError(422, f"{what}: the table has {n:,} {what}. Choose numbers from 0 to {n - 1}.")
    return found


@router.get("/api/tables/{t}/columns/{j}", **BINARY)
async def column(here: CurrentSession, t: str, j: int, request: Request) -> Response:
    """Return a column as binary values: a header of JSON {kind, levels, low, high, ...}, then the values.

    Kinds: ``f4`` numbers and dates (days since 1970, ``unit`` says so), ``u1`` and ``u2`` codes of the levels, with the
    largest code for missing values, ``text`` a JSON list of strings for a column with very many levels.
    """
    stored = here.stored(t)
    numbers_of(str(j), len(stored.names), "columns")
    kind = here.table(t)["columns"][j]["kind"]
    data = await run_in_threadpool(column_values, stored, j, kind)
    return binary(request, data)


def column_values(stored: Any, j: int, kind: str) -> bytes:
    """Return the binary form of a column."""
    name, unit, found = stored.names[j], None, None
    if kind in ("number", "integer", "constant", "missing"):
        found = stored.numbers(j)
    elif kind == "date":
        found, unit = stored.days(j), "days since 1970-01-01"
    if found is not None:
        known = found[np.isfinite(found)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (None, None)
        header = {"kind": "f4", "levels": None, "low": low, "high": high, "name": name, "unit": unit}
        with np.errstate(over="ignore"):
            return column_bytes(header, np.where(np.isfinite(found), found, np.nan).astype("<f4").tobytes())
    coded = stored.codes(j)
    if coded is None:
        import json

        text = json.dumps(stored.texts(j)).encode()
        return column_bytes({"kind": "text", "levels": None, "low": None, "high": None, "name": name}, text)
    codes, levels = coded
    form, missing = ("u1", 255) if len(levels) < 255 else ("u2", 65_535)
    header = {"kind": form, "levels": levels, "low": None, "high": None, "name": name}
    return column_bytes(header, np.where(codes < 0, missing, codes).astype(f"<{form}").tobytes())


# --- images ---


@router.get("/api/tables/{t}/image/{row}", **media_type("image/png"))
def image(here: CurrentSession, t: str, row: int) -> Response:
    """Return the image of a row as PNG."""
    record, stored = here.table(t), here.stored(t)
    pixels = _image_columns(record)
    numbers_of(str(row), stored.n, "rows")
    values = np.array([v if isinstance(v, int | float) else 0 for v in stored.cells([row], pixels)[0]], dtype=float)
    return _picture(record, values, {"Cache-Control": "private, max-age=3600"})


class MaskRequest(BaseModel):
    """A selection of rows: bits, least significant first, in base64."""

    mask: str


@router.post("/api/tables/{t}/image", **media_type("image/png"))
def mean_image(here: CurrentSession, t: str, wanted: MaskRequest) -> Response:
    """Return the mean of the images of some rows as PNG."""
    record, stored = here.table(t), here.stored(t)
    pixels = _image_columns(record)
    rows = np.flatnonzero(decoded_mask(wanted.mask, stored.n))
    if not len(rows):
        raise RequestError(422, "The selection is empty. Select some rows first.")
    columns = (stored.numbers(j) for j in pixels)
    means = [0.0 if values is None else float(np.nan_to_num(values[rows]).mean()) for values in columns]
    return _picture(record, np.array(means), {"Cache-Control": "no-store"})


def _image_columns(record: dict[str, Any]) -> list[int]:
    if not record["has_images"] or not record["image_shape"]:
        raise RequestError(404, "The rows of this table are not images.")
    return _pixels(record)[: int(np.prod(record["image_shape"]))]


def _picture(record: dict[str, Any], values: np.ndarray, headers: dict[str, str]) -> Response:
    """A PNG of pixels; the largest value in the table is white."""
    top = max((record["columns"][j]["max"] or 0 for j in _image_columns(record)), default=0) or 1.0
    gray = np.clip(np.rint(255 * values / top), 0, 255).astype(np.uint8).reshape(record["image_shape"])
    return Response(png(gray), media_type="image/png", headers=headers)


def _pixels(record: dict[str, Any]) -> list[int]:
    """The columns of pixels: those named so, or all columns of numbers that are no label, id or weight."""
    columns = record["columns"]
    named = [j for j, c in enumerate(columns) if c["name"].lower().startswith(("pixel", "px"))]
    numeric = ("number", "integer", "boolean", "constant")
    other = [j for j, c in enumerate(columns) if c["kind"] in numeric and c["role"] in ("feature", "drop", "keep")]
    return named or other


# --- the page's own state ---


MOST_TABS = 20  # whose states are kept
Tab = Annotated[str, Query(pattern="^[0-9a-z]{0,32}$")]


@router.get("/api/tables/{t}/state")
async def state(here: CurrentSession, t: str, tab: Tab = "") -> Any:
    """Return the page's own state of a table in a tab of the browser; in a new one, the state that was kept last."""
    here.table(t)
    kept = here.store.all("state", table=t)
    found = next((each for each in kept if each.get("tab") == tab), kept[-1] if kept else {"state": {}})
    return found["state"]


@router.put("/api/tables/{t}/state", openapi_extra=body_schema(json={}))
async def keep_state(here: CurrentSession, t: str, request: Request, tab: Tab = "") -> dict[str, Any]:
    """Keep the page's own state of a table, a JSON object, over restarts; each tab of a browser has its own."""
    here.table(t)
    found = await request.json()
    if not isinstance(found, dict):
        raise RequestError(422, "The state is not an object of JSON.")
    here.store.put("state", {"id": f"{t}{tab}", "table": t, "tab": tab, "state": found, "created": time.time()})
    for each in here.store.all("state", table=t)[:-MOST_TABS]:
        here.store.delete("state", each["id"])
    return {"id": t}


EXAMPLES = {
    "iris": ("Iris", "150 flowers, 4 measurements, 3 species"),
    "wine": ("Wine", "178 wines, 13 chemical measurements, 3 cultivars"),
    "digits": ("Digits", "1,797 images of handwritten digits, 8 × 8 pixels"),
    "swiss_roll": ("Swiss roll", "a rolled-up surface in three dimensions"),
}


class ExampleRequest(BaseModel):
    """One of the examples."""

    name: str


@router.get("/api/examples")
async def examples() -> list[dict[str, str]]:
    """List the example data sets."""
    return [{"name": name, "title": title, "about": about} for name, (title, about) in EXAMPLES.items()]


@router.post("/api/examples", status_code=201)
async def open_example(here: CurrentSession, wanted: ExampleRequest) -> dict[str, Any]:
    """Write an example data set to a file, as if it had been uploaded, and open it."""
    if wanted.name not in EXAMPLES:
        raise RequestError(404, f"There is no example {wanted.name[:60]!r}. Choose one of {', '.join(EXAMPLES)}.")
    id = new_id()
    folder = here.workspace.upload(id)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{wanted.name}.parquet"
    await run_in_threadpool(_write, wanted.name, path)
    title = EXAMPLES[wanted.name][0]
    return here.public(here.add_table(title, f"example: {wanted.name}", {"path": str(path), "read": {}}, id=id))


def _write(name: str, path: Path) -> None:
    """Write the rows of a data set and its labels, by their names where they have some."""
    from lowland.data.datasets.catalog import load_dataset
    from lowland.data.write import write_columns

    found = load_dataset(name)
    columns = {column: found.X[:, j] for j, column in enumerate(found.names)}
    if found.y is not None:
        named = found.label_names
        columns["label"] = np.array(named)[found.y.astype(int)] if named is not None else found.y
    write_columns(columns, path)
