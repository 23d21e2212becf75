"""``lowland explore [FILE]``: a page in the browser to look at a table, compute maps of it and compare them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from lowland.cli import options
from lowland.cli.options import WORK, Command, MemorySize, Option, section
from lowland.errors import MissingExtra, MissingFile, ParameterError

ELSEWHERE = (
    "lowland: warning: the explorer listens on {host}, so other machines can reach it. Only someone with the address, "
    "which contains the token, can use it. The connection is not encrypted."
)


def run(
    file: Path | None, folder: Path | None, host: str, port: int | None, no_open: bool, workspace: Path | None,
    memory: int | None, time_limit: float, max_upload: int, max_rows: int,
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
    from lowland.explorer.access import open_browser
    from lowland.explorer.app import run as serve
    from lowland.explorer.queue import Limits, default_memory

    limits = Limits(
        upload_bytes=max_upload, memory_bytes=memory or default_memory(), seconds=time_limit, rows=max_rows
    )  # fmt: skip
    if host not in ("127.0.0.1", "localhost", "::1"):
        click.echo(ELSEWHERE.format(host=host), err=True)

    def ready(address: str) -> None:
        click.echo(f"Lowland explorer: {address}")
        if not no_open:
            click.echo("Press Ctrl-C to stop it.", err=True)
            open_browser(address)

    with contextlib.suppress(KeyboardInterrupt):
        serve(file=file, folder=root, host=host, port=port, workspace=workspace, limits=limits, ready=ready)


explore = Command(
    "explore",
    python="explore",
    callback=run,
    params=[
        options.file_argument("file", "[FILE]", required=False),
        *section(
            "Server",
            options.file_option("--folder", "Folder whose files may be opened. [default: that of FILE, or the current "
                                "one]", metavar="DIR"),
            Option("--port", "Port. [default: 8787, or the next free one]", type=click.IntRange(1, 65535), metavar="N"),
            Option("--host", "Address. [default: 127.0.0.1, this machine only]", default="127.0.0.1", metavar="H"),
            Option("--no-open", "Do not open the browser.", is_flag=True),
            options.file_option("--workspace", "Folder for tables and maps that are kept. [default: one per folder in "
                                "the cache of the user]", metavar="DIR"),
        ),
        *section(
            WORK,
            Option("--memory", "Memory limit of one map. [default: three quarters of the machine's memory]",
                   type=MemorySize(), metavar="SIZE"),
            Option("--time-limit", "Time limit of one map. [default: 3600]", type=click.FloatRange(1), default=3600.0,
                   metavar="SECONDS"),
            Option("--max-upload", "Size limit of an uploaded file. [default: 2GB]", type=MemorySize(), default="2GB",
                   metavar="SIZE"),
            Option("--max-rows", "Maximum number of rows of a table. [default: 1,000,000]", type=click.IntRange(2),
                   default=1_000_000, metavar="N"),
        ),
    ],
    prints_json=False,
    help="Explore a table in the browser: compute maps, compare them, see where they are reliable.\n\n"
    "The page runs on this machine only. Its address, which contains a token, is printed when it is ready. FILE is "
    "opened at once. Other files of the folder can be opened or uploaded in the page.",
    short_help="Explore a table in the browser.",
)  # fmt: skip
