"""Lowland: dimensionality reduction with measured quality, for data in memory and for larger files."""

import importlib
from typing import Any

__version__ = "0.1.0.dev0"

# The module of each public name; it is imported on first use.
_PLACES = {
    "Progress": "run.progress",
    "Stopped": "errors",
    "Table": "data.table",
    "TablePreparer": "prepare.table_preparer",
    "compare": "study.comparison",
    "config": "run.settings",
    "describe": "evidence.describe",
    "drop_missing": "missing_values",
    "explore": "explorer.start",
    "fastica": "functions",
    "impute": "missing_values",
    "load": "methods.model_files",
    "locally_linear_embedding": "functions",
    "look": "data.look",
    "open_rows": "data.open",
    "reliability": "evidence.reliability",
    "save": "methods.model_files",
    "smacof": "functions",
    "spectral_embedding": "functions",
    "sweep": "evidence.sweep",
    "trustworthiness": "functions",
}
_MODULES = ("algorithms", "data", "errors", "plots", "quality", "rules", "study")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _PLACES:
        value = getattr(importlib.import_module(f"lowland.{_PLACES[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"lowland.{name}")
    else:
        value = None if name.startswith("_") else _method(name)
        if value is None:
            raise AttributeError(f"module 'lowland' has no attribute {name!r}")
    globals()[name] = value
    return value


def _method(name: str) -> Any:
    from lowland.methods.registry import class_named

    return class_named(name)


def __dir__() -> list[str]:
    from lowland.methods.registry import method_names

    return sorted({*_PLACES, *_MODULES, *method_names(), "__version__"})
