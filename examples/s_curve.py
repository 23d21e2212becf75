"""The S-curve by every manifold method: a gentler sheet, which 8 to 40 neighbours flatten.

A thousand points on a sheet bent into an S, 9.4 long and 2 wide, coloured by the length along it. Below each map, R²
of length and of width by the best affine map: 1.00 and 1.00 is the flat sheet. Red: one of the two is lost.
Its arms lie far apart, so that even with 40 neighbours no link jumps; with 80 some do. Who loses the width does so
for each k that is shown.
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
assert found["modified LLE", 6][1] < 0.8, "six neighbours are too few for it"
for name in ("LLE", "Laplacian", "diffusion"):
    assert all(found[name, k][0] > 0.9 and found[name, k][1] < 0.3 for k in KS), "the width is lost, not the length"
assert not any(step.short_circuit for step in Isomap().neighbors_sweep(curve.X, KS))
width = max(found[name, k][1] for name in ("LLE", "Laplacian", "diffusion") for k in KS)
show(
    figure,
    f"From 8 to 40 neighbours {', '.join(flat[:-1])} and {flat[-1]} flatten the sheet (R² above 0.95), and no link "
    f"jumps. Plain LLE, Laplacian eigenmaps and the diffusion map keep the length alone: their R² of the width is "
    f"at most {width:.2f}.",
)
