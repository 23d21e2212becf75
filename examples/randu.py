"""Projection pursuit finds the fifteen planes of the RANDU generator, but PCA does not.

RANDU is a random number generator that IBM shipped in the 1960s. Three consecutive numbers are a point in a cube, and
9x - 6y + z is always an integer from -5 to 9: the points lie on fifteen planes. A random projection does not show them,
nor does PCA, since the variance is the same in all directions. Projection pursuit finds the least Gaussian projection.
"""

import numpy as np

from gallery import load_dataset, panels, show
from lowland import PCA, ProjectionPursuit, plots

X = load_dataset("randu", n=1000).X
planes = np.unique(X @ [9, -6, 1])
assert planes.tolist() == list(range(-5, 10)), "9x - 6y + z is an integer, without rounding, and takes 15 values"

pursuit = ProjectionPursuit(2, random_state=0).fit(X)
projections = {
    "random projection": np.random.default_rng(0).standard_normal((2, 3)),
    "PCA": PCA(2).fit(X).components_,
    "projection pursuit": pursuit.components_,
}
normal = np.array([9, -6, 1]) / 118**0.5  # normal of the planes, which are 1/√118 apart
figure, axes = panels(1, 3, (10, 3.9), sharex=True, sharey=True)
tilts, stripes = {}, {}
for ax, (name, rows) in zip(axes[0], projections.items(), strict=True):
    B = np.linalg.qr(rows.T)[0]  # (3, 2): orthonormal axes
    upright = B.T @ normal  # projection of the normal
    tilts[name] = np.degrees(np.arccos(min(1, np.linalg.norm(upright))))
    side = np.column_stack([upright, [-upright[1], upright[0]]]) / np.linalg.norm(upright)
    Z = (X - X.mean(axis=0)) @ B @ side  # rotated so that the planes are vertical
    across = np.sort(Z[:, 0])
    parts = np.split(across, np.flatnonzero(np.diff(across) > 0.5 / 118**0.5) + 1)
    stripes[name] = sum(len(part) > 3 for part in parts)  # single points in the corners do not count
    words = f"{name}: angle to planes {tilts[name]:.0f}°"
    plots.embedding(Z, size=5, axis_names=("", ""), title=words, ax=ax)
    ax.set(xticks=[], yticks=[])

assert stripes == {"random projection": 1, "PCA": 1, "projection pursuit": 15}
assert tilts["projection pursuit"] < 0.1
assert min(tilts["PCA"], tilts["random projection"]) > 5
assert pursuit.index_[0] > 10 * pursuit.null_index_.max(), "far above the index of noise"
show(
    figure,
    f"9x - 6y + z takes exactly {len(planes)} values. Projection pursuit shows {stripes['projection pursuit']} "
    f"separate stripes: its angle to the planes is {tilts['projection pursuit']:.1g} degrees. The angle is "
    f"{tilts['PCA']:.0f} degrees for PCA and {tilts['random projection']:.0f} for a random projection. Both show a "
    "single cloud.",
)
