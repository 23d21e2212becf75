"""Eigenvalues of small matrices by hand and by Lowland, and why symmetry matters.

A matrix maps the unit circle to an ellipse, and eigenvectors keep their direction. A symmetric matrix, such as a
covariance, has real eigenvalues and orthogonal eigenvectors, which are the axes of the ellipse. The eigenvectors of the
second matrix are not orthogonal, and the third, a rotation, has no real ones. A solver for symmetric matrices would
return wrong values for them without an error, so Lowland checks that a given covariance is symmetric.
"""

import numpy as np

from gallery import panels, show, title
from lowland import FactorAnalysis
from lowland.errors import DataError
from lowland.math.spectra.leading import leading_eigenpairs
from lowland.plots.style import INK, MARK, STRONG, WEAK, quiet
from lowland.run.run import Run


def solved(A):
    """Eigenvalues in descending order and eigenvectors in columns, by Lowland's solver."""
    pairs = leading_eigenpairs(A, len(A), run=Run(), definite=False)
    return pairs.values, pairs.vectors


symmetric = np.array([[2.0, 1.0], [1.0, 2.0]])  # λ² - 4λ + 3 = (λ - 3)(λ - 1)
values, vectors = solved(symmetric)
assert np.allclose(values, [3, 1])
assert np.allclose(vectors * 2**0.5, [[1, 1], [1, -1]])
chain = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])  # (2 - λ)((2 - λ)² - 2)
assert np.allclose(solved(chain)[0], [2 + 2**0.5, 2, 2 - 2**0.5])

askew = np.array([[5.0, 7.0], [-2.0, -4.0]])  # λ² - λ - 6 = (λ - 3)(λ + 2)
by_hand = np.array([[7.0, 1.0], [-2.0, -1.0]])  # in columns
assert np.allclose(askew @ by_hand, by_hand * [3, -2])
unit = by_hand / np.linalg.norm(by_hand, axis=0)
angle = np.degrees(np.arccos(unit[:, 0] @ unit[:, 1]))
assert angle < 35, "not orthogonal"
wrong, directions = solved(askew)
assert np.abs(wrong - [3, -2]).min() > 2, "the symmetric solver reads one triangle, so it solves another matrix"
assert np.linalg.norm(askew @ directions - directions * wrong) > 5
turning = np.array([[0.0, -1.0], [1.0, 0.0]])  # λ² + 1
assert np.allclose(np.linalg.eigvals(turning), [1j, -1j]), "a rotation by 90 degrees has no real eigenvalue"
refusal = ""
try:
    FactorAnalysis(1).fit_covariance(askew, n_samples=100)
except DataError as error:
    refusal = str(error)
assert "symmetric" in refusal

figure, axes = panels(1, 3, (10, 3.8))
turn = np.linspace(0, 2 * np.pi, 200)
circle = np.stack([np.cos(turn), np.sin(turn)])
shown = (
    (symmetric, vectors, {3: (2.45, 2.45), 1: (-1.7, 1.7)}, 2.9, "[2 1; 1 2]: orthogonal eigenvectors"),
    (askew, unit, {3: (6.6, -0.9), -2: (-5.4, 5.4)}, 9.2, f"[5 7; −2 −4]: eigenvectors at {angle:.0f}°"),
    (turning, circle[:, ::25], {}, 1.25, "[0 −1; 1 0]: a rotation"),
)
box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
for ax, (A, V, labels, reach, words) in zip(axes[0], shown, strict=True):
    ax.plot(*circle, color=WEAK, linewidth=1.5)
    ax.plot(*(A @ circle), color=STRONG, linewidth=1.8)
    for v, (factor, place) in zip(V.T, labels.items(), strict=False):
        ax.axline((0, 0), v, color=MARK, linewidth=0.8, linestyle="--")
        ax.text(*place, f"λ = {factor}".replace("-", "−"), color=MARK, ha="center", va="center", bbox=box)
    for v in V.T:
        style = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "color": MARK, "linewidth": 1.8}
        ax.annotate("", A @ v, v, arrowprops=style)
        ax.plot(*v, "o", color=INK, markersize=4)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    quiet(ax)
    ax.grid(visible=False)
    title(ax, words)

show(
    figure,
    "The matrix with the rows (5, 7) and (-2, -4) has the eigenvalues 3 and -2 and eigenvectors at an angle of "
    f"{angle:.0f} degrees. A solver for symmetric matrices returns {wrong[0]:.2f} and {wrong[1]:.2f}, which is wrong. "
    "Lowland rejects the matrix as a covariance because it is not symmetric.",
)
