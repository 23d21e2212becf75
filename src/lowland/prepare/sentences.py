"""What TablePreparer did with each column, in words."""

from __future__ import annotations

from typing import Any

from lowland.data.kinds import ColumnKind

DROPPED = {
    "missing": "every value is missing, dropped",
    "constant": "only one value, dropped",
    "id": "an identifier (every value is different), dropped",
    "drop": "dropped as requested",
}


def sentence(preparer: Any, name: str, levels: dict[str, list[str]], found: ColumnKind | None) -> str:
    """Return what a fitted TablePreparer did with a column; ``found``: its kind, where it was not given."""
    kind, detail = preparer.kinds_[name], found.detail if found else ""
    if kind in DROPPED:
        return f"an identifier ({detail}), dropped" if kind == "id" and detail else DROPPED[kind]
    if name not in preparer.missing_:
        return f"{kind}, dropped as requested"
    missing = preparer.missing_[name]
    scaled = ", standardized" if preparer.standardize else ""
    filled = _filled(missing, preparer.impute if kind != "boolean" else preparer.impute and "most_frequent")
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


def _filled(missing: int, how: str | None) -> str:
    if not missing:
        return ""
    words = "left missing" if how is None else f"replaced by the {how.replace('_', ' ')}"
    return f", {missing:,} missing {words}{' value' * (how == 'most_frequent')}"
