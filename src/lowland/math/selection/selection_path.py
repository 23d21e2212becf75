"""The path of a selection: the column added or removed at each step, and the score after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lowland.arrays.records import record


class Move(NamedTuple):
    """A move of a search: the action, and the columns and their score after it."""

    action: str  # "add", "remove", or "find": a whole subset at once
    feature: int | None
    score: float
    features: tuple[int, ...]  # in order


@record
@dataclass(frozen=True)
class Step:
    """A step of a path: a move, numbered from 1, with the name of the column."""

    number: int
    action: str  # "add", "remove", or "find": a whole subset at once
    feature: int | None
    name: str
    score: float
    size: int
    features: tuple[int, ...]

    @classmethod
    def of(cls, number: int, move: Move, names: Sequence[str]) -> Step:
        """Return a move with its number and the names of its columns."""
        name = ", ".join(names[j] for j in move.features) if move.feature is None else names[move.feature]
        return cls(number, move.action, move.feature, name, move.score, len(move.features), move.features)


def numbered(moves: Iterable[Move], names: Sequence[str]) -> Iterator[Step]:
    """Yield moves as the steps of a path."""
    for number, move in enumerate(moves, 1):
        yield Step.of(number, move, names)


def path_table(path: Iterable[Step]) -> str:
    """Return a path as a text table: step, action, column, score, number of columns after the step."""
    rows = [("step", "action", "feature", "score", "columns")]
    rows += [(str(s.number), s.action, s.name, f"{s.score:.6g}", str(s.size)) for s in path]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        f"{step:>{widths[0]}}  {action:<{widths[1]}}  {name:<{widths[2]}}  {score:>{widths[3]}}  {size:>{widths[4]}}"
        for step, action, name, score, size in rows
    )
    return "\n".join(lines)
