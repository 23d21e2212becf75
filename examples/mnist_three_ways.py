"""Handwritten digits in two numbers: PCA knows no classes, discriminant analysis knows no bends, a network bends.

Each method learns from 60,000 images and is asked for 10,000 that it has not seen: how many lie among their own
digit? PCA keeps what varies, discriminant analysis what parts the classes, as far as a plane can. The autoencoder is
not told the digits either, but may bend its surface through the images (half a minute on a small machine).
"""

import warnings

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from gallery import load_dataset, panels, show, title
from lowland import PCA, Autoencoder, LinearDiscriminantAnalysis, plots
from lowland.errors import DataWarning

train, test = load_dataset("mnist"), load_dataset("mnist", split="test")
X, new = (sample.X / np.float32(255) for sample in (train, test))
ways = {
    "PCA": PCA(2),
    "Discriminant analysis": LinearDiscriminantAnalysis(n_components=2),
    "Autoencoder": Autoencoder(
        2,
        hidden_layer_sizes=(128, 64, 32),
        code_activation="tanh",
        batch_size=128,
        learning_rate=4e-3,
        max_iter=5,
        random_state=0,
    ),
}

figure, axes = panels(1, 3, (10, 4.2))
right = {}
for (name, method), ax in zip(ways.items(), axes.flat, strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # pixels at the edge are white in every image
        method.fit(X, train.y)
    Z = method.transform(new)
    right[name] = KNeighborsClassifier(10).fit(method.transform(X), train.y).score(Z, test.y)
    low, high = np.quantile(Z, (0.002, 0.998), axis=0)
    plots.embedding(Z[:1300], test.y[:1300], axis_names=("", ""), size=9, ax=ax)
    ax.set_aspect("auto")
    ax.set(xticks=[], yticks=[], xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.get_legend().remove()
    title(ax, f"{name}: {right[name]:.0%} among their own")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=10, frameon=False, markerscale=2)

by_pca, by_lda, by_net = right.values()
assert by_pca + 0.05 < by_lda, right
assert by_lda + 0.1 < by_net, right
show(
    figure,
    f"Of images not seen before, the ten nearest in the plane name the digit rightly for {by_pca:.0%} with PCA,"
    f" {by_lda:.0%} with discriminant analysis and {by_net:.0%} with an autoencoder; guessing would give 11%.",
)
