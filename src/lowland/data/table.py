"""``Table``: a table whose columns have roles: features, ids of the rows, labels, weights, columns to keep."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from lowland.data.open import as_vector, not_empty, open_table, read_options_of
from lowland.data.reader import BATCH, Reader
from lowland.data.rows import Rows
from lowland.errors import ParameterError


class Table(Reader):
    """A table with roles of its columns, accepted wherever a data frame or a path is.

    A column with a role is not a feature. ``fit`` uses the labels as ``y`` and the weights as ``sample_weight``, unless
    these are passed. ``compare`` and its report show the ids and the columns to keep.

    Parameters
    ----------
    source : path of a file, data frame, array, or any other table.
    id : the ids of the rows: the name of a column, one value per row, or both, as in ``{"sample": values}``. By
        default, an unnamed first column of a text file, the index of a pandas frame that is not a plain range, or
        the observation names of AnnData.
    label : class labels or numbers to predict, in the same forms.
    weight : sample weights, in the same forms.
    keep : names of columns to carry along, or a dict of values by name.
    columns : names of the features, in this order. None means all columns without a role.
    drop : names of columns to leave out.
    **options : options of reading a file, as in ``lowland.open_rows``, such as ``separator=";"``.

    Examples
    --------
    >>> import pandas as pd
    >>> import lowland
    >>> frame = pd.DataFrame({"who": ["Ann", "Ben", "Cleo"], "age": [31, 52, 45], "height": [1.7, 1.8, 1.6]})
    >>> table = lowland.Table(frame, id="who")
    >>> table.names, table.ids.tolist()
    (['age', 'height'], ['Ann', 'Ben', 'Cleo'])
    >>> lowland.PCA(1).fit_transform(table).shape
    (3, 1)
    """

    def __init__(
        self, source: Any, *, id: Any = None, label: Any = None, weight: Any = None,
        keep: Sequence[str] | Mapping[str, Any] = (), columns: Sequence[str] | None = None, drop: Sequence[str] = (),
        **options: Any,
    ) -> None:  # fmt: skip
        self.given = source
        self.table = open_table(source, read_options_of(options.pop("read", None), options, "Table"))
        self.source, self.has_names, self.n = self.table.source, self.table.has_names, self.table.n
        self.stamps = self.table.stamps
        self._values_of: dict[str, Any] = {}  # roles that are not columns of the source
        self.id_name = self.table.id_name if id is None else self._named(id, "id")
        self.label_name, self.weight_name = self._named(label, "label"), self._named(weight, "weight")
        if label is None and not isinstance(self.table, Table):  # of a .npz file, or of folders of images
            self.label_name = self.table.label_name
        self._values_of |= keep if isinstance(keep, Mapping) else {}
        self.kept_names = [keep] if isinstance(keep, str) else [str(name) for name in keep]
        roles = (self.id_name, self.label_name, self.weight_name, *self.kept_names)
        self.beside = tuple(dict.fromkeys(name for name in roles if name is not None))
        own = [name for name in self.beside if name not in self._values_of]
        self.table.require(own)  # an unknown name is an error now, not after the fit
        self._keep = self.table.positions(columns, [*_listed(drop), *own])
        self.names = [self.table.names[j] for j in self._keep]
        kept = {*self.names}
        self.vectors = {name: parts for name, parts in self.table.vectors.items() if kept.issuperset(parts)}
        self.chosen = [name for name in self.table.chosen if name in kept] if columns is None else list(self.names)
        self._arguments = {"id": id, "label": label, "weight": weight, "keep": keep, "columns": columns, "drop": drop}

    def __repr__(self) -> str:
        source = repr(os.fspath(self.given)) if isinstance(self.given, str | os.PathLike) else "X"
        given = {name: value for name, value in self._arguments.items() if value is not None}
        shown = [
            f"{name}={value!r}" if _is_plain(value) else f"{name}=…"
            for name, value in given.items()
            if not _is_plain(value) or len(value)
        ]
        return f"lowland.Table({', '.join([source, *shown])})"

    def _named(self, role: Any, default: str) -> str | None:
        """Return the name of a role; keep the values that were given."""
        if role is None or isinstance(role, str):
            return role
        if isinstance(role, Mapping) and len(role) != 1:
            raise ParameterError(f"Table({default}=...) has {len(role)} columns. Pass one.")
        named = role if isinstance(role, Mapping) else {getattr(role, "name", None): role}
        ((key, values),) = named.items()
        name = str(default if key is None else key)
        self._values_of[name] = values
        return name

    # --- what the table contains ---

    @cached_property
    def notes(self) -> list[str]:
        return self.table.notes

    @cached_property
    def rows(self) -> Rows:
        """The features, as Rows."""
        return not_empty(self.select(None, ()))

    @property
    def labels(self) -> np.ndarray | None:
        """Labels of the rows, if there are some."""
        return None if self.label_name is None else self.column(self.label_name)

    @property
    def weights(self) -> np.ndarray | None:
        """Sample weights of the rows, if there are some."""
        return None if self.weight_name is None else self.column(self.weight_name)

    @property
    def kept(self) -> dict[str, np.ndarray]:
        """The columns to keep, by name."""
        return {name: self.column(name, missing_text=False) for name in self.kept_names}

    @property
    def target(self) -> Any:
        """The labels as ``fit`` takes them: the name of their column, or their values."""
        given = self.label_name in self._values_of or not self.has_names
        return self.labels if given else self.label_name

    # --- as a table of the features ---

    def rows_at(self, keep: list[int]) -> Rows:
        return self.table.rows_at([self._keep[j] for j in keep])

    def fields_at(self, keep: Sequence[int]) -> list[Any]:
        return self.table.fields_at([self._keep[j] for j in keep])

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        return self.table.batches(fields, size)

    def scan(self) -> Iterator[Any]:
        wanted = {*self.names, self.id_name, self.label_name}
        for batch in self.table.scan():
            yield batch.select([name for name in batch.schema.names if name in wanted])

    def _values(self, name: str, *, missing_text: bool) -> np.ndarray:
        if name in self._values_of:
            return as_vector(self._values_of[name], self.n, name)
        return self.table.column(name, missing_text=missing_text)


def _listed(names: Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(each, str) for each in value))
