"""``MapsWidget``: linked maps of one table inside a notebook. What is selected there comes back to Python."""

from __future__ import annotations

import base64
import contextlib
import math
from typing import Any

import numpy as np

from lowland.errors import MissingExtra, ParameterError
from lowland.explorer.panels import Panels, encode_column, plain_column
from lowland.pages.bundle import page_text, script
from lowland.suggestions import did_you_mean

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise MissingExtra("anywidget", "notebook") from error


def _numbers_of(bits: Any, widget: MapsWidget) -> np.ndarray:
    shown = widget.panels.shown
    mask = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=len(shown), bitorder="little")
    return shown[mask.astype(bool)]


def _frozen(numbers: np.ndarray) -> np.ndarray:
    """An array that cannot be changed in place, which nobody would notice."""
    numbers.flags.writeable = False
    return numbers


DRAWN = 6  # maps in the picture


def _coordinates(given: dict[str, Any], n: int) -> np.ndarray:
    """The first two components of a map, (n, 2); of a single one, on a line."""
    components = np.frombuffer(given["coordinates"]["data"], dtype="<f4").reshape(-1, n)
    return np.stack([components[0], components[1] if len(components) > 1 else 0 * components[0]], axis=1)


class RowNumbers(traitlets.TraitType):
    """Row numbers, ascending: set as row numbers or as a mask with one boolean per row."""

    default_value = _frozen(np.empty(0, dtype=np.int64))

    def validate(self, obj: Any, value: Any) -> np.ndarray:
        """Return the numbers of the given rows that are shown."""
        rows, shown = obj.panels.rows, obj.panels.shown
        given = np.asarray([] if value is None else value)
        if given.dtype == bool and given.ndim == 1:
            if len(given) != rows:
                raise ParameterError(f"selection: the mask has {len(given):,} values, the table has {rows:,} rows.")
            given = np.flatnonzero(given)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise ParameterError("selection: pass row numbers, or a mask with one boolean per row.")
        if given.size and not (given.min() >= 0 and given.max() < rows):
            raise ParameterError(f"selection: the table has {rows:,} rows. Row numbers run from 0 to {rows - 1:,}.")
        return _frozen(shown[obj.panels.mask_of(given.astype(np.int64))])

    def set(self, obj: Any, value: Any) -> None:
        """Set the rows; if they are the same as before, nobody is notified."""
        numbers, before = self.validate(obj, value), self.get(obj)
        if before is None or not np.array_equal(before, numbers):
            super().set(obj, numbers)


class MapsWidget(anywidget.AnyWidget):
    """Linked maps of one table. Select rows in one map: they are marked in all maps, and in ``selection``.

    ``selection`` holds the numbers of the selected rows. Set it to row numbers or to a mask to select from Python, and
    ``observe`` it to follow what is selected in the page. ``selected`` returns the rows. ``color`` says what the
    points are colored by.
    """

    # one ES module: the joined script, and what anywidget imports from it
    _esm = (
        f"const widget = {{}};\n{script('notebook/widget.js', last='widget.render = renderWidget;')}\n"
        "export default widget;\n"
    )
    _css = page_text("view/view.css") + page_text("notebook/widget.css")
    selection = RowNumbers(help="Numbers of the selected rows, ascending.").tag(
        sync=True,
        # one bit per row shown, least significant first
        to_json=lambda numbers, widget: np.packbits(widget.panels.mask_of(numbers), bitorder="little").tobytes(),
        from_json=_numbers_of,
    )
    _table = traitlets.Dict().tag(sync=True)
    _maps: Any = traitlets.List().tag(sync=True)
    _coloring = traitlets.Dict().tag(sync=True)
    _height = traitlets.Int(None, allow_none=True).tag(sync=True)

    def __init__(self, panels: Panels, *, color: Any = "label", height: int | None = None) -> None:
        self.panels = panels
        first = self._spec("label" if panels.table["label"] is not None else None)
        super().__init__(_table=panels.table, _maps=panels.maps, _coloring=first, _height=height)
        if not isinstance(color, str) or color != "label":
            self.color = color

    def __repr__(self) -> str:
        maps = ", ".join(each["name"] for each in self._maps)
        return f"MapsWidget: {self.panels.rows:,} rows, maps {maps}; {len(self.selection):,} rows selected"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget, and a picture for pages without a kernel: exported HTML and PDF, previews of notebooks."""
        shown = super()._repr_mimebundle_(**options)
        if shown is None:
            return None
        data, metadata = shown
        with contextlib.suppress(MissingExtra):
            data = {**data, "image/png": base64.b64encode(self._picture()).decode("ascii")}
        return data, metadata

    def _picture(self) -> bytes:
        """Return the first maps side by side, as PNG, colored like the page by the label or a column."""
        from lowland.plots import embedding
        from lowland.plots.style import new_figure

        n, values = self._table["n"], None
        if self._coloring["kind"] in ("label", "column"):
            column = self._table["columns"][self._coloring.get("column", self._table["label"])]
            values = plain_column(self.panels.columns[column["name"]])
        best_first = sorted(self._maps, key=lambda each: -next(iter(each.get("scores", {}).values()), 0.0))
        drawn = [(each["name"], _coordinates(each, n)) for each in best_first if "coordinates" in each]
        drawn = [(name, Z) for name, Z in drawn if np.isfinite(Z).any()][:DRAWN]
        across = max(1, min(3, len(drawn)))
        down = max(1, math.ceil(len(drawn) / across))
        figure = new_figure((4.4 * across, 4 * down))
        for i, (name, Z) in enumerate(drawn):
            embedding(Z, values, title=name, axis_names=("", ""), ax=figure.add_subplot(down, across, i + 1))
        return figure._repr_png_()

    @property
    def selected(self) -> Any:
        """The selected rows: a frame or array like the data; a dict of columns if the data is a file or a study."""
        return self.panels.rows_at(self.selection)

    @property
    def color(self) -> str | None:
        """What the points are colored by: "label", the name of a column or of a quality measure, or None.

        It can also be set to one value per row, such as the clusters of a clustering.
        """
        spec = self._coloring
        if spec["kind"] == "column":
            return self._table["columns"][spec["column"]]["name"]
        return {"none": None, "label": "label", "trust": spec.get("measure"), "values": spec.get("name")}[spec["kind"]]

    @color.setter
    def color(self, what: Any) -> None:
        self._coloring = self._spec(what)

    def _spec(self, what: Any) -> dict[str, Any]:
        """What to color by, as the page's view takes it."""
        if what is None:
            return {"kind": "none"}
        if not isinstance(what, str):
            values = self.panels.spread(what)
            coded = encode_column(str(getattr(what, "name", None) or "values"), values, is_label=True)
            return {"kind": "values", "levels": None, **{name: coded[name] for name in coded if name != "kind"}}
        columns, label = self.panels.table["columns"], self.panels.table["label"]
        if label is not None and what in ("label", columns[label]["name"]):
            return {"kind": "label"}
        names = [column["name"] for column in columns if column["kind"] != "text"]
        if what in names:
            return {"kind": "column", "column": [column["name"] for column in columns].index(what)}
        measures = list(dict.fromkeys(name for each in self.panels.maps for name in each.get("trust", {})))
        if what in measures:
            return {"kind": "trust", "measure": what}
        known = [*(["label"] if label is not None else []), *measures, *names]
        raise ParameterError(
            f"color={what!r}: there is no such column or quality measure. {did_you_mean(what, known)}Choose one of "
            f"{', '.join(map(repr, known[:12]))}{', …' if len(known) > 12 else ''}, None, or pass one value per row."
        )
