"""Server-sent events: every browser that listens sees every change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

MOST_WAITING = 2_000  # events that a slow browser may leave unread; then it is disconnected, and connects again
KEEP_ALIVE = 15.0  # seconds


class Events:
    """The browsers that listen. ``publish`` may be called from any thread once the loop is known."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[bytes | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self) -> None:
        """Remember the event loop of the server."""
        self._loop = asyncio.get_running_loop()

    def publish(self, event: str, data: Any) -> None:
        """Send an event to all listeners."""
        if self._loop is not None and self._listeners:
            text = f"event: {event}\ndata: {json.dumps(data)}\n\n".encode()
            self._loop.call_soon_threadsafe(self._deliver, text)

    def _deliver(self, text: bytes) -> None:
        for listener in list(self._listeners):
            if listener.qsize() < MOST_WAITING:
                listener.put_nowait(text)
            else:
                self._listeners.discard(listener)
                listener.put_nowait(None)

    def close(self) -> None:
        """End all streams."""
        for listener in list(self._listeners):
            listener.put_nowait(None)
        self._listeners.clear()

    async def stream(self, first: Any) -> AsyncIterator[bytes]:
        """Yield the events for one browser; ``first`` is the session, sent at once."""
        listener: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._listeners.add(listener)
        try:
            yield f"retry: 1000\nevent: session\ndata: {json.dumps(first)}\n\n".encode()
            while True:
                try:
                    text = await asyncio.wait_for(listener.get(), KEEP_ALIVE)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if text is None:
                    return
                yield text
        finally:
            self._listeners.discard(listener)
