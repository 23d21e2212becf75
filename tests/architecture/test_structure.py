"""One mechanism for one thing: which module imports what, where threads start, which names are used."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import lowland
from lowland.methods.registry import entries

SOURCE = Path(lowland.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PARAMETERS = {flag.name for entry in entries().values() for flag in entry.flags}


# Each heavy dependency is imported in one folder; two that would slow down every import, nowhere.
DOORS = {
    "numba": "kernels/", "array_api_compat": "arrays/", "torch": "arrays/", "threadpoolctl": "arrays/",
    "dask": "run/", "pyarrow": "data/", "narwhals": "data/", "safetensors": "methods/", "triton": "kernels/",
    "matplotlib": "plots/", "anywidget": "explorer/", "traitlets": "explorer/",
    "fastapi": "explorer/", "uvicorn": "explorer/", "click": "cli/", "rich": ("cli/", "run/"),
    "distributed": (), "pandas": (), "polars": (),
}  # fmt: skip


def place(path):
    return path.relative_to(SOURCE).as_posix()


@cache
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
    # those of the explorer wait for its worker processes
    assert not [p for p in outside if not p.startswith("run/") and p != "explorer/queue.py"]


def test_a_class_name_is_defined_once():
    found = defaultdict(list)
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(place(path))
    assert not {name: places for name, places in found.items() if len(places) > 1}


def test_only_methods_name_methods():
    """A new method is a new file: no list elsewhere has to be edited. Estimators of the dimension may have its verb."""
    names = set(entries())
    verbs = {entry.verb for entry in entries().values()}
    both = names | verbs
    banned = {"trial": both, "study": both, "explorer": both, "quality": names, "plots": names}
    named = [
        f"{place(path)}:{line} {text!r}"
        for path in FILES
        if (words := banned.get(place(path).partition("/")[0]))
        for line, text in strings(parsed(path))
        if text in words
    ]
    assert not named


def test_the_mathematics_names_no_method_and_no_parameter_of_one():
    """An error of math/ states the fact; the method, which has the parameters, adds the remedy."""
    parameters = re.compile(
        "|".join([rf"\b{name}\b" for name in PARAMETERS if "_" in name] + [rf"\b{name}=" for name in PARAMETERS])
    )
    methods = re.compile("|".join(rf"\b{name}\b" for name in entries()))
    keys = re.compile(r"\w+")  # a key or an option of a library is not a message
    named = [
        f"{place(path)}:{line} {text!r}"
        for path in FILES
        if place(path).startswith("math/")
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


# --- imports ---


@cache
def imports(path):
    """Every module a file imports, anywhere in it."""
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append(node.module)
    return found


def test_heavy_dependencies_are_imported_in_one_folder():
    for path in FILES:
        for package in {name.partition(".")[0] for name in imports(path)} & {*DOORS}:
            assert place(path).startswith(DOORS[package]), f"{place(path)} imports {package}"


def test_warnings_are_issued_in_one_place():
    """Only ``errors.warn`` finds the line of the user's code."""
    for path in FILES:
        if place(path) not in ("errors.py", "cli/main.py"):
            assert "warnings.warn(" not in path.read_text(encoding="utf-8"), path


def test_methods_do_not_import_each_other():
    modules = {entry.module for entry in entries().values()}
    for module in modules:
        path = SOURCE / "methods" / f"{module.rpartition('.')[2]}.py"
        assert not (set(imports(path)) & modules), path.name


def test_no_vague_file_names():
    assert not {path.stem for path in FILES} & {"utils", "helpers", "misc", "common"}


def loaded_after(code, *names):
    program = f"import sys\n{code}\nprint([n for n in {names!r} if n in sys.modules])"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_import_is_lazy():
    heavy = (
        "sklearn", "scipy", "numba", "pandas", "torch", "dask", "matplotlib", "pyarrow", "polars",
    )  # fmt: skip
    assert loaded_after("import lowland; dir(lowland); lowland.config(threads=1)", *heavy) == "[]"


def test_pca_loads_no_more_than_it_needs():
    code = "import numpy as np, lowland; lowland.PCA(2).fit_transform(np.random.rand(20, 4))"
    # scikit-learn itself loads pandas, and that pyarrow, where they are installed
    assert loaded_after(code, "numba", "torch", "dask", "matplotlib", "polars") == "[]"


def test_every_public_name_exists_and_is_documented():
    reference = (Path(__file__).parents[2] / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    for name in dir(lowland):
        value = getattr(lowland, name)
        if name != "__version__":
            assert value.__doc__, name
            assert name in reference, name
