"""One mechanism for one thing: where threads start, what blocks may know, which names are used."""

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from pathlib import Path

import pytest

import lowland
from lowland.methods.registry import entries

SOURCE = Path(lowland.__file__).parent
TESTS = Path(__file__).parents[1]
FILES = sorted(SOURCE.rglob("*.py"))
PARAMETERS = {flag.name for entry in entries().values() for flag in entry.flags}


def place(path):
    return path.relative_to(SOURCE).as_posix()


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def strings(tree):
    """The string constants of a module, docstrings left out, with their lines."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def test_only_the_run_starts_threads():
    executors = re.compile(r"\b(ThreadPoolExecutor|ProcessPoolExecutor|threading\.Thread)\b")
    outside = [place(p) for p in FILES if executors.search(p.read_text(encoding="utf-8"))]
    # threads that sample the memory of a trial, and that read what its process writes: none of them works
    allowed = {"study/trials/resources.py", "study/trials/worker.py"}
    assert not [p for p in outside if not p.startswith("run/") and p not in allowed]


def test_a_class_name_is_defined_once():
    found = defaultdict(list)
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(place(path))
    assert not {name: places for name, places in found.items() if len(places) > 1}


def test_the_study_names_no_method():
    names = {word for entry in entries().values() for word in (entry.name, entry.verb)}
    named = [
        f"{place(path)}:{line} {text!r}"
        for path in FILES
        if place(path).startswith("study/")
        for line, text in strings(parsed(path))
        if text in names
    ]
    assert not named


def test_no_command_imports_another():
    verbs = {f"lowland.cli.verbs.{path.stem}" for path in (SOURCE / "cli" / "verbs").glob("*.py")}
    for path in (SOURCE / "cli" / "verbs").glob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom):
                imported = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
                assert not imported & verbs, place(path)


def test_blocks_name_no_method_and_no_parameter_of_one():
    """A block states the fact in its error; the method, which has the parameters, adds the remedy."""
    parameters = re.compile(
        "|".join([rf"\b{name}\b" for name in PARAMETERS if "_" in name] + [rf"\b{name}=" for name in PARAMETERS])
    )
    methods = re.compile("|".join(rf"\b{name}\b" for name in entries()))
    keys = re.compile(r"\w+")  # a key or an option of a library is not a message
    named = [
        f"{place(path)}:{line} {text!r}"
        for path in FILES
        if place(path).startswith("blocks/")
        for line, text in strings(parsed(path))
        if not keys.fullmatch(text) and (parameters.search(text) or methods.search(text))
    ]
    assert not named


@pytest.mark.parametrize(
    "package", ["lowland", *sorted(f"lowland.{path.parent.name}" for path in SOURCE.glob("*/__init__.py"))]
)
def test_no_function_shadows_its_module(package):
    """``lowland.study.comparison`` is the module and ``compare`` the function: an import never depends on the order."""
    module = importlib.import_module(package)
    for info in pkgutil.iter_modules(module.__path__):
        value = vars(module).get(info.name)
        assert value is None or value is importlib.import_module(f"{package}.{info.name}"), info.name


# Modules without a test file of their own, and why.
UNTESTED: dict[str, str] = {}


def test_every_block_has_a_test_of_its_name():
    missing = [
        place(path)
        for path in FILES
        if place(path).startswith("blocks/")
        and path.stem != "__init__"
        and not (TESTS / Path(place(path)).parent / f"test_{path.stem}.py").exists()
        and place(path) not in UNTESTED
    ]
    assert not missing
    assert not [name for name in UNTESTED if not (SOURCE / name).exists()]


def test_tests_mirror_the_source():
    """A test file in a folder of the package's name stands for a module there, or for several (``OF_SEVERAL``)."""
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    stray = []
    for path in sorted(TESTS.rglob("test_*.py")):
        relative = path.relative_to(TESTS)
        if relative.parts[0] not in rooms:
            continue
        module = SOURCE / relative.parent / f"{path.stem.removeprefix('test_')}"
        if not (module.with_suffix(".py").exists() or module.is_dir() or str(relative.as_posix()) in OF_SEVERAL):
            stray.append(relative.as_posix())
    assert not stray


# Tests of what several modules do together.
OF_SEVERAL = {
    "cli/test_help.py",
    "cli/test_interrupt.py",
    "cli/test_messy_tables.py",
    "cli/test_mistakes.py",
    "data/formats/test_more_formats.py",
    "methods/test_hard_cases.py",
    "methods/test_linear_drop_in.py",
    "methods/test_sparse_neighbors.py",
    "pages/test_explorer_data.py",
    "pages/test_explorer_maps.py",
    "pages/test_explorer_rows.py",
    "pages/test_explorer_session.py",
    "quality/neighborhoods/test_definitions.py",
    "quality/test_scale_invariance.py",
    "study/report/test_browser.py",
}
