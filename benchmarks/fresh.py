"""Run a function in a new process, without imports, caches and memory of this one."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any


def fresh(function: Callable[..., Any], *args: Any, **environment: str) -> Any:
    """Run a function of a module in a new interpreter; arguments and result are passed as JSON."""
    call = [sys.executable, "-m", "benchmarks.fresh", function.__module__, function.__name__, json.dumps(args)]
    done = subprocess.run(call, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{function.__name__} failed in a new process:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    module, name, args = sys.argv[1:]
    print(json.dumps(getattr(importlib.import_module(module), name)(*json.loads(args))))
