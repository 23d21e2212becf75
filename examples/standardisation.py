"""PCA follows the units: inches or millimetres turn its first axis, unless columns are standardised.

The same 210 people three times. In pounds and inches weight varies more, so the first axis is weight; with height in
millimetres it is height. Divided by their deviations the columns count alike, and the units no longer matter.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA
from lowland.plots.style import COLORS, INK, MARK, MARKERS, quiet

sample = load_dataset("height_weight")
inches, sex = sample.X, sample.y  # height in inches, weight in pounds
metric = inches * [25.4, 0.45359237]  # height in millimetres, weight in kilograms
standard = (inches - inches.mean(axis=0)) / inches.std(axis=0)


def share_of_height(pca):
    """How much of the first axis is height, from 0 to 1."""
    return pca.components_[0, 0] ** 2


models = [PCA(1).fit(X) for X in (inches, metric, standard)]
shares = [share_of_height(pca) for pca in models]
assert shares[0] < 0.05, "in inches and pounds the first axis is weight"
assert shares[1] > 0.95, "in millimetres and kilograms it is height"
assert np.isclose(shares[2], 0.5), "standardised, both count alike"
scaled = [share_of_height(PCA(1, scale=True).fit(X)) for X in (inches, metric)]
assert np.allclose(scaled, 0.5), "PCA(scale=True) standardises, and then units do not matter"

figure, axes = panels(1, 3, (10, 3.7))
names = ("height, inches", "weight, pounds"), ("height, mm", "weight, kg"), ("height", "weight")
for ax, X, pca, labels, share in zip(axes[0], (inches, metric, standard), models, names, shares, strict=True):
    C = X - pca.mean_
    for c, name in ((0, "women"), (1, "men")):
        ax.scatter(*C[sex == c].T, s=12, color=COLORS[c], marker=MARKERS[c], linewidths=0, alpha=0.7, label=name)
    reach = 1.05 * np.abs(C).max()
    ax.plot(*np.outer(pca.components_[0], (-0.9 * reach, 0.9 * reach)), color=MARK, linewidth=1.8)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set(xlabel=f"{labels[0]}, from the mean", ylabel=labels[1])
    quiet(ax)
    ax.grid(visible=False)
    title(ax, f"first axis: {share:.0%} height")
axes[0, 2].set(xlabel="height, in deviations", ylabel="weight, in deviations")
axes[0, 0].legend(frameon=False, labelcolor=INK, loc="upper left", handletextpad=0.1)

show(
    figure,
    f"Of 210 people, the first axis is {shares[0]:.0%} height in inches and pounds and {shares[1]:.0%} in millimetres "
    f"and kilograms. Standardised it is {shares[2]:.0%}, whatever the units.",
)
