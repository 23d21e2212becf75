"""``lowland.explore``: linked maps of a table, inside a notebook or in the browser."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from lowland.data.write import write_columns
from lowland.errors import MissingExtra, MissingFile, ParameterError
from lowland.explorer.panels import Panels, labeled_table, plain_column
from lowland.methods.registry import NOTEBOOK
from lowland.run.progress import in_notebook
from lowland.study.comparison import compare
from lowland.study.result import StudyResult

OF_THE_SERVER = ("host", "port", "workspace", "limits")


def explore(
    X: Any = None,
    y: Any = None,
    maps: Any = None,
    methods: Sequence[str] | str | None = None,
    *,
    color: Any = "label",
    height: int | None = None,
    where: Literal["auto", "notebook", "browser"] = "auto",
    **options: Any,
) -> Any:
    """Explore linked maps (embeddings) of a table: select rows in one map and see them in all.

    In a notebook, the maps are shown as the output of the cell, and the returned widget has the selected rows.
    Elsewhere, the explorer opens in the browser, where maps are computed. The call returns when it is stopped with
    Ctrl-C.

    Parameters
    ----------
    X : rows, in any form that a method accepts, or a study. In the browser also None, to open files there. Columns are
        prepared as in ``lowland.compare``.
    y : labels, one per row, or the name of the column that contains them.
    maps : coordinates to show, such as {"TriMap": Z}, or a study of X. None means that ``methods``
        computes them. Coordinates are shown as they are, and evaluated if ``methods`` names some.
    methods : names of the methods to compute in a notebook, as in ``compare``. None means PCA and UMAP, unless you
        pass ``maps``. In the browser, methods are chosen in the page.
    color : what the points are colored by: "label", the name of a column or of a quality measure, None, or one value
        per row.
    height : height of the widget in pixels. None means the height that its maps need.
    where : "notebook", "browser", or "auto": in a notebook if this is one.
    **options : in a notebook, those of ``lowland.compare``, such as ``scale`` and ``k``. In the browser, ``port``,
        ``host`` and ``workspace``.

    Returns
    -------
    MapsWidget or None
        In a notebook, the widget: ``selection`` has the row numbers, ``selected`` the rows. Both follow the page.

    Examples
    --------
    >>> import lowland
    >>> from lowland.data import load_dataset
    >>> iris = load_dataset("iris")
    >>> widget = lowland.explore(iris.X, iris.y, {"petals": iris.X[:, 2:]}, where="notebook")
    >>> widget.selection = iris.y == 0
    >>> widget.selected.shape
    (50, 4)
    """
    if where not in ("auto", "notebook", "browser"):
        raise ParameterError(f"explore(where={where!r}): choose 'auto', 'notebook' or 'browser'.")
    if where == "notebook" or (where == "auto" and in_notebook()):
        return _widget(X, y, maps, methods, color, height, options)
    _browse(X, y, maps, options)
    return None


# --- in a notebook ---


def _widget(X: Any, y: Any, maps: Any, methods: Any, color: Any, height: int | None, options: dict[str, Any]) -> Any:
    from lowland.explorer.widget import MapsWidget

    if isinstance(X, StudyResult):
        X, maps = None, X
    elif X is None:
        raise ParameterError("explore() in a notebook needs data. Pass an array, a data frame, a file or a study.")
    if maps is not None and methods is None and options:
        raise ParameterError(
            f"explore({next(iter(options))}=…) is an option of maps that are computed. Pass methods too."
        )
    if isinstance(maps, StudyResult):
        if methods is not None or y is not None:
            raise ParameterError("explore() of a study takes no y and no methods. Pass them to compare.")
        panels = Panels.of_study(maps, X)
    elif maps is not None and methods is None:
        panels = Panels.of_maps(X, y, maps)
    else:
        study = compare(X, y, NOTEBOOK if methods is None else methods, embeddings=maps, **options)
        panels = Panels.of_study(study, X)
    return MapsWidget(panels, color=color, height=height)


# --- in the browser ---


def _browse(X: Any, y: Any, maps: Any, options: dict[str, Any]) -> None:
    """Run the explorer until Ctrl-C."""
    if in_notebook():
        raise ParameterError("explore(where='browser'): run `lowland explore` in a terminal, or leave out where.")
    if isinstance(X, StudyResult) or maps is not None:
        study = (
            "study" if isinstance(X, StudyResult) or isinstance(maps, StudyResult) else "compare(X, embeddings=maps)"
        )
        raise ParameterError(
            "explore() shows a study or existing coordinates only in a notebook. Elsewhere, write a report: "
            f"{study}.report('report.html')."
        )
    if unknown := [name for name in options if name not in OF_THE_SERVER]:
        raise ParameterError(
            f"explore({unknown[0]}=…): in the browser, the options are {', '.join(OF_THE_SERVER)}. The page has the "
            "others."
        )
    if any(importlib.util.find_spec(package) is None for package in ("fastapi", "uvicorn")):
        raise MissingExtra("fastapi", "explore")
    from lowland.explorer.access import open_browser
    from lowland.explorer.app import run

    def ready(address: str) -> None:
        print(f"Lowland explorer: {address}\nPress Ctrl-C to stop it.")
        open_browser(address)

    with _table_file(X, y) as place, contextlib.suppress(KeyboardInterrupt):
        run(**(place | options), ready=ready)


@contextlib.contextmanager
def _table_file(X: Any, y: Any) -> Iterator[dict[str, Any]]:
    """The file to open and its folder; data in memory is written to a temporary one, with the labels."""
    if X is None:
        yield {"file": None, "folder": Path.cwd()}
        return
    if isinstance(X, str | os.PathLike) and (y is None or isinstance(y, str)):
        path = Path(X).resolve()
        if not path.exists():
            raise MissingFile(f"There is no file {str(X)!r}. Check the name and the folder.")
        yield {"file": path, "folder": path.parent}
        return
    table = labeled_table(X, y)
    names = [name for name in (table.id_name, table.label_name, *table.names, *table.kept_names) if name is not None]
    with tempfile.TemporaryDirectory(prefix="lowland-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) / "data"
        folder.mkdir()
        write_columns({name: plain_column(table.column(name)) for name in dict.fromkeys(names)}, folder / "X.parquet")
        yield {"file": folder / "X.parquet", "folder": folder, "workspace": Path(temporary) / "workspace"}
