"""Convolution of charges on a grid with the similarity w of t-SNE, by fast Fourier transforms.

The result are the coefficients of cubic B-splines: w is sampled at the nodes and divided by the splines' own transform
twice, once for spreading the points and once for reading the potential.

One level: w has a long tail, so that the transform is twice as long as the grid along each axis, which in 2-D has four
times as many nodes. Two levels, for a wide 2-D grid (multilevel summation, Hardy et al. 2009): w is split into a smooth
part, which a grid with a quarter of the nodes along each axis represents, and a rest that is zero beyond 16 nodes, for
which the transform needs to be little longer than the grid. A cubic B-spline on the coarse grid is a sum of splines on
the fine one, so that charges and coefficients move between the grids without an error.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.fft

from lowland.math.embeddings.row_blocks import Together

RATIO = 4  # of the spacings of the coarse and the fine grid
_RADIUS = 4 * RATIO  # nodes, within which the two parts of w differ from 0 and w
_DECAY = 8  # nodes: dividing by the splines' transform extends the rest by some of them (a factor 0.27 each)
_WIDE = 128  # nodes along both axes, from which two levels are faster
_LINES = 16  # 1-D transforms that are vectorized together: ranges of lines begin at multiples
_AT_ONCE = 4 * _LINES  # lines whose transforms are allocated at once: larger arrays come from the system, page by page


@dataclass
class GridConvolution:
    """Convolution with w = (1 + d²/dof)^-dof."""

    dof: float = 1.0
    _spectra: dict[Any, np.ndarray] = field(default_factory=dict)
    _scratch: dict[str, np.ndarray] = field(default_factory=dict)

    def __call__(self, charges: np.ndarray, spacing: float, together: Together) -> np.ndarray:
        """Return the coefficients on the nodes of the charges, which are overwritten."""
        if charges.ndim != 2 or min(charges.shape) < _WIDE:
            periods = tuple(2 * m for m in charges.shape)
            return self._convolved(charges, self._spectrum("whole", periods, spacing, charges.dtype), together)
        coarse = tuple(-(-(m + 9) // RATIO) for m in charges.shape)
        periods = tuple(2 * fast_length(m) for m in coarse)
        smooth = self._spectrum("smooth", periods, spacing, charges.dtype)
        periods = tuple(2 * fast_length(-(-(m + _RADIUS + _DECAY) // 2)) for m in charges.shape)
        rest = self._spectrum("rest", periods, spacing, charges.dtype)
        return self._in_two_levels(charges, rest, smooth, coarse, together)

    def _spectrum(self, part: str, periods: tuple[int, ...], spacing: float, dtype: np.dtype) -> np.ndarray:
        """The transform of a part of w, divided by that of the splines, (period / 2 + 1,): it is even and real."""
        key = (part, periods, spacing, dtype)
        if key not in self._spectra:
            if len(self._spectra) > 5:
                self._spectra.clear()
            numbers = np.ogrid[tuple(slice(period // 2 + 1) for period in periods)]
            unit = spacing * (RATIO if part == "smooth" else 1)
            squares = sum(((i * unit) ** 2 for i in numbers), start=np.zeros(()))
            w = self._smooth(squares, spacing) if part == "smooth" else (1 + squares / self.dof) ** -self.dof
            if part == "rest":
                w -= self._smooth(squares, spacing)
            spectrum = scipy.fft.dctn(w, type=1)
            for i, period in zip(numbers, periods, strict=True):
                spectrum /= ((2 + np.cos(2 * np.pi * i / period)) / 3) ** 2
            self._spectra[key] = spectrum.astype(dtype)
        return self._spectra[key]

    def _smooth(self, squares: np.ndarray, spacing: float) -> np.ndarray:
        """w beyond the radius, and its Taylor polynomial in the squared distance within, which joins it smoothly."""
        edge = (_RADIUS * spacing) ** 2
        beyond = np.maximum(squares, edge)
        first = -1 / (1 + edge / self.dof)
        second = -(self.dof + 1) / (2 * self.dof) * first / (1 + edge / self.dof)
        inside = squares - beyond  # 0 beyond the radius
        return (1 + beyond / self.dof) ** -self.dof * (1 + first * inside + second * inside**2)

    def _convolved(self, charges: np.ndarray, spectrum: np.ndarray, together: Together) -> np.ndarray:
        """The charges convolved with the function of this spectrum, on their nodes; they are overwritten."""
        transforms = self._transforms("one level", charges, spectrum)
        if charges.ndim == 1:
            return transforms.in_one_dimension()
        m, lines, block = len(charges), transforms.A.shape[-1], max(1, _LINES // math.prod(charges.shape[1:-1]))
        together.ranges(m, block, transforms.forward)
        together.ranges(lines, block, transforms.across)
        together.ranges(m, block, transforms.back)
        return charges

    def _in_two_levels(
        self, charges: np.ndarray, rest: np.ndarray, smooth: np.ndarray, coarse: tuple[int, ...], together: Together
    ) -> np.ndarray:
        """The charges (m0, m1) convolved with the rest on their own grid plus the smooth part on the coarse one.

        The coarse grid has its transform while other threads transform lines of the fine one.
        """
        from lowland.kernels.spline_grid import add_refined, coarsen_columns, coarsen_rows

        transforms, m = self._transforms("two levels", charges, rest), len(charges)
        R, C = self.room("rows", (m, coarse[1]), charges.dtype), self.room("coarse", coarse, charges.dtype)

        def forward(a: int, b: int) -> None:
            coarsen_rows(charges, a, b, R)
            transforms.forward(a, b)

        def on_coarse_grid() -> None:
            coarsen_columns(R, C)
            self._convolved(C, smooth, Together(None, 1))

        def back(a: int, b: int) -> None:
            transforms.back(a, b)
            add_refined(C, a, b, charges)

        together.ranges(m, _LINES, forward)
        together.ranges(transforms.A.shape[-1], _LINES, transforms.across, [on_coarse_grid])
        together.ranges(m, _LINES, back)
        return charges

    def _transforms(self, name: str, charges: np.ndarray, spectrum: np.ndarray) -> _LineTransforms:
        *periods, _ = (2 * (m - 1) for m in spectrum.shape)
        dtype = np.result_type(charges.dtype, np.complex64)
        return _LineTransforms(charges, spectrum, self.room(name, (*periods, spectrum.shape[-1]), dtype))

    def room(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array with any content, the same one in the next iterations."""
        found = self._scratch.get(name)
        if found is None or found.shape != shape or found.dtype != dtype:
            self._scratch[name] = found = np.empty(shape, dtype=dtype)
        return found


