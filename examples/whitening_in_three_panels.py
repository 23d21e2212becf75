"""Whitening in two steps: rotate to the principal axes, then scale to unit variance.

PCA rotates the data so that the columns are uncorrelated. Dividing each by its standard deviation makes the covariance
the identity: the ellipse becomes a circle. Rotated back by the same angle this is ZCA whitening, which moves the points
least. Both are options of ``Whitening``. Colors identify the points.
"""

import numpy as np

from gallery import load_dataset, panels, show
from lowland import PCA, Whitening
from lowland.plots.style import INK, SEQUENTIAL, quiet

cloud = load_dataset("ellipse", n=400, axes=(2.4, 0.8), angle=35, seed=4)
X = cloud.X + np.array([3, 2])
turned = PCA().fit_transform(X)
white = Whitening(method="pca").fit_transform(X)
zca = Whitening(method="zca").fit_transform(X)

covariances = [np.cov(Z.T) for Z in (X, turned, white)]
eigenvalues = np.linalg.eigvalsh(covariances[0])[::-1]
assert covariances[0][0, 1] > 1, "the columns are correlated"
assert np.allclose(covariances[1], np.diag(eigenvalues)), "rotated: uncorrelated, with the eigenvalues as variances"
assert np.allclose(covariances[2], np.eye(2)), "whitened: the identity"
assert np.allclose(np.abs(white), np.abs(turned / eigenvalues**0.5)), "whitening is rotation, then scaling"
C = X - X.mean(axis=0)
assert np.allclose(np.cov(zca.T), np.eye(2))
assert np.sum((zca - C) ** 2) < np.sum((white - C) ** 2), "ZCA moves the points less"

circle = np.stack([np.cos(np.linspace(0, 2 * np.pi, 100)), np.sin(np.linspace(0, 2 * np.pi, 100))])
figure, axes = panels(1, 3, (10, 3.7))
names = ("Data", "Rotated by PCA", "Whitened")
for ax, Z, S, name in zip(axes[0], (X, turned, white), covariances, names, strict=True):
    ax.scatter(*Z.T, s=9, c=cloud.y, cmap=SEQUENTIAL, linewidths=0)
    ax.plot(*(Z.mean(axis=0)[:, None] + 2 * np.linalg.cholesky(S) @ circle), color=INK, linewidth=1.4)
    center = Z.mean(axis=0)
    ax.set(xlim=center[0] + np.array([-8.4, 8.4]), ylim=center[1] + np.array([-6.2, 6.2]))
    ax.set_aspect("equal")
    (a, b), (_, c) = S.round(2) + 0.0  # + 0.0: avoid negative zero
    ax.set_title(f"{name}\ncovariance {a:.2f}, {b:.2f}; {b:.2f}, {c:.2f}", fontsize="medium", color=INK, loc="left")
    quiet(ax)
    ax.grid(visible=False)

show(
    figure,
    f"The covariance has the entries {covariances[0][0, 0]:.2f}, {covariances[0][0, 1]:.2f} and "
    f"{covariances[0][1, 1]:.2f}. Rotation makes it diagonal, with {eigenvalues[0]:.2f} and {eigenvalues[1]:.2f}, and "
    "division by the standard deviations makes it the identity.",
)
