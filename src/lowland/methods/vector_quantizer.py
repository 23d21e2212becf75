"""Vector quantisation."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lowland.arrays.namespace import is_array, is_dask, like, to_numpy, xp_of
from lowland.arrays.precision import result_dtype
from lowland.blocks.codebooks.codebook import (
    CodeLookup,
    NearestCodebook,
    NearestIndex,
    entropy_in_bits,
    in_low_slabs,
)
from lowland.blocks.codebooks.kmeans import CodeSums, Quantization, SumByCode, lloyd, lloyd_over_rows
from lowland.blocks.codebooks.kmeans_start import RowSample
from lowland.blocks.distances.to_points import DistancesTo, in_slabs
from lowland.blocks.statistics.labels import ClassLabels
from lowland.blocks.statistics.moments import ColumnMoments
from lowland.blocks.statistics.rescaling import power_of_two
from lowland.blocks.statistics.uniform_scaling import UniformScaling
from lowland.data.rows import Rows
from lowland.errors import DataWarning, ParameterError, warn
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.row_map import RowMap
from lowland.methods.base.traits import StudyHints
from lowland.run.local import LocalRun
from lowland.run.run import Run


class VectorQuantizer(
    RowMap,
    verb="quantize",
    streams=True,
    predicts="code",
    width_parameter="n_clusters",
    study=StudyHints(why_left_out="It replaces rows by codes and gives no coordinates to draw."),
):
    """Vector quantisation: a code book of k prototypes by k-means; rows become distances to them, or one number.

    Problem: min Σ_i |x_i - w_c(i)|² over codes w_1 … w_k, c(i) being the code nearest to row i. Where it is reached,
    each code is the mean of the rows that it stands for.

    1. Sum means and squares of the columns, by which rows are scaled and the distortion is measured
       (``blocks.statistics.moments``).
    2. Draw k rows far apart: greedy k-means++ from all rows, or a sample of many (``blocks.codebooks.kmeans_start``).
    3. Lloyd's iteration (``blocks.codebooks.kmeans``): a fold sums the rows nearest to each code, the codes move to the
       means. A code that no row is nearest to goes to the row farthest from its own.
    4. Coordinates are the distances to the codes, or the number of the nearest; the way back is that code.

    Cost: 2 n k d operations and one pass over the rows an iteration; memory k d and a sample, never the table. Prefer
    ``SelfOrganizingMap`` where codes should be in order on a map, ``PCA`` where rows lie along directions.

    Attributes: ``cluster_centers_`` (k, d) the codes, ``counts_`` (k,) rows won by each (their weights), ``inertia_``
    the sum of squares above, ``distortion_`` the same a row, ``explained_variance_fraction_`` of the variance that the
    codes keep, ``bits_per_row_`` log2 k, ``entropy_`` of the usage in bits, ``compression_`` bits of a row of floats
    over those of its code, ``trace_`` (distortion at the start and after each iteration), ``n_iter_``, ``converged_``,
    ``stopped_because_``, ``n_samples_``, ``labels_`` (n,) the codes of the rows, where these lie in memory.

    Reference: Lloyd 1982, doi:10.1109/TIT.1982.1056489; Gray 1984, doi:10.1109/MASSP.1984.1162229; Arthur and
    Vassilvitskii 2007, k-means++, the advantages of careful seeding.

    Examples
    --------
    >>> from lowland import VectorQuantizer
    >>> from lowland.data import load_dataset
    >>> quantizer = VectorQuantizer(3, output="index").fit(load_dataset("iris").X)
    >>> quantizer.transform(load_dataset("iris").X).shape, round(quantizer.inertia_, 2)
    ((150, 1), 78.86)
    """

    n_clusters: int = param(8, "Codes in the book.", at_least=1, positional=True)
    output: Literal["distances", "index"] = param(
        "distances", "What transform gives: distances to all codes, or the number of the nearest."
    )
    init: Literal["k-means++", "random"] | np.ndarray | list = param(
        "k-means++",
        "Where codes start: rows far apart, or any rows.",
        wanted="'k-means++', 'random', or an array of the codes to start from, (n_clusters, columns)",
    )
    n_init: int = param(1, "Starts, of which the one with the least distortion is kept.", at_least=1)
    max_iter: int = param(300, "Most iterations from each start.", at_least=1)
    tol: float = param(
        1e-4, "Stop when the squared moves of all codes add up to this share of the mean variance.", at_least=0
    )
    refine_on_sample: bool = param(
        False, "Converge first on the sample from which codes are drawn: fewer passes over a large file."
    )
    random_state: RandomState = param(None, "Seed of the start.", at_least=0)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of X; ``sample_weight`` counts repetitions."""
        return self._fit(X, y, sample_weight)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Moments of the columns, a start, Lloyd's iteration; the best of several."""
        columns: ColumnMoments = run.fold(in_low_slabs(rows), ColumnMoments.of, weights, name="summing columns")
        self._check_count(columns)
        variance = float(np.sum(to_numpy(columns.squares))) / columns.n
        deviation = math.sqrt(variance)
        unit = 1.0 if 1e-3 < deviation < 1e3 else float(power_of_two(deviation))  # a division a number would be felt
        scaling = UniformScaling(to_numpy(columns.mean), unit)
        tol = self.tol * variance / rows.d / scaling.unit**2
        rng, best = self._generator(), None
        n = len(weights) if weights is not None else columns.rows
        sample = None
        if isinstance(self.init, str) or self.refine_on_sample:
            sample = RowSample.of(rows, run, n, self.n_clusters, scaling, weights, rng)
        for _ in range(self.n_init if isinstance(self.init, str) else 1):
            start = self._start(sample, scaling, rows.d, rng)
            if self.refine_on_sample and sample is not None and len(sample.Y) < columns.rows:
                here = LocalRun(run.settings)
                refined = lloyd(sample.Y, start, weights=sample.weights, max_iter=self.max_iter, tol=tol, run=here)
                start = refined.book.W
            found = lloyd_over_rows(rows, run, scaling, start, weights, self.max_iter, tol)
            best = found if best is None or found.inertia < best.inertia else best
        assert best is not None
        self._keep(best, columns, rows.dtype)
        if rows.in_memory and not isinstance(getattr(rows, "X", None), np.memmap):
            self.labels_ = self._codes_of(rows, run)

    def _check_count(self, columns: ColumnMoments) -> None:
        k, n = self.n_clusters, columns.rows
        if k > n:
            raise ParameterError(
                f"VectorQuantizer(n_clusters={k}): there are n_samples={n} rows, and a code stands for one at least. "
                f"Choose at most {n}."
            )

    def _start(self, sample: RowSample | None, scaling: UniformScaling, d: int, rng: np.random.Generator) -> np.ndarray:
        """The first codes, (k, d), scaled."""
        k = self.n_clusters
        if isinstance(self.init, str):
            assert sample is not None
            return sample.kmeans_plus_plus(k, rng) if self.init == "k-means++" else sample.random_codes(k, rng)
        try:
            given = np.asarray(self.init, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"VectorQuantizer(init=...): the codes are not numbers: {error}.") from error
        if given.shape != (k, d) or not np.isfinite(given).all():
            raise ParameterError(
                f"VectorQuantizer(init=...): the codes have shape {given.shape}; the parameter 'init' must be an array "
                f"of shape ({k}, {d}), a code a row, without NaN and infinity."
            )
        return scaling.apply(given)

    def _keep(self, found: Quantization, columns: ColumnMoments, dtype: np.dtype) -> None:
        """Set the fitted attributes, the codes in the precision and the library of the data."""
        mean, k = columns.mean, self.n_clusters
        xp = xp_of(mean)
        counts, total = found.sums.counts, float(np.sum(to_numpy(columns.squares)))
        self.cluster_centers_ = like(found.centers, mean, result_dtype(xp, dtype))
        self.counts_ = like(counts, mean, xp.float64)
        self.inertia_ = found.inertia
        self.distortion_ = found.outcome.trace[-1]
        self.explained_variance_fraction_ = 1 - found.inertia / total if total > 0 else 1.0
        self.bits_per_row_ = math.log2(k)
        self.entropy_ = entropy_in_bits(counts)
        self.compression_ = 8.0 * dtype.itemsize * self.n_features_in_ / math.log2(k) if k > 1 else math.inf
        outcome = found.outcome
        self.trace_, self.n_iter_, self.converged_ = outcome.trace, outcome.iterations, outcome.converged
        self.stopped_because_ = (
            f"the codes moved by less than tol={self.tol:g} asks for" if outcome.converged else outcome.stopped_because
        )
        self.n_samples_ = columns.rows
        self._warn(int(np.sum(counts == 0)), varied=total > 0)

    def _warn(self, dead: int, *, varied: bool) -> None:
        if dead:
            why = (
                "fewer rows differ than there are codes, or the iteration ended too soon. Ask for fewer codes, or "
                "raise max_iter."
                if varied
                else "every column is constant, or varies too little to be squared. Check the data, or multiply them "
                "by a large number."
            )
            warn(f"{dead} of {self.n_clusters} codes stand for no row: {why}", DataWarning)
        if not self.converged_:
            warn(
                f"VectorQuantizer: the codes still moved when {self.stopped_because_}. Raise max_iter or tol.",
                ConvergenceWarning,
            )

    # --- rows and codes ---

    def _encoding(self) -> DistancesTo | NearestIndex:
        if self.output == "index":
            return NearestIndex(NearestCodebook.of(self.cluster_centers_))
        return DistancesTo.of(self.cluster_centers_, "euclidean", None)

    def _decoding(self) -> CodeLookup:
        return CodeLookup(self.cluster_centers_, self.output == "index")

    def _encoding_width(self) -> int:
        return 1 if self.output == "index" else int(self.cluster_centers_.shape[0])

    def _rows_to_map(self, X: Any) -> tuple[Rows, Run]:
        rows, run = super()._rows_to_map(X)
        return in_slabs(rows, int(self.cluster_centers_.shape[0])), run

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        if self.output == "index" and getattr(Z, "ndim", 2) == 1:  # what predict returned
            Z = (Z if is_array(Z) or is_dask(Z) else np.asarray(Z))[:, None]
        return super()._rows_to_decode(Z)

    def predict(self, X: Any) -> Any:
        """Return the number of each row's code, counted from 0."""
        return self._codes_of(*self._rows_to_map(X))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to the rows of X and return the number of each row's code."""
        self.fit(X, y, sample_weight)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def _codes_of(self, rows: Rows, run: Run) -> Any:
        k = int(self.cluster_centers_.shape[0])
        encoding = NearestIndex(NearestCodebook.of(self.cluster_centers_))
        numbers = run.gather(encoding, in_slabs(rows, k), 1, name="finding codes")[:, 0]
        return ClassLabels(np.arange(k))(numbers)

    def distortion(self, X: Any) -> float:
        """Return the mean squared distance of other rows to their codes."""
        error, total = self._distortion_sums(X, None)
        return error / total

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the sum of the squared distances of other rows to their codes, below zero, as ``KMeans`` does."""
        return -self._distortion_sums(X, sample_weight)[0]

    def _distortion_sums(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """The sum of squares, and that of the weights."""
        rows, run = self._rows_to_map(X)
        book, weights = NearestCodebook.of(self.cluster_centers_), self._weights(sample_weight, rows)
        sums: CodeSums = run.fold(in_low_slabs(rows), SumByCode(book), weights, name="judging the codes")
        return float(sums.error * book.scaling.unit**2), float(sums.counts.sum())

    def _facts(self) -> dict[str, Any]:
        bits = 8 * to_numpy(self.cluster_centers_).dtype.itemsize * self.n_features_in_
        counts = to_numpy(self.counts_)
        return {
            "distortion a row": self.distortion_,
            "share of variance kept": self.explained_variance_fraction_,
            "bits a row": self.bits_per_row_,
            "bits a row before": bits,
            "entropy in bits": self.entropy_,
            "rows by code": [float(count) for count in counts],
            "codes that won no row": int(np.sum(counts == 0)),
        }
