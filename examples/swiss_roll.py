"""The swiss roll by every manifold method: who unrolls it, and what too many neighbours do.

A thousand points on a rolled-up sheet, 89 long and 21 high, coloured by the length along it. Below each map, R² of
length and of height by the best affine map: 1.00 and 1.00 is the flat sheet. Red: one of the two is lost.
With 20 neighbours some links jump from turn to turn, and nobody unrolls it any more.
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
assert found["LLE", 8][0] > 0.95 > 0.5 > found["LLE", 8][1], "the plain weights narrow the sheet to a wedge"
for name in ("Laplacian", "diffusion"):
    length, height = found[name, 8]
    assert length > 0.95 > 0.1 > height, "the second tone is an overtone of the length, a horseshoe"
step = Isomap().neighbors_sweep(roll.X, KS)[-1]
assert step.short_circuit, "some links with 20 neighbours jump"
assert max(min(found[name, 20]) for name in names) < 0.6, "a link across the gap, and no map is right"

show(
    figure,
    f"With 8 neighbours {', '.join(flat[:-1])} and {flat[-1]} find length and height (R² above 0.95); plain LLE "
    f"narrows the sheet (height {found['LLE', 8][1]:.2f}), Laplacian eigenmaps and the diffusion map draw a horseshoe. "
    f"With 20, {len(step.shortcuts)} links jump from turn to turn, and every map loses a coordinate.",
)
