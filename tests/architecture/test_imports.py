"""Imports: which module imports which dependency, and what an import costs."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import lowland

SOURCE = Path(lowland.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# Each heavy dependency is imported in one folder; two that would slow down every import, nowhere.
DOORS = {
    "numba": "kernels/", "array_api_compat": "arrays/", "torch": "arrays/", "threadpoolctl": "arrays/",
    "dask": "run/", "pyarrow": "data/", "narwhals": "data/", "safetensors": "methods/", "faiss": "math/neighbors/",
    "matplotlib": "plots/", "plotly": "plots/", "anywidget": "explorer/", "traitlets": "explorer/",
    "fastapi": "explorer/", "uvicorn": "explorer/", "click": "cli/", "rich": ("cli/", "run/"),
    "distributed": (), "pandas": (), "polars": (),
}  # fmt: skip


@cache
def imports(path):
    """Every module a file imports, anywhere in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append(node.module)
    return found


def test_heavy_dependencies_are_imported_in_one_folder():
    for path in FILES:
        place = path.relative_to(SOURCE).as_posix()
        for package in {name.partition(".")[0] for name in imports(path)} & {*DOORS}:
            assert place.startswith(DOORS[package]), f"{place} imports {package}"


def test_warnings_are_issued_in_one_place():
    """Only ``errors.warn`` finds the line of the user's code."""
    for path in FILES:
        if path.relative_to(SOURCE).as_posix() not in ("errors.py", "cli/main.py"):
            assert "warnings.warn(" not in path.read_text(encoding="utf-8"), path


def test_methods_do_not_import_each_other():
    from lowland.methods.registry import entries

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
        "sklearn", "scipy", "numba", "pandas", "torch", "dask", "matplotlib", "plotly", "pyarrow", "polars", "faiss",
    )  # fmt: skip
    assert loaded_after("import lowland", *heavy) == "[]"
    assert loaded_after("import lowland; dir(lowland); lowland.config(threads=1)", *heavy) == "[]"


def test_pca_loads_no_more_than_it_needs():
    code = "import numpy as np, lowland; lowland.PCA(2).fit_transform(np.random.rand(20, 4))"
    # scikit-learn itself loads pandas, and that pyarrow, where they are installed
    assert loaded_after(code, "numba", "torch", "dask", "matplotlib", "plotly", "polars", "faiss") == "[]"


def test_every_public_name_exists_and_is_documented():
    reference = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")
    for name in dir(lowland):
        value = getattr(lowland, name)
        if name != "__version__":
            assert value.__doc__, name
            assert name in reference, name
