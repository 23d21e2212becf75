"""What writes files: commands and functions, with the old file and the new one they would leave."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import lowland
from hunt.cases import Wrong
from hunt.children import Ended, command, run_child

OLD = b"the old file, which must survive\n" * 40


@dataclass(frozen=True)
class Writer:
    """A way to write one file: the name of the target, and the work that writes it."""

    name: str
    target: str
    work: Callable[[Path], Callable[[], Any]]  # of the path of the target


@cache
def _inputs() -> Path:
    """A folder for what the commands read, as long as the process lives."""
    folder = Path(tempfile.mkdtemp(prefix="lowland-hunt-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _table(rows: int, columns: int) -> str:
    path = _inputs() / f"x{rows}.npy"
    np.save(path, np.random.default_rng(0).standard_normal((rows, columns)) * np.arange(1, columns + 1))
    return str(path)


@cache
def _pca(rows: int) -> str:
    path = _inputs() / f"pca{rows}.lowland"
    lowland.save(lowland.PCA(4).fit(_table(rows, 8)), path)
    return str(path)


@cache
def _big_model() -> Any:
    X = np.random.default_rng(0).standard_normal((3000, 40))
    return lowland.KernelPCA(3, kernel="rbf", n_landmarks=200, random_state=0).fit(X)


_QUIETLY = ("--force", "--no-progress", "--threads", "1")


def _fit(verb: str, *more: str, rows: int = 300) -> Callable[[Path], Callable[[], Any]]:
    return lambda target: command("fit", verb, _table(rows, 8), *more, "--model", str(target), *_QUIETLY)


def _save(target: Path) -> Callable[[], Any]:
    model = _big_model()
    return lambda: lowland.save(model, target)


def _transform(rows: int) -> Callable[[Path], Callable[[], Any]]:
    return lambda target: command("transform", _pca(rows), _table(rows, 8), "--to", str(target), *_QUIETLY)


def _compare(target: Path) -> Callable[[], Any]:
    words = ("compare", _table(60, 8), "--methods", "pca,classical-mds", "--no-cache", "--to", str(target))
    return command(*words, *_QUIETLY)


WRITERS = (
    Writer("fit pca --model", "out.lowland", _fit("pca")),
    Writer("fit isomap --model", "out.lowland", _fit("isomap")),
    Writer("fit mds --model", "out.lowland", _fit("mds", rows=200)),
    Writer("fit quantize --model", "out.lowland", _fit("quantize", "-k", "5", rows=3000)),
    Writer("fit locally-linear-embedding --model", "out.lowland", _fit("locally-linear-embedding")),
    Writer("fit fast-ica --model", "out.lowland", _fit("fast-ica", "-k", "3", rows=3000)),
    Writer("fit diffusion-map --model", "out.lowland", _fit("diffusion-map")),
    Writer("fit som --model", "out.lowland", _fit("som", "--grid", "5x5", rows=2000)),
    Writer("save", "out.lowland", _save),
    Writer("transform --to .parquet", "out.parquet", _transform(20_000)),
    Writer("transform --to .csv", "out.csv", _transform(20_000)),
    Writer("transform --to .csv.gz", "out.csv.gz", _transform(5_000)),
    Writer("transform --to .npy", "out.npy", _transform(60_000)),
    Writer("compare --to .html", "out.html", _compare),
)


HUNGRY = (  # need tens of megabytes
    Writer("fit mds --model, 1,000 rows", "out.lowland", _fit("mds", "--max-iter", "5", rows=1000)),
    Writer("fit isomap --model, 1,200 rows", "out.lowland", _fit("isomap", rows=1200)),
    Writer(
        "fit kernel-pca --model, 1,500 rows", "out.lowland", _fit("kernel-pca", "-k", "2", "--kernel", "rbf", rows=1500)
    ),
    Writer("fit pca --model, 300,000 rows", "out.lowland", _fit("pca", rows=300_000)),
    Writer("fit diffusion-map --model, 1,300 rows", "out.lowland", _fit("diffusion-map", rows=1300)),
    Writer("transform --to .parquet, 200,000 rows", "out.parquet", _transform(200_000)),
    Writer("transform --to .csv, 100,000 rows", "out.csv", _transform(100_000)),
)


@cache
def complete(writer: Writer) -> tuple[bytes, float]:
    """The file that an undisturbed run leaves, and the seconds it takes in a child."""
    with tempfile.TemporaryDirectory(prefix="lowland-hunt-") as folder:
        path = Path(folder) / writer.target
        work = writer.work(path)
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
            work()  # in this process: children find all libraries loaded
        ended = run_child(work, limit=120)
        if ended.code != 0:
            raise RuntimeError(f"{writer.name} does not work undisturbed: {ended.stderr}")
        return path.read_bytes(), ended.seconds


@dataclass(frozen=True)
class Disturbed:
    """A writer that got a signal: the case in words, what it was to do, and how it ended."""

    writer: Writer
    case: str
    work: Callable[[], Any]
    ended: Ended


def disturbed(rng: np.random.Generator, seed: int, folder: Path, number: signal.Signals) -> Disturbed:
    """Let one writer replace an old file and send it a signal at a random moment, sometimes after its end."""
    writer = WRITERS[seed % len(WRITERS)]
    seconds = complete(writer)[1]
    work = writer.work(folder / writer.target)
    (folder / writer.target).write_bytes(OLD)
    moment = float(rng.uniform(0, 1.1) * seconds)
    case = f"{writer.name}, {number.name} after {moment * 1e3:.0f} of {seconds * 1e3:.0f} ms"
    return Disturbed(writer, case, work, run_child(work, signal_after=(number, moment)))


def check_target(writer: Writer, folder: Path, case: str, *, done: bool = False) -> None:
    """The target is the old file or the complete new one; the new one, if the work was done."""
    path = folder / writer.target
    found = path.read_bytes() if path.exists() else b""
    new = complete(writer)[0]
    if found == new or _equivalent(path, found, new):
        return
    if found != OLD:
        raise Wrong(
            f"{case}: {writer.target} is neither the old file nor the new one ({len(found)} of {len(new)} bytes)"
        )
    if done:
        raise Wrong(f"{case}: success is reported, but the file is the old one")


def _equivalent(path: Path, found: bytes, new: bytes) -> bool:
    """Whether a model or a report was written completely: times in it may differ."""
    if path.suffix == ".html":  # after Ctrl-C, of the trials that were done
        return found.startswith(b"<!") and found.rstrip().endswith(b"</html>")
    if path.suffix != ".lowland" or found == OLD or abs(len(found) - len(new)) > 200:
        return False
    try:
        lowland.load(path)
    except lowland.errors.LowlandError:
        return False
    return True


def leftovers(folder: Path) -> list[str]:
    """Unfinished files in a folder."""
    return sorted(name for name in os.listdir(folder) if name.endswith(".part") or name.startswith(".part"))
