"""Vector quantization."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import Tags

from lowland.arrays.namespace import Array, is_array, is_dask, like, result_dtype, to_numpy, xp_of
from lowland.data.rows import Rows, in_slabs
from lowland.errors import DataWarning, ParameterError, warn
from lowland.math.distances.to_points import DistancesTo
from lowland.math.prototypes.codebook import Codebook, CodeLookup, NearestIndex, SumByPrototype, in_small_slabs
from lowland.math.prototypes.kmeans import Quantization, RowSample, lloyd, lloyd_over_rows
from lowland.math.statistics.labels import ClassLabels
from lowland.math.statistics.moments import ColumnMoments, refuse_underflow
from lowland.math.statistics.rescaling import UniformScaling, power_of_two
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, positional
from lowland.methods.base.method import InvertibleMethod, RandomState, attribute, param
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run


class VectorQuantizer(
    InvertibleMethod,
    verb="quantize",
    title="vector quantization",
    group="Networks and prototypes",
    cost=costs.code_vectors,
    streams=True,
    predicts="code",
    width_parameter="n_clusters",
    study=StudyHints(why_left_out="It assigns rows to clusters and yields no coordinates to plot."),
):
    """Vector quantization by k-means: points become distances to the k code vectors, or the index of the nearest one.

    The code book w_1 … w_k minimizes the sum of squared distances of the points to their nearest code vectors,

        min Σ_i min_c |x_i - w_c|²

    At a minimum each code vector is the mean of the points assigned to it.

    1. Compute the mean and the variance of the columns, which scale the points and the tolerance.
    2. Initialize by greedy k-means++ on all points, or on a sample of a large table.
    3. Lloyd's algorithm: one pass assigns the points to their nearest code vectors and sums them, then each code vector
       moves to the mean of its points. An empty cluster is moved to the point farthest from its code vector.
    4. The coordinates are the distances to the code vectors, or the index of the nearest one. The inverse transform
       returns the nearest code vector.

    See Also
    --------
    SelfOrganizingMap : prototypes on a grid.
    PCA : continuous coordinates.

    Notes
    -----
    The result is a local minimum that depends on the initialization: raise ``n_init`` to try several. Standardize the
    columns if their units of measurement differ.

    Prefer ``SelfOrganizingMap`` for code vectors that are ordered on a grid, and ``PCA`` where the points vary along
    directions rather than in clusters.

    References
    ----------
    .. [1] Lloyd (1982). Least squares quantization in PCM. IEEE Transactions on Information Theory 28.
       doi:10.1109/TIT.1982.1056489
    .. [2] Gray (1984). Vector quantization. IEEE ASSP Magazine 1. doi:10.1109/MASSP.1984.1162229
    .. [3] Arthur and Vassilvitskii (2007). k-means++: the advantages of careful seeding. SODA 2007.

    Examples
    --------
    >>> from lowland import VectorQuantizer
    >>> from lowland.data import load_dataset
    >>> quantizer = VectorQuantizer(3, output="index", random_state=0).fit(load_dataset("iris").X)
    >>> quantizer.transform(load_dataset("iris").X).shape, round(quantizer.inertia_, 2)
    ((150, 1), 78.86)
    """

    n_clusters: int = positional(
        8, "Number of code vectors (clusters). More code vectors lower the distortion and compress less.", at_least=1
    )
    output: Literal["distances", "index"] = param(
        "distances", "What transform returns: distances to all code vectors, or the index of the nearest one."
    )
    init: Literal["k-means++", "random"] | np.ndarray | list = param(
        "k-means++",
        "Initialization: points far apart ('k-means++') or random points, or an array of code vectors.",
        wanted="'k-means++', 'random', or an array of initial code vectors of shape (n_clusters, columns)",
    )
    n_init: int = param(
        1,
        "Number of initializations. The result with the lowest distortion is kept, so more of them are better and "
        "slower.",
        at_least=1,
    )
    max_iter: int = param(300, "Maximum number of iterations per initialization.", at_least=1)
    tol: float = param(
        1e-4,
        "Tolerance: total squared movement of the code vectors, as a fraction of the mean column variance.",
        at_least=0,
    )
    refine_on_sample: bool = param(
        False, "Converge on the initialization sample first, which saves passes over a large file."
    )
    random_state: RandomState = param(None, "Seed for the initialization.", at_least=0)

    cluster_centers_: Array = attribute("Code vectors.", "(n_clusters, n_features_in_)")
    labels_: Array = attribute(
        "Code book index of each training point.", "(n_samples_,)", when="where the training data is in memory"
    )
    counts_: Array = attribute(
        "Number of training points per code vector, or the sum of their weights.", "(n_clusters,)"
    )
    inertia_: float = attribute("Sum of squared distances of the training points to their code vectors.")
    distortion_: float = attribute("Mean squared distance of a training point to its code vector.")
    explained_variance_fraction_: float = attribute("1 - inertia / total sum of squares.")
    bits_per_row_: float = attribute("Bits per code book index, log2(n_clusters).")
    entropy_: float = attribute("Entropy of the code book usage in bits: the mean code length with entropy coding.")
    compression_: float = attribute("Bits of a point of floats divided by the bits of its code book index.")
    trace_: tuple[float, ...] = attribute("Distortion at the initialization and after each iteration.")
    n_iter_: int = attribute("Number of iterations.")
    converged_: bool = attribute("Whether the code vectors moved by less than the tolerance.")
    stopped_because_: str = attribute("Why the iteration stopped.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of X. A row of ``sample_weight`` w counts as w identical rows."""
        return self._fit(X, y, sample_weight)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        columns: ColumnMoments = run.fold(in_small_slabs(rows), ColumnMoments.of, weights, name="summing columns")
        check_most(self, "n_clusters", columns.rows, f"the data has {columns.rows} rows (`n_samples={columns.rows}`).")
        if columns.rows > 1 and columns.underflow:
            refuse_underflow(columns.squares, columns.n)
        variance = max(0.0, float(np.sum(to_numpy(columns.squares)))) / columns.n
        spread = math.sqrt(variance)
        # dividing every value would take measurable time
        unit = 1.0 if 1e-3 < spread < 1e3 else float(power_of_two(spread))
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
                here = Run(run.settings)
                refined = lloyd(sample.Y, start, weights=sample.weights, max_iter=self.max_iter, tol=tol, run=here)
                start = refined.book.W
            found = lloyd_over_rows(rows, run, scaling, start, weights, self.max_iter, tol)
            best = found if best is None or found.inertia < best.inertia else best
        assert best is not None
        self._keep(best, columns, rows.dtype)
        if rows.in_memory and not isinstance(getattr(rows, "X", None), np.memmap):
            self.labels_ = best.labels if best.labels is not None else self._indices_of(rows, run)

    def _start(self, sample: RowSample | None, scaling: UniformScaling, d: int, rng: np.random.Generator) -> np.ndarray:
        k = self.n_clusters
        if isinstance(self.init, str):
            assert sample is not None
            return sample.kmeans_plus_plus(k, rng) if self.init == "k-means++" else sample.random_codes(k, rng)
        try:
            given = np.asarray(self.init, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"`VectorQuantizer(init=...)`: the array must contain numbers: {error}.") from error
        if given.shape != (k, d) or not np.isfinite(given).all():
            raise ParameterError(
                f"`VectorQuantizer(init=...)`: the array has shape {given.shape}. The parameter 'init' must be an "
                f"array of shape ({k}, {d}), one code vector per row, without NaN or infinity."
            )
        return scaling.apply(given)

    def _keep(self, found: Quantization, columns: ColumnMoments, dtype: np.dtype) -> None:
        mean, k = columns.mean, self.n_clusters
        xp = xp_of(mean)
        counts, total = found.sums.counts, float(np.sum(to_numpy(columns.squares)))
        self.cluster_centers_ = like(found.centers, mean, result_dtype(xp, dtype))
        self.counts_ = like(counts, mean, xp.float64)
        self.inertia_ = found.inertia
        self.distortion_ = found.outcome.trace[-1]
        self.explained_variance_fraction_ = 1 - found.inertia / total if total > 0 else 1.0
        self.bits_per_row_ = math.log2(k)
        used = counts[counts > 0] / counts.sum()
        self.entropy_ = float(abs(np.sum(used * np.log2(used))))
        self.compression_ = 8.0 * dtype.itemsize * self.n_features_in_ / math.log2(k) if k > 1 else math.inf
        outcome = found.outcome
        self.trace_, self.converged_ = outcome.trace, outcome.converged
        moved = f"the code vectors moved by less than the tolerance tol={self.tol:g}"
        self.stopped_because_ = moved if outcome.converged else outcome.stopped_because
        self.n_samples_ = columns.rows
        self._warn_of_empty(int(np.sum(counts == 0)), varied=total > 0)
        self._record_convergence(
            replace(outcome, stopped_because=self.stopped_because_),
            "Raise `max_iter` or `tol`.",
            problem=f"VectorQuantizer did not converge: {self.stopped_because_}.",
        )

    def _warn_of_empty(self, dead: int, *, varied: bool) -> None:
        if dead:
            why = (
                "the data has fewer distinct rows than `n_clusters`, or the iteration stopped too early. Lower "
                "`n_clusters` or raise `max_iter`."
                if varied
                else "every column is constant, or its variance underflows. Check the data, or multiply it by a large "
                "number."
            )
            warn(f"{dead} of {self.n_clusters} clusters are empty: {why}", DataWarning)

    # --- mapping rows to code vectors ---

    def _encoding(self) -> DistancesTo | NearestIndex:
        if self._params.output == "index":
            return NearestIndex(Codebook.of(self.cluster_centers_))
        return DistancesTo.of(self.cluster_centers_, "euclidean", None)

    def _decoding(self) -> CodeLookup:
        return CodeLookup(self.cluster_centers_, self._params.output == "index")

    def _encoding_width(self) -> int:
        return 1 if self._params.output == "index" else int(self.cluster_centers_.shape[0])

    def _working_width(self) -> int:
        return int(self.cluster_centers_.shape[0])

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        if self._params.output == "index" and getattr(Z, "ndim", 2) == 1:  # what predict returned
            Z = (Z if is_array(Z) or is_dask(Z) else np.asarray(Z))[:, None]
        return super()._rows_to_decode(Z)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "clusterer"  # as KMeans
        return tags

    def predict(self, X: Any) -> Any:
        """Return the code book index of each row: the nearest code vector, counted from 0."""
        return self._indices_of(*self._rows_to_map(X))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to the rows of X and return the code book index of each row."""
        self.fit(X, y, sample_weight)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def _indices_of(self, rows: Rows, run: Run) -> Any:
        k = int(self.cluster_centers_.shape[0])
        encoding = NearestIndex(Codebook.of(self.cluster_centers_))
        numbers = run.gather(encoding, in_slabs(rows, k), 1, name="finding code vectors")[:, 0]
        return ClassLabels(np.arange(k))(numbers)

    def distortion(self, X: Any) -> float:
        """Return the mean squared distance of the rows of X to their nearest code vectors."""
        error, total = self._distortion_sums(X, None)
        return error / total

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the sum of squared distances of the rows of X to their code vectors, as ``KMeans`` does."""
        return -self._distortion_sums(X, sample_weight)[0]

    def _distortion_sums(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        rows, run = self._rows_to_map(X)
        book, weights = Codebook.of(self.cluster_centers_), self._weights(sample_weight, rows)
        sums = run.fold(in_small_slabs(rows), SumByPrototype(book), weights, name="computing the distortion")
        return float(sums.squares * book.scaling.unit**2), sums.rows

    def _facts(self) -> dict[str, Any]:
        bits = 8 * to_numpy(self.cluster_centers_).dtype.itemsize * self.n_features_in_
        counts = to_numpy(self.counts_)
        return {
            "distortion per row": self.distortion_,
            "explained variance ratio": self.explained_variance_fraction_,
            "bits per row": self.bits_per_row_,
            "bits per row, uncompressed": bits,
            "entropy in bits": self.entropy_,
            "rows per code vector": [float(count) for count in counts],
            "empty clusters": int(np.sum(counts == 0)),
        }
