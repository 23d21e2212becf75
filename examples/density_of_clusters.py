"""UMAP draws dense and sparse clusters equally wide, and densMAP keeps their differences in density.

Five clusters of 200 points in 20 dimensions, each twice as wide as the one before. UMAP measures distances at each
point in units of its nearest neighbors, so it forgets how dense the points were. densMAP adds a term to its objective:
the correlation of the local radii in the data and in the map. After Narayan, Berger and Cho (2021).
"""

import numpy as np

from gallery import panels, show
from lowland import PCA, UMAP, quality
from maps import class_map, legend_below

rng = np.random.default_rng(0)
widths = 2.0 ** np.arange(-1, 4)  # 0.5, 1, 2, 4, 8
centers = rng.normal(scale=40, size=(5, 1, 20))
X = (centers + widths[:, None, None] * rng.normal(size=(5, 200, 20))).reshape(-1, 20)
cluster = np.repeat(np.arange(5), 200)


def width(Z):
    """Standard deviation of each cluster, relative to the first."""
    found = np.array([Z[cluster == i].std(axis=0).mean() for i in range(5)])
    return found / found[0]


flat = PCA(2).fit_transform(X)
maps = {"UMAP": UMAP(output_dens=True, random_state=0), "densMAP": UMAP(densmap=True, random_state=0)}
figure, (axes,) = panels(1, 3, (11, 4.4))
options = {"label_names": [f"width {each:g}" for each in widths]}
class_map(axes[0], flat, cluster, "PCA", f"widest : narrowest = {width(flat)[-1]:.0f}\n", **options)
kept, wide, right = {}, {}, {}
for (name, model), ax in zip(maps.items(), axes[1:], strict=True):
    Z = model.fit(X).embedding_
    kept[name] = np.corrcoef(model.rad_orig_, model.rad_emb_)[0, 1]  # logarithms of the local radii
    wide[name] = width(Z)
    right[name] = quality.nearest_neighbor_accuracy(Z, cluster).value
    words = f"widest : narrowest = {wide[name][-1]:.1f}\ncorrelation of log radii {kept[name]:.2f}"
    class_map(ax, Z, cluster, name, words, **options)
legend_below(figure, ax, markerscale=2)

assert min(right.values()) > 0.99, "both maps separate the clusters"
assert abs(kept["UMAP"]) < 0.2
assert abs(wide["UMAP"] - 1).max() < 0.2, "in UMAP all clusters are equally wide"
assert kept["densMAP"] > 0.9
assert np.all(np.diff(wide["densMAP"]) > 0), "in densMAP they are in the right order"
assert wide["densMAP"][-1] < 16 / 2, "but the differences are smaller than in the data"
show(
    figure,
    f"The widest cluster is 16 times as wide as the narrowest: in UMAP {wide['UMAP'][-1]:.1f} times, in densMAP "
    f"{wide['densMAP'][-1]:.1f} times, with all five in the right order. The correlation of the logarithms of local "
    f"radii in the data and in the map is {kept['UMAP']:.2f} for UMAP and {kept['densMAP']:.2f} for densMAP.",
)
