"""Linear autoencoders, learnt by gradient descent."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lowland.arrays.namespace import xp_of
from lowland.arrays.precision import result_dtype
from lowland.blocks.networks.linear_autoencoder import (
    LinearCoder,
    linear_autoencoder,
    shuffled_batches,
    untrained,
)
from lowland.blocks.optimize.outcome import Divergence
from lowland.blocks.statistics.moments import Moments
from lowland.data.rows import Rows
from lowland.errors import DataWarning, ParameterError, warn
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.linear_map import Affine
from lowland.methods.base.moments_map import MomentsMap
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run


class LinearAutoencoder(
    MomentsMap,
    verb="linear-autoencoder",
    streams=True,
    takes_sparse=True,
    tolerance=1e-9,
    study=StudyHints(why_left_out="Its codes span the plane of PCA."),
):
    """Linear autoencoder: encoder and decoder learnt by gradient descent, which finds the plane that PCA solves for.

    Problem: over a decoder D and codes z_i of k numbers, minimize the mean of |x_i - mean - D z_i|². The codes are
    z = D'(x - mean) (tied), z = E(x - mean) with an encoder of its own (untied), or the best for each row
    (least_squares). No column is asked to be orthogonal to another; the best plane is that of PCA all the same.

    1. Sum the moments of the rows (``blocks.statistics.moments``): the loss of all rows is a function of their
       covariance.
    2. Start from random weights (``blocks.networks.linear_autoencoder``).
    3. Descend: with all rows, accelerated; with mini-batches, by gradients of reduced variance
       (``blocks.optimize.gradient_descent``).
    4. Codes are z = E(x - mean); the way back is x = mean + Dz.

    Cost: one pass and n d² operations, then 2 d² k a step; with mini-batches 4 n d k and a pass an epoch; memory d².
    Steps grow with λ_1 / (λ_k - λ_k+1). Prefer ``PCA`` for the answer alone: it needs no descent, and orders the axes.

    Attributes: ``encoder_`` (k, d), ``decoder_`` (d, k), ``mean_``, ``loss_``, ``trace_`` (the loss at the start and
    after each iteration), ``n_iter_``, ``converged_``, ``learning_rate_`` (the step used), ``n_samples_``, and with
    least-squares codes of rows in memory ``codes_`` (n, k).

    Reference: Baldi and Hornik 1989, doi:10.1016/0893-6080(89)90014-2; Bourlard and Kamp 1988, doi:10.1007/BF00332918.

    Examples
    --------
    >>> from lowland import PCA, LinearAutoencoder
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> model = LinearAutoencoder(2).fit(X)
    >>> round(model.loss_, 6) == round(PCA(2).fit(X).distortion(), 6)
    True
    """

    n_components: int = param(2, "Numbers in a code.", at_least=1, positional=True)
    encoder: Literal["tied", "untied", "least_squares"] = param(
        "tied",
        "How a row is coded: by the decoder's transpose, by an encoder of its own, or by the code that suits it best.",
    )
    batch_size: int | None = param(
        None, "Rows in a mini-batch, shuffled by the seed; None takes every step with all rows.", at_least=1
    )
    learning_rate: float | Literal["auto"] = param(
        "auto", "Length of a step per unit of gradient; 'auto' suits the largest eigenvalue of the covariance.", above=0
    )
    max_iter: int = param(10_000, "Steps at most; with mini-batches, epochs.", at_least=1)
    tol: float = param(
        1e-9,
        "Norm of the gradient, as a share of the least variance of a code, at which the descent has arrived.",
        at_least=0,
    )
    random_state: RandomState = param(None, "Seed of the start and of the batches.", at_least=0)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of X; ``sample_weight`` counts repetitions, in steps that are taken with all rows."""
        if sample_weight is not None and self.batch_size is not None:
            raise ParameterError("Mini-batches take no sample_weight. Leave batch_size=None, or repeat the rows.")
        return self._fit(X, y, sample_weight)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Moments of the rows, then the descent; least-squares codes are kept where the rows lie in memory."""
        d = rows.d
        self._check_width(d)
        run.require(3 * 8 * d**2, f"The {d} x {d} covariance", "Use PCA(svd_solver='randomized')")
        self._moments, self._dtype = run.fold(rows, Moments.of, weights, name="summing moments"), rows.dtype
        self._learn(self._moments, run, rows)
        if self.encoder == "least_squares" and rows.in_memory:
            self.codes_ = run.gather(self._encoding(), rows, self.n_components, name="coding rows")

    def _solve_moments(self, moments: Moments, run: Run) -> None:
        """The same from moments that partial_fit has merged: the rows are gone, so every step is taken with all."""
        self._check_width(moments.mean.shape[0])
        self._learn(moments, run, None)

    def _check_width(self, d: int) -> None:
        if self.n_components > d:
            raise ParameterError(
                f"LinearAutoencoder(n_components={self.n_components}): n_features={d}. Choose at most {d}."
            )

    def _learn(self, moments: Moments, run: Run, rows: Rows | None) -> None:
        """Start and descend, with mini-batches of the rows if there are any and a size is given."""
        rng = self._generator()
        S = moments.covariance * ((moments.n - 1) / moments.n)  # divisor n: the loss is a mean over the rows
        if not bool(xp_of(S).any(moments.variances > 0)):
            warn(
                "The rows do not vary: every column is constant, or varies too little to be squared. Nothing is "
                "learnt.",
                DataWarning,
            )
            return self._keep(untrained(S, self.n_components, self.encoder, rng), moments)
        size = 0 if self.batch_size is None else min(self.batch_size, moments.rows)
        batches = None
        if rows is not None and size:
            batches = partial(shuffled_batches, rows, run, moments.mean, size, rng)
        try:
            found = linear_autoencoder(
                S,
                self.n_components,
                encoder=self.encoder,
                step=None if self.learning_rate == "auto" else float(self.learning_rate),
                tol=self.tol,
                max_iter=self.max_iter,
                batches=batches,
                batch_size=size,
                rng=rng,
                run=run,
            )
        except Divergence as error:
            raise ParameterError(
                f"learning_rate={self.learning_rate:g}: {error} of the variance. Choose a smaller learning_rate, or "
                "'auto'."
            ) from error
        self._keep(found, moments)

    def _keep(self, found: LinearCoder, moments: Moments) -> None:
        """Set the fitted attributes, in the precision of the data; warn where the descent stopped too early."""
        xp = xp_of(found.D)
        kind = result_dtype(xp, self._dtype)
        self.mean_ = moments.mean
        self.decoder_ = xp.astype(found.D, kind)  # (d, k)
        self.encoder_ = xp.astype(found.F.T, kind)  # (k, d)
        self.trace_, self.loss_ = found.outcome.trace, found.loss
        self.n_iter_, self.converged_ = found.outcome.iterations, found.outcome.converged
        self.learning_rate_ = found.step
        self.n_samples_ = moments.rows
        if not self.converged_:
            what = "steps" if self.batch_size is None else "epochs"
            warn(
                f"LinearAutoencoder: the descent stopped after {self.n_iter_} {what} before it arrived. Raise "
                "max_iter or tol, or scale the columns: one that varies far more than the others makes steps short.",
                ConvergenceWarning,
            )

    def _encoding(self) -> Affine:
        return Affine(self.encoder_.T, self.mean_)

    def _decoding(self) -> Affine:
        return Affine(self.decoder_.T, None, self.mean_)

    def encode(self, X: Any) -> Any:
        """Return the codes of the rows of X, (n, k): another name for ``transform``."""
        return self.transform(X)

    def decode(self, Z: Any) -> Any:
        """Return the rows that codes stand for, (n, d): another name for ``inverse_transform``."""
        return self.inverse_transform(Z)

    def _facts(self) -> dict[str, Any]:
        self._solve_pending()
        n, variances = self._moments.n, self._moments.variances
        total = float(xp_of(variances).sum(variances)) * (n - 1) / n  # divisor n, as in the loss
        kept = 1 - self.loss_ / total if total > 0 else None
        return {"loss": self.loss_, "share of variance kept": kept, "learning rate": self.learning_rate_}
