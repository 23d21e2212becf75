"""Feed-forward networks with layers h -> activation(hW + b), as plain arrays: output, loss and gradient.

All weights are stored in one vector θ, so that an optimizer need not know the layers. The same code serves numpy and
torch: backpropagation is written out (Rumelhart, Hinton and Williams 1986, doi:10.1038/323533a0).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lowland.arrays.linalg import affine, product_into
from lowland.arrays.namespace import Array, as_double, like, xp_of
from lowland.math.spectra.operators import centered_product
from lowland.math.statistics.rescaling import UniformScaling

Activation = Literal["relu", "elu", "silu", "tanh", "logistic", "identity"]
Layer = tuple[Array, Array]  # weights (in, out) and biases (out,)


# --- activations ------------------------------------------------------------------------------------------------------


def _logistic(a: Array) -> Array:
    return 0.5 * xp_of(a).tanh(0.5 * a) + 0.5  # no overflow at either end


def _silu_slope(a: Array, h: Array) -> Array:
    s = _logistic(a)
    return s + h * (1 - s)


# the activation of a, and its derivative from a and the result h
_ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array, Array], Array]]] = {
    "relu": (lambda a: xp_of(a).clip(a, 0.0, None), lambda a, h: xp_of(h).astype(h > 0, h.dtype)),
    "elu": (
        lambda a: xp_of(a).where(a > 0, a, xp_of(a).expm1(xp_of(a).clip(a, None, 0.0))),
        lambda a, h: xp_of(h).where(h > 0, xp_of(h).ones_like(h), h + 1),
    ),
    "silu": (lambda a: _logistic(a) * a, _silu_slope),
    "tanh": (lambda a: xp_of(a).tanh(a), lambda a, h: 1 - h * h),
    "logistic": (_logistic, lambda a, h: h * (1 - h)),
    "identity": (lambda a: a, lambda a, h: xp_of(a).ones_like(a)),
}
_GAINS = {"relu": 2.0, "elu": 1.5, "silu": 2.0}  # by which activations reduce the variance; the weights compensate


def activate(a: Array, activation: Activation) -> Array:
    """Return the activation of the pre-activations a."""
    return _ACTIVATIONS[activation][0](a)


def activation_slope(a: Array, h: Array, activation: Activation) -> Array:
    """Return the derivative of the activation at a, where its value is h."""
    return _ACTIVATIONS[activation][1](a, h)


# --- the shape of a network -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    """An encoder and a decoder: the width and the activation of each layer."""

    widths: tuple[int, ...]  # d, those of the encoder, k, those of the decoder, d
    activations: tuple[Activation, ...]  # one per layer
    code: int  # number of layers of the encoder

    @classmethod
    def of(
        cls,
        d: int,
        coding: Sequence[int],
        k: int,
        decoding: Sequence[int],
        activations: tuple[Activation, Activation, Activation],
    ) -> Network:
        """Build a network; ``activations`` are those of the hidden layers, the code and the output."""
        hidden, at_code, at_output = activations
        kinds = (*[hidden] * len(coding), at_code, *[hidden] * len(decoding), at_output)
        return cls((d, *coding, k, *decoding, d), kinds, len(coding) + 1)

    @property
    def size(self) -> int:
        """Number of weights and biases in θ."""
        return sum((m + 1) * n for m, n in itertools.pairwise(self.widths))

    def layers(self, theta: Array) -> list[Layer]:
        """Return weights and biases as views of θ."""
        xp, found, start = xp_of(theta), [], 0
        for m, n in itertools.pairwise(self.widths):
            W = xp.reshape(theta[start : start + m * n], (m, n))
            found.append((W, theta[start + m * n : start + (m + 1) * n]))
            start += (m + 1) * n
        return found

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Return random weights that preserve the variance from layer to layer (He et al. 2015), and zero biases."""
        theta = np.zeros(self.size)
        inner = ("identity", *self.activations[:-1])  # a layer compensates for the activation before it
        for (W, _), before in zip(self.layers(theta), inner, strict=True):
            W[...] = rng.standard_normal(W.shape) * math.sqrt(_GAINS.get(before, 1.0) / W.shape[0])
        return theta


# --- the loss ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sparsity:
    """Sparsity penalty on codes: L1 norm, or KL divergence of the mean activations from a target."""

    kind: Literal["l1", "kl"]
    weight: float
    target: float  # kl: target mean activation of a unit

    def penalty(self, Z: Array, D: Array) -> tuple[Array, Array, Array | None]:
        """Return the penalty of codes (m, k) that are multiplied by D (k, h), and its gradients in codes and D.

        l1 weights |z_j| by the norm of row j of D: otherwise codes could shrink while D grows without bound. kl is
        Σ_j KL(target ‖ mean of unit j).
        """
        xp, (m, k) = xp_of(Z), Z.shape
        if self.kind == "l1":
            scale = self.weight / math.sqrt(D.shape[1])
            lengths = xp.sqrt(xp.sum(D * D, axis=1)) + 1e-12  # (k,)
            sizes = xp.mean(xp.abs(Z), axis=0)  # (k,)
            towards = (scale / m) * xp.sign(Z) * lengths[None, :]
            return scale * xp.sum(sizes * lengths), towards, scale * (sizes / lengths)[:, None] * D
        p, scale = self.target, self.weight / k
        q = xp.clip(xp.mean(Z, axis=0), 1e-6, 1 - 1e-6)  # (k,)
        divergence = xp.sum(p * (math.log(p) - xp.log(q)) + (1 - p) * (math.log(1 - p) - xp.log(1 - q)))
        return scale * divergence, xp.ones_like(Z) * ((scale / m) * ((1 - p) / (1 - q) - p / q))[None, :], None


