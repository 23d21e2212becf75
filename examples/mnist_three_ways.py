"""MNIST in two dimensions: PCA, linear discriminant analysis and an autoencoder.

Each method is fitted to 60,000 images and evaluated on 10,000 new ones by a nearest-neighbor classifier. PCA maximizes
variance, discriminant analysis the linear separation of the classes. The autoencoder does not use the class labels
either, but is nonlinear (half a minute on a small machine).
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
        warnings.simplefilter("ignore", DataWarning)  # border pixels are constant
        method.fit(X, train.y)
    Z = method.transform(new)
    right[name] = KNeighborsClassifier(10).fit(method.transform(X), train.y).score(Z, test.y)
    low, high = np.quantile(Z, (0.002, 0.998), axis=0)
    plots.embedding(Z[:1300], test.y[:1300], axis_names=("", ""), size=9, ax=ax)
    ax.set_aspect("auto")
    ax.set(xticks=[], yticks=[], xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.get_legend().remove()
    title(ax, f"{name}: accuracy {right[name]:.0%}")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=10, frameon=False, markerscale=2)

by_pca, by_lda, by_net = right.values()
assert by_pca + 0.05 < by_lda, right
assert by_lda + 0.1 < by_net, right
show(
    figure,
    f"The accuracy of a classifier by ten nearest neighbors in the plane on new images is {by_pca:.0%} with PCA,"
    f" {by_lda:.0%} with discriminant analysis and {by_net:.0%} with an autoencoder. Majority-class baseline: 11%.",
)
