"""Example data sets: a table to start with, for people who have none at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from lowland.explorer.dependency import Here
from lowland.explorer.errors import RequestError
from lowland.explorer.requests import CheckedRoute
from lowland.explorer.session import new_id

router = APIRouter(tags=["examples"], route_class=CheckedRoute)
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
async def open_example(here: Here, wanted: ExampleRequest) -> dict[str, Any]:
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
    import numpy as np

    from lowland.data.datasets.catalog import load_dataset
    from lowland.data.write import write_columns

    found = load_dataset(name)
    columns = {column: found.X[:, j] for j, column in enumerate(found.names)}
    if found.y is not None:
        named = found.label_names
        columns["label"] = np.array(named)[found.y.astype(int)] if named is not None else found.y
    write_columns(columns, path)
