"""A worker process: reads ``AREA SEED`` lines and answers each with one line of JSON. It is killed if a case hangs."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from dataclasses import asdict

from hunt.attempt import attempt
from hunt.registry import find_area


def main() -> None:
    """Answer cases until the input ends. Whatever a case prints goes to stderr, which the hunt ignores."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    faulthandler.enable()
    for line in sys.stdin:
        name, seed = line.split()
        answers.write(json.dumps(asdict(attempt(find_area(name), int(seed)))) + "\n")


if __name__ == "__main__":
    main()