@dataclass(frozen=True)
class NetworkLoss:
    """Mean squared reconstruction error, as a fraction of the variance, plus the sparsity penalty.

    Rows are in standard units: centered, with mean square one. The output is scaled and shifted to these units.
    """

    net: Network
    output_scale: float = 1.0
    output_offset: Array | None = None  # (d,)
    sparsity: Sparsity | None = None

    def with_range(self, low: float, high: float, scaling: UniformScaling) -> NetworkLoss:
        """Return the same loss with a bounded output activation scaled to the range from ``low`` to ``high``."""
        span = (high - low) / scaling.unit or 1.0
        offset = (low - scaling.shift) / scaling.unit  # (d,)
        match self.net.activations[-1]:
            case "logistic":
                return replace(self, output_scale=span, output_offset=offset)
            case "tanh":
                return replace(self, output_scale=span / 2, output_offset=offset + span / 2)
            case _:  # not bounded above
                return replace(self, output_offset=offset)

    def value(self, theta: Array, Y: Array) -> Array:
        """Return the loss of these rows, a scalar of their array library."""
        _, hs = self._forward(theta, Y)
        return self._loss(theta, hs, Y)[0]

    def gradient(self, theta: Array, Y: Array, seen: Array | None = None, out: Array | None = None) -> tuple[Any, Any]:
        """Return the loss and its gradient, written into ``out``; ``seen``: network input in place of Y."""
        xp, net = xp_of(theta), self.net
        out = xp.empty_like(theta) if out is None else out
        layers, slopes = net.layers(theta), net.layers(out)
        sums, hs = self._forward(theta, Y if seen is None else seen)
        value, E, penalty = self._loss(theta, hs, Y)
        delta = E  # (m, d) gradient with respect to the output
        delta *= 2 * self.output_scale / (Y.shape[0] * Y.shape[1])
        for i in reversed(range(len(layers))):
            if net.activations[i] != "identity":
                delta = activation_slope(sums[i], hs[i + 1], net.activations[i]) * delta
            gW, gb = slopes[i]
            product_into(hs[i].T, delta, gW)
            gb[...] = xp.sum(delta, axis=0)
            if i > 0:
                delta = delta @ layers[i][0].T
            if i == net.code and penalty is not None:
                delta = delta + penalty[0]
                if penalty[1] is not None:
                    gW += penalty[1]
        return value, out

    def _forward(self, theta: Array, X: Array) -> tuple[list[Array], list[Array]]:
        """Return the pre-activations and the activations of all layers; the first activation is the input."""
        sums, hs = [], [X]
        for (W, b), activation in zip(self.net.layers(theta), self.net.activations, strict=True):
            a = affine(hs[-1], W, b)
            sums.append(a)
            hs.append(activate(a, activation))
        return sums, hs

    def _loss(self, theta: Array, hs: list[Array], Y: Array) -> tuple[Array, Array, tuple[Array, Array | None] | None]:
        """Return the loss, the residuals of the output, and the gradient of the sparsity penalty."""
        out = hs[-1]
        if self.output_scale != 1 or self.output_offset is not None:
            offset = 0.0 if self.output_offset is None else like(self.output_offset, out)[None, :]
            out = self.output_scale * out + offset
        E = out - Y
        flat = xp_of(E).reshape(E, (-1,))
        value = (flat @ flat) / (Y.shape[0] * Y.shape[1])
        if self.sparsity is None:
            return value, E, None
        D = self.net.layers(theta)[self.net.code][0]
        penalty, to_codes, to_weights = self.sparsity.penalty(hs[self.net.code], D)
        return value + penalty, E, (to_codes, to_weights)


# --- maps of rows -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FeedForward:
    """x -> scale · layers((x - shift) / unit) + offset; an object, so that it can be sent to a worker."""

    layers: tuple[Layer, ...]
    activations: tuple[Activation, ...]
    shift: Array | None = None  # (d,)
    unit: float = 1.0
    scale: float = 1.0
    offset: Array | None = None  # (d,)

    @property
    def widest(self) -> int:
        """Width of the widest layer, which determines the memory per row."""
        return max(int(b.shape[0]) for _, b in self.layers)

    def __call__(self, X: Array) -> Array:
        """Map one slab, in its array library and precision."""
        h = X
        for i, ((W, b), activation) in enumerate(zip(self.layers, self.activations, strict=True)):
            V = like(W / self.unit if i == 0 and self.unit != 1 else W, X)
            a = centered_product(X, self.shift, V) if i == 0 else h @ V
            h = activate(a + like(b, X)[None, :], activation)
        if self.scale != 1:
            h = self.scale * h
        return h if self.offset is None else h + like(self.offset, h)[None, :]


@dataclass(frozen=True)
class ReconstructionErrors:
    """Squared reconstruction error |x - x̂|² of each row of a slab, (m, 1)."""

    encode: FeedForward
    decode: FeedForward

    def __call__(self, X: Array) -> Array:
        """Compute for one slab in float64: in float32 rounding error is too large, and squares overflow."""
        Y = as_double(X)
        E = Y - self.decode(self.encode(Y))
        return xp_of(E).sum(E * E, axis=1)[:, None]
