"""Classical multidimensional scaling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_dask, like, result_dtype, take, to_numpy, xp_of
from lowland.data.rows import ArrayRows, Rows, in_slabs, own_array
from lowland.errors import DataWarning, warn
from lowland.math.distances.to_points import (
    DistancesTo,
    check_distances,
    distance_matrix,
)
from lowland.math.optimize.outcome import Outcome
from lowland.math.scaling.classical import (
    Eigenvalues,
    Placement,
    additive_constant,
    axes_in_units,
    check_dimensions,
    classical_scaling,
    eigenvalues_of_axes,
    squared_units,
)
from lowland.math.spectra.component_rules import Fixed
from lowland.math.spectra.leading import fix_signs
from lowland.math.spectra.operators import Affine
from lowland.math.statistics.rescaling import unit_of
from lowland.math.statistics.sampling import SelectedRows, count_rows
from lowland.methods.base import costs
from lowland.methods.base.choices import choose_landmarks, positional
from lowland.methods.base.method import Method, RandomState, attribute, param
from lowland.methods.base.metric import (
    METRIC_ATTRIBUTES,
    SKIP_MISSING,
    Metric,
    warn_if_distances,
    warn_of_lost_squares,
    warn_of_one_point,
)
from lowland.methods.base.traits import ALL_PAIRS, StudyHints
from lowland.run.run import Run

_FEW_COLUMNS = 500  # up to this many, all eigenvalues of the scatter matrix are cheap


class ClassicalMDS(
    Method,
    verb="classical-mds",
    title="classical MDS",
    group="Distances",
    cost=costs.scaled_distances,
    attributes=METRIC_ATTRIBUTES,
    missing_remedy=SKIP_MISSING,
    streams=True,
    all_rows=(
        lambda p: p.n_landmarks is None and (p.metric != "euclidean" or p.add_constant),
        "without landmarks, for other distances than Euclidean ones",
    ),
    study=StudyHints(all_pairs_up_to=ALL_PAIRS, euclidean_needs_no_pairs=True, takes_distances=True),
):
    """Classical multidimensional scaling (principal coordinates analysis): an embedding from pairwise distances.

    Problem: find centered points z_1 … z_n in k dimensions whose inner products are closest to B = -½ J(D∘D)J, the
    inner products that Euclidean distances D imply, with the centering matrix J = I - 11'/n. Solution: Z = V Λ^½ with
    the k largest eigenvalues B v_i = λ_i v_i. Distances that are not Euclidean also give negative eigenvalues.

    1. Compute the distances of all pairs of points, or check those passed. Euclidean distances need no matrix: the
       eigenpairs of B = CC' are the principal axes of the points.
    2. On request, find the additive constant that makes the distances Euclidean.
    3. Find the leading eigenpairs of B, without forming it.
    4. Coordinates are Z = V Λ^½. Out-of-sample extension: a new point with squared distances δ to the training points
       is at ½ Λ^-1 Z'(means - δ), with the mean squared distance of each training point (Gower 1968).

    With ``n_landmarks`` = m, steps 1 to 3 use m points spread evenly over the data, and step 4 places all others.

    See Also
    --------
    MDS : least squares on the distances instead of inner products.
    PCA : the same map if the distances are Euclidean.
    Isomap : the same with geodesic distances.

    Notes
    -----
    Prefer ``PCA`` for Euclidean distances of points: it gives the same coordinates and an inverse transform.

    All eigenvalues are computed for up to 1000 points, and for up to 500 columns with Euclidean distances of points. In
    larger problems ``lowest_eigenvalue_`` and ``dimensionality_`` are estimates.

    References
    ----------
    Torgerson 1952, Multidimensional scaling: I. Theory and method, Psychometrika 17, doi:10.1007/BF02288916.

    Gower 1966, Some distance properties of latent root and vector methods used in multivariate analysis, Biometrika
    53, doi:10.1093/biomet/53.3-4.325.

    Gower 1968, Adding a point to vector diagrams in multivariate analysis, Biometrika 55,
    doi:10.1093/biomet/55.3.582.

    Cailliez 1983, The analytical solution of the additive constant problem, Psychometrika 48, doi:10.1007/BF02294026.

    Examples
    --------
    >>> from lowland import ClassicalMDS
    >>> from lowland.data import load_dataset
    >>> cmds = ClassicalMDS(metric="precomputed").fit(load_dataset("airports").X)
    >>> cmds.dimensionality_, [round(g, 4) for g in cmds.goodness_of_fit_]
    (2, [0.9954, 0.9991])
    """

    n_components: int = positional(2, "Number of dimensions of the embedding.", at_least=1)
    metric: str | Callable[..., Any] = param(
        "euclidean",
        "Distance metric, such as 'manhattan', or a function of two points, or 'precomputed': X is a distance matrix.",
    )
    metric_params: dict[str, Any] | None = param(None, "Keyword arguments of the metric, such as {'p': 3}.")
    all_eigenvalues: bool = param(
        False,
        "Compute all eigenvalues instead of only the leading ones, for the exact goodness of fit. Slow above "
        "1,000 points.",
    )
    add_constant: bool = param(
        False, "Add to all distances the smallest constant that makes them Euclidean (Cailliez)."
    )
    n_landmarks: int | None = param(
        None,
        "Number of landmark points. The others are embedded by their distances to them. Fewer landmarks are "
        "faster and less accurate. None uses all points, which is exact.",
        at_least=2,
    )
    random_state: RandomState = param(None, "Seed for the choice of landmarks.", at_least=0)

    embedding_: Array = attribute("Coordinates of the training points.", "(n_samples_, n_components)")
    eigenvalues_: Array = attribute(
        "Leading eigenvalues of B, or all with all_eigenvalues.", "(n_components,) or (n_samples_,)"
    )
    lowest_eigenvalue_: float = attribute("Most negative eigenvalue, or 0 if none is negative.")
    goodness_of_fit_: tuple[float, float] | None = attribute(
        "GOF of R's cmdscale: Σ_k λ / Σ|λ| and Σ_k λ / Σ max(λ, 0). None if not all eigenvalues were computed."
    )
    goodness_of_fit_bound_: tuple[float, float] = attribute("Upper bounds of both forms of goodness_of_fit_.")
    dimensionality_: int | None = attribute(
        "Number of eigenvalues larger than the absolute value of the most negative one. None if not all were found."
    )
    additive_constant_: float = attribute("Constant added to the distances, or 0 without add_constant.")
    landmarks_: np.ndarray | None = attribute("Row numbers of the landmarks, or None without landmarks.")
    n_iter_: int = attribute("Number of iterations of the solver, or 0 for a direct one.")
    components_: Array = attribute(
        "Principal axes of the points.", "(n_components, n_features_in_)", when="with Euclidean distances of points"
    )
    mean_: Array = attribute("Mean of each column.", "(n_features_in_,)", when="with Euclidean distances of points")
    points_: Array | None = attribute(
        "Points with which new points are compared, or None for a precomputed matrix.",
        when="where distances were needed",
    )
    weights_: Array = attribute(
        "½ Z Λ^-1, for the out-of-sample extension.", "(m, n_components)", when="where distances were needed"
    )
    mean_squares_: Array = attribute(
        "Mean squared distance of each point to the others.", "(m,)", when="where distances were needed"
    )
    unit_: float = attribute(
        "Number by which distances are divided: 1 unless their squares would overflow or underflow.",
        when="where distances were needed",
    )

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        self._measured_rows = None  # what dissimilarity_matrix_ is computed from, where it is kept
        if self.metric != "precomputed":
            if rows.in_memory and rows.n == rows.d:
                warn_if_distances(rows.to_array(), "ClassicalMDS")
        elif rows.n not in (None, rows.d):
            check_distances(np.empty(rows.shape))  # raises the error of a matrix that is not square
        keep = choose_landmarks(self, lambda: count_rows(rows, run))  # (n,) bool, or None
        self.landmarks_ = None if keep is None else np.flatnonzero(keep)
        if keep is None and self.metric in ("euclidean", "l2") and not self.add_constant:
            self._by_axes(rows, run)
            return
        D = self._distances(rows, run, keep)  # (m, m)
        unit = unit_of(D)  # a power of two, by which squares neither overflow nor underflow
        D = D if unit == 1 else D / unit
        here = Run()
        c = self._constant(D, here, unit) if self.add_constant else 0.0
        scaling = classical_scaling(D, self.n_components, here, constant=c, whole=self.all_eigenvalues)
        self.weights_, self.mean_squares_ = scaling.weights, scaling.means
        self.additive_constant_, self.unit_ = c * unit, unit
        Z = scaling.Z * unit if keep is None else self._placed(self._encoding(), rows, run)
        self._keep(like(Z, D), scaling.eigenvalues, scaling.outcome, unit)

    # --- Euclidean distances of points: principal axes ---

    def _by_axes(self, rows: Rows, run: Run) -> None:
        """Compute the coordinates along the principal axes, without a distance matrix."""
        k, small = self.n_components, min(rows.d, rows.n or rows.d) <= _FEW_COLUMNS
        rule = Fixed(None if small or self.all_eigenvalues else min(k, rows.d, rows.n or rows.d))
        axes, rows_in_units, unit = axes_in_units(rows, run, rule)
        check_dimensions(k, axes.columns.rows)
        found = eigenvalues_of_axes(axes, k)
        xp = xp_of(axes.pairs.vectors)
        A = xp.astype(axes.pairs.vectors[:, :k], result_dtype(xp, rows.dtype))  # (d, k)
        if A.shape[1] < k:
            A = xp.concat([A, like(np.zeros((rows.d, k - A.shape[1])), A)], axis=1)
        Z = self._placed(Affine(A, axes.columns.mean), rows_in_units, run)
        signed = fix_signs(Z)  # by the coordinates, as from a matrix of the same distances
        turned = like(np.where(to_numpy(xp_of(Z).sum(Z * signed, axis=0)) < 0, -1.0, 1.0), A)
        self.components_, self.mean_ = (A * turned[None, :]).T, axes.columns.mean * unit
        self.additive_constant_ = 0.0
        n = int(rows.n or 0)
        if rows.in_memory and n * (n + rows.d) * rows.dtype.itemsize <= run.budget:
            self._measured_rows = own_array(rows, rows.to_array())
        self._keep(signed * (0.0 if found.one_point else unit), found, axes.outcome, unit)

    # --- other distances ---

    def _distances(self, rows: Rows, run: Run, keep: np.ndarray | None) -> Array:
        """Return the distances of the points to scale, in the precision of the rows."""
        given = self.metric == "precomputed"
        if keep is not None:
            X = run.fold(rows, SelectedRows.of, keep, name="choosing landmarks").rows
        else:
            X = rows.to_array() if given else run.to_array(rows, "ClassicalMDS")  # a given matrix is checked below
            X = X if given else own_array(rows, X)
        self.points_ = None if given else X
        if not given:
            D = distance_matrix(X, Run(), *self._measure())
        elif keep is not None:
            D = take(X, to_numpy(self.landmarks_), axis=1)
        else:
            D = self._measured_rows = X
        if given or callable(self.metric):
            D = check_distances(D)
        return D

    def _constant(self, D: Array, run: Run, unit: float) -> float:
        found = additive_constant(D, run)
        if not found.outcome.converged:
            warn(
                f"`ClassicalMDS(add_constant=True)` did not converge: it stopped after {found.outcome.iterations} "
                f"iterations at the constant {found.value * unit:g}. Some eigenvalues may stay negative. Set "
                "`n_landmarks`: a direct solver is used for up to 1000 points.",
                ConvergenceWarning,
            )
        return found.value

    # --- fitted attributes ---

    def _keep(self, Z: Array, found: Eigenvalues, solver: Outcome, unit: float) -> None:
        if found.one_point:
            warn_of_one_point("ClassicalMDS")
        elif found.positive < self.n_components:
            warn(
                f"`ClassicalMDS(n_components={self.n_components})`: the distances have {found.positive} positive "
                f"eigenvalue{'s' * (found.positive != 1)}, so the other coordinates are zero. Choose at most "
                f"{found.positive}.",
                DataWarning,
            )
        values = found.leading
        if self.all_eigenvalues:
            values = np.zeros(Z.shape[0] if self.landmarks_ is None else len(self.landmarks_))
            values[: len(found.known)] = found.known
        self.embedding_, self.eigenvalues_ = Z, squared_units(values, unit, Z)
        warn_of_lost_squares(
            "ClassicalMDS.eigenvalues_", found.leading, to_numpy(self.eigenvalues_)[: len(found.leading)]
        )
        self.lowest_eigenvalue_, self.dimensionality_ = found.lowest * unit * unit, found.significant
        self.goodness_of_fit_bound_ = found.goodness
        self.goodness_of_fit_ = found.goodness if found.exact else None
        self.n_samples_ = int(Z.shape[0])
        self._record_convergence(
            solver, "Request fewer components, or set `all_eigenvalues=True`, which uses a direct solver."
        )

    @property
    def dissimilarity_matrix_(self) -> Array:
        """Distances of all pairs of points, (n, n), computed at each access."""
        check_is_fitted(self)
        kept = vars(self).get("points_")
        X = vars(self).get("_measured_rows") if kept is None else kept
        if X is None or self.landmarks_ is not None:
            raise AttributeError(
                "dissimilarity_matrix_ is not available with landmarks, with rows of a file, or in a loaded model. "
                "Fit an array without landmarks."
            )
        if self._params.metric == "precomputed":
            return X
        run = Run()
        run.require(X.shape[0] ** 2 * ArrayRows(X).dtype.itemsize, "The distance matrix", "Use fewer rows")
        return distance_matrix(X, run, *self._measure())

    # --- new points ---

    def _facts(self) -> dict[str, Any]:
        facts = {
            "eigenvalues": self.eigenvalues_[: self.embedding_.shape[1]],
            "lowest eigenvalue": self.lowest_eigenvalue_,
            "goodness of fit": self.goodness_of_fit_,
            "significant dimensions": self.dimensionality_,
        }
        if self._params.add_constant:
            facts["additive constant"] = self.additive_constant_
        if self.landmarks_ is not None:
            facts["landmarks"] = len(self.landmarks_)
        return facts

    def _metric(self) -> Metric:
        return Metric(self._params.metric, dict(self._params.metric_params or {}))

    def _encoding(self) -> Callable[[Array], Array]:
        if "components_" in vars(self):
            return Affine(self.components_.T, self.mean_)
        columns = self.landmarks_ if self.points_ is None else None
        measure = None if self.points_ is None else DistancesTo.of(self.points_, *self._measure())
        return Placement(self.weights_, self.mean_squares_, measure, columns, self.additive_constant_, self.unit_)

    def _working_width(self) -> int:
        return self.n_features_in_ if "components_" in vars(self) else int(self.weights_.shape[0])

    def _placed(self, place: Callable[[Array], Array], rows: Rows, run: Run) -> Array:
        """Return the coordinates of all rows, in memory also where the rows are not."""
        width = self.n_components if isinstance(place, Affine) else self._working_width()
        Z = run.gather(place, in_slabs(rows, width), self.n_components, name="embedding new rows")
        return to_numpy(Z) if is_dask(Z) else Z
