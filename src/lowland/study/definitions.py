"""The definition of each measure: one sentence with its formula, without numbers of a trial."""

from __future__ import annotations

from collections.abc import Iterable

from lowland.study.result import Trial

MEANINGS = {
    "fidelity": (
        "The mean of the area under R_NX, which measures neighborhoods, and the Pearson correlation of the pairwise "
        "distances in the data and in the embedding: 1 is perfect."
    ),
    "stability": (
        "The mean fraction of each point's neighbors, the nearest quarter, that stay its neighbors when the map is "
        "made again from five subsamples of the points with other seeds, corrected for chance: 1 means that all "
        "stay, and only the leading maps are measured."
    ),
    "reliable points": (
        "The fraction of points that keep their neighbors significantly better than points in maps of null data, whose "
        "columns are permuted by themselves."
    ),
    "fidelity when made again": (
        "The mean fidelity of the maps of these subsamples, in which a map must also be better than another one to be "
        "called better, since the best of many maps is partly best by chance."
    ),
    "area under R_NX": (
        "The mean of R_NX(k) over all neighborhood sizes k with weights proportional to 1/k, where R_NX(k) = "
        "((n − 1) Q_NX(k) − k)/(n − 1 − k) and Q_NX(k) is the mean fraction of the k nearest neighbors that data and "
        "embedding share: 0 is chance, 1 is perfect."
    ),
    "trustworthiness": (
        "One minus the normalized sum of r − k over the k nearest neighbors in the embedding whose rank r in the data "
        "exceeds k: 1 means that no false neighbors appear in the embedding."
    ),
    "continuity": (
        "One minus the normalized sum of r − k over the k nearest neighbors in the data whose rank r in the embedding "
        "exceeds k: 1 means that no true neighbors are lost in the embedding."
    ),
    "relative rank error in the embedding": (
        "The normalized sum of |r − s|/s over the k nearest neighbors in the embedding, where s is the rank of a "
        "neighbor in the embedding and r its rank in the data: 0 means that all ranks agree."
    ),
    "relative rank error in the data": (
        "The normalized sum of |r − s|/s over the k nearest neighbors in the data, where s is the rank of a neighbor "
        "in the data and r its rank in the embedding: 0 means that all ranks agree."
    ),
    "LCMC": (
        "The local continuity meta-criterion Q_NX(k) − k/(n − 1): the mean fraction of the k nearest neighbors that "
        "data and embedding share, minus its expected value for a random embedding."
    ),
    "neighbors preserved": (
        "The mean over points of the fraction of the k nearest neighbors in the data that are also among the k nearest "
        "neighbors in the embedding."
    ),
    "normalized stress": (
        "Kruskal's stress-1 √(Σ (δ − s d)² / Σ δ²) over pairs of points, where δ is the distance in the data, d the "
        "distance in the embedding, and s the scale factor that minimizes it: 0 is perfect."
    ),
    "Sammon stress": (
        "Σ ((δ − s d)² / δ) / Σ δ over pairs of points, where δ is the distance in the data, d the distance in the "
        "embedding, and s the scale factor that minimizes it: small distances have more weight than in the normalized "
        "stress."
    ),
    "Spearman correlation": (
        "The rank correlation of the pairwise distances in the data and in the embedding: 1 means that their order is "
        "preserved."
    ),
    "Pearson correlation": (
        "The linear correlation r of the pairwise distances in the data and in the embedding: 1 means that they are "
        "preserved up to scale and offset."
    ),
    "residual variance": (
        "1 − r², where r is the Pearson correlation of the pairwise distances in the data and in the embedding: 0 is "
        "perfect."
    ),
    "neighborhood hit": (
        "The mean over points of the fraction of the k nearest neighbors in the embedding that have the class label of "
        "the row."
    ),
    "nearest-neighbor accuracy": (
        "The fraction of points whose class label is the majority label of their k nearest neighbors in the embedding, "
        "not counting the point itself."
    ),
    "nearest-neighbor accuracy in the data": (
        "The fraction of points whose class label is the majority label of their k nearest neighbors in the data, a "
        "reference value for the embeddings."
    ),
    "silhouette": (
        "The mean over points of (b − a)/max(a, b), where a is the mean distance to the points of the same class in "
        "the embedding and b the smallest mean distance to the points of another class: from −1 to 1."
    ),
    "downstream accuracy": (
        "The fraction of held-out rows that a nearest-neighbor classifier on the coordinates classifies correctly in "
        "cross-validation, where supervised methods are fitted without the held-out rows."
    ),
    "balanced accuracy": (
        "The mean over classes of the fraction of held-out rows that a nearest-neighbor classifier on the coordinates "
        "classifies correctly: a large class counts no more than a small one."
    ),
    "AUC": (
        "The probability that a held-out row of a class gets a higher fraction of neighbors of that class than a row "
        "of another class, mean over classes: one half is chance, 1 is perfect."
    ),
    "linear accuracy": (
        "The fraction of held-out rows that logistic regression on the standardized coordinates, or the method's own "
        "classifier, classifies correctly in cross-validation."
    ),
    "linear balanced accuracy": (
        "The mean over classes of the fraction of held-out rows that logistic regression on the coordinates, or the "
        "method's own classifier, classifies correctly."
    ),
    "linear AUC": (
        "The probability that logistic regression on the coordinates, or the method's own classifier, gives a held-out "
        "row of a class a higher probability of that class than a row of another class, mean over classes: one half is "
        "chance."
    ),
    "downstream R²": (
        "1 − Σ (y − ŷ)² / Σ (y − ȳ)² over held-out rows, where ŷ is the mean label of the nearest neighbors in the "
        "embedding: 1 is perfect, 0 is the mean of the labels."
    ),
    "linear R²": (
        "1 − Σ (y − ŷ)² / Σ (y − ȳ)² over held-out rows, where ŷ is predicted by ridge regression on the standardized "
        "coordinates: 1 is perfect, 0 is the mean of the labels."
    ),
    "reconstruction error": (
        "The mean over points of the squared Euclidean distance between a point and its reconstruction by the inverse "
        "transform."
    ),
    "explained variance ratio": (
        "1 − Σ ‖x − x̂‖² / Σ ‖x − x̄‖², where x̂ is the reconstruction of point x by the inverse transform and x̄ the "
        "mean: negative if the reconstruction is worse than the mean."
    ),
}

IN_WORDS = {  # of the measures that decide, for readers who do not know them
    "fidelity": "how well the map preserves neighborhoods and distances, where 1 is perfect.",
    "area under R_NX": "how well the map preserves neighborhoods alone, where 0 is chance and 1 is perfect.",
    "explained variance ratio": "the fraction of the variance that the coordinates preserve, where 1 is perfect.",
    "reconstruction error": "the mean squared distance between a point and its reconstruction, where 0 is perfect.",
    "downstream accuracy": "the fraction of held-out rows whose class their nearest neighbors on the map predict.",
    "downstream R²": "how well the nearest neighbors on the map predict the labels of held-out rows, where 1 is "
    "perfect and 0 is no better than the mean.",
}


def meaning_of(name: str, trials: Iterable[Trial]) -> str:
    """Return the definition of a measure; for one without a definition, the description that all trials share."""
    texts = {trial.scores[name].about for trial in trials if name in trial.scores}
    if name in MEANINGS:
        return MEANINGS[name]
    return texts.pop() if len(texts) == 1 else "See the description in the details of each trial."
