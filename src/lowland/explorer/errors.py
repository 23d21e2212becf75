"""Errors of the HTTP API: a status and a sentence that says what to do."""

from __future__ import annotations

from lowland.errors import LowlandError


class RequestError(LowlandError):
    """A request that cannot be fulfilled; ``status`` is the HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def not_found(what: str, name: str) -> RequestError:
    """Return the error for an unknown id."""
    return RequestError(404, f"There is no {what} {name[:80]!r}. It may have been deleted. Reload the page.")
