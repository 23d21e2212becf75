"""What figures refuse, with the remedy in the message."""

import numpy as np
import pytest

import lowland
from lowland import plots
from lowland.errors import DataError, ParameterError

NAN, EYE = [1.0, np.nan], np.eye(3)
TREE = [[0, 1], [2, 3]]
X, Z = np.random.default_rng(0).random((9, 64)), np.random.default_rng(1).random((9, 2))
PCA = lowland.PCA(2).fit(X)
SHAPE = (8, 8)

REFUSED = [
    # --- spectra
    (plots.scree, ([],), {}, "list of one or more"),
    (plots.scree, (np.ones((2, 2)),), {}, "shape"),
    (plots.scree, ([0.0, 0.0],), {}, "eigenvalues add up to zero"),
    (plots.distortion_curve, (["a", "b"],), {}, "contains strings"),
    (plots.distortion_curve, (NAN,), {}, "NaN"),
    *((draw, ([2, 1, 0],), {"choice": choice}, "choice=")
      for draw in (plots.scree, plots.distortion_curve) for choice in (7, -1, True, "two")),
    (plots.decay, ([2, -1],), {}, "random walk.*DiffusionMap"),
    (plots.decay, ([0.5, -1.1],), {}, "random walk.*DiffusionMap"),
    # --- scatter plots
    (plots.embedding, (np.ones((5, 1)),), {}, "two columns.*n_components=2"),
    (plots.embedding, (np.ones((5, 2)), np.ones(4)), {}, "labels has shape.*one label per row"),
    (plots.embedding, (lowland.PCA(2),), {}, r"not fitted.*plots.embedding\(model, X\)"),
    (plots.embedding, ([["a", "b"]],), {}, "contains strings"),
    (plots.embedding, (np.full((3, 2), np.nan),), {}, "nothing to draw"),
    (plots.embedding, (np.ones((0, 2)),), {}, "nothing to draw"),
    (plots.embedding, (EYE, np.array([1, "a", 2], dtype=object)), {}, "labels.*strings"),
    (plots.embedding, (EYE,), {"size": -1}, "size above 0 and two axis names"),
    (plots.embedding, (EYE,), {"axis_names": ("a",)}, "size above 0 and two axis names"),
    # --- columns
    (plots.biplot, (PCA,), {}, r"plots.biplot\(model, X\)"),
    (plots.biplot, (Z, PCA), {}, r"plots.biplot\(model, X\)"),
    (plots.biplot, (PCA.components_, np.ones((99, 2))), {}, "swapped.*coordinates first"),
    (plots.biplot, (Z, [NAN, [2.0, 3.0]]), {}, "NaN or infinity"),
    (plots.biplot, (EYE, np.ones((1, 3))), {}, "two components.*n_components=2"),
    (plots.loadings, ("pca",), {}, "contains strings"),
    (plots.loadings, (np.ones(3),), {}, "components has shape.*one row per component"),
    (plots.loadings, (EYE, ["a", "b"]), {}, "2 names for 3"),
    *((plots.loadings, (EYE,), {"most": most}, "most=") for most in (0, 1.5, "2")),
    (plots.dendrogram, ([0, 1],), {}, "children.*two nodes per merge"),
    *((plots.dendrogram, (tree,), {}, "one tree of 3 leaves.*compute_full_tree=True")
      for tree in ([[0, 1], [0, 3]], [[0, 4], [1, 2]], [[0, 1], [2, 5]])),
    (plots.dendrogram, ([["a", "b"]],), {}, "contains strings"),
    (plots.dendrogram, ([[0, 0.5]],), {}, "fractions"),
    (plots.dendrogram, (TREE, [1.0]), {}, "one distance per merge"),
    (plots.dendrogram, (TREE, NAN), {}, "distances contains NaN"),
    (plots.dendrogram, (TREE,), {"labels": [0, 1]}, "cluster of each leaf"),
    (plots.dendrogram, (TREE,), {"labels": [0, None, 1]}, "1 of the 3 labels are NaN or None"),
    (plots.dendrogram, (TREE,), {"names": ["a", "b"]}, "2 names for 3 leaves"),
    # --- maps of units
    (plots.u_matrix, ([["a", "b"]],), {}, "contains strings"),
    (plots.u_matrix, (EYE, "square"), {}, "topology='square': choose 'hexagonal' or 'rectangular'"),
    (plots.hit_map, (np.ones(4),), {}, "one number per unit"),
    (plots.hit_map, ([NAN],), {}, "NaN"),
    (plots.component_planes, (np.ones((6, 2)), 6), {}, "grid=6"),
    (plots.component_planes, (np.ones((5, 2)), (2, 3)), {}, "units has shape.*a grid of 2 x 3 has 6 units"),
    (plots.component_planes, (np.ones((6, 2)), (2, 3)), {"panels_across": 0}, "panels_across=0"),
    (plots.component_planes, (np.ones((6, 2)), (2, 3)), {"names": ["a"]}, "1 names for 2"),
    # --- images
    (plots.images, (X, (9, 9)), {}, "need 81 columns"),
    (plots.images, (X, SHAPE), {"titles": ["a", "b"]}, "2 titles for 9 images"),
    *((plots.images, (X, SHAPE), {"columns": columns}, f"columns={columns}") for columns in (0, 1.5)),
    (plots.images, (X, 8), {}, "image_shape=8"),
    (plots.images, (np.full((2, 64), np.nan), SHAPE), {}, "nothing to draw"),
    (plots.thumbnails, (Z, X[:5], SHAPE), {}, "pixels of the same rows"),
    (plots.thumbnails, (Z, X, SHAPE, [9]), {}, "rows contains rows without coordinates"),
    (plots.thumbnails, (Z, X, SHAPE, [0.5]), {}, "row numbers, from 0 to 8"),
    (plots.thumbnails, (Z, X, SHAPE), {"path": [1]}, "list of 2 or more"),
    (plots.thumbnails, (Z, X, SHAPE), {"path": np.ones((1, 2))}, "two or more finite points"),
    (plots.thumbnails, (Z, X, SHAPE), {"count": 0}, "count=0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("draw", "args", "options", "words"), REFUSED, ids=lambda value: getattr(value, "__name__", "")
)
def test_wrong_arguments_are_refused_with_a_remedy(draw, args, options, words):
    with pytest.raises((DataError, ParameterError), match=words):
        draw(*args, **options)
