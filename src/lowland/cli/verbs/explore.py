"""``lowland explore [FILE]``: a page in the browser to look at a table, compute maps of it and compare them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from lowland.cli.shared import options
from lowland.cli.shared.commands import Command
from lowland.cli.shared.options import OTHER, WORK, MemorySize, Option, in_section
from lowland.errors import MissingExtra, MissingFile, ParameterError

ELSEWHERE = (
    "lowland: warning: the explorer listens on {host}, so other machines can reach it. Only someone with the address, "
    "which contains the token, can use it. The connection is not encrypted."
)


def run(
    file: Path | None, folder: Path | None, host: str, port: int | None, no_open: bool, workspace: Path | None,
    memory: int | None, time_limit: float, max_upload: int,
) -> None:  # fmt: skip
    """Start the server, print its address, open the browser."""
    import importlib.util

    for package in ("fastapi", "uvicorn", "python_multipart"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "explore")
    if file is not None and not file.exists():
        raise MissingFile(f"There is no file {str(file)!r}. Check the name and the folder.")
    root = (folder or (Path.cwd() if file is None else file.resolve().parent)).resolve()
    if not root.is_dir():
        raise MissingFile(f"There is no folder {str(root)!r}. Check the name.")
    if file is not None and root not in file.resolve().parents:
        raise ParameterError(f"{str(file)!r} lies outside of {str(root)!r}. Choose a folder that contains it.")
    from lowland.explorer.app import run as serve
    from lowland.explorer.queue import Limits, default_memory

    limits = Limits(upload_bytes=max_upload, memory_bytes=memory or default_memory(), seconds=time_limit)
    if host not in ("127.0.0.1", "localhost", "::1"):
        click.echo(ELSEWHERE.format(host=host), err=True)

    def ready(address: str) -> None:
        click.echo(f"Lowland explorer: {address}")
        if not no_open:
            click.echo("Press Ctrl-C to stop it.", err=True)
            _open(address)

    with contextlib.suppress(KeyboardInterrupt):
        serve(file=file, folder=root, host=host, port=port, workspace=workspace, limits=limits, ready=ready)


def _open(address: str) -> None:
    """Open the browser; without one, the address was printed."""
    import webbrowser

    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(address)


def _options() -> list[Any]:
    folder = "Folder whose files may be opened. [default: that of FILE, or the current one]"
    store = "Folder for tables and maps that are kept. [default: one per folder in the cache of the user]"
    server = in_section(
        "Server",
        [
            options.file_option("--folder", folder, metavar="DIR"),
            Option(
                ["--port"],
                type=click.IntRange(1, 65535),
                metavar="N",
                help="Port. [default: 8787, or the next free one]",
            ),
            Option(
                ["--host"], default="127.0.0.1", metavar="H", help="Address. [default: 127.0.0.1, this machine only]"
            ),
            Option(["--no-open"], is_flag=True, help="Do not open the browser."),
            options.file_option("--workspace", store, metavar="DIR"),
        ],
    )
    memory = "Memory limit of one map. [default: three quarters of the machine's memory]"
    limits = in_section(
        WORK,
        [
            Option(["--memory"], type=MemorySize(), metavar="SIZE", help=memory),
            Option(["--time-limit"], type=click.FloatRange(1), default=3600.0, metavar="SECONDS",
                   help="Time limit of one map. [default: 3600]"),
            Option(["--max-upload"], type=MemorySize(), default="2GB", metavar="SIZE",
                   help="Size limit of an uploaded file. [default: 2GB]"),
        ],
    )  # fmt: skip
    return [*server, *limits, *in_section(OTHER, [options.debug_option()])]


explore = Command(
    "explore",
    python="explore",
    callback=run,
    params=[
        click.Argument(["file"], metavar="[FILE]", required=False, type=click.Path(path_type=Path)),
        *_options(),
    ],
    help="Explore a table in the browser: compute maps, compare them, see where they can be trusted.\n\n"
    "The page runs on this machine only. Its address, which contains a token, is printed when it is ready. FILE is "
    "opened at once; other files of the folder can be opened or uploaded in the page.",
    short_help="Explore a table in the browser.",
)
