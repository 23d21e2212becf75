"""Autoencoders: networks that give their input back through a narrow layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lowland.arrays.engines import Engine, choose_engine
from lowland.arrays.namespace import Array, like, on_accelerator, xp_of
from lowland.arrays.precision import result_dtype
from lowland.blocks.distances.to_points import in_slabs
from lowland.blocks.networks.batches import Extremes, Feed, InputScaling, Noise, choose_held, double_moments
from lowland.blocks.networks.layers import Net, NetworkErrors, NetworkLoss, Passage, Sparsity, widths_of
from lowland.blocks.networks.training import (
    LITTLE,
    TrainingResult,
    TrainingSchedule,
    threads_for,
    train_by_batches,
    train_whole,
)
from lowland.blocks.statistics.moments import ColumnMoments
from lowland.data.rows import Rows, slab_rows
from lowland.errors import DataWarning, ParameterError, warn
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.row_map import RowMap
from lowland.run.run import Run

_SMALL = 2**15  # values in a table that is trained with all rows at once
_ITERATIONS, _EPOCHS, _STEPS = 5000, 50, 3000  # at most, unless told; of few batches more epochs
_PATIENCE = 0.4  # of the epochs: so long without gain ends training, unless told
_PAUSE = 100  # iterations with all rows: the same
_SHAPE = "a whole number, several such as (512, 256), or None"


class Autoencoder(RowMap, verb="autoencoder", streams=True, order_free=False):
    """Autoencoder: a network that gives its input back through a narrow layer; what passes there is the code of a row.

    Problem: over an encoder f to k numbers and a decoder g, each a few layers h -> bend(hW + b), minimise the mean of
    |x_i - g(f(x_i))|². Without bends the best it can do is PCA's plane; with them it follows curved surfaces.

    1. Center the rows and divide them by one number (``blocks.networks.batches``); hold some out.
    2. Start from random weights (``blocks.networks.layers``).
    3. Descend: few rows by L-BFGS, all of them at every step; many by Adam, in shuffled batches (``blocks.networks.training``).
    4. Stop when the rows held out gain no more, and keep the weights that were best for them.
    5. Codes are z = f(x); the way back is g(z).

    Cost: 6 n w operations and one pass over the rows an epoch, w weights; memory w and a window of rows. Prefer ``PCA``
    wherever its error will do: it has no seed, no schedule, and axes that mean something.

    Attributes: ``encoder_`` and ``decoder_`` (a pair of weights and biases a layer), ``activations_`` (one a layer),
    ``center_``, ``scale_``, ``output_stretch_``, ``output_offset_``, ``loss_`` and ``held_out_loss_`` (mean squared
    error of the weights kept), ``trace_`` and ``held_out_trace_`` (what each iteration minimised, noise and the price
    of codes included), ``best_iter_``, ``n_iter_``,
    ``converged_``, ``stopped_because_``, ``optimizer_``, ``engine_``, ``n_samples_``.

    Reference: Hinton and Salakhutdinov 2006, doi:10.1126/science.1127647; Kramer 1991, doi:10.1002/aic.690370209.

    Examples
    --------
    >>> from lowland import Autoencoder, PCA
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("swiss_roll", n=1000, seed=0).X
    >>> model = Autoencoder(2, hidden_layer_sizes=(40, 20), random_state=0).fit(X)
    >>> bool(model.reconstruction_error(X).mean() < PCA(2).fit(X).distortion() / 2)
    True
    """

    n_components: int = param(2, "Numbers in a code: the width of the narrow layer.", at_least=1, positional=True)
    hidden_layer_sizes: int | Sequence[float] | np.ndarray | None = param(
        None, "Widths of the encoder's hidden layers; None: one, of twice the columns (16 to 512).", wanted=_SHAPE
    )
    decoder_layer_sizes: int | Sequence[float] | np.ndarray | None = param(
        None, "Widths of the decoder's hidden layers; None: the encoder's, turned round.", wanted=_SHAPE
    )
    activation: Literal["silu", "relu", "elu", "tanh", "logistic", "identity"] = param(
        "silu", "How hidden layers bend; 'identity': not at all, as PCA."
    )
    code_activation: Literal["identity", "relu", "tanh", "logistic"] = param("identity", "How the code bends.")
    output_activation: Literal["identity", "logistic", "tanh", "relu"] = param(
        "identity", "How the last layer bends; what it gives is stretched to the range of the values, so stays in it."
    )
    solver: Literal["auto", "lbfgs", "adam"] = param(
        "auto", "With all rows at every step, or in batches; 'auto': lbfgs for small tables without noise."
    )
    engine: Literal["auto", "torch", "numpy"] = param(
        "auto", "Library that trains; 'auto': numpy with lbfgs or small networks, else torch if installed."
    )
    device: str | None = param(None, "Device of torch, such as 'cpu' or 'cuda'; None: where the rows lie.")
    batch_size: int = param(256, "Adam: rows in a batch.", at_least=1)
    learning_rate: float = param(3e-3, "Adam: largest learning rate.", above=0)
    schedule: Literal["one-cycle", "cosine", "constant"] = param(
        "one-cycle", "Adam: how the learning rate goes over max_iter epochs."
    )
    max_iter: int | None = param(
        None, "Epochs at most; None: 50, or 3000 batches. With lbfgs iterations; None: 5000.", at_least=1
    )
    validation_fraction: float = param(
        0.1, "Share of the rows held out to tell when to stop; 0: none.", at_least=0, at_most=0.9
    )
    n_iter_no_change: int | None = param(
        None, "Epochs without gain that end training; None: 20, or 1200 batches. With lbfgs iterations; None: 100.",
        at_least=1,
    )  # fmt: skip
    tol: float = param(1e-4, "Share of itself by which the loss must fall to count as a gain.", at_least=0, at_most=1)
    noise: float = param(
        0.0, "Denoising: deviation of gaussian noise in scale_, or share of the values that are masked.", at_least=0
    )
    noise_kind: Literal["gaussian", "masking"] = param("gaussian", "What is done to rows before the network sees them.")
    sparsity: float = param(0.0, "Sparse codes: weight of their price.", at_least=0)
    sparsity_kind: Literal["l1", "kl"] = param(
        "l1", "A price on the size of codes, or on units of a logistic code that answer too often."
    )
    sparsity_target: float = param(0.05, "kl: share of the rows a unit should answer.", above=0, at_most=0.99)
    random_state: RandomState = param(None, "Seed of the weights, the rows held out, batches and noise.", at_least=0)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Moments of the columns, the network, the rows held out, and the descent."""
        self._check_choices(rows.d)
        columns = run.fold(rows, double_moments, name="summing columns")
        if not bool(xp_of(columns.mean).any(columns.variances > 0)):
            warn(
                "The rows do not vary: every column is constant, or varies too little to be squared. Nothing is "
                "learnt. Check the data, or multiply it by a large number.",
                DataWarning,
            )
        frame, n, rng = InputScaling.of(columns), columns.rows, self._generator()
        solver = self._choose_solver(n, rows.d)
        loss = self._objective(rows, run, frame)
        start = loss.net.start(rng)
        work = len(start) * (n if solver == "lbfgs" else min(self.batch_size, n))  # of a step
        engine = self._choose_engine(solver, columns.mean, work)
        held = choose_held(n, self.validation_fraction, slab_rows(rows.d, 8), rng)
        feed = Feed(rows, run, n, frame, engine, held, min(self.batch_size, n))
        pace = self._pace(solver, feed.steps)
        with threads_for(engine, work, run):
            if solver == "lbfgs":
                found = train_whole(start, loss, feed, pace, run)
            else:
                noise = Noise(self.noise_kind, self.noise) if self.noise else None
                found = train_by_batches(start, loss, feed, noise, rng, pace, run)
        self._keep(found, loss, frame, rows, columns)
        self.optimizer_, self.engine_ = solver, f"{engine.name} on {engine.device}"

    # --- choices ---

    def _check_choices(self, d: int) -> None:
        k = self.n_components
        if k > d and not (self.noise or self.sparsity):
            raise ParameterError(
                f"Autoencoder(n_components={k}): n_features={d}, so rows would pass through unchanged. Choose at most "
                f"{d}, or ask more of the codes with noise or sparsity."
            )
        if self.noise and self.solver == "lbfgs":
            raise ParameterError(
                "Autoencoder(solver='lbfgs') shows the network the same rows at every step, and noise must be new each "
                "time. Choose solver='adam'."
            )
        if self.noise > 1 and self.noise_kind == "masking":
            raise ParameterError(f"Autoencoder(noise={self.noise}): a share that is masked lies between 0 and 1.")
        if self.sparsity and self.sparsity_kind == "kl" and self.code_activation != "logistic":
            raise ParameterError(
                "Autoencoder(sparsity_kind='kl') counts how often units answer, so codes must lie between 0 and 1. Add "
                "code_activation='logistic', or choose sparsity_kind='l1'."
            )

    def _choose_solver(self, n: int, d: int) -> Literal["lbfgs", "adam"]:
        if self.solver != "auto":
            return self.solver
        return "lbfgs" if n * d <= _SMALL and not self.noise else "adam"

    def _pace(self, solver: str, steps: int) -> TrainingSchedule:
        whole = solver == "lbfgs"
        usual = _ITERATIONS if whole else max(_EPOCHS, _STEPS // steps)
        patience = self.n_iter_no_change or (_PAUSE if whole else int(_PATIENCE * usual))
        return TrainingSchedule(self.max_iter or usual, patience, self.tol, self.learning_rate, self.schedule)

    def _choose_engine(self, solver: str, home: Array, work: int) -> Engine:
        """Numpy for what is soon done, unless the rows lie on a device, or one is asked for."""
        soon = (solver == "lbfgs" or work <= LITTLE) and not on_accelerator(home)
        asked = "numpy" if self.engine == "auto" and soon and self.device is None else self.engine
        return choose_engine(asked, self.device, home, "float64" if solver == "lbfgs" else "float32")

    def _objective(self, rows: Rows, run: Run, frame: InputScaling) -> NetworkLoss:
        """The network and what it is asked for; a last layer that bends is stretched to the range of the values."""
        name, d, bend = type(self).__name__, rows.d, self.output_activation
        coding = widths_of(self.hidden_layer_sizes, d, name, "hidden_layer_sizes")
        decoding = coding[::-1]
        if self.decoder_layer_sizes is not None:
            decoding = widths_of(self.decoder_layer_sizes, d, name, "decoder_layer_sizes")
        net = Net.of(d, coding, self.n_components, decoding, (self.activation, self.code_activation, bend))
        price = Sparsity(self.sparsity_kind, self.sparsity, self.sparsity_target) if self.sparsity else None
        loss = NetworkLoss(net, sparsity=price)
        if bend == "identity":
            return loss
        seen = run.fold(rows, Extremes.of, name="finding the range")
        return loss.within(seen.low, seen.high, frame)

    # --- what is kept ---

    def _keep(
        self, found: TrainingResult, loss: NetworkLoss, frame: InputScaling, rows: Rows, columns: ColumnMoments
    ) -> None:
        """Set the fitted attributes, the weights in the precision and the library of the rows."""
        home = columns.mean
        xp = xp_of(home)
        kind = result_dtype(xp, rows.dtype)
        layers = tuple((like(W, home, kind), like(b, home, kind)) for W, b in loss.net.layers(found.theta))
        self.encoder_, self.decoder_ = layers[: loss.net.code], layers[loss.net.code :]
        self.activations_ = loss.net.bends
        self.center_, self.scale_ = like(frame.center, home), frame.unit
        ground = 0.0 if loss.offset is None else frame.unit * loss.offset
        self.output_stretch_, self.output_offset_ = loss.stretch * frame.unit, like(frame.center + ground, home)
        total = rows.d * frame.unit**2  # a loss of one in the units of the rows
        self.trace_ = tuple(total * value for value in found.trace)
        self.held_out_trace_ = tuple(total * value for value in found.held_trace)
        self.best_iter_, self.n_iter_ = found.best, found.iterations
        self.loss_ = total * found.lost
        self.held_out_loss_ = None if found.held_lost is None else total * found.held_lost
        untaught = found.lost >= 1 and bool(xp.any(columns.variances > 0))
        self.converged_, self.stopped_because_ = found.converged and not untaught, found.reason
        self.n_samples_ = columns.rows
        if not self.converged_:
            bad = f"has learnt nothing ({found.lost:.2f} of the variance is lost)" if untaught else "had not converged"
            warn(
                f"Autoencoder: the network {bad} when {found.reason}. Raise max_iter, or with solver='adam' choose "
                "another learning_rate, or schedule='one-cycle', which lowers it at the end.",
                ConvergenceWarning,
            )

    # --- rows and codes ---

    def _encoding(self) -> Passage:
        return Passage(self.encoder_, self.activations_[: len(self.encoder_)], self.center_, self.scale_)

    def _decoding(self) -> Passage:
        bends = self.activations_[len(self.encoder_) :]
        return Passage(self.decoder_, bends, stretch=self.output_stretch_, offset=self.output_offset_)

    def _encoding_width(self) -> int:
        return int(self.encoder_[-1][1].shape[0])

    def _rows_to_map(self, X: Any) -> tuple[Rows, Run]:
        rows, run = super()._rows_to_map(X)
        return in_slabs(rows, self._encoding().widest), run

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        rows, run = super()._rows_to_decode(Z)
        return in_slabs(rows, self._decoding().widest), run

    def encode(self, X: Any) -> Any:
        """Return the codes of the rows of X, (n, k): another name for ``transform``."""
        return self.transform(X)

    def decode(self, Z: Any) -> Any:
        """Return the rows that codes stand for, (n, d): another name for ``inverse_transform``."""
        return self.inverse_transform(Z)

    def reconstruction_error(self, X: Any) -> Any:
        """Return |x - x̂|² for each row of X, (n,): rows far above the mean do not look like those fitted."""
        rows, run = self._rows_to_map(X)
        rows = in_slabs(rows, self._decoding().widest)
        return run.gather(NetworkErrors(self._encoding(), self._decoding()), rows, 1, name="measuring rows")[:, 0]

    def _facts(self) -> dict[str, Any]:
        widths = [self.n_features_in_, *(int(b.shape[0]) for _, b in (*self.encoder_, *self.decoder_))]
        facts = {
            "widths": "-".join(str(width) for width in widths),
            "trained by": f"{self.optimizer_}, {self.engine_}",
            "mean squared error": self.loss_,
        }
        return facts if self.held_out_loss_ is None else {**facts, "the same, of rows held out": self.held_out_loss_}
