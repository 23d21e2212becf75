"""TablePreparer: a mixed table as numbers, by scikit-learn's encoders, with a record of what was done."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from lowland.data.arrow_columns import (
    arrow_table,
    converted,
    count_missing,
    date_order,
    infinite_values,
    is_ordered,
    nested_columns,
    open_arrow,
    whole_table,
)  # fmt: skip
from lowland.data.files import suffix_of
from lowland.data.kinds import KINDS, ColumnKind, kinds_of
from lowland.data.open import has_named_columns
from lowland.data.problems import preparation_error
from lowland.data.reader import BATCH, holds_numbers
from lowland.data.rows import Rows, StreamRows
from lowland.data.scales import are_counts, scales_differ
from lowland.data.table import Table
from lowland.data.vectors import vectors_in
from lowland.errors import DataError, ParameterError
from lowland.prepare.label_copies import label_copies
from lowland.prepare.steps import PARTS, CountWeights, DateParts, TextComponents
from lowland.run.settings import require_memory
from lowland.suggestions import did_you_mean

GIVEN = (*KINDS, "drop")  # kinds that a user can give
_COMPLETE = ("category", "text", "id")  # a missing category is a level, a missing text is empty
NUMBERS = ("number", "integer", "boolean")
WEIGHTED = "weighted by TF-IDF"
LEFT = "left missing"  # of values, in what is said about a column
_CHOICES = {
    "impute": ("median", "mean", "most_frequent", None),
    "standardize": ("auto", True, False, "tf-idf"),
    "dates": ("parts", "drop"),
    "texts": ("components", "drop"),
    "output": ("array", "arrow"),
}


class TablePreparer(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, booleans, categories, dates and short texts into a table of numbers.

    The kind of each column is found in the training data. Identifiers, years, codes, free text, columns that are mostly
    missing and columns that copy the labels are not used unless you name them. The others are encoded by scikit-learn's
    encoders in a ``ColumnTransformer``. ``report_`` says what was done with each column. ``lowland.compare``, the
    command line and the explorer prepare tables in the same way.

    Parameters
    ----------
    kinds : dict, default=None
        Kinds of columns by name, where the detected kind is wrong: "number", "boolean", "category", "date",
        "text" or "drop". Columns of an array are named x0, x1, … Durations and times of day are numbers of days.
        ``lowland.look`` shows the kinds.
    use : list of str, default=None
        Columns to use although they look like identifiers, years, codes, free text or copies of the labels, or are
        mostly missing.
    impute : {"median", "mean", "most_frequent"} or None, default="median"
        Replacement of missing numbers, ranks and parts of dates. Missing booleans become the most frequent value. None
        leaves all of them missing (NaN). A missing category is a further level, a missing text is an empty text.
    standardize : "auto", "tf-idf" or bool, default="auto"
        Whether to scale numbers, ranks and parts of dates to mean 0 and standard deviation 1. "auto" does so if some
        columns are not numbers, or if the largest standard deviation exceeds ten times the smallest. It does not scale
        pixels, which share one unit. Counts of words, species or events get TF-IDF weights, rows of unit length:
        "tf-idf" does that in any case.
    max_levels : int, default=30
        Largest number of columns of 0 and 1 for one column of categories. With more levels, the most frequent ones get
        a column each, and all others share one, new levels included. Otherwise, a new level is 0 in all columns.
    ordered : dict, default=None
        Levels of ordered categories by column, lowest first: ``{"size": ["S", "M", "L"]}``. Ordered categories of a
        data frame need not be listed. They become ranks 0, 1, … A new level is a missing value. A level of the training
        data that is not listed is an error.
    dates : {"parts", "drop"}, default="parts"
        "parts" means year, month, day of week (Monday is 0), hour and elapsed days since the first training date,
        without those that are constant.
    texts : {"components", "drop"}, default="components"
        "components" means hashed n-grams of characters, reduced by ``TruncatedSVD``.
    text_components : int, default=10
        Number of components per column of text.
    output : {"array", "arrow"}, default="array"
        What ``transform`` returns: a numpy array, or a pyarrow table, whose column names the methods of Lowland keep.
    random_state : int or None, default=0
        Seed of the random number generator of the decomposition of texts.

    Attributes
    ----------
    kinds_ : dict
        Kind of each column.
    report_ : dict
        What was done with each column, in words.
    unused_ : dict
        The columns that are not used, and why.
    standardized_ : bool
        Whether the numbers are standardized.
    weighted_ : bool
        Whether the numbers are counts that are weighted by TF-IDF.
    missing_ : dict
        Number of missing values of each column that is not dropped.
    missing_fraction_ : float
        Fraction of missing values among the numbers, booleans, ranks and dates that are used.
    date_orders_ : dict
        "year first", "day first" or "month first" for each column of dates that are written as text: the values decide.
        Where they do not, month first is assumed for dates with slashes, else day first, as ``report_`` states.
    transformer_ : ColumnTransformer
        Fitted encoders of the columns.
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns, if the training data has column names.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, "red"], [2.0, "blue"], [3.0, "red"]], dtype=object)
    >>> preparer = TablePreparer().fit(X)
    >>> preparer.get_feature_names_out().tolist()
    ['x0', 'x1_blue', 'x1_red']
    >>> preparer.report_["x1"]
    'category, 2 levels as columns of 0 and 1; a new level is 0 in all of them'
    """

    def __init__(
        self,
        *,
        kinds: dict[str, str] | None = None,
        use: Sequence[str] | None = None,
        impute: Literal["median", "mean", "most_frequent"] | None = "median",
        standardize: Literal["auto", "tf-idf"] | bool = "auto",
        max_levels: int = 30,
        ordered: dict[str, Sequence[Any]] | None = None,
        dates: Literal["parts", "drop"] = "parts",
        texts: Literal["components", "drop"] = "components",
        text_components: int = 10,
        output: Literal["array", "arrow"] = "array",
        random_state: int | None = 0,
    ) -> None:
        self.kinds = kinds
        self.use = use
        self.impute = impute
        self.standardize = standardize
        self.max_levels = max_levels
        self.ordered = ordered
        self.dates = dates
        self.texts = texts
        self.text_components = text_components
        self.output = output
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the kinds of the columns of X and fit their encoders.

        X is a data frame, the path of a file, or an array of objects. ``y`` are labels, one per row: a column that
        determines them is not used.
        """
        self._check_parameters()
        columns, names, named = open_arrow(X)
        vectors = vectors_in(columns.fields)
        self._check_names([*names, *vectors])
        table = whole_table(columns, names)
        self.n_features_in_ = len(names)
        if named:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        levels = {name: [str(v) for v in values] for name, values in (self.ordered or {}).items()}
        given = {part: kind for name, kind in (self.kinds or {}).items() for part in vectors.get(name, (name,))}
        given |= dict.fromkeys(levels, "ordered")
        use = [part for name in self.use or () for part in vectors.get(name, (name,))]
        found = _kinds_in(table, [name for name in names if name not in given], X)
        self.kinds_, self.date_orders_ = {}, {}
        for name in names:
            kind = given.get(name) or found[name].kind
            self.kinds_[name] = "number" if kind == "integer" else kind
            if kind == "ordered" and name not in levels:
                levels[name] = _levels(table.column(name), name)
            own = found[name].date_order if name in found else None
            order = own or (date_order(table.column(name)) if kind == "date" else None)
            if order is not None:
                self.date_orders_[name] = order
        self._choose_columns(table, y, found, given, use)
        prepared = self._converted(table)
        for name in self.ordered or ():
            others = sorted({*prepared.column(name).unique().drop_null().to_pylist()} - {*levels[name]})
            if others:  # they would count as missing values
                raise ParameterError(
                    f"`TablePreparer(ordered=...)`: column {name!r} has the level {others[0]!r}, which is not listed. "
                    "List all levels, lowest first."
                )
        if not prepared.column_names:
            one = "The table has 1 sample. " if len(table) == 1 else ""
            listed = ", ".join(f"{name!r} ({why})" for name, why in list(self.unused_.items())[:6])
            raise DataError(
                f"{one}No column is left to prepare: {listed}{', …' * (len(self.unused_) > 6)}. Add columns that "
                "vary, or name columns to use with `TablePreparer(use=...)`."
            )
        self._choose_scale(prepared, in_one_unit=any({*prepared.column_names} == {*each} for each in vectors.values()))
        spreads = (
            {name: found[name].sd for name in prepared.column_names if name in found} if self.standardized_ else {}
        )
        if huge := [name for name, sd in spreads.items() if sd == np.inf]:
            raise DataError(
                f"The values of column {huge[0]!r} are too large to be standardized: their squares overflow. Change "
                "the unit of the column, or leave it out."
            )
        self._require_memory(prepared)
        self.transformer_ = self._encoders(levels, prepared).fit(prepared)
        self.missing_ = {name: count_missing(prepared.column(name)) for name in prepared.column_names}
        gaps = [count for name, count in self.missing_.items() if self.kinds_[name] not in _COMPLETE]
        self.missing_fraction_ = sum(gaps) / max(1, len(gaps) * len(table))
        self.report_ = {name: _sentence(self, name, levels, found.get(name)) for name in names}
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns of X as numbers: an array of shape (n, number of new columns), or an Arrow table."""
        check_is_fitted(self)
        columns, names = self._opened(X)
        Z = self._encoded(whole_table(columns, names))
        frames = getattr(self, "_sklearn_output_config", {}).get("transform") or get_config()["transform_output"]
        if self.output == "array" or frames != "default":  # scikit-learn turns the array into a data frame
            return Z
        return arrow_table(Z.T, self.get_feature_names_out())

    def open_rows(self, X: Any) -> Rows:
        """Return the columns of X as numbers, as Rows: a file is read and prepared in chunks."""
        check_is_fitted(self)
        columns, names = self._opened(X)

        def convert(part: Any) -> np.ndarray:
            return np.asfortranarray(self._encoded(arrow_table(part.columns, names)))

        found = self.get_feature_names_out()
        return StreamRows(
            columns.tables, convert, columns.n, len(found), np.dtype(np.float64), tuple(found), "the prepared table",
            stamps=columns.stamps,
        )  # fmt: skip

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the new columns. Equal names are numbered."""
        check_is_fitted(self)
        names = [name.partition("__")[2] for name in self.transformer_.get_feature_names_out()]
        seen: Counter[str] = Counter()
        unique: list[str] = []
        for name in names:
            seen[name] += 1
            unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
        return np.asarray(unique, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: text, categories and missing values are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    # --- steps ---

    def _choose_columns(
        self, table: Any, y: Any, found: dict[str, ColumnKind], given: dict[str, str], use: Sequence[str]
    ) -> None:
        """Set ``unused_``: why columns are not used, unless their kinds are given or they are named."""
        self.unused_ = {name: "dropped as requested" for name, kind in given.items() if kind == "drop"}
        named = {*given, *use}
        for name in use:  # as what it is, not as an identifier
            if self.kinds_[name] == "id":
                self.kinds_[name] = "number" if holds_numbers(table.schema.field(name).type) else "text"
        self.unused_ |= {name: c.unused for name, c in found.items() if c.unused and name not in named}
        self.unused_ |= {name: "no values" for name in named & {*found} if found[name].kind == "missing"}
        if y is not None:
            candidates = [name for name in found if name not in named and name not in self.unused_]
            self.unused_ |= label_copies(table, candidates, y)
        for kind, off in (("date", self.dates), ("text", self.texts)):
            if off == "drop":
                self.unused_ |= {name: "dropped as requested" for name, own in self.kinds_.items() if own == kind}
        if len(self.unused_) == len(table.column_names):  # free text is better than nothing
            texts = [name for name, why in self.unused_.items() if why == "free text"]
            self.unused_ = {name: why for name, why in self.unused_.items() if name not in texts}

    def _choose_scale(self, prepared: Any, *, in_one_unit: bool) -> None:
        """Set whether the numbers are standardized, or weighted as counts."""
        self.standardized_, self.weighted_ = self.standardize is True, self.standardize == "tf-idf"
        others = [name for name in prepared.column_names if self.kinds_[name] not in NUMBERS]
        if self.weighted_ and others:
            raise ParameterError(
                f"TablePreparer(standardize='tf-idf'): column {others[0]!r} contains no counts. Drop it: "
                f"kinds={{{others[0]!r}: 'drop'}}."
            )
        if self.standardize == "auto" and not in_one_unit:
            X = np.empty((0, 0)) if others else np.column_stack([np.asarray(c, np.float64) for c in prepared.columns])
            self.weighted_ = are_counts(X)
            self.standardized_ = bool(others) or (not self.weighted_ and scales_differ(X))

    def _check_parameters(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if not any(value is each or value == each for each in allowed):
                raise ParameterError(f"TablePreparer({name}={value!r}): unknown. Choose {_listed(allowed)}.")
        for name, least in (("max_levels", 2), ("text_components", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ParameterError(f"TablePreparer({name}={value!r}): it must be an integer of at least {least}.")
        for name, kind in (self.kinds or {}).items():
            if kind not in GIVEN:
                raise ParameterError(
                    f"TablePreparer(kinds={{{name!r}: {kind!r}}}): unknown. {did_you_mean(kind, GIVEN)}"
                    f"Choose {_listed(GIVEN)}."
                )

    def _check_names(self, names: list[str]) -> None:
        for option in ("kinds", "ordered", "use"):
            for name in getattr(self, option) or ():
                if name not in names:
                    raise ParameterError(
                        f"TablePreparer({option}=...): the table has no column {name!r}. {did_you_mean(name, names)}"
                        f"Choose one of {_listed(names[:12])}{', …' * (len(names) > 12)}."
                    )

    def _encoders(self, levels: dict[str, list[str]], table: Any) -> ColumnTransformer:
        def of(kind: str) -> list[str]:
            return [name for name in table.column_names if self.kinds_[name] == kind]

        ranks = OrdinalEncoder(
            categories=[np.asarray(levels[name], dtype=object) for name in of("ordered")],
            handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan,
        )  # fmt: skip
        levels_as_columns = OneHotEncoder(
            max_categories=int(self.max_levels), handle_unknown="infrequent_if_exist", sparse_output=False
        )
        scaled: list[tuple[str, Any]] = [("scale", StandardScaler())] if self.standardized_ else []
        if self.weighted_:  # a column of zeros and ones contains counts, too
            steps = Pipeline([*_imputer(self.impute), ("weights", CountWeights())])
            return ColumnTransformer([("number", steps, list(table.column_names))], sparse_threshold=0.0)
        steps = {
            "number": [*_imputer(self.impute), *scaled],
            "boolean": _imputer(self.impute and "most_frequent"),
            "ordered": [("rank", ranks), *_imputer(self.impute), *scaled],
            "date": [("parts", DateParts()), *_imputer(self.impute), *scaled],
            "category": [("levels", levels_as_columns)],
            "text": [("components", TextComponents(int(self.text_components), self.random_state))],
        }
        unchanged = [("unchanged", StandardScaler(with_mean=False, with_std=False))]
        used = [(kind, Pipeline(each or unchanged), of(kind)) for kind, each in steps.items() if of(kind)]
        return ColumnTransformer(used, sparse_threshold=0.0)

    def _require_memory(self, table: Any) -> None:
        """Raise an error if the encoded table, which the fit computes, does not fit the budget."""
        width = {"category": self.max_levels, "text": self.text_components, "date": len(PARTS)}
        d = sum(width.get(self.kinds_[name], 1) for name in table.column_names)
        require_memory(2 * 8.0 * len(table) * d, "TablePreparer: the encoded table", "Lower max_levels")

    def _converted(self, table: Any) -> Any:
        """The columns that are kept, as floats, dates and strings."""
        kept = [name for name in table.column_names if name not in self.unused_]
        orders = self.date_orders_
        columns = [converted(table.column(name), self.kinds_[name], repr(name), orders.get(name)) for name in kept]
        return arrow_table(columns, kept)

    def _opened(self, X: Any) -> tuple[Any, list[str]]:
        """The training columns of a new table, by name where it has names; it may lack those that are dropped."""
        if hasattr(self, "feature_names_in_") and has_named_columns(X):
            columns, names, _ = open_arrow(X, [name for name in self.feature_names_in_ if name not in self.unused_])
            return columns, names
        columns, names, _ = open_arrow(X)
        if len(names) != self.n_features_in_:
            raise DataError(
                f"`X` has {len(names)} features, but TablePreparer is expecting {self.n_features_in_} features as "
                "input. Pass the columns of the training data."
            )
        return columns, list(self.kinds_)

    def _encoded(self, table: Any) -> np.ndarray:
        return np.asarray(self.transformer_.transform(self._converted(table)), dtype=np.float64)


def _imputer(strategy: str | None) -> list[tuple[str, Any]]:
    return [] if strategy is None else [("impute", SimpleImputer(strategy=strategy, keep_empty_features=True))]


def _levels(column: Any, name: str) -> list[str]:
    """The levels of an ordered category, lowest first."""
    if not is_ordered(column):
        raise ParameterError(
            f"TablePreparer: column {name!r} is not an ordered category. List its levels: ordered={{{name!r}: [...]}}."
        )
    return [str(v) for v in column.combine_chunks().dictionary.to_pylist()]


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(repr(value) for value in values)


# --- what a fit must know of a table before it encodes the columns ----------------------------------------------------


def _kinds_in(table: Any, names: Sequence[str], X: Any) -> dict[str, ColumnKind]:
    """Return the kinds of columns of X as an Arrow table; raise one error that names all columns that have none."""
    nested = nested_columns(table, names)
    plain = [name for name in names if name not in nested]
    batches = table.select(plain).to_batches(max_chunksize=BATCH) if plain else ()
    source = _source_of(X)
    found = kinds_of(batches, source, duplicates=False).columns
    marks = {c.name: dict(zip(c.marks, c.mark_rows, strict=True)) for c in found if c.marks}
    infinite = {c.name: infinite_values(table.column(c.name)) for c in found if c.is_infinite}
    if marks or infinite or nested:
        gaps = {c.name: c.missing for c in found if 0 < c.missing < c.n and c.kind not in _COMPLETE}
        opened = X
        while isinstance(opened, Table):  # a table with roles, of a table
            opened = opened.table
        path = X if isinstance(X, str | os.PathLike) else getattr(opened, "path", "")
        takes_marks = suffix_of(Path(path)).removesuffix(".gz") in (".csv", ".tsv", ".txt", ".xlsx", ".ods")
        raise preparation_error(marks, infinite, nested, gaps, source, takes_marks=takes_marks)
    return {column.name: column for column in found}


def _source_of(X: Any) -> str:
    """Return the name of a table in messages."""
    return repr(os.fspath(X)) if isinstance(X, str | os.PathLike) else getattr(X, "source", "the table")


# --- what was done with each column, in words -------------------------------------------------------------------------


def _sentence(preparer: Any, name: str, levels: dict[str, list[str]], found: ColumnKind | None) -> str:
    """Return what a fitted TablePreparer did with a column; ``found``: its kind, where it was not given."""
    kind, detail = preparer.kinds_[name], found.detail if found else ""
    if name in preparer.unused_:
        why = preparer.unused_[name]
        return why if why.startswith("dropped") else f"{why}, not used"
    missing = preparer.missing_[name]
    scaled = ", standardized" if preparer.standardized_ else ""
    by_mode = kind == "boolean" and not preparer.weighted_
    how = preparer.impute and ("most_frequent" if by_mode else preparer.impute)
    words = LEFT if how is None else f"replaced by the {how.replace('_', ' ')}"
    filled = f", {missing:,} missing {words}{' value' * (how == 'most_frequent')}" if missing else ""
    if preparer.weighted_:
        return f"count{filled}, {WEIGHTED}"
    if kind == "category":
        return _category(preparer, name, missing)
    if kind == "text":
        encoder = _encoder(preparer, "text", "components")
        k = encoder.models_[list(encoder.feature_names_in_).index(name)].n_components
        units = f" ({detail})" if detail else ""
        empty = "; missing texts are empty" * bool(missing)
        return f"text{units}, {k} component{'s' * (k != 1)} of its n-grams{empty}"
    if kind == "date":
        parts = [part for column, part in _encoder(preparer, "date", "parts").kept_parts() if column == name]
        order = f" ({detail})" if detail else ""
        return f"date{order}, as {', '.join(parts) or 'nothing: all equal'}{filled}{scaled}"
    if kind == "ordered":
        order = " < ".join(levels[name][:6]) + " < …" * (len(levels[name]) > 6)
        return f"ordered category, as ranks ({order}){filled}{scaled}"
    code = f"; looks {detail}" if detail else ""
    return f"boolean, as 0 and 1{filled}" if kind == "boolean" else f"number{filled}{scaled}{code}"


def _category(preparer: Any, name: str, missing: int) -> str:
    encoder = _encoder(preparer, "category", "levels")
    j = list(encoder.feature_names_in_).index(name)
    n, rare = len(encoder.categories_[j]) - bool(missing), encoder.infrequent_categories_[j]
    kept, new = f"{n} level{'s' * (n != 1)} as columns of 0 and 1", "a new level is 0 in all of them"
    if rare is not None:
        most = preparer.max_levels - 1
        kept = f"{n} levels, of which the {most} most frequent as columns of 0 and 1, the rest as one"
        new = "a new level counts as one of the rest"
    return f"category, {kept}" + f", {missing:,} missing as one more level" * bool(missing) + f"; {new}"


def _encoder(preparer: Any, kind: str, step: str) -> Any:
    return preparer.transformer_.named_transformers_[kind].named_steps[step]
