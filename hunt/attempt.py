"""One case, in this process: from a seed to a verdict."""

from __future__ import annotations

import tempfile
import time
import traceback
import warnings
from pathlib import Path

from hunt.cases import Area, Crashed, Outcome, Skipped, Verdict, Wrong


def attempt(area: Area, seed: int, *, debug: bool = False) -> Verdict:
    """Run one case and return its verdict; with debug, print the traceback of a failure."""
    start = time.perf_counter()
    outcome: Outcome
    try:
        with tempfile.TemporaryDirectory(prefix="lowland-hunt-") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = area.run(area.rng(seed), seed, Path(folder))
        outcome = "refused" if text.startswith("refused") else "done"
    except Skipped as reason:
        outcome, text = "skipped", str(reason)
    except Wrong as error:
        outcome, text = "wrong", str(error)
    except Exception as error:
        outcome, text = "crashed", str(error) if isinstance(error, Crashed) else f"{type(error).__name__}: {error}"
        text += "" if isinstance(error, Crashed) else _place(error)
        if debug:
            traceback.print_exc()
    return Verdict(area.name, seed, outcome, text[:600], round(time.perf_counter() - start, 4))


def _place(error: Exception) -> str:
    """The innermost line of Lowland in a traceback."""
    ours = [f for f in traceback.extract_tb(error.__traceback__) if "/lowland/" in f.filename]
    return f" (in {Path(ours[-1].filename).name}:{ours[-1].lineno})" if ours else ""
