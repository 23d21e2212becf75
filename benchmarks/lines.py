"""Lines of the result table: ours, the peer, and the requirements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Quantity = Literal["speed", "time", "ours", "memory"]


@dataclass(frozen=True)
class Bar:
    """A requirement: a minimum speed relative to the peer, or a maximum of time, value or memory."""

    of: Quantity
    limit: float

    def met_by(self, value: float) -> bool:
        return value >= self.limit if self.of == "speed" else value <= self.limit


@dataclass(frozen=True)
class Line:
    """One comparison.

    ``ratio`` is our time over the peer's, ``doubt`` its relative standard error; ``memory`` is the peak beyond the
    data, in bytes.
    """

    what: str
    ours: float
    peer: float | None = None
    unit: Literal["seconds", "relative error"] = "seconds"
    ratio: float | None = None
    doubt: float = 0.0
    required: tuple[Bar, ...] = ()
    memory: float | None = None
    remark: str = ""

    def value(self, of: Quantity) -> float | None:
        match of:
            case "speed":
                return None if self.ratio is None else 1 / self.ratio
            case "time":
                return self.ratio
            case "ours":
                return self.ours
            case "memory":
                return self.memory

    @property
    def missed(self) -> tuple[Bar, ...]:
        """The requirements that were measured and missed."""
        values = [(bar, self.value(bar.of)) for bar in self.required]
        return tuple(bar for bar, value in values if value is not None and not bar.met_by(value))

    def cells(self) -> list[str]:
        """Cells of the table: ours, peer, ratio, required, memory, remark."""
        show = {"seconds": in_seconds, "relative error": in_digits}[self.unit]
        bars = ", ".join(self._bar_in_words(bar, show) for bar in self.required) or "–"
        return [
            show(self.ours),
            _or_dash(self.peer, show),
            _or_dash(self.ratio, self._ratio_in_words),
            bars,
            _or_dash(self.memory, in_bytes),
            self.remark,
        ]

    def _ratio_in_words(self, ratio: float) -> str:
        as_time = any(bar.of == "time" for bar in self.required)
        words = _times(ratio) if as_time else f"{1 / ratio:.3g}× as fast"
        return f"{words} ± {100 * self.doubt:.1f} %" if self.doubt else words

    def _bar_in_words(self, bar: Bar, show: Callable[[float], str]) -> str:
        match bar.of:
            case "speed":
                return f"≥ {bar.limit:g}× as fast"
            case "time":
                return f"≤ {_times(bar.limit)}"
            case "memory":
                return f"≤ {in_bytes(bar.limit)}"
            case "ours":
                return f"≤ {show(bar.limit)}"


def _times(ratio: float) -> str:
    return f"{ratio:.3f}".rstrip("0").rstrip(".") + "× the time"


def _or_dash(value: float | None, show: Callable[[float], str]) -> str:
    return "–" if value is None else show(value)


def in_seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def in_bytes(count: float) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def in_digits(error: float) -> str:
    return f"{error:.0e}" if error else "0"
