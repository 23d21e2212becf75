"""Numbers at the limits, numbers of numpy and values of wrong types for every parameter of every method.

A value that the declaration excludes is an error that names the parameter. Any other gives finite coordinates, or an
error of Lowland. A number of numpy gives the bits of the same number of Python.
"""

from __future__ import annotations

import contextlib
import decimal
import fractions
from pathlib import Path
from typing import Any

import numpy as np
from joblib import parallel_config

from hunt.areas.methods import SHORT
from hunt.cases import Area, Wrong
from hunt.laws import dense
from lowland.errors import LowlandError, ParameterError
from lowland.methods.base.params import Parameter, parameters_of, plain
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import entries, load_method

N, D = 30, 4
X = np.abs(np.random.default_rng(0).standard_normal((N, D))) * [4, 3, 2, 1]  # positive: also for methods of counts
Y = np.arange(N) % 3
NUMBERS = (
    *(-1, 0, 1, 2, 3, 5, D - 1, D + 1, N - 1, N, N + 1, 127, 255, 2**31, 2**40, 2**63 - 1, 2**63, 10**30, -(10**30)),
    *(0.0, -0.0, 0.25, 0.5, 0.99, 1.0, 1.5, 5e-324, 1e-300, 1e-12, 1e12, 1e200, 1e308, -1e308),
    *(float("inf"), -float("inf"), float("nan")),
)
TYPES = (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64, np.longdouble)
REAL = int | float | np.integer | np.floating
OTHERS: tuple[Any, ...] = (
    *(None, None, True, False, np.True_, [2.0, 4.0], (3, 3), [1], (2,), {}, "", "x", "2", b"x", [], (), 2 + 0j),
    *(np.array(3), np.array([2]), np.ones(0), fractions.Fraction(1, 2), decimal.Decimal(2), np.datetime64(0, "s")),
)
STEPS = {  # a fit that takes so many steps ends when they are done
    "convergence_epochs", "epochs", "iterated_power", "max_iter", "n_epochs", "n_init", "n_iter", "n_iter_no_change",
    "n_null", "n_permutations", "n_projections", "n_repeats", "n_starts", "n_subsamples", "num_iters",
}  # fmt: skip


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Set one to three parameters; the seed steps through all parameters."""
    names = sorted(entries())
    name = names[seed % len(names)]
    declared = parameters_of(load_method(name))
    asked = [declared[seed // len(names) % len(declared)]]
    asked += [declared[int(i)] for i in rng.integers(len(declared), size=rng.integers(3))]
    given = {p.name: _value(p, rng) for p in asked}
    case = f"{name}({', '.join(f'{key}={_shown(value)}' for key, value in given.items())})"
    excluded = [p.name for p in asked if p.name in given and not p.fits(plain(given[p.name]))]
    try:
        with contextlib.chdir(folder):  # a parameter may be the name of a folder for caches
            est, Z = _fitted(name, given)
    except ParameterError as error:
        if excluded and not any(key in str(error) for key in excluded):
            raise Wrong(f"{case}: the error names none of {excluded}: {error}") from None
        return f"refused: {case}: {error}"[:200]
    except LowlandError as error:
        return f"refused: {case}: {error}"[:200]
    except Exception as error:
        error.args = (f"{case}: {error}",)
        raise
    if excluded:
        raise Wrong(f"{case}: accepted, although the declaration excludes it")
    if not np.isfinite(Z).all():
        raise Wrong(f"{case}: the result is not finite")
    if len(Z) not in (N, N - int(getattr(est, "n_excluded_", 0))):
        raise Wrong(f"{case}: {len(Z)} rows of {N}")
    seeded = "random_state" not in given or given["random_state"] is not None
    if seeded and any(isinstance(value, np.generic) for value in given.values()):
        if any(getattr(est, key) is not value for key, value in given.items()):
            raise Wrong(f"{case}: fit replaced a parameter")
        if not np.array_equal(_fitted(name, {key: plain(value) for key, value in given.items()})[1], Z):
            raise Wrong(f"{case}: other coordinates than with the number of Python")
    return f"done: {case}"


def _value(p: Parameter, rng: np.random.Generator) -> Any:
    """A value of the parameter: most often one that its declaration admits."""
    value = _any_value(p, rng)
    while rng.random() < 0.9 and not p.fits(plain(value)):
        value = _any_value(p, rng)
    return 50 if p.name in STEPS and p.fits(plain(value)) and isinstance(value, REAL) and value > 50 else value


def _any_value(p: Parameter, rng: np.random.Generator) -> Any:
    """A choice of the parameter, a number of any type, one at its limits, or something else."""
    limits = [limit + step for limit in p.limits.values() for step in (-1, 0, 1, -1e-9, 1e-9)]
    pools = [pool for pool in (p.choices, limits, NUMBERS, OTHERS) if pool]
    pool = pools[int(rng.integers(len(pools)))]
    value = pool[int(rng.integers(len(pool)))]
    kind = np.str_ if isinstance(value, str) else TYPES[int(rng.integers(len(TYPES)))]
    if not isinstance(value, str | REAL) or isinstance(value, bool) or rng.random() < 0.5:
        return value
    try:
        with np.errstate(all="ignore"):
            typed = kind(value)
    except (OverflowError, ValueError):
        return value
    return typed if typed == value or issubclass(kind, np.inexact) else value


def _shown(value: Any) -> str:
    return f"{type(value).__name__}({value})" if isinstance(value, np.generic) else repr(value)[:60]


def _fitted(name: str, given: dict[str, Any]) -> tuple[Any, np.ndarray]:
    cls: Any = load_method(name)
    known = {p.name for p in parameters_of(cls)}
    seed = {"random_state": 0} if "random_state" in known else {}
    est = cls(**{**traits_of(cls).quick, **SHORT.get(name, {}), **seed, **given})
    with parallel_config("threading"):  # n_jobs: processes would take seconds to start
        est.fit(X, Y)
    return est, dense(est.transform(X))


AREA = Area("parameters", "numbers at the limits and of numpy, wrong types, for every parameter", run, 30_000, 20)
