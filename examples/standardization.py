"""PCA depends on the units of measurement unless the columns are standardized.

The same 210 people in three versions. In pounds and inches weight has the larger variance, so the first axis is weight.
With height in millimeters it is height. Divided by their standard deviations, the columns have equal influence and the
units no longer matter.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA
from lowland.plots.style import COLORS, INK, MARK, MARKERS, quiet

sample = load_dataset("height_weight")
inches, sex = sample.X, sample.y  # height in inches, weight in pounds
metric = inches * [25.4, 0.45359237]  # height in millimeters, weight in kilograms
standard = (inches - inches.mean(axis=0)) / inches.std(axis=0)


def fraction_of_height(pca):
    """Squared loading of height on the first axis, from 0 to 1."""
    return pca.components_[0, 0] ** 2


models = [PCA(1).fit(X) for X in (inches, metric, standard)]
fractions = [fraction_of_height(pca) for pca in models]
assert fractions[0] < 0.05, "in inches and pounds the first axis is weight"
assert fractions[1] > 0.95, "in millimeters and kilograms it is height"
assert np.isclose(fractions[2], 0.5), "standardized, both have equal weight"
scaled = [fraction_of_height(PCA(1, scale=True).fit(X)) for X in (inches, metric)]
assert np.allclose(scaled, 0.5), "PCA(scale=True) standardizes, so the units do not matter"

figure, axes = panels(1, 3, (10, 3.7))
names = ("height, inches", "weight, pounds"), ("height, mm", "weight, kg"), ("height", "weight")
for ax, X, pca, labels, fraction in zip(axes[0], (inches, metric, standard), models, names, fractions, strict=True):
    C = X - pca.mean_
    for c, name in ((0, "women"), (1, "men")):
        ax.scatter(*C[sex == c].T, s=12, color=COLORS[c], marker=MARKERS[c], linewidths=0, alpha=0.7, label=name)
    reach = 1.05 * np.abs(C).max()
    ax.plot(*np.outer(pca.components_[0], (-0.9 * reach, 0.9 * reach)), color=MARK, linewidth=1.8)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set(xlabel=f"{labels[0]}, centered", ylabel=labels[1])
    quiet(ax)
    ax.grid(visible=False)
    title(ax, f"first axis: {fraction:.0%} height")
axes[0, 2].set(xlabel="height, standardized", ylabel="weight, standardized")
axes[0, 0].legend(frameon=False, labelcolor=INK, loc="upper left", handletextpad=0.1)

show(
    figure,
    f"For 210 people, height makes up {fractions[0]:.0%} of the first axis in inches and pounds and "
    f"{fractions[1]:.0%} in millimeters and kilograms. Standardized it is {fractions[2]:.0%} in any units.",
)
