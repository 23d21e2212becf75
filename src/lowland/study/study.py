"""A study fits several methods to one table and records what each one cost and how good it is. It never formats."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from lowland import __version__
from lowland.data.open import open_rows
from lowland.errors import LowlandError
from lowland.quality import explained_share, reconstruction_error


@dataclass(frozen=True)
class Trial:
    """One method on the table: what it was, how long it took, how good it is, or why it failed."""

    method: str
    parameters: dict[str, str]  # those that are not at their default, as text
    n_components: int | None
    seconds: float
    measures: dict[str, float]
    error: str | None = None


@dataclass(frozen=True)
class StudyResult:
    """All trials, with what is needed to repeat them."""

    source: str
    rows: int | None
    columns: int
    version: str
    trials: tuple[Trial, ...]

    def to_json(self) -> str:
        """Return the study as JSON."""
        return json.dumps(asdict(self), indent=1)


def study(X: Any, methods: Iterable[Any], y: Any = None) -> StudyResult:
    """Fit every method to X and measure it; one that fails becomes a trial with its error, not a dead study."""
    rows = open_rows(X)
    trials = tuple(_trial(method, rows, y) for method in methods)
    return StudyResult(rows.source, rows.n, rows.d, __version__, trials)


def _trial(method: Any, rows: Any, y: Any) -> Trial:
    name, parameters = type(method).__name__, _changed(method)
    begun = time.perf_counter()
    try:
        method.fit(rows, y)
        seconds = time.perf_counter() - begun
        measures = [reconstruction_error(method, rows), explained_share(method, rows)]
    except LowlandError as error:
        return Trial(name, parameters, None, time.perf_counter() - begun, {}, str(error))
    return Trial(name, parameters, len(method.get_feature_names_out()), seconds, {m.name: m.value for m in measures})


def _changed(method: Any) -> dict[str, str]:
    """The parameters that are not at their default, as text."""
    plain = type(method)().get_params(deep=False)
    return {name: repr(value) for name, value in method.get_params(deep=False).items() if value is not plain[name]}
