"""The app: routes, access, errors as sentences, and the server that runs it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import importlib
import pkgutil
import secrets
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lowland.errors import FileProblem, LowlandError, MissingExtra
from lowland.explorer.queue import Limits
from lowland.explorer.session import Session
from lowland.explorer.workspace import default_workspace

PORT = 8787


def create_app(session: Session, *, token: str, host: str = "127.0.0.1", port: int = PORT) -> Any:
    """Return the ASGI app of a session: every module in ``routes`` that defines ``router`` is included."""
    from fastapi import Depends, FastAPI, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from fastapi.security import HTTPBearer
    from starlette.exceptions import HTTPException

    from lowland import __version__
    from lowland.explorer import routes
    from lowland.explorer.access import Access
    from lowland.explorer.requests import ErrorAnswer
    from lowland.explorer.workspace import RequestError

    app = FastAPI(
        title="Lowland explorer", version=__version__, docs_url=None, redoc_url=None, openapi_url="/api/openapi.json",
        responses={"default": {"model": ErrorAnswer, "description": "What went wrong, and what to do."}},
        dependencies=[Depends(HTTPBearer(auto_error=False, description="The token, which a browser has as a cookie."))],
    )  # fmt: skip
    app.state.session = session
    for info in pkgutil.iter_modules(routes.__path__):
        router = getattr(importlib.import_module(f"{routes.__name__}.{info.name}"), "router", None)
        if router is not None:
            app.include_router(router)

    def described(error: Exception) -> tuple[int, str]:
        """The status and a sentence."""
        if isinstance(error, LowlandError):
            return error.status if isinstance(error, RequestError) else 422, str(error)
        if isinstance(error, HTTPException):
            missing = error.status_code == 404
            return error.status_code, "There is nothing at this address." if missing else f"{error.detail}."
        if isinstance(error, RequestValidationError):
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"][1:]))  # without "body", "query" or "path"
            return 422, f"{where or 'The request'}: {first['msg']}."
        if isinstance(error, OSError):
            text = f"A file cannot be read or written: {error.strerror or error}. Check its permissions and the free "
            return 507 if error.errno == errno.ENOSPC else 500, f"{text}disk space."
        return 500, f"Unexpected error: {type(error).__name__}: {error}. Please report it."

    async def answer(request: Request, error: Exception) -> JSONResponse:
        status, sentence = described(error)
        return JSONResponse({"error": sentence, "type": type(error).__name__}, status_code=status)

    for kind in (LowlandError, HTTPException, RequestValidationError, OSError, Exception):
        app.add_exception_handler(kind, answer)
    return Access(app, token=token, host=host, port=port)


def listening_socket(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; without a given port, the next free one is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tried = [port] if port is not None else [*range(PORT, PORT + 20), 0]
    problem: OSError | None = None
    for each in tried:
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, each))
            found.listen(128)
            return found
        except OSError as error:
            found.close()
            problem = error
    assert problem is not None
    where = f"{host}:{port}" if port is not None else host
    remedy = "Choose an address of this machine, such as 127.0.0.1."
    if problem.errno in (errno.EADDRINUSE, errno.EACCES):
        remedy = "Choose another port, or stop the program that uses it."
    raise FileProblem(f"The explorer cannot listen on {where}: {problem.strerror}. {remedy}") from problem


async def serve(
    *, file: Path | None, folder: Path, host: str = "127.0.0.1", port: int | None = None, workspace: Path | None = None,
    limits: Limits | None = None, token: str | None = None, ready: Callable[[str], None] = lambda address: None,
) -> None:  # fmt: skip
    """Run the explorer until it is interrupted; ``ready`` receives its address with the token."""
    listener = listening_socket(host, port)
    try:
        session = open_session(folder, workspace, limits or Limits())
    except BaseException:
        listener.close()
        raise
    try:
        await session.start()  # the worker loads its libraries while the server loads its own
        if file is not None:
            open_file(session, file)
            await asyncio.sleep(0.05)  # a worker takes it
            session.queue.warm()  # another one gets ready to compute the first map
        try:
            import uvicorn
        except ImportError as error:
            raise MissingExtra("uvicorn", "explore") from error

        taken = listener.getsockname()[1]
        token = token or secrets.token_urlsafe(24)
        app = create_app(session, token=token, host=host, port=taken)
        config = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=1,
            timeout_keep_alive=30, ws="none",
        )  # fmt: skip
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve([listener]))

        def stop() -> None:  # end the streams of events, the server and the workers
            session.events.close()
            server.should_exit = True

        for each in (signal.SIGINT, signal.SIGTERM):
            # not in the main thread, or Windows
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                asyncio.get_running_loop().add_signal_handler(each, stop)
        while not server.started and not running.done():
            await asyncio.sleep(0.01)
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        ready(f"http://{f'[{shown}]' if ':' in shown else shown}:{taken}/?token={token}")
        await running
    finally:
        await session.close()
        listener.close()


def open_session(folder: Path, workspace: Path | None, limits: Limits) -> Session:
    """Open the workspace of a folder; without a given one, that of a second explorer has a number."""
    if workspace is not None:
        return Session(folder, workspace, limits)
    root = default_workspace(folder)
    for number in range(1, 20):
        with contextlib.suppress(FileProblem):
            return Session(folder, root if number == 1 else root.with_name(f"{root.name}-{number}"), limits)
    return Session(folder, root, limits)


def open_file(session: Session, file: Path) -> None:
    """Open the file of the command line, which the page shows; one that is open and unchanged is not read again."""
    path = file.resolve()
    stamp = [path.stat().st_mtime_ns, path.stat().st_size]
    shown = session.folder.shown(path)
    for record in session.store.all("table", source=shown):
        if record["status"] == "ready" and record["private"]["message"].get("stamp") == stamp:
            session.first = record["id"]
            return
    session.first = session.add_table(path.name, shown, {"path": str(path), "stamp": stamp})["id"]


def run(**settings: Any) -> None:
    """Run the explorer in this thread."""
    with asyncio.Runner() as runner:
        runner.run(serve(**settings))
