"""Rotations of factor loadings to simple structure, by gradient projection (Jennrich 2001, 2002).

A rotation replaces the loadings A (d, k) by L = A (T')^-1, with unit columns in T, and gives the factors the
correlations Φ = T'T (I if orthogonal), so that LΦL' = AA'. The criterion is small where columns load on few factors.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.arrays.records import record
from lowland.errors import DataError, ParameterError
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.leading import fix_signs
from lowland.math.statistics.rescaling import power_of_two
from lowland.run.progress import pulse
from lowland.suggestions import did_you_mean

Kind = Literal[
    "varimax", "quartimax", "equamax", "parsimax", "oblimin", "quartimin", "geomin", "geomin-orthogonal", "promax"
]
ROTATIONS: tuple[str, ...] = get_args(Kind)

_FLAT = 1e-12  # size of the projected gradient, relative to that of the criterion, at which the search ends
_FLATTEST = 1e-6  # the same where rounding error prevents further descent
_ROUNDING = 1e-14  # fraction of the criterion below which a decrease is rounding error
_HALVINGS, _STEADILY = 30, 0.98
_NUDGE, _BETTER = 0.05, 1e-9  # radians by which a result is perturbed, and the relative improvement required then
_EXTREME = 2.0**60  # size of loadings whose eighth powers are far from the limits of float64
_TOGETHER = 1e-4  # least singular value of T: below it the factors are collinear and the loadings diverge

Criterion = Callable[[np.ndarray], tuple[float, np.ndarray]]  # loadings -> value, gradient


@record
@dataclass(frozen=True)
class Rotation:
    """Rotated loadings, the rotation, the correlations of the factors, and the convergence."""

    loadings: np.ndarray  # (d, k) pattern: the coefficients of the factors in each column
    T: np.ndarray  # (k, k): loadings = A (T')^-1
    phi: np.ndarray  # (k, k) T'T
    kind: str
    criterion: float  # final value, of the loadings as they were rotated
    outcome: Outcome  # its trace is the criterion after each step
    start_criteria: tuple[float, ...] = ()  # final criterion of each initialization

    @property
    def structure(self) -> np.ndarray:
        """The correlations of the columns with the factors, (d, k), for loadings of standardized columns."""
        return self.loadings @ self.phi


def rotate(
    loadings: Any,
    kind: Kind,
    *,
    kaiser: bool | Literal["target"] = False,
    gamma: float = 0.0,
    delta: float = 0.01,
    power: float = 4.0,
    starts: int = 1,
    rng: np.random.Generator | None = None,
    max_iter: int = 5000,
) -> Rotation:
    """Return the loadings (d, k) rotated to the minimum of a criterion.

    ``kaiser`` scales every row to unit length during the rotation, so that columns of small communality have the same
    weight. Promax applies it to its varimax rotation, and with "target" also to the powers of the loadings. ``gamma``
    is the parameter of oblimin (0 is quartimin), ``delta`` of geomin, ``power`` of promax. The first of ``starts``
    initializations is the identity, the others are random, and the smallest criterion is kept. Factors are sorted by
    their sums of squares, each with its largest loading positive.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.algorithms import rotate
    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> turned = simple @ np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> np.allclose(np.abs(rotate(turned, "varimax").loadings), simple, atol=1e-6)
    True
    """
    A = np.asarray(to_numpy(loadings), dtype=np.float64)
    if A.ndim != 2 or not A.size or not np.isfinite(A).all():
        raise DataError(
            "Loadings must be a matrix of finite numbers with one row per column of the data and one column per factor."
        )
    if kind not in ROTATIONS:
        raise ParameterError(
            f"There is no rotation {kind!r}. {did_you_mean(kind, ROTATIONS)}Choose one of {', '.join(ROTATIONS)}."
        )
    if starts < 1:
        raise ParameterError(f"The number of initializations is {starts}. It must be an integer of at least 1.")
    if A.shape[1] == 1:
        return _ordered(replace(unrotated(A), kind=kind))
    unit = float(power_of_two(np.abs(A).max()))
    if not kind.startswith("geomin") and not 1 / _EXTREME < unit < _EXTREME:  # whose delta is in the unit of A
        again = rotate(
            A / unit, kind, kaiser=kaiser, gamma=gamma, power=power, starts=starts, rng=rng, max_iter=max_iter
        )
        return replace(again, loadings=again.loadings * unit)  # the criterion would not be a finite number in A's unit
    lengths = np.sqrt(np.sum(A**2, axis=1))[:, None]  # (d, 1)
    lengths = np.where(lengths > 0, lengths, 1.0) if kaiser else np.ones_like(lengths)
    rng = rng if rng is not None else np.random.default_rng(0)
    if kind == "promax":
        scale = lengths if kaiser == "target" else np.ones_like(lengths)
        first = rotate(A / scale, "varimax", kaiser=kaiser, starts=starts, rng=rng, max_iter=max_iter)
        oblique_axes = _promax(A / scale, first, power)
        return _ordered(replace(oblique_axes, loadings=oblique_axes.loadings * scale))
    f, oblique = _criterion(kind, A.shape, gamma, delta)
    descend = _oblique if oblique else _orthogonal
    found, k = [], A.shape[1]
    for i in range(starts):
        T = np.eye(k)
        if i:  # a random rotation
            Q, R = np.linalg.qr(rng.standard_normal((k, k)))
            T = Q * np.sign(np.diagonal(R))
        found.append(_past_saddle(A / lengths, f, descend, descend(A / lengths, f, T, kind, max_iter), max_iter))
    best = min(found, key=lambda rotation: rotation.criterion)
    criteria = tuple(rotation.criterion for rotation in found)
    return _ordered(replace(best, loadings=best.loadings * lengths, start_criteria=criteria))


def unrotated(loadings: np.ndarray) -> Rotation:
    """Return unrotated loadings."""
    T = np.eye(loadings.shape[1])
    return Rotation(loadings, T, T, "none", 0.0, Outcome("none"))


def _past_saddle(
    A: np.ndarray, f: Criterion, descend: Callable[..., Rotation], found: Rotation, max_iter: int
) -> Rotation:
    """Descend again from a small perturbation, since a zero gradient may also be a saddle point or a maximum.

    The unrotated loadings of two groups of columns are such a maximum for every criterion.
    """
    k = A.shape[1]
    M = np.random.default_rng(0).standard_normal((k, k))
    U, _, Vt = np.linalg.svd(np.eye(k) + _NUDGE * (M - M.T))
    T = found.T @ (U @ Vt)
    further = descend(A, f, T / np.sqrt(np.sum(T**2, axis=0)), found.kind, max_iter)
    if further.criterion < found.criterion - _BETTER * abs(found.criterion):
        trace = found.outcome.trace + further.outcome.trace
        return replace(further, outcome=replace(further.outcome, iterations=len(trace), trace=trace))
    return found


def _ordered(rotation: Rotation) -> Rotation:
    """Sort factors by their sums of squares and fix the signs, neither of which changes the criterion."""
    order = np.argsort(-np.sum(rotation.loadings**2, axis=0), kind="stable")
    L, T = rotation.loadings[:, order], rotation.T[:, order]
    turned = fix_signs(L)
    signs = np.where(np.sum(turned * L, axis=0) < 0, -1.0, 1.0)
    T = T * signs
    return replace(rotation, loadings=turned, T=T, phi=T.T @ T)


# --- criteria: value and gradient -------------------------------------------------------------------------------------


def _criterion(kind: str, shape: tuple[int, int], gamma: float, delta: float) -> tuple[Criterion, bool]:
    """Return the criterion, and whether the rotation is oblique."""
    d, k = shape
    # Crawford-Ferguson family: κ weights the complexity of the factors against that of the columns
    kappa = {"quartimax": 0.0, "varimax": 1 / d, "equamax": k / (2 * d), "parsimax": (k - 1) / (d + k - 2)}
    if kind in kappa:
        return lambda L: _crawford_ferguson(L, kappa[kind]), False
    if kind in ("geomin", "geomin-orthogonal"):
        if not delta > 0:
            raise ParameterError(f"The delta of geomin is {delta}. It must be above 0, such as 0.01.")
        return lambda L: _geomin(L, delta), kind == "geomin"
    return lambda L: _oblimin(L, gamma if kind == "oblimin" else 0.0), True


def _crawford_ferguson(L: np.ndarray, kappa: float) -> tuple[float, np.ndarray]:
    """(1 - κ) Σ_i Σ_{j≠l} L_ij² L_il² + κ Σ_j Σ_{i≠m} L_ij² L_mj², over 4."""
    Q = L**2
    within_rows = np.sum(Q, axis=1, keepdims=True) - Q  # (d, k)
    within_columns = np.sum(Q, axis=0, keepdims=True) - Q
    both = (1 - kappa) * within_rows + kappa * within_columns
    return float(np.sum(Q * both)) / 4, L * both


def _oblimin(L: np.ndarray, gamma: float) -> tuple[float, np.ndarray]:
    """Σ_{j≠l} (Σ_i L_ij² L_il² - γ/d Σ_i L_ij² Σ_i L_il²), over 4."""
    Q = L**2
    others = np.sum(Q, axis=1, keepdims=True) - Q
    others = others - gamma * np.mean(others, axis=0, keepdims=True)
    return float(np.sum(Q * others)) / 4, L * others


def _geomin(L: np.ndarray, delta: float) -> tuple[float, np.ndarray]:
    """Σ_i (Π_j (L_ij² + δ))^(1/k)."""
    Q = L**2 + delta
    means = np.exp(np.mean(np.log(Q), axis=1, keepdims=True))  # (d, 1)
    return float(np.sum(means)), (2 / L.shape[1]) * (L / Q) * means


# --- gradient projection ----------------------------------------------------------------------------------------------


def _orthogonal(A: np.ndarray, f: Criterion, T: np.ndarray, kind: str, max_iter: int) -> Rotation:
    """Descend over T'T = I with L = AT; a step is projected back to the manifold by the polar factor."""

    def value_at(T: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        L = A @ T
        value, G = f(L)
        return value, L, A.T @ G

    def tangent(T: np.ndarray, G: np.ndarray) -> np.ndarray:
        M = T.T @ G
        return G - T @ ((M + M.T) / 2)

    def retracted(T: np.ndarray) -> np.ndarray:
        U, _, Vt = np.linalg.svd(T)
        return U @ Vt

    return _descend(A, T, value_at, tangent, retracted, kind, max_iter)


def _oblique(A: np.ndarray, f: Criterion, T: np.ndarray, kind: str, max_iter: int) -> Rotation:
    """Descend over columns of unit length with L = A (T')^-1; a step is projected back by normalizing the columns."""

    def value_at(T: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        if np.linalg.svd(T, compute_uv=False)[-1] < _TOGETHER:
            raise np.linalg.LinAlgError("the factors are collinear")
        inverse = np.linalg.inv(T)
        L = A @ inverse.T
        value, G = f(L)
        return value, L, -(L.T @ G @ inverse).T

    def tangent(T: np.ndarray, G: np.ndarray) -> np.ndarray:
        return G - T * np.sum(T * G, axis=0)

    def retracted(T: np.ndarray) -> np.ndarray:
        return T / np.sqrt(np.sum(T**2, axis=0))

    return _descend(A, T, value_at, tangent, retracted, kind, max_iter)


def _descend(
    A: np.ndarray,
    T: np.ndarray,
    value_at: Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]],
    tangent: Callable[[np.ndarray, np.ndarray], np.ndarray],
    retracted: Callable[[np.ndarray], np.ndarray],
    kind: str,
    max_iter: int,
) -> Rotation:
    """Steepest descent on the manifold; the step is doubled, then halved until the criterion decreases enough."""
    communalities = np.sum(A**2, axis=1)
    degree = 1 if kind.startswith("geomin") else 2  # in which the criterion grows with them
    scale = max(float(np.sum(communalities**degree)), np.finfo(np.float64).tiny)  # of the criterion and its gradient
    value, L, G = value_at(T)
    direction = tangent(T, G)
    trace, length, converged = [value], 1 / scale, False
    for _ in range(max_iter):
        pulse()
        size = float(np.linalg.norm(direction))
        converged = size <= _FLAT * scale
        if converged:
            break
        length *= 2
        for _ in range(_HALVINGS):
            candidate = retracted(T - length * direction)
            with suppress(np.linalg.LinAlgError):  # raised where factors collapse
                reached, promised = value_at(candidate), 0.5 * size**2 * length
                further = tangent(candidate, reached[2])
                if promised > _ROUNDING * abs(value):
                    if reached[0] <= value - promised:
                        break
                elif np.linalg.norm(further) < _STEADILY * size:  # the gradient, where the value is within rounding
                    break
            length /= 2
        else:
            converged = size <= _FLATTEST * scale
            break
        T, (value, L, G), direction = candidate, reached, further
        trace.append(min(value, trace[-1]))
    outcome = Outcome("gradient projection", "", len(trace) - 1, converged, tuple(trace))
    return Rotation(L, T, T.T @ T, kind, value, outcome)


def _promax(A: np.ndarray, varimax: Rotation, power: float) -> Rotation:
    """Hendrickson and White 1964: the least-squares map of the varimax loadings to their own powers."""
    if not power > 1:
        raise ParameterError(f"The power of promax is {power}. It must be above 1, such as 4.")
    L = varimax.loadings
    target = L * np.abs(L) ** (power - 1)
    U = np.linalg.lstsq(L, target, rcond=None)[0]
    try:
        lengths = np.sqrt(np.diagonal(np.linalg.inv(U.T @ U)))
    except np.linalg.LinAlgError as error:
        raise DataError("promax cannot rotate these loadings: a factor has no loadings. Keep fewer factors.") from error
    U = varimax.T @ (U * lengths)
    T = np.linalg.inv(U).T
    return replace(varimax, loadings=A @ U, T=T, phi=T.T @ T, kind="promax")
