"""The Swiss roll by every manifold method, and the effect of too many neighbors.

A thousand points on a rolled-up sheet of length 89 and height 21, colored by the position along it. The numbers are R²
of length and height in a linear regression on the embedding, in red if one of them is low. With 20 neighbors some
edges are short circuits between turns, and no method recovers the sheet.
"""

from gallery import show, title
from lowland import Isomap
from lowland.data import swiss_roll
from sheets import explained, manifold_methods, manifold_panels, map_of

KS = (6, 8, 12, 20)
roll = swiss_roll(1000)
names = list(manifold_methods(8))
figure, axes = manifold_panels(roll, roll.y, len(KS), len(names), "length and height")
found = {}
for k, line in zip(KS, axes, strict=True):
    for (name, model), ax in zip(manifold_methods(k).items(), line, strict=True):
        Z = model.fit_transform(roll.X)
        found[name, k] = explained(Z, roll.truth)
        map_of(ax, Z, roll.y, found[name, k])
    line[0].set_ylabel(f"k = {k}")
for name, ax in zip(names, axes[0], strict=True):
    title(ax, name)

flat = [name for name in names if min(found[name, 8]) > 0.95]
assert flat == ["Isomap", "modified LLE", "Hessian LLE", "LTSA"]
assert min(found["LTSA", k].min() for k in (6, 8, 12)) > 0.99
assert found["LLE", 8][0] > 0.95 > 0.5 > found["LLE", 8][1], "standard LLE narrows the sheet to a wedge"
for name in ("Laplacian", "diffusion"):
    length, height = found[name, 8]
    assert length > 0.95 > 0.1 > height, "the second coordinate is a harmonic of the length: a horseshoe"
step = Isomap().neighbors_sweep(roll.X, KS)[-1]
assert step.short_circuit, "with 20 neighbors some edges are short circuits"
assert max(min(found[name, 20]) for name in names) < 0.6, "with short circuits no embedding is right"

show(
    figure,
    f"With 8 neighbors {', '.join(flat[:-1])} and {flat[-1]} recover length and height (R² above 0.95). Standard LLE "
    f"narrows the sheet (R² of the height {found['LLE', 8][1]:.2f}), and Laplacian eigenmaps and the diffusion map "
    f"give a horseshoe. With 20 neighbors {len(step.shortcuts)} edges are short circuits, and every embedding loses a "
    "coordinate.",
)
