"""Eight electrodes on a pregnant woman's skin: independent components hear the child's heart by itself.

Every electrode sees the mother's heart, far stronger than the child's. The two hearts beat independently and reach
the electrodes at once, which is what independent component analysis asks for. Beats are counted as peaks; a component
is a heart where its beats come evenly. The child's is the faster one.
"""

import numpy as np
from scipy.signal import find_peaks
from scipy.stats import skew

from gallery import load_dataset, panels, show, title
from lowland import FastICA
from lowland.plots.style import COLORS, INK, MARK

ecg = load_dataset("foetal_ecg")
RATE = 250  # samples a second


def upright(z: np.ndarray) -> np.ndarray:
    """The signal at unit variance, its spikes up."""
    return (z - z.mean()) / z.std() * np.sign(skew(z))


def beats(z: np.ndarray) -> np.ndarray:
    """Where it peaks: at least half as high as its highest thousandth, and at least a fifth of a second apart."""
    return find_peaks(z, height=np.quantile(z, 0.999) / 2, distance=RATE // 5)[0]


def pulse(z: np.ndarray) -> tuple[float, float]:
    """Beats a minute, and how unevenly they come, as a share of the time between them."""
    gaps = np.diff(beats(z)) / RATE
    return 60 / float(np.median(gaps)), float(gaps.std() / np.median(gaps))


ica = FastICA(random_state=0).fit(ecg.X)
parts = [upright(z) for z in ica.transform(ecg.X).T]
hearts = [z for z in parts if pulse(z)[1] < 0.1]
mother = min(hearts, key=lambda z: pulse(z)[0])
child = max(hearts, key=lambda z: pulse(z)[0])
slow, fast = pulse(mother)[0], pulse(child)[0]
assert 60 < slow < 100, "a woman at rest"
assert 110 < fast < 170, "an unborn child"
assert fast / slow > 1.5
felt = [pulse(upright(z)) for z in ecg.X.T]
assert not any(even < 0.1 and rate > 110 for rate, even in felt), "no electrode shows the child's beats by themselves"

figure, axes = panels(4, 1, (10, 5), sharex=True)
seconds = np.arange(len(ecg.X)) / RATE
lines = {
    "Electrode on the belly": (upright(ecg.X[:, 0]), COLORS[8], False),
    "Electrode on the chest": (upright(ecg.X[:, 6]), COLORS[8], False),
    f"Component: the mother's heart, {slow:.0f} beats a minute": (mother, COLORS[0], True),
    f"Component: the child's heart, {fast:.0f} beats a minute": (child, COLORS[1], True),
}
for ax, (words, (z, color, marked)) in zip(axes[:, 0], lines.items(), strict=True):
    ax.plot(seconds, z, color=color, linewidth=1)
    if marked:
        ax.plot(beats(z) / RATE, z[beats(z)] + 1, "v", color=MARK, markersize=4)
    title(ax, words)
    ax.set(yticks=[], xlim=(0, 10))
    ax.spines[["left", "top", "right"]].set_visible(False)
axes[-1, 0].set_xlabel("seconds", color=INK)
show(
    figure,
    f"The mother's heart beats {slow:.0f} times a minute and the child's {fast:.0f} times, {fast / slow:.1f} times"
    " as fast, each in a component of its own; no electrode shows the child's beats alone.",
)
