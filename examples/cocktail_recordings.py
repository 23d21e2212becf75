"""Real recordings with two microphones: FastICA makes the components less dependent, but echoes remain.

The sources of the three recordings are unknown, so the quality of the separation cannot be measured directly. FastICA's
components are uncorrelated, in two recordings much less Gaussian than the microphone signals, and less often loud at
the same time. But they are not independent: a voice reaches the two microphones with different delays and echoes. This
is a convolutive mixture, which needs other methods. In the hard recording almost nothing is gained.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import FastICA
from lowland.plots.style import COLORS, INK, STRONG, WEAK, quiet

rooms = {"speech": "speech", "music": "music", "hard": "hard_speech"}
heard = {room: load_dataset("cocktail", recording=recording).X for room, recording in rooms.items()}
parts = {room: FastICA(random_state=0).fit_transform(X) for room, X in heard.items()}


def standard(Z: np.ndarray) -> np.ndarray:
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def negentropy(Z: np.ndarray) -> float:
    """Sum of the negentropies of the two signals in nats, by Hyvärinen's approximation, as FastICA.negentropy_."""
    lean = (standard(Z) * np.exp(-(standard(Z) ** 2) / 2)).mean(axis=0)
    peak = np.exp(-(standard(Z) ** 2) / 2).mean(axis=0) - np.sqrt(0.5)
    return float((36 / (8 * np.sqrt(3) - 9) * lean**2 + 24 / (16 * np.sqrt(3) - 27) * peak**2).sum())


def loud_together(Z: np.ndarray) -> float:
    return float(np.corrcoef((standard(Z) ** 2).T)[0, 1])


for room in rooms:
    assert abs(np.corrcoef(parts[room].T)[0, 1]) < 1e-8, "components are uncorrelated"
    assert 0.05 < loud_together(parts[room]) < 0.8 * loud_together(heard[room]), "less dependent, but not independent"
gains = {room: negentropy(parts[room]) / negentropy(heard[room]) for room in rooms}
assert min(gains["speech"], gains["music"]) > 1.5
assert 1 <= gains["hard"] < 1.1, "almost nothing"

figure, axes = panels(2, 3, (10, 5), width_ratios=(1, 1, 0.8), sharex="col")
step = 800  # samples: 50 ms at 16 kHz
for line, (name, signals) in enumerate({"microphone": heard, "component": parts}.items()):
    for ax, room in zip(axes[line], ("speech", "music"), strict=False):
        Z = standard(signals[room])
        loud = np.sqrt((Z[: len(Z) // step * step].reshape(-1, step, 2) ** 2).mean(axis=1))  # (moments, 2)
        for i in range(2):
            ax.plot(np.arange(len(loud)) / 20, loud[:, i], color=COLORS[i], linewidth=1.3, label=f"{name} {i + 1}")
        title(ax, f"{room}: loudness, {name}s")
        quiet(ax)
        ax.set(ylim=(0, 3.4), xlabel="seconds" if line else None)
    axes[line, 0].legend(frameon=False, labelcolor=INK, ncols=2, loc="upper left", fontsize="small")
places = np.arange(len(rooms))
for ax, measure, words in zip(
    axes[:, 2], (negentropy, loud_together), ("Negentropy, nats", "Correlation of squares"), strict=True
):
    for shift, color, name, of in ((-0.2, WEAK, "microphones", heard), (0.2, STRONG, "components", parts)):
        ax.bar(places + shift, [measure(Z) for Z in of.values()], width=0.38, color=color, label=name)
    ax.set_xticks(places, list(rooms))
    title(ax, words)
    quiet(ax)
axes[1, 2].legend(frameon=False, labelcolor=INK, fontsize="small", ncols=2, loc="upper left")
axes[1, 2].set_ylim(top=0.7)
show(
    figure,
    f"The components are uncorrelated. Their negentropy is {gains['speech']:.1f} (speech), {gains['music']:.1f} "
    f"(music) and {gains['hard']:.2f} times (hard speech) that of the microphone signals. Their squares still have "
    f"correlations of {min(map(loud_together, parts.values())):.2f} to {max(map(loud_together, parts.values())):.2f}: "
    "they are not independent.",
)
