"""Fitted attributes, declared once in the class: name, type, shape and description.

The docstring, ``lowland inspect`` and the reference page are generated from these declarations. A contract test
compares them with the attributes that a fit sets.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any, Literal


@dataclass(frozen=True)
class Attribute:
    """A fitted attribute as declared."""

    doc: str
    shape: str = ""
    when: str = ""  # the condition under which a fit sets it; empty: always
    name: str = ""
    kind: str = ""  # the annotation, as written
    saved: bool = True  # whether model files contain it

    @property
    def header(self) -> str:
        """Name, type and shape, as numpydoc writes them."""
        return f"{self.name} : {self.type}"

    @property
    def type(self) -> str:
        """Type and shape in words."""
        kind, optional, _ = self.kind.partition(" | None")
        shape = f" of shape {self.shape}" if self.shape else ""
        kind = "array" if kind in ("Array", "np.ndarray", "Any") else kind
        return f"{kind}{shape}{' or None' if optional else ''}"

    @property
    def sentence(self) -> str:
        """The description, and the condition under which a fit sets the attribute."""
        text = f"{self.doc} Only {self.when}." if self.when else self.doc
        return text if self.saved else f"{text} Not in model files."


def attribute(doc: str, shape: str = "", *, when: str = "", saved: bool = True, init: Literal[False] = False) -> Any:
    """Declare a fitted attribute: its description, its shape, and the condition under which a fit sets it.

    The annotation gives its type. Not ``saved``: model files leave it out, since no method needs it. ``init=False``
    tells type checkers that it is not a parameter.
    """
    return Attribute(doc, shape, when, saved=saved)


def collect_attributes(cls: type) -> dict[str, Attribute]:
    """Remove the declarations from a class body, so that an unfitted model has none; add those of its base classes.

    A public property whose name ends in an underscore counts as an attribute. Its docstring is the description.
    """
    found: dict[str, Attribute] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= vars(base).get("_attributes", {})
    for name, value in list(vars(cls).items()):
        if isinstance(value, Attribute):
            found[name] = replace(value, name=name, kind=str(cls.__annotations__.pop(name)))
            delattr(cls, name)
        elif isinstance(value, property) and name.endswith("_") and not name.startswith("_"):
            text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
            found[name] = Attribute(
                text, name=name, kind=str(getattr(value.fget, "__annotations__", {}).get("return", ""))
            )
    return found


def attributes_of(cls: Any) -> tuple[Attribute, ...]:
    """Return the declared attributes of a method: its own first, those of its most general base class last."""
    groups: list[list[str]] = []
    seen: set[str] = set()
    for base in reversed(cls.__mro__):
        new = [name for name in vars(base).get("_attributes", {}) if name not in seen]
        groups.append(new)
        seen.update(new)
    return tuple(cls._attributes[name] for group in reversed(groups) for name in group)
