"""Fisher's discriminant separates two classes that the first principal component mixes.

PCA does not use the classes: its direction has the largest variance. Fisher's discriminant maximizes the squared
distance of the class means relative to the variances within the classes. In two elongated clouds these directions
differ. In the standardized wine data the first principal component separates two growers as well, but Fisher's does it
better.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA, LinearDiscriminantAnalysis
from lowland.plots.style import COLORS, INK, MARKERS, quiet

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 150)
along, across = np.array([0.94, 0.34]), np.array([-0.34, 0.94])
clouds = (
    3 * rng.standard_normal((300, 1)) * along + (0.45 * rng.standard_normal((300, 1)) + 2 * y[:, None] - 1) * across
)
wine = load_dataset("wine")
two = wine.y < 2
samples = {
    "two elongated clouds": (clouds, y, "cloud"),
    "wines of two growers": (wine.X[two] / wine.X[two].std(axis=0), wine.y[two], "grower"),
}


def separation(z, y):
    """Fisher's ratio along a line, and the accuracy of a threshold midway between the class means."""
    low, high = z[y == 0], z[y == 1]
    ratio = (high.mean() - low.mean()) ** 2 / (low.var() + high.var())
    return ratio, np.mean((z > (low.mean() + high.mean()) / 2) == y)


figure, axes = panels(3, 2, (10, 7.6), height_ratios=(2.2, 1, 1))
found = {}
for column, (name, (X, y, kind)) in zip(axes.T, samples.items(), strict=True):
    C = X - X.mean(axis=0)
    fisher = LinearDiscriminantAnalysis().fit(X, y).coef_[0]
    W = {"PCA": PCA(1).fit(X).components_[0], "Fisher": fisher / np.linalg.norm(fisher)}
    plane = np.eye(2) if X.shape[1] == 2 else np.linalg.qr(np.column_stack(list(W.values())))[0]  # contains both
    Z = C @ plane
    for c in (0, 1):
        style = {"color": COLORS[c], "marker": MARKERS[c], "linewidths": 0, "label": f"{kind} {c + 1}"}
        column[0].scatter(*Z[y == c].T, s=14, alpha=0.7, **style)
    column[0].set_aspect("equal", adjustable="datalim")
    title(column[0], f"{name}, plane of both directions")
    for ax, (which, w), line in zip(column[1:], W.items(), ("-", "--"), strict=True):
        z = C @ w * np.sign(w @ (C[y == 1].mean(axis=0)))  # from class 0 to class 1
        ratio, right = found[name, which] = separation(z, y)
        reach = 0.8 * np.abs(z).max() * (w @ plane) / np.linalg.norm(w @ plane)
        column[0].plot(*np.outer(reach, (-1, 1)), color=INK, linestyle=line, linewidth=1.4, label=which)
        for c in (0, 1):
            ax.hist(z[y == c], np.linspace(z.min(), z.max(), 31), color=COLORS[c], alpha=0.6)
        title(ax, f"{which}: between / within {ratio:.2f}, accuracy {right:.0%}")
        ax.set_yticks([])
    column[0].legend(loc="lower right", ncols=2, frameon=False, labelcolor=INK, markerscale=1.5)
    turns = [np.array([np.cos(a), np.sin(a)]) @ plane.T for a in np.linspace(0, np.pi, 180)]
    best = found[name, "Fisher"][0]
    assert best > 2 * found[name, "PCA"][0], "Fisher's direction separates the classes much better"
    assert all(separation(C @ w, y)[0] <= best * (1 + 1e-9) for w in turns), (
        "no other direction in this plane does better"
    )
    for ax in column:
        quiet(ax)
        ax.grid(visible=False)
assert found["two elongated clouds", "PCA"][0] < 0.1, "the first principal component mixes the two clouds"

facts = {name: f"{name[1]} {ratio:.2f} ({right:.0%})" for name, (ratio, right) in found.items()}
results = [f"{name.capitalize()}: {facts[name, 'PCA']}, {facts[name, 'Fisher']}" for name in samples]
show(
    figure,
    "Ratio of between-class to within-class variance (accuracy of a threshold midway between the means). "
    f"{results[0]}. {results[1]}. No direction in the planes shown has a higher ratio than Fisher's.",
)
