"""Iris flowers six ways: every method sets setosa apart, and none parts the other two species fully.

Four measurements of 150 flowers become two coordinates. Only discriminant analysis is told the species. Manifold
methods ask 30 neighbours, enough for the graph to be whole (iris_lle_collapse shows what happens with 12). Two
factors of four columns are more than the data determine: factor analysis says so, and its panel repeats it.
"""

import warnings

from gallery import load_dataset, panels, show, title
from lowland import (
    PCA,
    FactorAnalysis,
    Isomap,
    KernelPCA,
    LinearDiscriminantAnalysis,
    LocallyLinearEmbedding,
    plots,
    quality,
)

iris = load_dataset("iris")
ways = {
    "Discriminant analysis": LinearDiscriminantAnalysis(n_components=2),
    "PCA": PCA(2),
    "Kernel PCA, rbf": KernelPCA(2, kernel="rbf", gamma="median"),
    "Factor analysis (not determined)": FactorAnalysis(2),
    "LLE, 30 neighbours": LocallyLinearEmbedding(2, n_neighbors=30),
    "Isomap, 30 neighbours": Isomap(2, n_neighbors=30),
}

figure, axes = panels(2, 3, (10, 6.4))
right, apart = {}, {}
for (name, method), ax in zip(ways.items(), axes.flat, strict=True):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Z = method.fit(iris.X, iris.y).transform(iris.X)
    assert bool(told) == ("not determined" in name), [str(warning.message) for warning in told]
    right[name] = quality.nearest_neighbor_accuracy(Z, iris.y).value
    apart[name] = quality.neighborhood_hit(Z, iris.y == 0).value  # setosa against the two others
    plots.embedding(Z, iris.y, label_names=iris.label_names, axis_names=("", ""), size=16, ax=ax)
    title(ax, f"{name}\n{right[name]:.0%} of flowers lie among their own")
    ax.get_legend().remove()
    ax.set(xticks=[], yticks=[])
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, markerscale=1.6
)

assert min(apart.values()) > 0.98, apart
assert 0.85 < min(right.values()) <= max(right.values()) < 0.99, right
show(
    figure,
    f"In all six pictures at least {min(apart.values()):.1%} of the five nearest of a flower agree with it on being"
    f" setosa or not; by species {min(right.values()):.0%} to {max(right.values()):.0%} of the flowers lie among"
    " their own.",
)
