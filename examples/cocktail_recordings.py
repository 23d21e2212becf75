"""Real rooms: two microphones, two parts that are less alike, and echoes that no rotation takes away.

Three recordings, without known sources, so nobody can say how well they were separated. What can be said: FastICA's
parts are uncorrelated, in two rooms much farther from normal than what the microphones heard, and less often loud
together. But they are not independent. A voice reaches two microphones at two times, by many echoes; that is no
mixture at once, and needs other methods. In the hard recording hardly anything is gained.
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
    """How far from normal the two signals are together, in nats: Hyvärinen's approximation, as FastICA.negentropy_."""
    lean = (standard(Z) * np.exp(-(standard(Z) ** 2) / 2)).mean(axis=0)
    peak = np.exp(-(standard(Z) ** 2) / 2).mean(axis=0) - np.sqrt(0.5)
    return float((36 / (8 * np.sqrt(3) - 9) * lean**2 + 24 / (16 * np.sqrt(3) - 27) * peak**2).sum())


def loud_together(Z: np.ndarray) -> float:
    return float(np.corrcoef((standard(Z) ** 2).T)[0, 1])


for room in rooms:
    assert abs(np.corrcoef(parts[room].T)[0, 1]) < 1e-8, "parts are uncorrelated"
    assert 0.05 < loud_together(parts[room]) < 0.8 * loud_together(heard[room]), "less alike, and not independent"
gains = {room: negentropy(parts[room]) / negentropy(heard[room]) for room in rooms}
assert min(gains["speech"], gains["music"]) > 1.5
assert 1 <= gains["hard"] < 1.1, "nothing to speak of"

figure, axes = panels(2, 3, (10, 5), width_ratios=(1, 1, 0.8), sharex="col")
step = 800  # samples: 50 ms at 16 kHz
for line, (name, signals) in enumerate({"microphone": heard, "part": parts}.items()):
    for ax, room in zip(axes[line], ("speech", "music"), strict=False):
        Z = standard(signals[room])
        loud = np.sqrt((Z[: len(Z) // step * step].reshape(-1, step, 2) ** 2).mean(axis=1))  # (moments, 2)
        for i in range(2):
            ax.plot(np.arange(len(loud)) / 20, loud[:, i], color=COLORS[i], linewidth=1.3, label=f"{name} {i + 1}")
        title(ax, f"{room}: loudness of the {name}s")
        quiet(ax)
        ax.set(ylim=(0, 3.4), xlabel="seconds" if line else None)
    axes[line, 0].legend(frameon=False, labelcolor=INK, ncols=2, loc="upper left", fontsize="small")
places = np.arange(len(rooms))
for ax, measure, words in zip(
    axes[:, 2], (negentropy, loud_together), ("Distance from normal, nats", "Loud together: r of squares"), strict=True
):
    for shift, color, name, of in ((-0.2, WEAK, "microphones", heard), (0.2, STRONG, "parts", parts)):
        ax.bar(places + shift, [measure(Z) for Z in of.values()], width=0.38, color=color, label=name)
    ax.set_xticks(places, list(rooms))
    title(ax, words)
    quiet(ax)
axes[1, 2].legend(frameon=False, labelcolor=INK, fontsize="small", ncols=2, loc="upper left")
axes[1, 2].set_ylim(top=0.7)
show(
    figure,
    f"The parts are uncorrelated; together they are {gains['speech']:.1f} (speech), {gains['music']:.1f} (music) and"
    f" {gains['hard']:.2f} times (hard speech) as far from normal as the microphones. Their squares still correlate"
    f" by {min(map(loud_together, parts.values())):.2f} to {max(map(loud_together, parts.values())):.2f}: they are"
    " not independent.",
)
