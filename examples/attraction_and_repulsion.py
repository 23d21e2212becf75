"""The attraction-repulsion spectrum: with more attraction, t-SNE turns into Laplacian eigenmaps.

t-SNE attracts neighbors and repels all other points. The exaggeration multiplies the attraction. At 1 details are
visible. At 4 clusters are compact, as they are in UMAP. At 30 the map is close to a spectral embedding of the neighbor
graph, which shows the large-scale structure and hides the details. 1,797 handwritten digits, 30 neighbors. After Böhm,
Berens and Kobak (2022), Attraction-repulsion spectrum in neighbor embeddings, arXiv:2007.08902.
"""

from gallery import load_dataset, panels, show
from lowland import TSNE, SpectralEmbedding, quality
from lowland.quality.alignment import Procrustes
from maps import class_map, legend_below

digits = load_dataset("digits")
ways = {f"t-SNE, exaggeration {e}": TSNE(exaggeration=e, random_state=0) for e in (1, 4, 30)}
ways["Laplacian eigenmaps"] = SpectralEmbedding(2, n_neighbors=31)  # which counts the point itself
maps = {name: model.fit_transform(digits.X) for name, model in ways.items()}
eigenmaps = maps["Laplacian eigenmaps"]

figure, (axes,) = panels(1, 4, (12, 4.2))
local, alike = {}, {}
for (name, Z), ax in zip(maps.items(), axes, strict=True):
    local[name] = quality.trustworthiness(digits.X, Z, 10).value
    alike[name] = quality.shepard(eigenmaps, Z).spearman.value
    words = f"trustworthiness {local[name]:.3f}\ncorrelation with eigenmaps {alike[name]:.2f}"
    Z = Procrustes.onto(Z, eigenmaps)(Z)  # rotation, reflection and scaling only
    class_map(ax, Z, digits.y, name, words, 5)
legend_below(figure, ax, markerscale=2)

one, four, thirty, spectral = ways
assert local[one] > local[four] + 0.005 > local[thirty] + 0.015, "attraction costs details"
assert alike[one] < alike[four] - 0.1, "and brings the map closer to Laplacian eigenmaps"
assert alike[four] < alike[thirty]
show(
    figure,
    "With exaggeration 1, 4 and 30 the rank correlation of distances in the map with those in Laplacian eigenmaps is "
    f"{alike[one]:.2f}, {alike[four]:.2f} and {alike[thirty]:.2f}, and the trustworthiness {local[one]:.3f}, "
    f"{local[four]:.3f} and {local[thirty]:.3f} (Laplacian eigenmaps: {local[spectral]:.3f}).",
)
