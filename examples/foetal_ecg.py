"""Independent component analysis separates the fetal heartbeat from the mother's in an ECG.

All eight electrodes on the skin of a pregnant woman record the mother's heart, which is much stronger than the child's.
The two hearts beat independently and reach the electrodes without delay, as independent component analysis assumes.
Beats are counted as peaks. A component is a heartbeat if its beats are regular, and the faster one is the child's.
"""

import numpy as np
from scipy.signal import find_peaks
from scipy.stats import skew

from gallery import load_dataset, panels, show, title
from lowland import FastICA
from lowland.plots.style import COLORS, INK, MARK

ecg = load_dataset("foetal_ecg")
RATE = 250  # samples per second


def upright(z: np.ndarray) -> np.ndarray:
    """The signal with unit variance and positive peaks."""
    return (z - z.mean()) / z.std() * np.sign(skew(z))


def beats(z: np.ndarray) -> np.ndarray:
    """Positions of the peaks: at least half the 99.9% quantile, and at least a fifth of a second apart."""
    return find_peaks(z, height=np.quantile(z, 0.999) / 2, distance=RATE // 5)[0]


def pulse(z: np.ndarray) -> tuple[float, float]:
    """Beats per minute, and the coefficient of variation of the intervals."""
    gaps = np.diff(beats(z)) / RATE
    return 60 / float(np.median(gaps)), float(gaps.std() / np.median(gaps))


ica = FastICA(random_state=0).fit(ecg.X)
parts = [upright(z) for z in ica.transform(ecg.X).T]
hearts = [z for z in parts if pulse(z)[1] < 0.1]
mother = min(hearts, key=lambda z: pulse(z)[0])
child = max(hearts, key=lambda z: pulse(z)[0])
slow, fast = pulse(mother)[0], pulse(child)[0]
assert 60 < slow < 100, "resting heart rate of an adult"
assert 110 < fast < 170, "fetal heart rate"
assert fast / slow > 1.5
felt = [pulse(upright(z)) for z in ecg.X.T]
assert not any(even < 0.1 and rate > 110 for rate, even in felt), "no electrode shows the fetal heartbeat alone"

figure, axes = panels(4, 1, (10, 5), sharex=True)
seconds = np.arange(len(ecg.X)) / RATE
lines = {
    "Abdominal electrode": (upright(ecg.X[:, 0]), COLORS[8], False),
    "Chest electrode": (upright(ecg.X[:, 6]), COLORS[8], False),
    f"Component: mother's heart, {slow:.0f} beats per minute": (mother, COLORS[0], True),
    f"Component: fetal heart, {fast:.0f} beats per minute": (child, COLORS[1], True),
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
    f"Two components show the mother's heart with {slow:.0f} beats per minute and the fetal heart with {fast:.0f},"
    f" {fast / slow:.1f} times as fast. No electrode shows the fetal heartbeat alone.",
)
