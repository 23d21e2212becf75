"""The parameters with which a method suits a table, or the reason why it is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from lowland.methods.base.params import parameters_of
from lowland.methods.base.traits import Traits, traits_of
from lowland.methods.registry import Entry, load_method

Purpose = Literal["visualize", "compress", "classify"]
LANDMARKS = 1_000  # landmarks for tables with many rows
SAMPLE = 2_000  # training rows of a method without landmarks; the others are embedded as new rows


@dataclass(frozen=True)
class StudySize:
    """The size of the table and the purpose of a study."""

    n: int
    d: int
    k: int
    n_classes: int | None = None  # None: there are no labels, or they are not classes
    purpose: Purpose = "visualize"
    seed: int = 0
    why_no_classes: str | None = None  # why the labels are not classes, as a clause
    predicts_numbers: bool = False  # whether the labels are numbers to predict
    n_categories: int = 0  # columns of categories among the features
    n_given: int | None = None  # columns of the user that are used; None: d, as none is encoded

    @property
    def columns(self) -> str:
        """The number of columns, in words: those of the user."""
        given = self.d if self.n_given is None else self.n_given
        encoded = f" ({self.d} after encoding)" * (given != self.d)
        return f"{given} column{'s' * (given != 1)}{encoded}"


@dataclass(frozen=True)
class Planned:
    """A trial to run, or the reason why it is left out."""

    name: str
    method: str
    parameters: dict[str, Any] = field(default_factory=dict)  # those not at their default
    why_left_out: str | None = None  # a sentence
    notes: tuple[str, ...] = ()  # reported among the warnings of the trial
    fitted_rows: int | None = None  # number of evenly spaced training rows; None: all rows
    shared_neighbors: int | None = None  # neighbors taken from the shared graph; None: it is not used
    takes_distances: bool = False  # whether the shared distances may replace the rows
    rows: np.ndarray | None = None  # (m,) the rows to fit, if the others get no coordinates
    estimator: Any = None  # of the user, instead of a method
    given: np.ndarray | None = None  # (n, k) coordinates of the user; nothing is fitted
    to_beat: float | None = None  # if the coordinates predict better, the fit is repeated without the held-out rows


def trials_of(
    e: Entry, size: StudySize, values: Mapping[str, list[Any]] = MappingProxyType({}), named: bool = True
) -> list[Planned]:
    """Return the trials of one method: one, or one per combination of the swept values."""
    cls = load_method(e.name)
    traits = traits_of(cls)
    why = _why_left_out(e, traits, size, named)
    if why is not None:
        return [Planned(e.name, e.name, why_left_out=why)]
    defaults = {flag.name: flag.default for flag in e.flags}
    width = _width(cls, traits, size)
    parameters = {**width, **traits.study.parameters}
    if traits.study.n_neighbors is not None:
        usual = max(2, min(traits.study.n_neighbors, size.n // 5))  # a fifth of the rows if there are few
        parameters["n_neighbors"] = usual + traits.study.counts_itself
    if traits.study.for_rows is not None:
        parameters |= traits.study.for_rows(size.n)
    if "random_state" in defaults:
        parameters["random_state"] = size.seed  # a study gives the same result every time
    own_notes = tuple(
        f"At most {most} dimension{'s are' if most > 1 else ' is'} possible; {size.k} were requested."
        for most in width.values()
        if most < size.k
    )
    # every combination of the swept values; to classify also the method's own setting for it, unless values were given
    settings = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
    if size.purpose == "classify" and size.n_classes is not None and not values and traits.study.to_classify:
        settings.append(dict(traits.study.to_classify))
    most = _most_discriminants(traits, size)
    if most is not None and size.purpose != "classify" and not values and most > size.k:
        settings.append({str(traits.width_parameter): most})  # all that separate the classes, to predict them
    found: list[Planned] = []
    for swept in settings:
        name = " ".join([e.name, *(f"{key}={_short_text(value)}" for key, value in swept.items())])
        name += f" ({len(found) + 1})" if any(other.name == name for other in found) else ""
        limited, notes, fitted_rows = _for_many_rows(traits, size, swept)
        notes = (*notes, *own_notes)
        chosen = parameters | limited
        # a swept value may contradict what the study would set
        if swept.get("radius") is not None:
            chosen["n_neighbors"] = None
        if swept.get("kernel", "rbf") not in ("rbf", "laplacian"):
            chosen["gamma"] = None  # the median rule is for kernels of distances
        if swept.get("threshold") is not None or swept.get("false_discovery_rate") is not None:
            chosen["n_features_to_select"] = "auto"
        chosen = {key: chosen[key] for key in chosen if key in width or chosen[key] != defaults[key]} | swept
        neighbors = shared_neighbors(traits, defaults | chosen, size.n, size.d)
        distances = traits.study.takes_distances
        found.append(Planned(name, e.name, chosen, None, notes, fitted_rows, neighbors, distances))
    return found


def _for_many_rows(
    traits: Traits, size: StudySize, swept: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...], int | None]:
    """Parameters, a note and the number of training rows where all rows would take too long."""
    n, most = size.n, traits.study.all_pairs_up_to
    limited = None if traits.study.limited is None else traits.study.limited(n, size.d)
    if limited is not None and not swept.keys() & (limited[0] or {}).keys():
        return dict(limited[0] or {}), (limited[1],) if limited[0] else (), None
    if most is None or n <= most:
        return {}, (), None
    if traits.study.euclidean_needs_no_pairs and swept.get("metric", "euclidean") == "euclidean":
        return {}, (), None
    if traits.study.beyond == "landmarks":
        return {"n_landmarks": LANDMARKS}, (f"{LANDMARKS:,} landmarks were used because there are {n:,} rows.",), None
    note = f"Fitted to {SAMPLE:,} of the {n:,} rows, evenly spaced. The others were embedded as new points."
    return {}, (note,), SAMPLE


def _why_left_out(e: Entry, traits: Traits, size: StudySize, named: bool) -> str | None:
    """The reason why a method is left out, as a sentence that also fits several methods; None if it is not."""
    enough = traits.study.categories is not None and size.n_categories >= traits.study.categories
    if traits.study.why_left_out is not None and not named and not enough:
        return traits.study.why_left_out
    limited = None if traits.study.limited is None or named else traits.study.limited(size.n, size.d)
    if limited is not None and limited[0] is None:
        return limited[1]
    if (traits.needs_y or (traits.selects_columns and not named)) and size.n_classes is None:
        unmet = f", but {size.why_no_classes}" if size.why_no_classes else ". Name the column of labels (`y=...`)"
        return f"Class labels are required{unmet}."
    if traits.selects_columns and size.purpose != "classify" and not named:
        return "Feature selection is tried only if the purpose is 'classify'."
    if size.n < traits.min_rows:
        return f"{e.name} needs at least {traits.min_rows} rows; the data has {size.n}."
    if traits.width_parameter is None and size.k != 2:
        return f"{e.name} is a map with two dimensions; {size.k} were requested."
    return None


def _width(cls: Any, traits: Traits, size: StudySize) -> dict[str, int]:
    """The number of dimensions of a method, by its parameter: k, or the most that it can give."""
    if traits.width_parameter is None:
        return {}
    most = next(p.limits.get("at most", size.k) for p in parameters_of(cls) if p.name == traits.width_parameter)
    discriminants = _most_discriminants(traits, size)
    if discriminants is not None and size.purpose == "classify":
        return {traits.width_parameter: discriminants}
    return {traits.width_parameter: min(size.k, int(most if discriminants is None else discriminants))}


def _most_discriminants(traits: Traits, size: StudySize) -> int | None:
    """The most dimensions that separate the classes, for a method that is limited by their number."""
    if traits.study.max_components is None or size.n_classes is None:
        return None
    return int(traits.study.max_components(size.d, size.n_classes))


def shared_neighbors(traits: Traits, parameters: dict[str, Any], n: int, d: int) -> int | None:
    """Return how many neighbors a method takes from the shared graph.

    None means it needs no graph or builds its own.
    """
    count = traits.study.graph_neighbors
    if count is None and traits.study.n_neighbors is None:
        return None
    metric = parameters.get("metric", parameters.get("distance", "euclidean"))
    euclidean = metric == "euclidean" or (metric == "minkowski" and parameters.get("p", 2) == 2)
    if not euclidean or parameters.get("metric_params") or parameters.get("metric_kwds"):
        return None
    if parameters.get("radius") is not None or parameters.get("neighbors_algorithm", "auto") != "auto":
        return None
    own: Any = parameters.get("n_neighbors")
    if count is None and (
        not isinstance(own, int) or parameters.get("affinity", "nearest_neighbors") != "nearest_neighbors"
    ):
        return None
    try:
        k = own - traits.study.counts_itself if count is None else count(parameters, n, d)
    except (TypeError, ValueError, ArithmeticError):  # a swept value is invalid, which the fit reports
        return None
    return k if k is not None and 1 <= k < n else None


def _short_text(value: Any) -> str:
    """Return a value as the name of a trial shows it: a long one by its type only."""
    text = getattr(value, "__name__", None) or str(value)
    return text if len(text) <= 40 and "\n" not in text else f"({type(value).__name__})"
