"""Data sets by name: `load_dataset(name)` returns one, `available()` lists them."""

import inspect
from typing import Any

from lowland.data.datasets.dataset import Dataset
from lowland.data.datasets.folder import FOLDER_VARIABLE, FROM_FOLDER
from lowland.data.datasets.generators import GENERATORS
from lowland.data.datasets.moving_images import MOVING_IMAGES
from lowland.data.datasets.shipped import SHIPPED
from lowland.errors import ParameterError
from lowland.suggestions import did_you_mean

_MAKERS = SHIPPED | GENERATORS | MOVING_IMAGES | FROM_FOLDER


def load_dataset(name: str, **options: Any) -> Dataset:
    """Return the data set of that name, with the options of its generator (n, noise, seed …) or loader (split).

    >>> X, y = load_dataset("iris")
    >>> X.shape
    (150, 4)
    """
    if name not in _MAKERS:
        meant = did_you_mean(name, _MAKERS)
        raise ParameterError(f"There is no data set {name!r}. {meant}Choose one of: {', '.join(_MAKERS)}.")
    make = _MAKERS[name]
    accepted = inspect.signature(make).parameters
    for option in options:
        if option not in accepted:
            choices = f"Choose one of: {', '.join(accepted)}." if accepted else "This data set has no options."
            raise ParameterError(f"The data set {name!r} has no option {option!r}. {choices}")
    return make(**options)


def available() -> dict[str, str]:
    """Return the name and a one-line description of every data set, and whether it needs the folder LOWLAND_DATA."""
    lines = {name: (inspect.getdoc(make) or name).splitlines()[0] for name, make in _MAKERS.items()}
    return {name: f"{line} (Needs {FOLDER_VARIABLE}.)" if name in FROM_FOLDER else line for name, line in lines.items()}
