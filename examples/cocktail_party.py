"""A cocktail party, three voices and microphones: PCA hears a jumble, FastICA each voice.

The voices are made here, so the truth is known: a hum, a beeper and crackling. Each microphone hears all of them,
louder or fainter. Mixtures are closer to normal than what was mixed; FastICA turns the white mixtures until they are
as far from normal as can be, and finds the voices, in any order and with any sign.
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
A = np.array([[1.0, 0.8, 0.5], [0.6, 1.0, 0.9], [0.9, 0.4, 1.0]])  # what each microphone hears of each voice
X = S @ A.T  # (n, 3)

pca, ica = PCA(3, whiten=True).fit(X), FastICA(random_state=0).fit(X)


def matched(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The components in the order and with the signs of the voices, and their correlations with them."""
    r = np.corrcoef(Z.T, S.T)[:3, 3:]  # (component, voice)
    order = np.abs(r).argmax(axis=0)
    return Z[:, order] * np.sign(r[order, range(3)]), np.abs(r[order, range(3)])


by_pca, r_pca = matched(pca.transform(X))
by_ica, r_ica = matched(ica.transform(X))
whitening = pca.components_ / np.sqrt(pca.explained_variance_)[:, None]
far_pca, far_ica = (quality.amari_distance(W, A).value for W in (whitening, ica.components_))
assert r_ica.min() > 0.99
assert r_pca.min() < 0.8, "principal components mix the voices"
assert far_ica < 0.03 < 0.3 < far_pca, (far_ica, far_pca)

columns = {
    "The voices": (S, None),
    "What the microphones hear": (X, None),
    "PCA": (by_pca, r_pca),
    "FastICA": (by_ica, r_ica),
}
figure, axes = panels(3, 4, (10, 4), sharex=True, sharey="col")
for lines, (name, (signals, r)) in zip(axes.T, columns.items(), strict=True):
    title(lines[0], name)
    for voice, ax in enumerate(lines):
        color = COLORS[8] if signals is X else COLORS[voice]
        ax.plot(t[:shown], signals[:shown, voice], color=color, linewidth=0.9)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        if r is not None:
            ax.set_ylabel(f"r = {r[voice]:.3f}", fontsize="small", color=INK)
show(
    figure,
    "Each of FastICA's components correlates with its voice by more than 0.99; one of the voices has none of PCA's"
    f" above {r_pca.min():.2f}. Their Amari distances from the truth are {far_ica:.3f} and {far_pca:.2f} (0 is"
    " perfect).",
)
