"""Classical multidimensional scaling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_dask, like, to_numpy, xp_of
from lowland.arrays.precision import result_dtype
from lowland.blocks.distances.metrics import check_metric
from lowland.blocks.distances.to_points import (
    check_distances,
    distance_matrix,
    in_slabs,
)
from lowland.blocks.optimize.outcome import Outcome
from lowland.blocks.scaling.classical import (
    Eigenvalues,
    Placement,
    additive_constant,
    axes_in_units,
    bytes_to_solve,
    classical_scaling,
    eigenvalues_of_axes,
    squared_units,
)
from lowland.blocks.spectra.component_rules import Fixed
from lowland.blocks.spectra.leading import fix_signs
from lowland.blocks.statistics.rescaling import unit_of
from lowland.blocks.statistics.sampling import Picked, count_rows
from lowland.data.rows import ArrayRows, Rows, own_array
from lowland.errors import warn
from lowland.methods.base.distance_warnings import warn_if_distances, warn_of_one_point
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.landmarks import choose_landmarks
from lowland.methods.base.linear_map import Affine
from lowland.methods.base.point_map import PointMap
from lowland.methods.base.traits import ALL_PAIRS, StudyHints
from lowland.run.run import Run, run_for

_FEW_COLUMNS = 500  # up to this many, all eigenvalues of their scatter cost nothing worth saving


class ClassicalMDS(
    PointMap,
    verb="classical-mds",
    streams=True,
    study=StudyHints(all_pairs_up_to=ALL_PAIRS, takes_distances=True),
):
    """Classical multidimensional scaling: a map of points of which only the distances are known.

    Problem: points z_1 … z_n in k dimensions, centered, whose scalar products come closest to B = -½ J(D∘D)J, the
    ones that Euclidean distances D would have; J = I - 11'/n takes means away. The answer: Z = V Λ^½, from the k
    largest eigenvalues B v_i = λ_i v_i. Distances that are not Euclidean have negative eigenvalues, too.

    1. Measure the distances of all pairs of rows, or check those given (``blocks.distances.to_points``). Euclidean
       distances need no matrix: B = CC' has the principal axes of the rows for its eigenpairs
       (``blocks.spectra.principal_axes``).
    2. If asked, find the additive constant that makes the distances Euclidean (``blocks.scaling.classical``).
    3. Find the leading eigenpairs of B, which is centered without being formed (``blocks.spectra.operators``,
       ``leading``).
    4. Coordinates are Z = V Λ^½. A new point at squared distances δ from the others lies at ½ Λ^-1 Z'(means - δ), with
       the mean squared distance of each point to the others (Gower 1968).

    With ``n_landmarks`` = m, steps 1 to 3 see m rows spread evenly over all, and step 4 places all others. ``metric``
    may be a function of two rows.

    Cost: Euclidean rows as ``PCA``. Otherwise n² d for the distances, some 20 n² (k + 10) for the eigenpairs (9 n³ for
    all of them) and n² numbers of memory; with landmarks m n d and m n. Prefer ``PCA`` if the rows are at hand and
    Euclidean distances are meant: the same plane, and a way back.

    Attributes: ``embedding_`` (n, k), ``eigenvalues_`` (the k leading; all n if asked), ``lowest_eigenvalue_`` (the
    most negative; 0 if none), ``goodness_of_fit_`` (both forms of R's cmdscale: Σ_k λ over Σ|λ| and over Σ max(λ, 0);
    None where not all eigenvalues were computed), ``goodness_of_fit_bound_`` (bounds of both, always),
    ``dimensionality_`` (how many eigenvalues exceed all negative ones in size; None where more than were computed do),
    ``additive_constant_``, ``dissimilarity_matrix_`` (measured when read), ``landmarks_`` (their row numbers, or None),
    ``n_samples_``, ``solver_``, ``n_iter_``; for new points ``components_`` and ``mean_``, or ``points_``,
    ``weights_``, ``mean_squares_`` and ``unit_`` (what distances are divided by: 1 unless their squares would leave the
    floats). Where no more than a thousand points are scaled, or 500 columns of Euclidean rows, all eigenvalues are
    computed; in larger problems the lowest one and the dimensionality are estimates.

    Reference: Torgerson 1952, doi:10.1007/BF02288916; Gower 1966, doi:10.1093/biomet/53.3-4.325; Gower 1968,
    doi:10.1093/biomet/55.3.582; Cailliez 1983, doi:10.1007/BF02294026.

    Examples
    --------
    >>> from lowland import ClassicalMDS
    >>> from lowland.data import load_dataset
    >>> cmds = ClassicalMDS(metric="precomputed").fit(load_dataset("airports").X)
    >>> cmds.dimensionality_, [round(g, 4) for g in cmds.goodness_of_fit_]
    (2, [0.9954, 0.9991])
    """

    n_components: int = param(2, "Dimensions of the map.", at_least=1, positional=True)
    metric: str | Callable[..., Any] = param(
        "euclidean", "How rows are compared, such as 'manhattan', or 'precomputed': they are distances of all pairs."
    )
    metric_params: dict[str, Any] | None = param(None, "Further arguments of the metric, such as {'p': 3}.")
    all_eigenvalues: bool = param(False, "Compute all eigenvalues, not only the leading ones.")
    add_constant: bool = param(
        False, "Add the smallest constant (Cailliez) that makes the distances Euclidean to all of them."
    )
    n_landmarks: int | None = param(
        None, "Rows that are scaled, all others being placed among them; None: all, which is exact.", at_least=2
    )
    random_state: RandomState = param(None, "Seed of the choice of landmarks.", at_least=0)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Distances or principal axes, the constant, eigenpairs, coordinates."""
        self._measured_rows = None  # what dissimilarity_matrix_ is measured from, where it is kept
        self._check_metric(rows)
        keep = self._landmarks(rows, run)  # (n,) bool, or None: all rows
        self.landmarks_ = None if keep is None else np.flatnonzero(keep)
        if keep is None and self.metric in ("euclidean", "l2") and not self.add_constant:
            self._by_axes(rows, run)
            return
        D, unit = self._in_units(self._distances(rows, run, keep), run)  # (m, m)
        here = run_for(ArrayRows(D))
        c = self._constant(D, here, unit) if self.add_constant else 0.0
        scaling = classical_scaling(D, self.n_components, here, constant=c, whole=self.all_eigenvalues)
        self.weights_, self.mean_squares_ = scaling.weights, scaling.means
        self.additive_constant_, self.unit_ = c * unit, unit
        Z = scaling.Z * unit if keep is None else self._placed(self._placing(), rows, run)
        self._keep(like(Z, D), scaling.eigenvalues, scaling.outcome, unit)

    def _check_metric(self, rows: Rows) -> None:
        check_metric(self.metric, self.metric_params)
        if self.metric != "precomputed":
            if rows.in_memory and rows.n == rows.d:
                warn_if_distances(rows.to_array(), "ClassicalMDS")
        elif rows.n not in (None, rows.d):
            check_distances(np.empty(rows.shape))  # says that it is not square

    def _landmarks(self, rows: Rows, run: Run) -> np.ndarray | None:
        """Mark the rows that are landmarks; none are where all rows would be."""
        if self.n_landmarks is None:
            return None
        return choose_landmarks(count_rows(rows, run), self.n_landmarks, self._generator, "ClassicalMDS")

    # --- Euclidean distances of rows: principal axes ---

    def _by_axes(self, rows: Rows, run: Run) -> None:
        """The coordinates along the principal axes: the matrix of distances is never needed."""
        k, small = self.n_components, min(rows.d, rows.n or rows.d) <= _FEW_COLUMNS
        rule = Fixed(None if small or self.all_eigenvalues else k)
        axes, rows_in_units, unit = axes_in_units(rows, run, rule)
        found = eigenvalues_of_axes(axes, k)
        found.check(k)
        xp = xp_of(axes.pairs.vectors)
        A = xp.astype(axes.pairs.vectors[:, :k], result_dtype(xp, rows.dtype))  # (d, k)
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
        """The distances of the points that are scaled, in the precision of the rows."""
        given = self.metric == "precomputed"
        self._require(rows, run, rows.n if keep is None else int(keep.sum()))
        if keep is not None:
            X = run.fold(rows, Picked.of, keep, name="choosing landmarks").rows
        else:
            X = rows.to_array() if given else run.to_array(rows, "ClassicalMDS")  # what is given is checked below
            self._require(rows, run, X.shape[0])  # chunks did not say how many they are
            X = X if given else own_array(rows, X)
        self.points_ = None if given else X
        if not given:
            D = distance_matrix(X, run_for(ArrayRows(X)), self.metric, self.metric_params)
        elif keep is not None:
            D = xp_of(X).take(X, like(self.landmarks_, X, xp_of(X).int64), axis=1)
        else:
            D = self._measured_rows = X
        if given or callable(self.metric):
            D = check_distances(D)
        return D

    def _require(self, rows: Rows, run: Run, m: int | None) -> None:
        """Refuse a matrix of distances beyond the budget before it is made."""
        if m is None:
            return
        size = rows.dtype.itemsize
        at_hand = isinstance(rows, ArrayRows) and self.metric == "precomputed" and m == rows.d
        needed = 0 if at_hand else m * m * size
        needed += bytes_to_solve(m, self.n_components, whole=self.all_eigenvalues)
        needed += 0 if at_hand else (1 if rows.in_memory else 2) * m * rows.d * size  # the rows, too, are kept
        remedy = "Choose n_landmarks" if self.n_landmarks is None else "Choose fewer landmarks"
        run.require(needed, f"Scaling {m} points by their distances", f"{remedy}, pass float32")

    def _in_units(self, D: Array, run: Run) -> tuple[Array, float]:
        """Distances whose squares are numbers, and what they were divided by."""
        unit = unit_of(D)
        if unit == 1:
            return D, unit
        run.require(
            2 * D.shape[0] ** 2 * ArrayRows(D).dtype.itemsize, "The distances in another unit", "Use fewer rows"
        )
        return D / unit, unit

    def _constant(self, D: Array, run: Run, unit: float) -> float:
        found = additive_constant(D, run)
        if not found.outcome.converged:
            warn(
                f"ClassicalMDS: the additive constant still rose after {found.outcome.iterations} steps, to "
                f"{found.value * unit:g}. Some eigenvalues may stay negative. Choose landmarks, whose constant is "
                "found directly.",
                ConvergenceWarning,
            )
        return found.value

    # --- what a fit leaves ---

    def _keep(self, Z: Array, found: Eigenvalues, solver: Outcome, unit: float) -> None:
        if found.one_point:
            warn_of_one_point("ClassicalMDS")
        values = found.leading
        if self.all_eigenvalues:
            values = np.zeros(Z.shape[0] if self.landmarks_ is None else len(self.landmarks_))
            values[: len(found.known)] = found.known
        self.embedding_, self.eigenvalues_ = Z, squared_units(values, unit, Z)
        self.lowest_eigenvalue_, self.dimensionality_ = found.lowest * unit * unit, found.significant
        self.goodness_of_fit_bound_ = found.goodness
        self.goodness_of_fit_ = found.goodness if found.exact else None
        self.n_samples_ = int(Z.shape[0])
        self._record_convergence(solver, "Ask for fewer components, or for all_eigenvalues, which are found directly.")

    @property
    def dissimilarity_matrix_(self) -> Array:
        """The distances of all pairs of rows, (n, n), measured again whenever this is read."""
        check_is_fitted(self)
        kept = vars(self).get("points_")
        X = vars(self).get("_measured_rows") if kept is None else kept
        if X is None or self.landmarks_ is not None:
            raise AttributeError(
                "There is no dissimilarity_matrix_ with landmarks, rows of a file, or a model that was loaded. "
                "Fit an array without landmarks."
            )
        if self.metric == "precomputed":
            return X
        run = run_for(ArrayRows(X))
        run.require(X.shape[0] ** 2 * ArrayRows(X).dtype.itemsize, "The matrix of all distances", "Use fewer rows")
        return distance_matrix(X, run, self.metric, self.metric_params)

    # --- new points ---

    def _facts(self) -> dict[str, Any]:
        facts = {
            "eigenvalues": self.eigenvalues_[: self.embedding_.shape[1]],
            "lowest eigenvalue": self.lowest_eigenvalue_,
            "goodness of fit": self.goodness_of_fit_,
            "significant dimensions": self.dimensionality_,
        }
        if self.add_constant:
            facts["additive constant"] = self.additive_constant_
        if self.landmarks_ is not None:
            facts["landmarks"] = len(self.landmarks_)
        return facts

    def _placing(self) -> Callable[[Array], Array]:
        if hasattr(self, "components_"):
            return Affine(self.components_.T, self.mean_)
        columns = self.landmarks_ if self.points_ is None else None
        measure = self._distances_to(self.points_)
        return Placement(self.weights_, self.mean_squares_, measure, columns, self.additive_constant_, self.unit_)

    def _kept_points(self) -> int:
        return self.n_features_in_ if hasattr(self, "components_") else int(self.weights_.shape[0])

    def _placed(self, place: Callable[[Array], Array], rows: Rows, run: Run) -> Array:
        """The coordinates of all rows, at hand also where the rows are not."""
        width = self.n_components if isinstance(place, Affine) else self._kept_points()
        Z = run.gather(place, in_slabs(rows, width), self.n_components, name="placing rows")
        return to_numpy(Z) if is_dask(Z) else Z
