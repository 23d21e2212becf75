"""Data sets by name: `load_dataset(name)` returns one, `available()` lists them. Small classics are included here."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from lowland.data.datasets.dataset import Dataset, image_dataset
from lowland.data.datasets.folder import FOLDER_VARIABLE, FROM_FOLDER
from lowland.data.datasets.generators import GENERATORS
from lowland.errors import ParameterError
from lowland.suggestions import did_you_mean


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
    """Return the name and a one-line description of every data set, and whether it needs the folder LOWLAND_DATA.

    Examples
    --------
    >>> from lowland import data
    >>> "iris" in data.available()
    True
    """
    lines = {name: (inspect.getdoc(make) or name).splitlines()[0] for name, make in _MAKERS.items()}
    return {name: f"{line} (Needs {FOLDER_VARIABLE}.)" if name in FROM_FOLDER else line for name, line in lines.items()}


def _iris() -> Dataset:
    """Fisher's iris: 150 flowers, 4 measurements in cm, 3 species."""
    from sklearn.datasets import load_iris

    return _from_scikit_learn(load_iris(), "150 iris flowers of 3 species, measured by Anderson; Fisher (1936).")


def _wine() -> Dataset:
    """UCI wine: 178 wines, 13 chemical measurements on very different scales, 3 cultivars."""
    from sklearn.datasets import load_wine

    return _from_scikit_learn(
        load_wine(), "178 Italian wines of 3 cultivars, 13 measurements; Forina et al., UCI (1991)."
    )


def _digits() -> Dataset:
    """UCI handwritten digits: 1797 images of 8 × 8 pixels, 10 classes."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    about = "1797 handwritten digits, 8 × 8 pixels from 0 to 16; Alpaydin and Kaynak, UCI (1998), as in scikit-learn."
    return image_dataset(digits.data, (8, 8), digits.target.astype(np.int64), about, label_names=tuple("0123456789"))


def _from_scikit_learn(bunch: Any, about: str) -> Dataset:
    label_names = tuple(str(label) for label in bunch.target_names)
    return Dataset(bunch.data, bunch.target.astype(np.int64), tuple(bunch.feature_names), label_names, about)


_AIRPORTS = ("ATL", "ORD", "DEN", "HOU", "LAX", "MIA", "JFK", "SFO", "SEA", "IAD")
_MILES = (
    (587, 1212, 701, 1936, 604, 748, 2139, 2182, 543),
    (920, 940, 1745, 1188, 713, 1858, 1737, 597),
    (879, 831, 1726, 1631, 949, 1021, 1494),
    (1374, 968, 1420, 1645, 1891, 1220),
    (2339, 2451, 347, 959, 2300),
    (1092, 2594, 2734, 923),
    (2571, 2408, 205),
    (678, 2442),
    (2329,),
)


def _airports() -> Dataset:
    """Distances in miles between 10 US airports, for multidimensional scaling."""
    D = np.zeros((10, 10))
    D[np.triu_indices(10, k=1)] = [miles for row in _MILES for miles in row]
    about = "Distances in miles between 10 US airports, as in R's UScitiesD."
    return Dataset(D + D.T, names=_AIRPORTS, about=about, kind="distances")


SHIPPED: dict[str, Callable[..., Dataset]] = {"iris": _iris, "wine": _wine, "digits": _digits, "airports": _airports}
_MAKERS = SHIPPED | GENERATORS | FROM_FOLDER
