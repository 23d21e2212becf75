"""Docstrings of functions that share parameters: each parameter is described once."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
_OWN = re.compile(r"Parameters\n-{3,}\n(.*?)\n\n(?=\S|\Z)", re.DOTALL)
_HEADING = re.compile(r"^\w+\n-{3,}\n", re.MULTILINE)


def with_parameters(*shared: str, returns: str = "") -> Callable[[Function], Function]:
    """Complete the section Parameters of a docstring, in the order of the signature.

    ``shared`` are descriptions in numpydoc's form. Of several for one parameter the last counts, and one in the
    docstring itself counts most. ``returns`` is the section Returns, if the docstring has none.

    Examples
    --------
    >>> @with_parameters("ax : Axes or None, default None\\n    Axes to draw in.")
    ... def scree(values, ax=None):
    ...     '''Draw a scree plot.
    ...
    ...     Parameters
    ...     ----------
    ...     values : array-like of shape (k,)
    ...         Eigenvalues.
    ...
    ...     '''
    >>> print(scree.__doc__)
    Draw a scree plot.
    <BLANKLINE>
    Parameters
    ----------
    values : array-like of shape (k,)
        Eigenvalues.
    ax : Axes or None, default None
        Axes to draw in.
    """

    def complete(function: Function) -> Function:
        if function.__doc__ is None:  # python -OO
            return function
        doc = inspect.cleandoc(function.__doc__) + "\n\n"
        own = _OWN.search(doc)
        known: dict[str, str] = {}
        for text in (*shared, own[1] if own else ""):
            known |= _described(text)
        names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
        section = "\n".join(["Parameters\n----------", *(known[name] for name in names)]) + "\n\n"
        doc = _OWN.sub("", doc, count=1)
        if returns and "\nReturns\n---" not in doc:
            section += f"Returns\n-------\n{textwrap.dedent(returns).strip()}\n\n"
        heading = _HEADING.search(doc)
        at = heading.start() if heading else len(doc)
        function.__doc__ = (doc[:at] + section + doc[at:]).rstrip()
        return function

    return complete


def _described(section: str) -> dict[str, str]:
    """The descriptions in a section, by the name of the parameter."""
    parts = re.split(r"^(?=\S)", textwrap.dedent(section).strip(), flags=re.MULTILINE)
    return {part.partition(" : ")[0]: part.rstrip() for part in parts if part.strip()}
