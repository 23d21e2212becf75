"""Factors of sparse matrices that fill in: sparse for most unknowns, dense for the last ones, on all threads.

A minimum degree ordering leaves the unknowns of a graph without small separators for last. Their part of the factor is
nearly dense, and takes most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy import sparse

from lowland.arrays.linalg import work_space
from lowland.arrays.namespace import slices
from lowland.run.progress import pulse
from lowland.run.run import Run

LAST = 1 / 3  # fraction of the unknowns whose factor is dense
_PANEL, _TILE, _PART = 256, 128, 1024  # columns factorized at a time, columns and rows of a task
_ROWS, _COLUMNS = 256, 64  # rows and columns eliminated by a task


@dataclass(frozen=True)
class DenseFactor:
    """LU of a dense matrix with partial pivoting. The tiles have a fixed size: threads change no bit."""

    both: np.ndarray  # (s, s), L below the diagonal
    order: np.ndarray  # (s,) rows of the matrix in the order of those of L
    run: Run

    @classmethod
    def of(cls, S: np.ndarray, run: Run) -> DenseFactor:
        """Factorize S, in column order, in place."""
        s = len(S)
        order = np.arange(s)
        with run.rounds() as together:
            for panel in slices(s, _PANEL):
                pulse()
                low, width = slice(panel.start, s), panel.stop - panel.start
                lu, pivots, singular = scipy.linalg.lapack.dgetrf(S[low, panel])
                if singular:
                    raise RuntimeError("the matrix is singular")
                S[low, panel] = lu
                moved = _permutation(pivots, len(lu))
                order[low] = order[low][moved]
                changed = np.flatnonzero(moved != np.arange(len(moved)))

                def work(
                    tile: slice, low: slice = low, lu: np.ndarray = lu, moved: np.ndarray = moved,
                    changed: np.ndarray = changed, width: int = width,
                ) -> None:  # fmt: skip
                    few = S[low, tile]
                    few[changed] = few[moved[changed]]
                    if tile.start > low.start:
                        U = few[:width] = _triangle(lu[:width], few[:width], lower=True)
                        update = work_space(tile.stop - tile.start, len(lu) - width, np.float64)
                        few[width:].T[...] -= np.matmul(U.T, lu[width:].T, out=update)

                together([tile for tile in slices(s, _TILE) if not panel.start <= tile.start < panel.stop], work)
        return cls(S, order, run)

    def solve(self, B: np.ndarray, turned: bool) -> np.ndarray:
        """Return S⁻¹B, (s, k), or its transposed inverse times B."""
        with self.run.rounds():
            if not turned:
                return self._swept(self._swept(B[self.order], lower=True, turned=False), lower=False, turned=False)
            X = np.empty_like(B)
            X[self.order] = self._swept(self._swept(B.copy(), lower=False, turned=True), lower=True, turned=True)
            return X

    def _swept(self, X: np.ndarray, *, lower: bool, turned: bool) -> np.ndarray:
        """Solve with one of the triangles, in place: a block of rows, then its part of all that follow."""
        s, F = len(X), self.both
        forward = lower != turned
        blocks = slices(s, _PANEL)
        with self.run.rounds() as together:
            for block in blocks if forward else reversed(blocks):
                own = X[block] = _triangle(F[block, block], X[block], lower=lower, turned=turned)
                start, stop = (block.stop, s) if forward else (0, block.start)
                parts = [slice(start + part.start, start + part.stop) for part in slices(stop - start, _PART)]

                def work(part: slice, block: slice = block, own: np.ndarray = own) -> None:
                    X[part] -= (F[block, part].T if turned else F[part, block]) @ own

                together(parts, work)
        return X


@dataclass(frozen=True)
class BorderedFactor:
    """LU of a sparse matrix [[A11, A12], [A21, A22]]: sparse for A11, dense for its complement A22 - A21 A11⁻¹ A12."""

    order: np.ndarray  # (n,) the unknowns in the order of their elimination
    first: Any  # SuperLU of A11
    right: Any  # A12
    below: Any  # A21
    last: DenseFactor

    @classmethod
    def of(cls, A: Any, run: Run, **settings: Any) -> BorderedFactor:
        """Factorize a CSC matrix; ``settings`` are those of SuperLU."""
        from scipy.sparse.linalg import spilu, splu

        h = A.shape[0] - int(LAST * A.shape[0])
        pattern = sparse.csc_array((np.full(A.nnz, 1e-9), A.indices, A.indptr), shape=A.shape)
        pattern = (pattern + sparse.eye_array(A.shape[0])).tocsc()
        order = np.argsort(spilu(pattern, drop_tol=0.5, fill_factor=1, **settings).perm_c)  # its factor is diagonal
        A = A[order][:, order]
        first, right, below = splu(A[:h, :h].tocsc(), **settings), A[:h, h:].tocsr(), A[h:, :h].tocsr()
        L21 = _lower_rows(first, below[:, np.argsort(first.perm_c)].tocsr(), run)
        L = sparse.vstack([sparse.tril(first.L, -1), L21]).tocsc()
        C = sparse.vstack([right[np.argsort(first.perm_r)], A[h:, h:]]).tocsc()
        S = np.empty((C.shape[1], C.shape[1]), order="F")

        def work(columns: slice) -> None:
            from lowland.kernels.elimination import eliminate

            eliminate(
                L.indptr, L.indices, L.data, C.indptr, C.indices, C.data, columns.start, columns.stop, S
            )  # fmt: skip

        run.each("eliminating", slices(C.shape[1], _COLUMNS), work)
        return cls(order, first, right, below, DenseFactor.of(S, run))

    def solve(self, B: np.ndarray, trans: str = "N") -> np.ndarray:
        """Return A⁻¹B, (n, k) or (n,); "T": the transposed inverse times B."""
        turned, h = trans == "T", self.right.shape[0]
        right, below = (self.below.T, self.right.T) if turned else (self.right, self.below)
        C = np.reshape(B, (len(B), -1))[self.order]
        Y = self.first.solve(C[:h], trans)
        Z = self.last.solve(C[h:] - below @ Y, turned)
        X = np.empty_like(C)
        X[self.order] = np.concatenate([Y - self.first.solve(right @ Z, trans), Z])
        return np.reshape(X, B.shape)


def _lower_rows(first: Any, below: Any, run: Run) -> Any:
    """L21 = A21 U11⁻¹, sparse."""
    U = first.U.tocsr()
    U.sort_indices()

    def work(rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        from lowland.kernels.elimination import lower_rows

        m = rows.stop - rows.start
        counts, places, values = np.empty(m, np.int64), np.empty(m * len(U.indptr), np.int32), np.empty(m * U.shape[0])
        count = lower_rows(
            U.indptr, U.indices, U.data, below.indptr, below.indices, below.data, rows.start, rows.stop,
            counts, places, values,
        )  # fmt: skip
        return counts, places[:count].copy(), values[:count].copy()

    parts = run.each("eliminating", slices(below.shape[0], _ROWS), work)
    counts, places, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    return sparse.csr_array((values, places, np.concatenate([[0], np.cumsum(counts)])), shape=below.shape)


def _triangle(T: np.ndarray, B: np.ndarray, *, lower: bool, turned: bool = False) -> np.ndarray:
    """Solve with the unit lower triangle, or the upper one, of T, perhaps transposed."""
    found: np.ndarray = scipy.linalg.solve_triangular(
        T, B, trans=int(turned), lower=lower, unit_diagonal=lower, check_finite=False
    )
    return found


def _permutation(pivots: np.ndarray, m: int) -> np.ndarray:
    """The order of m rows after the exchanges of LAPACK."""
    order = np.arange(m)
    for i, j in enumerate(pivots.tolist()):
        order[i], order[j] = order[j], order[i]
    return order
