"""RANDU's random numbers lie on fifteen planes, and projection pursuit finds the view that shows them.

RANDU was IBM's generator of the 1960s. Three of its numbers in a row make a point in a cube, and 9x - 6y + z is then
always a whole number, from -5 to 9. A random turn of the cube hides this, and so does PCA, since the points vary alike
in all directions. Projection pursuit looks for the view that is least like noise.
"""

import numpy as np

from gallery import load_dataset, panels, show
from lowland import PCA, ProjectionPursuit, plots

X = load_dataset("randu", n=1000).X
planes = np.unique(X @ [9, -6, 1])
assert planes.tolist() == list(range(-5, 10)), "9x - 6y + z is whole, without rounding, and takes 15 values"

pursuit = ProjectionPursuit(2, random_state=0).fit(X)
views = {
    "turned at random": np.random.default_rng(0).standard_normal((2, 3)),
    "PCA": PCA(2).fit(X).components_,
    "projection pursuit": pursuit.components_,
}
normal = np.array([9, -6, 1]) / 118**0.5  # upright on the planes, which are 1/√118 apart
figure, axes = panels(1, 3, (10, 3.9), sharex=True, sharey=True)
tilts, stripes = {}, {}
for ax, (name, rows) in zip(axes[0], views.items(), strict=True):
    B = np.linalg.qr(rows.T)[0]  # (3, 2): axes of the view, at right angles
    upright = B.T @ normal  # the direction in the view that comes closest to the normal
    tilts[name] = np.degrees(np.arccos(min(1, np.linalg.norm(upright))))
    side = np.column_stack([upright, [-upright[1], upright[0]]]) / np.linalg.norm(upright)
    Z = (X - X.mean(axis=0)) @ B @ side  # turned within the view so that planes stand upright
    across = np.sort(Z[:, 0])
    parts = np.split(across, np.flatnonzero(np.diff(across) > 0.5 / 118**0.5) + 1)
    stripes[name] = sum(len(part) > 3 for part in parts)  # a point alone in a corner is no stripe
    words = f"{name}: tilted by {tilts[name]:.0f}°"
    plots.embedding(Z, size=5, axis_names=("", ""), title=words, ax=ax)
    ax.set(xticks=[], yticks=[])

assert stripes == {"turned at random": 1, "PCA": 1, "projection pursuit": 15}
assert tilts["projection pursuit"] < 0.1
assert min(tilts["PCA"], tilts["turned at random"]) > 5
assert pursuit.index_[0] > 10 * pursuit.null_index_.max(), "noise shows nothing like it"
show(
    figure,
    f"9x - 6y + z takes exactly {len(planes)} values, and the view that was found shows {stripes['projection pursuit']}"
    f" separate stripes: it looks along the planes to within {tilts['projection pursuit']:.1g} degrees. PCA's view is "
    f"tilted by {tilts['PCA']:.0f} degrees, a random one by {tilts['turned at random']:.0f}; both show one cloud.",
)
