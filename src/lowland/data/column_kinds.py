"""The kind of a column: what its values are, so that it can be prepared."""

from __future__ import annotations

from typing import Any, Literal, get_args

from lowland.errors import DataTypeError

Kind = Literal["number", "boolean", "category", "ordered", "date", "text", "id", "constant", "missing", "drop"]
KINDS: tuple[str, ...] = get_args(Kind)
WORDS_OF_TEXT = 3  # mean number of words per value from which on a column of many levels is text


def column_kind(column: Any, max_levels: int, name: str) -> Kind:
    """Return the kind of an Arrow column; raise an error for lists and bytes, which have none.

    A column of strings is a category, unless it has more than ``max_levels`` levels and (a) its values have three words
    or more on average, or more than half of them are distinct: then it is text; or (b) every value is distinct and one
    word: then it is an identifier.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds, kind = pa.types, column.type
    if kinds.is_nested(kind) or kinds.is_binary(kind) or kinds.is_large_binary(kind):
        raise DataTypeError(
            f"Column {name!r} contains {kind}, which cannot be prepared. Drop it (kinds={{{name!r}: 'drop'}}), or "
            "convert it to numbers or strings."
        )
    observed = column.drop_null()
    if kinds.is_floating(kind):
        observed = observed.filter(pc.invert(pc.is_nan(observed)))
    if len(observed) == 0:
        return "missing"
    if is_ordered(column):
        return "ordered"
    if kinds.is_dictionary(kind):  # a frame's strings are encoded as such, too
        observed = observed.cast(kind.value_type)
    levels = pc.count_distinct(observed).as_py()
    if levels == 1:
        return "constant" if len(observed) == len(column) or not _is_level(kind) else "category"
    if kinds.is_boolean(kind):
        return "boolean"
    if kinds.is_temporal(kind) and not (kinds.is_time(kind) or kinds.is_duration(kind)):
        return "date"
    if not _is_level(kind):
        return "number"
    if levels <= max_levels or not _is_level(observed.type):
        return "category"
    words = pc.mean(pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(observed)))).as_py()
    if levels == len(observed) and words < 1.5:
        return "id"
    return "text" if words >= WORDS_OF_TEXT or levels > len(observed) / 2 else "category"


def is_ordered(column: Any) -> bool:
    """Whether an Arrow column is an ordered category."""
    import pyarrow as pa

    return bool(pa.types.is_dictionary(column.type) and column.type.ordered)


def _is_level(kind: Any) -> bool:
    """Whether values of an Arrow type are strings or levels of a category, not numbers, booleans or dates."""
    import pyarrow as pa

    kinds = pa.types
    return bool(
        kinds.is_dictionary(kind) or kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)
    )
