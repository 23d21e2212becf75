"""Linear autoencoders, trained by gradient descent."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array, result_dtype, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataWarning, ParameterError, warn
from lowland.math.networks.linear_autoencoder import (
    LinearCoder,
    linear_autoencoder,
    shuffled_batches,
    untrained,
)
from lowland.math.optimize.outcome import Divergence
from lowland.math.spectra.operators import Affine
from lowland.math.statistics.moments import Moments
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, positional, refusal
from lowland.methods.base.method import RandomState, attribute, param
from lowland.methods.base.moments import MomentsMethod
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run


class LinearAutoencoder(
    MomentsMethod,
    verb="linear-autoencoder",
    title="linear autoencoder",
    group="Linear",
    cost=costs.linear_network,
    linear=True,
    streams=True,
    takes_sparse=True,
    tolerance=1e-9,
    study=StudyHints(why_left_out="Its codes span the same subspace as PCA."),
):
    """Linear autoencoder: a linear encoder and decoder, trained by gradient descent, that find the PCA subspace.

    A decoder D (d, k) and codes z_i of k numbers minimize the mean squared reconstruction error,

        min (1/n) Σ_i |x_i - mean - D z_i|²

    The codes are z = D'(x - mean) (``"tied"``), z = E(x - mean) with a separate encoder E (``"untied"``), or the
    least-squares solution for each point (``"least_squares"``). No orthogonality is imposed, but the optimal subspace
    is that of PCA.

    1. Accumulate the moments of the data: the loss depends on the points only through their covariance.
    2. Initialize the weights at random.
    3. Minimize the loss: with all points by accelerated gradient descent, with mini-batches by variance-reduced
       stochastic gradient descent.
    4. The codes are z = E(x - mean). The inverse transform is x = mean + Dz.

    See Also
    --------
    PCA : the optimum in closed form.
    Autoencoder : nonlinear layers.

    Notes
    -----
    The number of steps grows with λ_1 / (λ_k - λ_k+1), so standardize columns whose scales differ.

    Prefer ``PCA`` for the result itself: it needs no iteration and orders its axes by variance.

    References
    ----------
    .. [1] Baldi and Hornik (1989). Neural networks and principal component analysis: learning from examples without
       local minima. Neural Networks 2. doi:10.1016/0893-6080(89)90014-2
    .. [2] Bourlard and Kamp (1988). Auto-association by multilayer perceptrons and singular value decomposition.
       Biological Cybernetics 59. doi:10.1007/BF00332918
    .. [3] Johnson and Zhang (2013). Accelerating stochastic gradient descent using predictive variance reduction.
       Advances in Neural Information Processing Systems 26.

    Examples
    --------
    >>> from lowland import PCA, LinearAutoencoder
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> model = LinearAutoencoder(2).fit(X)
    >>> round(model.loss_, 6) == round(PCA(2).fit(X).distortion(), 6)
    True
    """

    n_components: int = positional(2, "Number of components: the length of a code.", at_least=1)
    encoder: Literal["tied", "untied", "least_squares"] = param(
        "tied",
        "How codes are computed: by the transpose of the decoder ('tied'), by a separate encoder ('untied'), or "
        "by least squares for each point ('least_squares').",
    )
    batch_size: int | None = param(None, "Points per mini-batch. None uses all points in every step.", at_least=1)
    learning_rate: float | Literal["auto"] = param(
        "auto",
        "Learning rate. A larger one converges faster until the loss increases, which is an error. 'auto' takes "
        "it from the largest eigenvalue of the covariance.",
        above=0,
    )
    max_iter: int = param(10_000, "Maximum number of iterations, or of epochs with mini-batches.", at_least=1)
    tol: float = param(
        1e-9,
        "Tolerance: norm of the gradient, relative to the smallest variance of a component. A smaller one takes "
        "more iterations.",
        at_least=0,
    )
    random_state: RandomState = param(None, "Seed of the initialization and the mini-batches.", at_least=0)

    encoder_: Array = attribute("Encoder matrix E.", "(n_components, n_features_in_)")
    decoder_: Array = attribute("Decoder matrix D.", "(n_features_in_, n_components)")
    mean_: Array = attribute("Mean of each column.", "(n_features_in_,)")
    loss_: float = attribute("Mean squared reconstruction error of a point.")
    codes_: Array = attribute(
        "Least-squares codes of the training points.",
        "(n_samples_, n_components)",
        when="with encoder='least_squares' and rows in memory",
    )
    trace_: tuple[float, ...] = attribute("Loss at the initialization and after each iteration or epoch.")
    n_iter_: int = attribute("Number of iterations, or of epochs with mini-batches.")
    converged_: bool = attribute("Whether the norm of the gradient fell below the tolerance.")
    learning_rate_: float = attribute("Learning rate that was used.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of X. A row of ``sample_weight`` w counts as w identical rows, but not with mini-batches."""
        if sample_weight is not None and self.batch_size is not None:
            reason, remedy = (
                "mini-batches do not support `sample_weight`.",
                "Set `batch_size=None`, or repeat the rows.",
            )
            raise ParameterError(reason, remedy, method="LinearAutoencoder", batch_size=self.batch_size)
        return self._fit(X, y, sample_weight)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        d = rows.d
        check_most(self, "n_components", d, f"the data has {d} columns (`n_features={d}`).")
        self._fitted.moments = run.fold(rows, Moments.of, weights, name="summing moments")
        self._fitted.dtype = rows.dtype
        self._learn(self._fitted.moments, run, rows)
        if self.encoder == "least_squares" and rows.in_memory:
            self.codes_ = run.gather(self._encoding(), rows, self.n_components, name="encoding rows")

    def _solve_moments(self, moments: Moments, run: Run) -> None:
        """Solve from the moments that partial_fit merged. The rows are no longer available, so no mini-batches."""
        d = moments.mean.shape[0]
        check_most(self, "n_components", d, f"the data has {d} columns (`n_features={d}`).")
        self._learn(moments, run, None)

    def _learn(self, moments: Moments, run: Run, rows: Rows | None) -> None:
        """Initialize and minimize the loss, with mini-batches if rows are available and ``batch_size`` is set."""
        rng = self._generator()
        S = moments.covariance * ((moments.n - 1) / moments.n)  # divisor n: the loss is a mean over the rows
        if not bool(xp_of(S).any(moments.variances > 0)):
            warn(
                "Every column is constant, or its variance underflows. The autoencoder learns nothing. Check the data.",
                DataWarning,
            )
            return self._keep(untrained(S, self._params.n_components, self._params.encoder, rng), moments)
        size = 0 if self._params.batch_size is None else min(self._params.batch_size, moments.rows)
        batches = None
        if rows is not None and size:
            batches = partial(shuffled_batches, rows, run, moments.mean, size, rng)
        try:
            found = linear_autoencoder(
                S,
                self._params.n_components,
                encoder=self._params.encoder,
                step=None if self._params.learning_rate == "auto" else float(self._params.learning_rate),
                tol=self._params.tol,
                max_iter=self._params.max_iter,
                batches=batches,
                batch_size=size,
                rng=rng,
                run=run,
            )
        except Divergence as error:
            remedy = "Choose a smaller `learning_rate`, or 'auto'."
            raise refusal(self, f"{error} of the variance.", remedy, "learning_rate") from error
        self._keep(found, moments)

    def _keep(self, found: LinearCoder, moments: Moments) -> None:
        xp = xp_of(found.D)
        kind = result_dtype(xp, self._fitted.dtype)
        self.mean_ = moments.mean
        self.decoder_ = xp.astype(found.D, kind)  # (d, k)
        self.encoder_ = xp.astype(found.F.T, kind)  # (k, d)
        self.trace_, self.loss_ = found.outcome.trace, found.loss
        self.converged_ = found.outcome.converged
        self.learning_rate_ = found.step
        self.n_samples_ = moments.rows
        what = "iterations" if self._params.batch_size is None else "epochs"
        self._record_convergence(
            found.outcome,
            "Raise `max_iter` or `tol`, or scale the columns: one column of much larger variance slows convergence.",
            problem=f"LinearAutoencoder did not converge: it stopped after {found.outcome.iterations} {what}.",
        )

    def _encoding(self) -> Affine:
        return Affine(self.encoder_.T, self.mean_)

    def _decoding(self) -> Affine:
        return Affine(self.decoder_.T, None, self.mean_)

    def encode(self, X: Any) -> Any:
        """Return the codes of the rows of X, (n, k). Same as ``transform``."""
        return self.transform(X)

    def decode(self, Z: Any) -> Any:
        """Return the rows reconstructed from codes, (n, d). Same as ``inverse_transform``."""
        return self.inverse_transform(Z)

    def _facts(self) -> dict[str, Any]:
        self._solve_pending()
        n, variances = self._fitted.moments.n, self._fitted.moments.variances
        total = float(xp_of(variances).sum(variances)) * (n - 1) / n  # divisor n, as in the loss
        kept = 1 - self.loss_ / total if total > 0 else None
        return {"loss": self.loss_, "explained variance ratio": kept, "learning rate": self.learning_rate_}
