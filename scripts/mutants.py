"""Mutation testing of the mathematics: change one operator, constant or condition, and see whether a test fails.

``python scripts/mutants.py 500`` draws 500 mutants of ``lowland.math`` and runs tests that execute the changed line.
Which tests those are comes from a coverage run with one context per test::

    pytest --cov=lowland.math --cov-context=test --cov-report= tests/math tests/references tests/methods

A mutant that survives is a change of the code that no test notices. Read each: some are equivalent to the code.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MATH = ROOT / "src" / "lowland" / "math"
MOST_TESTS, MOST_SECONDS = 25, 120
SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.USub: ast.UAdd,
}  # fmt: skip
CALLS = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "argmax": "argmin", "argmin": "argmax",
         "any": "all", "all": "any", "sum": "mean", "mean": "sum", "sqrt": "abs", "exp": "expm1",
         "log": "log1p"}  # fmt: skip


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the mutants of one node, each with a description."""
    new = copy.deepcopy(node)
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.UnaryOp) and type(node.op) in SWAPS:
        new.op = SWAPS[type(node.op)]()
        yield f"{type(node.op).__name__} → {type(new.op).__name__}", new
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        new.ops[0] = SWAPS[type(node.ops[0])]()
        yield f"{type(node.ops[0]).__name__} → {type(new.ops[0]).__name__}", new
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        new.value = node.value + 1 if node.value in (0, 1) else node.value * 2
        yield f"{node.value} → {new.value}", new
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        new.value = not node.value
        yield f"{node.value} → {new.value}", new
    elif isinstance(node, ast.Attribute) and node.attr in CALLS:
        new.attr = CALLS[node.attr]
        yield f"{node.attr} → {new.attr}", new
    elif isinstance(node, ast.If | ast.IfExp):
        new.test = ast.UnaryOp(ast.Not(), node.test)
        yield "condition → not condition", new


def mutants(path: Path) -> Iterator[tuple[int, str, Callable[[], str]]]:
    """Yield line, description and source of every mutant of a file, the source on demand before the next one."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(inner) for node in ast.walk(tree) for part in unmutated(node) for inner in ast.walk(part)}
    for parent in ast.walk(tree):
        if id(parent) in skipped:
            continue
        for name, value in ast.iter_fields(parent):
            for place, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(node, ast.expr | ast.stmt) or id(node) in skipped:
                    continue
                for what, new in changes(node):
                    put(parent, name, place, new)
                    yield node.lineno, what, lambda: ast.unparse(ast.fix_missing_locations(tree))
                    put(parent, name, place, node)


def unmutated(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a node whose change is no change of the mathematics: annotations, messages."""
    if isinstance(node, ast.FunctionDef):
        return [a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.annotation] + (
            [node.returns] if node.returns else []
        )
    if isinstance(node, ast.AnnAssign):
        return [node.annotation]
    return [node] if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom) else []


def put(parent: ast.AST, name: str, place: int | None, node: ast.AST) -> None:
    """Put a node in the place of another."""
    if place is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[place] = node


class Mutated(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module from changed source."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, name: str, path: object, target: object = None) -> object:
        """Return this loader for the module."""
        return importlib.util.spec_from_loader(name, self, origin=str(self.path)) if name == self.name else None

    def get_source(self, name: str) -> str:
        """Return the changed source."""
        return self.source


def covering(database: Path) -> dict[str, dict[int, list[str]]]:
    """Return the tests that execute each line of each file."""
    from coverage.numbits import numbits_to_nums

    found: dict[str, dict[int, list[str]]] = {}
    query = (
        "select path, context, numbits from line_bits join file on file.id = file_id "
        "join context on context.id = context_id"
    )
    with sqlite3.connect(database) as connection:
        for path, context, bits in connection.execute(query):
            if context:
                for line in numbits_to_nums(bits):
                    found.setdefault(path, {}).setdefault(line, []).append(context.partition("|")[0])
    return found


def is_caught(name: str, path: Path, source: str, tests: list[str]) -> str:
    """Run tests on a mutant in a process of its own: "caught", "survived" or "too slow", which an endless loop is."""
    child = os.fork()
    if child == 0:
        sys.meta_path.insert(0, Mutated(name, path, source))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        import pytest

        os._exit(min(2, int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]))))
    end = time.monotonic() + MOST_SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if status == 0 else "caught"
        time.sleep(0.02)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "too slow"


def main() -> None:
    """Draw mutants, run the tests that cover each, and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--coverage", type=Path, default=ROOT / ".coverage")
    parser.add_argument("--every", type=int, default=1, help="run every k-th of the mutants drawn, …")
    parser.add_argument("--first", type=int, default=0, help="… beginning with this one: for several processes")
    options = parser.parse_args()
    os.chdir(ROOT)
    lines = covering(options.coverage)
    paths = [path for path in sorted(MATH.rglob("*.py")) if str(path) in lines]
    known = [
        (path, number) for path in paths for number, (line, *_) in enumerate(mutants(path)) if line in lines[str(path)]
    ]
    drawn = sorted(random.Random(options.seed).sample(known, min(options.count, len(known))))
    chosen = set(drawn[options.first :: options.every])
    import numba  # loaded once, for all children
    import pytest
    import scipy
    import sklearn.utils.validation

    loaded = ", ".join(module.__name__ for module in (numba, scipy, sklearn, pytest))
    print(f"{len(known):,} mutants on covered lines. Loaded: {loaded}", flush=True)
    counts = {"caught": 0, "survived": 0, "too slow": 0}
    found = ((path, *each) for path in paths for number, each in enumerate(mutants(path)) if (path, number) in chosen)
    for path, line, what, source in found:
        name = "lowland." + ".".join(path.relative_to(ROOT / "src" / "lowland").with_suffix("").parts)
        tests = sorted(set(lines[str(path)][line]), key=lambda test: (not test.startswith("tests/math"), test))
        result = is_caught(name, path, source(), tests[:MOST_TESTS])
        counts[result] += 1
        if result != "caught":
            text = path.read_text(encoding="utf-8").splitlines()[line - 1].strip()
            print(f"{result}: {path.relative_to(ROOT)}:{line}: {what}: {text}", flush=True)
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
