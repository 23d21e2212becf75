"""A function in a fresh process: nothing imported, nothing cached, memory counted from the start."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any


def fresh(function: Callable[..., Any], *args: Any, **environment: str) -> Any:
    """Return what a module's function returns in a new interpreter; arguments and answer travel as JSON."""
    call = [sys.executable, "-m", "benchmarks.fresh", function.__module__, function.__name__, json.dumps(args)]
    done = subprocess.run(call, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{function.__name__} failed in a fresh process:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    module, name, args = sys.argv[1:]
    print(json.dumps(getattr(importlib.import_module(module), name)(*json.loads(args))))
