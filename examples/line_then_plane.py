"""Best line and best plane through points in three dimensions: the error is the sum of the discarded eigenvalues.

The mean squared error of the best line is the sum of the two smaller eigenvalues, that of the best plane the smallest
one. The plane contains the line: PCA adds one direction at a time.
"""

import numpy as np

from gallery import panels, show, title
from lowland import PCA
from lowland.plots.style import INK, MARK, STRONG

rng = np.random.default_rng(1)
turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
n = 120
X = rng.standard_normal((n, 3)) * [3.0, 1.6, 0.5] @ turn.T
values = PCA().fit(X).explained_variance_ * (n - 1) / n  # with divisor n, as the error

models = {"best line": PCA(1).fit(X), "best plane": PCA(2).fit(X)}
backs = {name: pca.inverse_transform(pca.transform(X)) for name, pca in models.items()}
errors = {name: np.mean(np.sum((X - back) ** 2, axis=1)) for name, back in backs.items()}
assert np.isclose(errors["best line"], values[1] + values[2])
assert np.isclose(errors["best plane"], values[2])
assert errors["best plane"] < 0.2 * errors["best line"]
assert np.allclose(models["best plane"].components_[0], models["best line"].components_[0]), (
    "the plane contains the line"
)

figure, axes = panels(1, 2, (10, 4.3), subplot_kw={"projection": "3d"})
reach = 2.6 * values**0.5
for ax, (name, pca) in zip(axes[0], models.items(), strict=True):
    mean, U = pca.mean_, pca.components_
    for row, place in zip(X, backs[name], strict=True):
        ax.plot(*zip(row, place, strict=True), color=MARK, linewidth=0.8)
    if name == "best plane":
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) * reach[:2] @ U + mean
        ax.plot_trisurf(*corners[:4].T, triangles=[(0, 1, 2), (0, 2, 3)], color=STRONG, alpha=0.15, linewidth=0)
        ax.plot(*corners.T, color=STRONG, linewidth=1)
    ax.plot(*(mean[:, None] + np.outer(U[0], (-reach[0], reach[0]))), color=STRONG, linewidth=2)
    ax.scatter(*X.T, s=10, color=INK, depthshade=False, linewidths=0)
    title(ax, f"{name}: mean squared error {errors[name]:.2f}")
    ax.set_box_aspect(np.ptp(X, axis=0), zoom=1.35)
    ax.set(xticklabels=[], yticklabels=[], zticklabels=[])
    ax.grid(visible=False)
    ax.view_init(elev=18, azim=-50)

show(
    figure,
    f"The eigenvalues are {values[0]:.2f}, {values[1]:.2f} and {values[2]:.2f}. The error of the best line is "
    f"{errors['best line']:.2f}, the sum of the last two, and that of the best plane is {errors['best plane']:.2f}, "
    "the last.",
)
