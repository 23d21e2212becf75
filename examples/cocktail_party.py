"""FastICA separates three mixed sources that PCA leaves mixed.

The sources are simulated, so the true ones are known: a hum, a beeper and crackling. Each microphone records a linear
mixture of all of them. Mixtures are closer to a normal distribution than the sources. FastICA whitens the mixtures,
rotates them to maximal non-Gaussianity and recovers the sources up to order and sign.
"""

import numpy as np

from gallery import panels, show, title
from lowland import PCA, FastICA, quality
from lowland.plots.style import COLORS, INK

n, shown = 4000, 500
t = np.linspace(0, 16, n)
rng = np.random.default_rng(3)
S = np.column_stack([np.sin(5 * t) + 0.4 * np.sin(11 * t), np.sign(np.sin(7.3 * t)), rng.laplace(size=n)])
S = (S - S.mean(axis=0)) / S.std(axis=0)
A = np.array([[1.0, 0.8, 0.5], [0.6, 1.0, 0.9], [0.9, 0.4, 1.0]])  # mixing matrix (microphone, source)
X = S @ A.T  # (n, 3)

pca, ica = PCA(3, whiten=True).fit(X), FastICA(random_state=0).fit(X)


def matched(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The components matched to the sources in order and sign, and their correlations with them."""
    r = np.corrcoef(Z.T, S.T)[:3, 3:]  # (component, source)
    order = np.abs(r).argmax(axis=0)
    return Z[:, order] * np.sign(r[order, range(3)]), np.abs(r[order, range(3)])


by_pca, r_pca = matched(pca.transform(X))
by_ica, r_ica = matched(ica.transform(X))
whitening = pca.components_ / np.sqrt(pca.explained_variance_)[:, None]
far_pca, far_ica = (quality.amari_distance(W, A).value for W in (whitening, ica.components_))
assert r_ica.min() > 0.99
assert r_pca.min() < 0.8, "principal components are still mixtures"
assert far_ica < 0.03 < 0.3 < far_pca, (far_ica, far_pca)

columns = {
    "Sources": (S, None),
    "Microphones (mixtures)": (X, None),
    "PCA": (by_pca, r_pca),
    "FastICA": (by_ica, r_ica),
}
figure, axes = panels(3, 4, (10, 4), sharex=True, sharey="col")
for lines, (name, (signals, r)) in zip(axes.T, columns.items(), strict=True):
    title(lines[0], name)
    for source, ax in enumerate(lines):
        color = COLORS[8] if signals is X else COLORS[source]
        ax.plot(t[:shown], signals[:shown, source], color=color, linewidth=0.9)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        if r is not None:
            ax.set_ylabel(f"r = {r[source]:.3f}", fontsize="small", color=INK)
show(
    figure,
    "Each FastICA component has a correlation above 0.99 with its source. For one source the best principal "
    f"component has {r_pca.min():.2f}. The Amari distances from the true mixing matrix are {far_ica:.3f} for FastICA "
    f"and {far_pca:.2f} for PCA (0 is perfect).",
)
