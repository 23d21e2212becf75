"""Autoencoders: neural networks trained to reconstruct their input through a bottleneck layer."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.engines import choose_engine
from lowland.arrays.namespace import Array, like, on_accelerator, result_dtype, xp_of
from lowland.data.rows import Rows, in_slabs, slab_rows
from lowland.errors import DataWarning, ParameterError, warn
from lowland.math.networks.network import Activation, FeedForward, Network, NetworkLoss, ReconstructionErrors, Sparsity
from lowland.math.networks.training import (
    LITTLE,
    MiniBatches,
    Noise,
    TrainingResult,
    TrainingSchedule,
    choose_validation_rows,
    double_moments,
    rounded_scaling,
    threads_for,
    train_by_adam,
    train_by_lbfgs,
)
from lowland.math.optimize.outcome import Divergence, Snapshot, Watch
from lowland.math.statistics.moments import ColumnMoments
from lowland.math.statistics.rescaling import UniformScaling, ValueRange
from lowland.methods.base import costs
from lowland.methods.base.choices import positional, refusal
from lowland.methods.base.method import InvertibleMethod, RandomState, attribute, param
from lowland.methods.base.traits import Callback, StudyHints
from lowland.run.run import Run

_SMALL = 2**15  # largest number of values in a table for which L-BFGS is the default
_ITERATIONS, _EPOCHS, _STEPS = 5000, 50, 3000  # defaults of max_iter; at least so many mini-batches in all
_PATIENCE = 0.4  # default of n_iter_no_change with Adam, as a fraction of max_iter
_PAUSE = 100  # default of n_iter_no_change with L-BFGS
_STUDY_WORK, _FEWEST_EPOCHS = 2e11, 10  # operations of a study without torch, about ten seconds; epochs worth a trial
_SHAPE = "an integer, several integers such as (512, 256), or None"


def _limited_in_a_study(n: int, d: int) -> tuple[dict[str, Any] | None, str] | None:
    """Limit the epochs where training without torch would take minutes."""
    if n * d <= _SMALL or importlib.util.find_spec("torch") is not None:
        return None
    (hidden,) = layer_widths(None, d, "hidden_layer_sizes")
    epochs = int(_STUDY_WORK / (6 * n * 2 * d * hidden))
    usual = max(_EPOCHS, _STEPS * 256 // n)
    if epochs >= usual:
        return None
    if epochs < _FEWEST_EPOCHS:
        return None, "Without torch, training on this table takes minutes. Install torch, or name the method."
    return {"max_iter": epochs}, f"Trained for {epochs} epochs instead of {usual}, because torch is not installed."


class Autoencoder(
    InvertibleMethod,
    verb="autoencoder",
    title="autoencoder",
    group="Networks and prototypes",
    cost=costs.network,
    streams=True,
    order_free=False,
    study=StudyHints(limited=_limited_in_a_study),
):
    """Autoencoder: a neural network trained to reconstruct its input from a low-dimensional code.

    An encoder f from d columns to k numbers and a decoder g back to d columns, each made of layers
    h -> activation(hW + b), minimize the mean squared reconstruction error,

        min (1/n) Σ_i |x_i - g(f(x_i))|²

    With identity activations the optimum is the subspace of PCA. Nonlinear activations can follow curved surfaces.

    1. Center the points and divide them by one scale factor. Hold out validation points.
    2. Initialize the weights at random.
    3. Minimize the loss: small tables by L-BFGS with all points in every step, larger ones by Adam with shuffled
       mini-batches.
    4. Early stopping: stop when the validation loss no longer decreases, and keep the weights with the lowest one.
    5. The code of a point is z = f(x). The inverse transform is g(z).

    See Also
    --------
    PCA : the best linear code.
    LinearAutoencoder : the same without nonlinear layers.

    Notes
    -----
    The columns keep their proportions: standardize them first if their units of measurement differ. Results depend on
    ``random_state``. Compare ``validation_loss_`` with the error of PCA before you rely on the codes. Prefer ``PCA``
    where its reconstruction error is low enough: it has no seed and no schedule, and its axes are ordered.

    References
    ----------
    .. [1] Hinton and Salakhutdinov (2006). Reducing the dimensionality of data with neural networks. Science 313.
       doi:10.1126/science.1127647
    .. [2] Kramer (1991). Nonlinear principal component analysis using autoassociative neural networks. AIChE Journal
       37. doi:10.1002/aic.690370209
    .. [3] Vincent et al. (2010). Stacked denoising autoencoders. Journal of Machine Learning Research 11.

    Examples
    --------
    >>> from lowland import Autoencoder, PCA
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("swiss_roll", n=400, seed=0).X
    >>> model = Autoencoder(2, hidden_layer_sizes=(20, 10), random_state=0).fit(X)
    >>> bool(model.reconstruction_error(X).mean() < PCA(2).fit(X).distortion() / 2)
    True
    """

    n_components: int = positional(
        2,
        "Width of the bottleneck layer: the length of a code. More components reconstruct more accurately and "
        "compress less.",
        at_least=1,
    )
    hidden_layer_sizes: int | Sequence[float] | np.ndarray | None = param(
        None,
        "Widths of the hidden layers of the encoder. Wider and more layers can follow more strongly curved "
        "surfaces, but need more points and time. None means one layer, twice the columns wide (16 to 512).",
        wanted=_SHAPE,
    )
    decoder_layer_sizes: int | Sequence[float] | np.ndarray | None = param(
        None,
        "Widths of the hidden layers of the decoder. None means those of the encoder in reverse order.",
        wanted=_SHAPE,
    )
    activation: Literal["silu", "relu", "elu", "tanh", "logistic", "identity"] = param(
        "silu", "Activation of the hidden layers. 'identity' makes the network linear, like PCA."
    )
    code_activation: Literal["identity", "relu", "tanh", "logistic"] = param(
        "identity", "Activation of the bottleneck layer."
    )
    output_activation: Literal["identity", "logistic", "tanh", "relu"] = param(
        "identity", "Activation of the output layer. A bounded one is scaled to the range of the training data."
    )
    solver: Literal["auto", "lbfgs", "adam"] = param(
        "auto",
        "Optimizer: 'lbfgs' uses all points in every step, 'adam' uses mini-batches. 'auto' takes 'lbfgs' for "
        "small tables without noise.",
    )
    engine: Literal["auto", "torch", "numpy"] = param(
        "auto",
        "Library for training. 'auto' takes numpy for lbfgs and for small networks, otherwise torch if it is "
        "installed.",
    )
    device: str | None = param(None, "Device of torch, such as 'cpu' or 'cuda'. None means the device of the data.")
    batch_size: int = param(
        256, "Adam: points per mini-batch. Larger batches make an epoch faster, but take fewer steps in it.", at_least=1
    )
    learning_rate: float = param(
        3e-3, "Adam: maximum learning rate. A larger rate learns faster until training becomes unstable.", above=0
    )
    schedule: Literal["one-cycle", "cosine", "constant"] = param(
        "one-cycle", "Adam: schedule of the learning rate over max_iter epochs."
    )
    max_iter: int | None = param(
        None,
        "Maximum number of epochs. None means 50, or as many as give 3000 mini-batches. With lbfgs: of "
        "iterations, 5000.",
        at_least=1,
    )
    validation_fraction: float = param(
        0.1,
        "Fraction of the points held out for early stopping. With 0, training does not stop early.",
        at_least=0,
        at_most=0.9,
    )
    n_iter_no_change: int | None = param(
        None,
        "Early stopping: number of epochs without improvement. None means 20, "
        "or as many as give 1200 mini-batches. With lbfgs: iterations, 100.",
        at_least=1,
    )
    tol: float = param(1e-4, "Relative decrease of the loss that counts as an improvement.", at_least=0, at_most=1)
    noise: float = param(
        0.0,
        "Denoising: standard deviation of the noise relative to the scale of the data, or fraction of values "
        "masked. More noise gives codes that are more robust and reconstruct less detail.",
        at_least=0,
    )
    noise_kind: Literal["gaussian", "masking"] = param("gaussian", "Denoising: how the input points are corrupted.")
    sparsity: float = param(
        0.0,
        "Weight of the sparsity penalty on the codes. A larger weight makes more components zero and reconstructs "
        "less accurately.",
        at_least=0,
    )
    sparsity_kind: Literal["l1", "kl"] = param(
        "l1",
        "Sparsity penalty: the L1 norm of the codes, or the KL divergence of their mean activations from "
        "sparsity_target.",
    )
    sparsity_target: float = param(
        0.05, "Target mean activation of a code unit, for the 'kl' penalty.", above=0, at_most=0.99
    )
    random_state: RandomState = param(
        None, "Seed of the weights, the held-out points, the mini-batches and the noise.", at_least=0
    )

    encoder_: tuple[Any, ...] = attribute("Weights (in, out) and biases (out,) of each layer of the encoder.")
    decoder_: tuple[Any, ...] = attribute("Weights (in, out) and biases (out,) of each layer of the decoder.")
    activations_: tuple[Activation, ...] = attribute("Activation of each layer, encoder first.")
    center_: Array = attribute("Values subtracted from the points before the encoder.", "(n_features_in_,)")
    scale_: float = attribute("Number by which the centered points are divided.")
    output_scale_: float = attribute("Number by which the output of the decoder is multiplied.")
    output_offset_: Array = attribute("Values added to the scaled output of the decoder.", "(n_features_in_,)")
    loss_: float = attribute("Mean squared reconstruction error of the training points, without the held-out ones.")
    validation_loss_: float | None = attribute(
        "Mean squared reconstruction error of the held-out points, or None if none were held out."
    )
    trace_: tuple[float, ...] = attribute(
        "Training loss after each iteration or epoch, with noise and the sparsity penalty where set."
    )
    validation_losses_: tuple[float, ...] = attribute(
        "Validation loss after each iteration or epoch, with the sparsity penalty where set."
    )
    best_iter_: int = attribute("Iteration or epoch whose weights were kept, counted from 1.")
    n_iter_: int = attribute("Number of iterations or epochs.")
    converged_: bool = attribute("Whether training converged, or ended with its schedule as planned.")
    stopped_because_: str = attribute("Why training stopped.")
    optimizer_: str = attribute("Optimizer that was used: 'lbfgs' or 'adam'.")
    engine_: str = attribute("Library and device that were used for training.")
    n_samples_: int = attribute("Number of training points, held-out ones included.")

    def fit(self, X: Any, y: Any = None, callback: Callback = None) -> Self:
        """Fit to the rows of X. ``y`` is not used.

        ``callback`` receives a snapshot (iteration, total, embedding, value) after every epoch, or every 10 iterations
        with lbfgs: the codes of all rows, and the loss. If it returns False, the fit ends with the network so far.
        """
        return self._fit(X, y, callback=callback)

    def _solve(
        self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, callback: Callback = None
    ) -> None:
        self._check_choices(rows.d)
        columns = run.fold(rows, double_moments, name="summing columns")
        if not bool(xp_of(columns.mean).any(columns.variances > 0)):
            warn(
                "Every column is constant, or its variance underflows. The network learns nothing. Check the data, or "
                "multiply it by a large number.",
                DataWarning,
            )
        scaling, n, rng = rounded_scaling(columns), columns.rows, self._generator()
        solver = self._choose_solver(n, rows.d)
        loss = self._objective(rows, run, scaling)
        start = loss.net.start(rng)
        work = len(start) * (n if solver == "lbfgs" else min(self.batch_size, n))  # per step
        little = (solver == "lbfgs" or work <= LITTLE) and not on_accelerator(columns.mean)  # numpy starts at once
        asked = "numpy" if self.engine == "auto" and little and self.device is None else self.engine
        engine = choose_engine(asked, self.device, columns.mean, "float64" if solver == "lbfgs" else "float32")
        held = choose_validation_rows(n, self.validation_fraction, slab_rows(rows.d, 8), rng)
        batches = MiniBatches(rows, run, n, scaling, engine, held, min(self.batch_size, n))
        watch = None if callback is None else self._watch(callback, loss, batches, columns.mean)
        schedule = self._schedule(solver, batches.steps_per_epoch)
        noise = Noise(self.noise_kind, self.noise) if self.noise else None
        try:
            with threads_for(engine, work, run):
                if solver == "lbfgs":
                    found = train_by_lbfgs(start, loss, batches, schedule, run, watch)
                else:
                    found = train_by_adam(start, loss, batches, noise, rng, schedule, run, watch)
        except Divergence as error:
            raise refusal(self, f"{error}.", "Choose a smaller `learning_rate`.", "learning_rate") from error
        self._keep(found, loss, scaling, rows, columns)
        self.optimizer_, self.engine_ = solver, f"{engine.name} on {engine.device}"

    def _watch(
        self, callback: Callable[[Snapshot], Any], loss: NetworkLoss, batches: MiniBatches, home: Array
    ) -> Watch:
        """Report the codes of all rows for the weights so far."""
        net, scaling, run = loss.net, batches.scaling, batches.run
        solver = self._choose_solver(batches.n, batches.rows.d)
        total = self._schedule(solver, batches.steps_per_epoch).max_iter

        def shown(iteration: int, theta: Array, value: float) -> Any:
            kind = result_dtype(xp_of(home), batches.rows.dtype)
            layers = tuple((like(W, home, kind), like(b, home, kind)) for W, b in net.layers(theta))[: net.code]
            encoder = FeedForward(layers, net.activations[: net.code], like(scaling.shift, home), scaling.unit)
            rows = in_slabs(batches.rows, encoder.widest)
            codes = run.gather(encoder, rows, self.n_components, name="encoding rows")
            return callback(Snapshot(iteration, total, codes, value))

        return shown

    # --- choices ---

    def _check_choices(self, d: int) -> None:
        if self.n_components > d and not (self.noise or self.sparsity):
            fact = f"the data has {d} columns (`n_features={d}`). A code with more components can copy the rows."
            raise refusal(self, fact, f"Choose at most {d}, or set `noise` or `sparsity`.", "n_components")
        if self.noise and self.solver == "lbfgs":
            reason = "lbfgs uses the same rows in every step, but noise must be drawn again each time."
            raise refusal(self, reason, "Choose `solver='adam'`.", "solver", "noise")
        if self.noise > 1 and self.noise_kind == "masking":
            remedy = "Choose a number between 0 and 1."
            raise refusal(self, "noise is the fraction of values masked.", remedy, "noise", "noise_kind")
        if self.sparsity and self.sparsity_kind == "kl" and self.code_activation != "logistic":
            reason = "the KL penalty requires codes between 0 and 1."
            remedy = "Set `code_activation='logistic'`, or choose `sparsity_kind='l1'`."
            raise refusal(self, reason, remedy, "sparsity_kind", "code_activation")

    def _choose_solver(self, n: int, d: int) -> Literal["lbfgs", "adam"]:
        if self.solver != "auto":
            return self.solver
        return "lbfgs" if n * d <= _SMALL and not self.noise else "adam"

    def _schedule(self, solver: str, steps: int) -> TrainingSchedule:
        whole = solver == "lbfgs"
        usual = _ITERATIONS if whole else max(_EPOCHS, _STEPS // steps)
        patience = self.n_iter_no_change or (_PAUSE if whole else int(_PATIENCE * usual))
        return TrainingSchedule(self.max_iter or usual, patience, self.tol, self.learning_rate, self.schedule)

    def _objective(self, rows: Rows, run: Run, scaling: UniformScaling) -> NetworkLoss:
        """Return the network and its loss. A bounded output is scaled to the range of the values."""
        d, at_output = rows.d, self.output_activation
        coding = layer_widths(self.hidden_layer_sizes, d, "hidden_layer_sizes")
        decoding = coding[::-1]
        if self.decoder_layer_sizes is not None:
            decoding = layer_widths(self.decoder_layer_sizes, d, "decoder_layer_sizes")
        activations = (self.activation, self.code_activation, at_output)
        net = Network.of(d, coding, self.n_components, decoding, activations)
        sparsity = Sparsity(self.sparsity_kind, self.sparsity, self.sparsity_target) if self.sparsity else None
        loss = NetworkLoss(net, sparsity=sparsity)
        if at_output == "identity":
            return loss
        values = run.fold(rows, ValueRange.of, name="finding the range of the values")
        return loss.with_range(values.low, values.high, scaling)

    # --- fitted attributes ---

    def _keep(
        self, found: TrainingResult, loss: NetworkLoss, scaling: UniformScaling, rows: Rows, columns: ColumnMoments
    ) -> None:
        home = columns.mean
        xp = xp_of(home)
        kind = result_dtype(xp, rows.dtype)
        layers = tuple((like(W, home, kind), like(b, home, kind)) for W, b in loss.net.layers(found.theta))
        self.encoder_, self.decoder_ = layers[: loss.net.code], layers[loss.net.code :]
        self.activations_ = loss.net.activations
        self.center_, self.scale_ = like(scaling.shift, home), scaling.unit
        ground = 0.0 if loss.output_offset is None else scaling.unit * loss.output_offset
        self.output_scale_ = loss.output_scale * scaling.unit
        self.output_offset_ = like(scaling.shift + ground, home)
        total = rows.d * scaling.unit**2  # converts a loss as a fraction of the variance to the units of the rows
        outcome = found.outcome
        self.trace_ = tuple(total * value for value in outcome.trace)
        self.validation_losses_ = tuple(total * value for value in found.validation_losses)
        self.best_iter_ = found.best
        self.loss_ = total * found.loss
        self.validation_loss_ = None if found.validation_loss is None else total * found.validation_loss
        no_better_than_mean = found.loss >= 1 and bool(xp.any(columns.variances > 0))
        self.converged_ = outcome.converged and not no_better_than_mean
        self.stopped_because_ = outcome.stopped_because
        self.n_samples_ = columns.rows
        problem = "did not converge"
        if no_better_than_mean:
            problem = f"learned nothing (reconstruction error: {found.loss:.2f} of the variance)"
        self._record_convergence(
            replace(outcome, converged=self.converged_, trace=self.trace_),
            "Raise `max_iter`, or with `solver='adam'` choose another `learning_rate` or `schedule='one-cycle'`, "
            "which decreases it.",
            problem=f"Autoencoder {problem}. Training stopped because {self.stopped_because_}.",
        )

    # --- encoding and decoding ---

    def _encoding(self) -> FeedForward:
        return FeedForward(self.encoder_, self.activations_[: len(self.encoder_)], self.center_, self.scale_)

    def _decoding(self) -> FeedForward:
        activations = self.activations_[len(self.encoder_) :]
        return FeedForward(self.decoder_, activations, scale=self.output_scale_, offset=self.output_offset_)

    def _encoding_width(self) -> int:
        return int(self.encoder_[-1][1].shape[0])

    def _working_width(self) -> int:
        return self._encoding().widest

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        rows, run = super()._rows_to_decode(Z)
        return in_slabs(rows, self._decoding().widest), run

    def encode(self, X: Any) -> Any:
        """Return the codes of the rows of X, (n, k). Same as ``transform``."""
        return self.transform(X)

    def decode(self, Z: Any) -> Any:
        """Return the rows reconstructed from codes, (n, d). Same as ``inverse_transform``."""
        return self.inverse_transform(Z)

    def reconstruction_error(self, X: Any) -> Any:
        """Return the squared reconstruction error |x - x̂|² of each row of X, (n,). Large values indicate outliers."""
        rows, run = self._rows_to_map(X)
        rows = in_slabs(rows, self._decoding().widest)
        return run.gather(
            ReconstructionErrors(self._encoding(), self._decoding()), rows, 1, name="computing reconstruction errors"
        )[:, 0]

    def _facts(self) -> dict[str, Any]:
        widths = [self.n_features_in_, *(int(b.shape[0]) for _, b in (*self.encoder_, *self.decoder_))]
        facts = {
            "layer widths": "-".join(str(width) for width in widths),
            "optimizer and engine": f"{self.optimizer_}, {self.engine_}",
            "training loss": self.loss_,
        }
        return facts if self.validation_loss_ is None else {**facts, "validation loss": self.validation_loss_}


def layer_widths(asked: Any, d: int, name: str) -> tuple[int, ...]:
    """Return the widths of the hidden layers from one integer or several.

    None means one layer, twice the columns wide.
    """
    if asked is None:
        return (min(512, max(16, 2 * d)),)
    parts = list(asked) if isinstance(asked, Sequence | np.ndarray) and not isinstance(asked, str) else [asked]
    if any(isinstance(part, bool) or not isinstance(part, int | float | np.number) for part in parts) or any(
        not math.isfinite(part) or part != int(part) or part < 1 for part in parts
    ):
        raise ParameterError(
            f"Autoencoder({name}={asked!r}): give the widths of the hidden layers as integers of at least 1, such as "
            "512 and 256, an empty list for no hidden layer, or `None` for the default."
        )
    return tuple(int(part) for part in parts)
