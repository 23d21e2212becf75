"""The S-curve by every manifold method: four of them recover it with 8 to 40 neighbors.

A thousand points on an S-shaped sheet of length 9.4 and width 2, colored by the position along it. The numbers are R²
of length and width in a linear regression on the embedding, in red if one of them is low. The arms of the S are
far apart, so that even with 40 neighbors no edge is a short circuit, but with 80 some are.
"""

from gallery import show, title
from lowland import Isomap
from lowland.data import s_curve
from sheets import explained, manifold_methods, manifold_panels, map_of

KS = (6, 8, 20, 40)
curve = s_curve(1000)
names = list(manifold_methods(8))
figure, axes = manifold_panels(curve, curve.y, len(KS), len(names), "length and width")
found = {}
for k, line in zip(KS, axes, strict=True):
    for (name, model), ax in zip(manifold_methods(k).items(), line, strict=True):
        Z = model.fit_transform(curve.X)
        found[name, k] = explained(Z, curve.truth)
        map_of(ax, Z, curve.y, found[name, k])
    line[0].set_ylabel(f"k = {k}")
for name, ax in zip(names, axes[0], strict=True):
    title(ax, name)

flat = [name for name in names if min(found[name, k].min() for k in KS[1:]) > 0.95]
assert flat == ["Isomap", "modified LLE", "Hessian LLE", "LTSA"]
assert found["modified LLE", 6][1] < 0.8, "six neighbors are too few"
for name in ("LLE", "Laplacian", "diffusion"):
    assert all(found[name, k][0] > 0.9 and found[name, k][1] < 0.3 for k in KS), (
        "they recover the length, not the width"
    )
assert not any(step.short_circuit for step in Isomap().neighbors_sweep(curve.X, KS))
width = max(found[name, k][1] for name in ("LLE", "Laplacian", "diffusion") for k in KS)
show(
    figure,
    f"With 8 to 40 neighbors {', '.join(flat[:-1])} and {flat[-1]} recover length and width (R² above 0.95), and the "
    "graph has no short circuits. Standard LLE, Laplacian eigenmaps and the diffusion map recover only the length: "
    f"their R² of the width is at most {width:.2f}.",
)
