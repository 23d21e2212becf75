"""Traits of a method: what the command line, the study, the docs and the contract tests need to know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from lowland.math.optimize.outcome import Snapshot
from lowland.run.cost import Size, Steps

Callback = Callable[[Snapshot], Any] | None  # what a fit shows its map to while it is computed
ALL_PAIRS = 5_000  # rows up to which all pairs can be compared in a few seconds


@dataclass(frozen=True)
class StudyHints:
    """How a study (``lowland.compare``) fits the method to an unknown table; other parameters are at their defaults."""

    why_left_out: str | None = None  # the reason, if a study includes the method only by name
    categories: int | None = None  # the least number of columns of categories with which it includes the method
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))  # for every table
    n_neighbors: int | None = None  # for a method on a neighbor graph; fewer if there are few rows
    counts_itself: bool = False  # whether n_neighbors counts the point itself, as in scikit-learn
    for_rows: Callable[[int], Mapping[str, Any]] | None = None  # parameters that depend on the number of rows
    # For parameters and the numbers of rows and columns, how many neighbors a fit to the rows would search for, if it
    # needs no other graph than that of their Euclidean distances; otherwise None. Not given: n_neighbors.
    graph_neighbors: Callable[[Mapping[str, Any], int, int], int | None] | None = None
    with_labels: bool = True  # whether a method that reads labels is fitted to them
    reconstructs: bool = True  # whether the inverse transform is evaluated; not if it interpolates the training rows
    all_pairs_up_to: int | None = None  # rows up to which all pairs are compared; None: they are not compared
    beyond: Literal["landmarks", "sample"] = "landmarks"  # for more rows; "sample": fit a sample, map the other rows
    euclidean_needs_no_pairs: bool = False  # whether all rows are fitted without comparing pairs if metric="euclidean"
    takes_distances: bool = False  # whether metric="precomputed" gives the same result as the rows
    max_components: Callable[[int, int], int] | None = None  # as a function of the numbers of columns and classes
    to_classify: Mapping[str, Any] | None = None  # parameters of a second trial if the purpose is "classify"
    # For the numbers of rows and columns, parameters that limit the time, and why, as a sentence; None: no limit. If
    # there are no such parameters, the method is left out for this reason, unless it is named.
    limited: Callable[[int, int], tuple[Mapping[str, Any] | None, str] | None] | None = None


@dataclass(frozen=True)
class Traits:
    """The traits of a method, given as keywords of its class: ``class PCA(MomentsMethod, verb="pca", streams=True)``.

    A subclass inherits the traits of its base class and overrides those it names.
    """

    verb: str = ""  # the name on the command line; a class without one is not a method
    title: str = ""  # the name as people write it, such as "t-SNE"; empty: the name of the class
    group: str = "Other"  # the heading under which lists show it: one of registry.GROUPS
    streams: bool = False  # whether files are read in chunks and may be larger than memory
    streams_with_landmarks: bool = False  # the same, if n_landmarks is set
    # For which parameters a method that streams needs all rows at once, as a function and in words.
    all_rows: tuple[Callable[[Any], bool], str] | None = None
    order_free: bool = True  # whether permuting the rows only permutes the result
    # What the columns contain: "counts" are not negative; "categories" may be text, "mixed" columns numbers or text.
    reads: Literal["numbers", "counts", "categories", "mixed"] = "numbers"
    takes_sparse: bool = False
    sparse_remedy: str = "or reduce it first with PCA or TruncatedSVD, which keep it sparse"  # the end of the error
    scale_free: bool = False  # whether the units of the columns do not affect the result, or only select columns
    single: bool = False  # whether coordinates are float32, the precision of the descent, for float64 rows too
    linear: bool = False  # whether coordinates are linear functions of the columns
    axis: str = "component "  # what an axis of the map is called, before its number
    missing_parameter: str = ""  # the parameter that admits missing values, unless it is None
    missing_remedy: str = ""  # what the method offers for missing values, as a sentence in the error
    reads_y: bool = False  # whether y must be one label per row; otherwise it is accepted and ignored
    needs_y: bool = False  # whether y is required
    width_parameter: str | None = "n_components"  # the parameter that sets the number of output columns
    selects_columns: bool = False  # whether the output columns are columns of the data
    predicts: str = "class"  # what ``predict``, if there is one, returns for a row
    min_rows: int = 2
    cost: Callable[[Size, Any], Steps] | None = None  # the steps of a fit, for the size and the parameters
    study: StudyHints = field(default_factory=StudyHints)
    # Parameters of a fit that starts from an earlier map of the same rows, given as ``init``; None: it takes no start.
    warm: Mapping[str, Any] | None = None
    tolerance: float = 1e-10  # to which engines and chunk sizes agree, relative to the largest coordinate
    quick: Mapping[str, Any] = field(default_factory=dict)  # parameters for a fast fit in tests

    def reads_in_chunks(self, params: Any) -> bool:
        """Whether a fit with these parameters reads the rows in chunks."""
        return (self.streams or self.streams_with_landmarks) and not (self.all_rows and self.all_rows[0](params))

    @property
    def learns_labels_in_study(self) -> bool:
        """Whether a study fits the method to the labels."""
        return self.reads_y and self.study.with_labels

    @property
    def reads_text(self) -> bool:
        """Whether columns may contain text."""
        return self.reads in ("categories", "mixed")


def traits_of(method: Any) -> Traits:
    """Return the traits of a method, given its class or an instance, or of an estimator of another library."""
    if hasattr(method, "_traits"):
        return method._traits
    from sklearn.utils import get_tags

    is_supervised = get_tags(method).target_tags.required
    return Traits(reads_y=is_supervised, needs_y=is_supervised)
