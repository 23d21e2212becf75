"""The session as a dependency of routes: ``async def route(here: Here, ...)``."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from lowland.explorer.session import Session


def session_of(request: Request) -> Session:
    """Return the session of the app."""
    return request.app.state.session


Here = Annotated[Session, Depends(session_of)]
