"""What a method promises: the facts by which the command line, the study, the docs and the contract tests treat it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

ALL_PAIRS = 5_000  # rows of which all pairs can be compared in a few seconds


@dataclass(frozen=True)
class StudyHints:
    """How a study (``lowland.compare``) fits the method to a table it knows nothing of; all else is at its default."""

    why_left_out: str | None = None  # a sentence, where the method takes part in a study only when it is named
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))  # whatever the table
    n_neighbors: int | None = None  # of a method on a neighbor graph: the usual number, fewer where the rows are few
    counts_itself: bool = False  # whether n_neighbors counts the point itself, as in scikit-learn
    all_pairs_up_to: int | None = None  # rows of which all pairs are compared; None: it does not compare all pairs
    beyond: Literal["landmarks", "sample"] = "landmarks"  # stand for more rows; "sample": fitted, the others placed
    takes_distances: bool = False  # whether metric="precomputed" gives what the rows themselves would
    max_components: Callable[[int, int], int] | None = None  # of the numbers of columns and of classes


@dataclass(frozen=True)
class Traits:
    """The facts about a method, given as keywords of its class: ``class PCA(PrincipalMap, verb="pca", streams=True)``.

    A subclass inherits those of its base and replaces what it names.
    """

    verb: str = ""  # the name on the command line; a class without one is not a method of its own
    streams: bool = False  # whether files are read in slabs and never held whole
    streams_with_landmarks: bool = False  # whether they are where n_landmarks rows stand for all
    order_free: bool = True  # whether permuting the rows only permutes the result
    takes_sparse: bool = False
    sparse_remedy: str = "or reduce it first with PCA or TruncatedSVD, which keep it sparse"  # what else will do
    reads_y: bool = False  # whether y must be one label per row; otherwise it is accepted and ignored
    needs_y: bool = False  # whether it cannot do without
    width_parameter: str | None = "n_components"  # the parameter that says how many columns come out
    selects_columns: bool = False  # whether those are columns of the data, with their names
    predicts: str = "class"  # what ``predict``, where there is one, says of a row
    min_rows: int = 2
    study: StudyHints = field(default_factory=StudyHints)
    tolerance: float = 1e-10  # fraction of the largest coordinate to which engines and chunkings agree
    quick: Mapping[str, Any] = field(default_factory=dict)  # parameters of a fit to a small table of noise, as in tests


def traits_of(method: Any) -> Traits:
    """Return the traits of a method's class, or of one fitted."""
    return method._traits