def fast_length(count: int) -> int:
    """A number that is fast to transform, from a list with steps of about 6 %."""
    step = 1 << max(0, count.bit_length() - 5)
    return int(scipy.fft.next_fast_len(-(-count // step) * step, real=True))


@dataclass(frozen=True)
class _LineTransforms:
    """The steps of a convolution, for ranges of lines.

    Large arrays are transformed in place: new ones would come from the system, page by page.
    """

    charges: np.ndarray
    spectrum: np.ndarray
    A: np.ndarray  # transforms along the last axis, in room for those along the others

    @property
    def period(self) -> int:
        return 2 * (self.spectrum.shape[-1] - 1)

    @property
    def corner(self) -> tuple[slice, ...]:
        """The nodes of the charges within A, but for the first and the last axis."""
        return tuple(slice(m) for m in self.charges.shape[1:-1])

    def in_one_dimension(self) -> np.ndarray:
        """The result for one line."""
        transform = scipy.fft.rfft(self.charges, self.period) * self.spectrum
        return scipy.fft.irfft(transform, self.period)[: len(self.charges)]

    def forward(self, a: int, b: int) -> None:
        """Transform the charges a to b along the last axis."""
        for i, j in _pieces(a, b):
            self.A[(slice(i, j), *self.corner)] = scipy.fft.rfft(self.charges[i:j], self.period, axis=-1)

    def across(self, a: int, b: int) -> None:
        """Transform the lines a to b of the last axis along all other axes, multiply, and transform back."""
        F, spectrum = self.A[..., a:b], self.spectrum[..., a:b]
        nodes, halves = self.charges.shape[:-1], [m - 1 for m in self.spectrum.shape[:-1]]
        for c, m in enumerate(nodes):
            F[(slice(None),) * c + (slice(m, None),)] = 0
            F = scipy.fft.fft(F, axis=c, overwrite_x=True)
        for mirrored in itertools.product((False, True), repeat=len(nodes)):  # the spectrum is even
            part = tuple(slice(m + 1, None) if over else slice(m + 1) for m, over in zip(halves, mirrored, strict=True))
            same = tuple(slice(m - 1, 0, -1) if over else slice(None) for m, over in zip(halves, mirrored, strict=True))
            F[part] *= spectrum[same]
        for c in range(len(nodes)):
            F = scipy.fft.ifft(F, axis=c, overwrite_x=True)
        if not np.may_share_memory(F, self.A):
            self.A[..., a:b] = F

    def back(self, a: int, b: int) -> None:
        """Transform the charges a to b back along the last axis."""
        for i, j in _pieces(a, b):
            lines = scipy.fft.irfft(self.A[(slice(i, j), *self.corner)], self.period, axis=-1)
            self.charges[i:j] = lines[..., : self.charges.shape[-1]]


def _pieces(a: int, b: int) -> Iterator[tuple[int, int]]:
    return ((i, min(b, i + _AT_ONCE)) for i in range(a, b, _AT_ONCE))
