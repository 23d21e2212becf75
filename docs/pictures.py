"""The figures of the docs: ``generate.py`` draws every public function of this file.

A figure without a function here is drawn by the snippets of its page, which define ``figure``.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import lowland
from lowland import plots
from lowland.data import load_dataset

ROOT = Path(__file__).parents[1]
INK, STRONG, WEAK, MARK = (getattr(plots.style, name) for name in ("INK", "STRONG", "WEAK", "MARK"))
COLORS, MARKERS, MEANINGS = (getattr(plots.style, name) for name in ("COLORS", "MARKERS", "MEANINGS"))
_quiet = plots.style.quiet


def pca_two_views() -> Any:
    """A point cloud and its first principal axis: projections onto it, and distances to it."""
    figure, (left, right) = _panels(2, (9.5, 3.5))
    cloud = load_dataset("ellipse", n=160, axes=(2.2, 0.8), seed=3)
    pca = lowland.PCA().fit(cloud.X)
    mean, u = pca.mean_, pca.components_[0]
    back = mean + ((cloud.X - mean) @ u)[:, None] * u  # the orthogonal projection of each row
    line = mean + np.array([[-6.2], [6.2]]) * u
    for ax in (left, right):
        ax.plot(*line.T, color=INK, linewidth=1)
        ax.scatter(*cloud.X.T, s=14, color=STRONG, alpha=0.75, linewidths=0)
        ax.text(*(line[1] + 0.15), "$u_1$", color=INK, fontsize="large")
        ax.set_aspect("equal")
        ax.set_xlim(-6, 6.2)
        ax.set_ylim(-3.4, 3.6)
        ax.set_axis_off()
    left.scatter(*back.T, s=9, color=MARK, linewidths=0, zorder=3)
    for x, b in zip(cloud.X, back, strict=True):
        right.plot(*np.array([x, b]).T, color=MARK, linewidth=0.7, zorder=0)
    kept, lost = pca.distortion(0) - pca.distortion(1), pca.distortion(1)
    _title(left, f"variance of the projections (red): {kept:.2f},\nthe maximum over all directions")
    _title(right, f"mean squared distance to the axis (red): {lost:.2f},\nthe minimum over all directions")
    return figure


def pca_how_many() -> Any:
    """The same spectrum as a scree plot and as a distortion curve."""
    figure, (left, right) = _panels(2, (9.5, 3.6))
    pca = lowland.PCA().fit(load_dataset("digits").X)
    choice = lowland.PCA(lowland.rules.Knee()).fit(load_dataset("digits").X).choice_
    plots.scree(pca.explained_variance_[:40], pca.total_variance_, choice, ax=left)
    plots.distortion_curve([pca.distortion(m) for m in range(41)], choice, ax=right)
    _title(right, "reconstruction error with m components")
    return figure


def pca_components() -> Any:
    """The first components of the digits, as images."""
    sample = load_dataset("digits")
    pca = lowland.PCA(16).fit(sample.X)
    return plots.components_as_images(pca.components_, sample.image_shape, columns=8)


def incremental_pca() -> Any:
    """Angle between the subspace of batches and that of all rows, in Lowland and in scikit-learn."""
    from sklearn.decomposition import IncrementalPCA

    X = load_dataset("digits").X
    whole = np.linalg.svd(X - X.mean(0), full_matrices=False)[2][:10].T  # (d, 10)
    sizes = np.array([20, 50, 100, 200, 400, 800, 1797])
    errors: dict[str, list[float]] = {"scikit-learn's IncrementalPCA": [], "Lowland's IncrementalPCA": []}
    for size in sizes:
        theirs, ours = IncrementalPCA(10, batch_size=size).fit(X), lowland.IncrementalPCA(10, batch_size=size).fit(X)
        for model, found in zip((theirs, ours), errors.values(), strict=True):
            lost = whole - model.components_.T @ (model.components_ @ whole)
            found.append(float(np.linalg.norm(lost, 2)))  # sine of the largest principal angle
    figure, (ax,) = _panels(1, (6, 3.4))
    for (name, values), color, marker in zip(errors.items(), (MARK, STRONG), "so", strict=True):
        ax.loglog(sizes, values, color=color, marker=marker, label=name)
    ax.set_xlabel("rows per batch")
    ax.set_ylabel("sine of the largest angle to\nthe exact ten components")
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.minorticks_off()
    ax.set_ylim(1e-17, 10)
    ax.legend(frameon=False, loc="center left")
    _quiet(ax)
    return figure


def truncated_svd() -> Any:
    """A cloud away from the origin: the first singular vector points toward it, the first component along it."""
    figure, (ax,) = _panels(1, (5.6, 4.0))
    X = load_dataset("ellipse", n=160, axes=(2.0, 0.5), angle=-35.0, seed=1).X + np.array([5.0, 3.5])
    pca, svd = lowland.PCA(1).fit(X), lowland.TruncatedSVD(1).fit(X)
    ax.axhline(0, color=WEAK, linewidth=0.8)
    ax.axvline(0, color=WEAK, linewidth=0.8)
    ax.scatter(*X.T, s=12, color="#9aa3af", linewidths=0)
    for start, way, color, words, place in (
        (np.zeros(2), svd.components_[0] * 6.2, MARK, "TruncatedSVD:\nnot centered", (2.6, 0.6)),
        (pca.mean_, pca.components_[0] * 2.6, STRONG, "PCA:\ncentered", (6.6, 4.6)),
    ):
        ax.annotate("", start + way, start, arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2.2})
        ax.text(*place, words, color=color)
    ax.set_aspect("equal")
    ax.set_xlim(-0.7, 10.5)
    ax.set_ylim(-0.7, 7.5)
    _quiet(ax)
    ax.grid(visible=False)
    return figure


def whitening() -> Any:
    """A cloud whitened in three ways; three marked points show the rotation."""
    X = load_dataset("ellipse", n=400, axes=(1.8, 0.5), angle=35.0, seed=2).X
    marked = np.argsort(X @ [1.0, 0.3])[[-1, -6, 0]]
    figure, panels = _panels(4, (10, 2.9))
    kinds = {"data": None, "pca": "pca", "zca": "zca", "cholesky": "cholesky"}
    for ax, (words, kind) in zip(panels, kinds.items(), strict=True):
        Z = X if kind is None else lowland.Whitening(method=kind).fit_transform(X)
        ax.scatter(*Z.T, s=8, color=STRONG, alpha=0.6, linewidths=0)
        for i, marker in zip(marked, "s^D", strict=True):
            ax.scatter(*Z[i], s=55, color=MARK, marker=marker, edgecolors="white", linewidths=0.8, zorder=3)
        ax.set_aspect("equal")
        ax.set_xlim(-5.4, 5.4)
        ax.set_ylim(-5.4, 5.4)
        ax.set_xticks([-4, 0, 4])
        ax.set_yticks([-4, 0, 4])
        _title(ax, words)
        _quiet(ax)
    return figure


def linear_discriminant_analysis() -> Any:
    """Wine in two planes: maximum variance, and maximum separation of the growers."""
    sample = load_dataset("wine")
    figure, (left, right) = _panels(2, (9.5, 4.0))
    pca = lowland.PCA(2, scale=True).fit_transform(sample.X)
    lda = lowland.LinearDiscriminantAnalysis(n_components=2).fit(sample.X, sample.y).transform(sample.X)
    for ax, Z, words, axis in (
        (left, pca, "PCA: maximum variance", "component"),
        (right, lda, "LDA: maximum class separation", "discriminant"),
    ):
        names = (f"{axis} 1", f"{axis} 2")
        plots.embedding(Z, sample.y, label_names=sample.label_names, axis_names=names, title=words, ax=ax)
    return figure


def linear_autoencoder() -> Any:
    """Left: the loss decreases to the error of PCA. Right: the subspace converges to that of PCA."""
    from scipy.linalg import subspace_angles

    X, k = load_dataset("digits").X, 5
    pca = lowland.PCA(k).fit(X)
    figure, (left, right) = _panels(2, (9.5, 3.6))
    stops = np.arange(1, 252, 10)
    for encoder, color, line in (
        ("tied", STRONG, "-"),
        ("untied", "#e76300", "--"),
        ("least_squares", "#832db6", "-."),
    ):
        models = [_stopped(lowland.LinearAutoencoder(k, encoder=encoder, max_iter=int(m)), X) for m in stops]
        angles = [subspace_angles(pca.components_.T, model.decoder_).max() for model in models]
        left.plot(np.array(models[-1].trace_) / pca.distortion(), color=color, linestyle=line, label=encoder)
        right.semilogy(stops, angles, color=color, linestyle=line, label=encoder)
    left.axhline(1, color=MARK, linewidth=1)
    left.text(40, 0.97, "PCA", color=MARK, ha="right", va="top")
    left.set_xlim(0, 40)
    left.set_ylim(0.85, 2.1)
    left.set_ylabel("loss / error of PCA")
    left.legend(frameon=False, title="encoder", alignment="left")
    right.set_ylim(1e-8, 3)
    right.set_ylabel("largest angle to the PCA subspace")
    _title(left, f"loss, digits, {k} components")
    _title(right, "subspace of the decoder (angle in radians)")
    for ax in (left, right):
        ax.set_xlabel("iteration")
        _quiet(ax)
    return figure


def _stopped(model: Any, X: np.ndarray) -> Any:
    """Fit a model that stops before convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


def projection_pursuit() -> Any:
    """RANDU's triples projected onto principal components and by projection pursuit."""
    X = load_dataset("randu").X
    pca, found = lowland.PCA(2, whiten=True).fit(X), lowland.ProjectionPursuit(random_state=0).fit(X)
    figure, (left, right) = _panels(2, (9.5, 4.7))
    noise = found.null_index_.max()
    for ax, model, words in (
        (left, pca, "PCA: largest variance"),
        (right, found, f"projection pursuit: index {found.index_[0]:.2f} (noise: at most {noise:.2f})"),
    ):
        ax.scatter(*model.transform(X).T, s=9, color=STRONG, linewidths=0)
        ax.set_aspect("equal")
        ax.set_xlim(-2.9, 2.9)
        ax.set_ylim(-2.6, 2.6)
        _title(ax, words)
        _quiet(ax)
        ax.grid(visible=False)
    x, y, z = np.round(found.directions_[0] * 118**0.5).astype(int)
    right.set_xlabel(f"{x}x − {-y}y + {z}z, centered and scaled".replace("+ 1z", "+ z"))
    return figure


def fast_ica() -> Any:
    """Sources, mixtures of them, and the components of PCA and FastICA."""
    from matplotlib.figure import Figure

    t = np.linspace(0, 8, 2000)
    rng = np.random.default_rng(0)
    S = np.column_stack([np.sin(5 * t), np.sign(np.sin(7.3 * t)), (3.1 * t) % 2 - 1 + 0.1 * rng.laplace(size=2000)])
    S = (S - S.mean(axis=0)) / S.std(axis=0)
    X = S @ np.array([[1.0, 0.8, 0.5], [0.6, 1.0, 0.9], [0.9, 0.4, 1.0]]).T
    parts = {
        "three sources": S,
        "microphones: mixtures": X,
        "PCA: uncorrelated, still mixed": lowland.PCA(whiten=True).fit_transform(X),
        "FastICA: the sources, up to order and sign": lowland.FastICA(random_state=0).fit_transform(X),
    }
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    for subfigure, (words, Y), color in zip(
        figure.subfigures(2, 2).ravel(), parts.items(), (INK, INK, STRONG, MARK), strict=True
    ):
        subfigure.suptitle(words, fontsize="medium", color=INK, x=0.02, ha="left")
        for ax, y in zip(subfigure.subplots(3, 1), Y.T, strict=True):
            ax.plot(t[:1000], y[:1000], color=color, linewidth=0.9)
            ax.set_axis_off()
    return figure


def factor_analysis() -> Any:
    """Loadings of three factors of wine, unrotated and rotated."""
    sample = load_dataset("wine")
    figure, panels = _panels(3, (10, 4.2))
    for ax, (words, kind) in zip(
        panels, {"unrotated": None, "varimax": "varimax", "oblimin": "oblimin"}.items(), strict=True
    ):
        fa = lowland.FactorAnalysis(3, rotation=kind, kaiser=True).fit(sample.X)
        image = ax.imshow(fa.loadings_, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        for (i, j), value in np.ndenumerate(fa.loadings_):
            if abs(value) >= 0.3:
                ink = "white" if abs(value) > 0.55 else INK
                ax.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize="x-small", color=ink)
        ax.set_xticks(range(3), ["factor 1", "factor 2", "factor 3"])
        ax.set_yticks(range(13), [n.replace("_", " ") for n in sample.names] if ax is panels[0] else [""] * 13)
        ax.tick_params(length=0, labelsize="small")
        _title(ax, words)
    figure.colorbar(image, ax=panels, shrink=0.6, label="loading")
    return figure


def classical_mds() -> Any:
    """Airports from their distances, and the eigenvalues, of which two are large."""
    airports = load_dataset("airports")
    model = lowland.ClassicalMDS(metric="precomputed", all_eigenvalues=True).fit(airports.X)
    west, north = (airports.names.index(name) for name in ("SFO", "SEA"))
    Z = model.embedding_ * [-np.sign(model.embedding_[west, 0]), np.sign(model.embedding_[north, 1])]
    figure, (left, right) = _panels(2, (9.5, 4.2))
    left.scatter(*Z.T, s=30, color=STRONG, linewidths=0)
    below = {"IAD", "HOU", "LAX"}
    for name, (x, y) in zip(airports.names, Z, strict=True):
        shift = (0, -14) if name in below else (0, 7)
        left.annotate(name, (x, y), shift, textcoords="offset points", ha="center", fontsize="small", color=INK)
    left.set_aspect("equal", adjustable="datalim")
    left.margins(0.1)
    left.set_xlabel("miles")
    _title(left, "ten airports from their distances")
    values = model.eigenvalues_ / 1e6
    colors = [STRONG if i < model.dimensionality_ else WEAK for i in range(len(values))]
    right.bar(np.arange(1, 11), values, color=colors)
    right.axhline(0, color=INK, linewidth=0.6)
    right.set_xticks(range(1, 11))
    right.annotate(
        f"{values[-1]:.3f}", (10, 0), (0, -12), textcoords="offset points", ha="center", fontsize="small", color=MARK
    )
    right.annotate(
        f"{values[2]:.3f}", (3, 0), (0, 5), textcoords="offset points", ha="center", fontsize="small", color=INK
    )
    right.set_ylim(-0.9, None)
    right.set_xlabel("index of the eigenvalue")
    right.set_ylabel("millions of square miles")
    _title(right, f"eigenvalues: {model.dimensionality_} dimensions")
    for ax in (left, right):
        _quiet(ax)
    left.grid(visible=False)
    return figure


def kernel_pca() -> Any:
    """Three circles with contours of one component, and its histogram."""
    rings = load_dataset("concentric_circles")
    kpca = lowland.KernelPCA(3, kernel="rbf", gamma="median").fit(rings.X)
    figure, (left, right) = _panels(2, (9.5, 4.0))
    ticks = np.linspace(-3.7, 3.7, 120)
    height = kpca.transform(np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2))[:, 2]
    left.contour(ticks, ticks, height.reshape(120, 120), levels=12, colors=WEAK, linewidths=0.9, zorder=0)
    z = kpca.transform(rings.X)[:, 2]
    bins = np.linspace(z.min(), z.max(), 60)
    for ring, name in enumerate(rings.label_names):
        mine, style = rings.y == ring, {"color": plots.style.COLORS[ring], "label": name}
        left.scatter(*rings.X[mine].T, s=12, marker=plots.style.MARKERS[ring], linewidths=0, **style)
        right.hist(z[mine], bins, **style)
    left.set_aspect("equal")
    left.set_axis_off()
    right.set_xlabel("third component")
    right.set_ylabel("points")
    right.legend(frameon=False, loc="upper center")
    _title(left, "data, with contours of the third component")
    _title(right, "the third component separates the circles")
    _quiet(right)
    return figure


def mds() -> Any:
    """A map of 300 digits, its Shepard diagram, and the convergence of its stress."""
    figure, (left, middle, right) = _panels(3, (10.5, 3.6))
    digits = load_dataset("digits")
    X, y = digits.X[:300], digits.y[:300]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        quick, plain = (lowland.MDS(accelerate=on, eps=1e-12, max_iter=200).fit(X) for on in (True, False))
    for label in range(10):
        color, marker = plots.style.COLORS[label], f"${label}$"
        left.scatter(*quick.embedding_[y == label].T, s=26, color=color, marker=marker, linewidths=0)
    left.set_aspect("equal")
    left.set_xticks([])
    left.set_yticks([])
    _title(left, "300 handwritten digits")
    given, shown = (_distances(A) for A in (X, quick.embedding_))
    middle.plot([0, given.max()], [0, given.max()], color=MARK, linewidth=1)
    middle.scatter(given[::9], shown[::9], s=2, color=STRONG, alpha=0.4, linewidths=0)
    middle.set_xlabel("distance in the data")
    middle.set_ylabel("distance in the map")
    _title(middle, f"Shepard diagram: stress-1 {quick.stress1_:.2f}")
    least = min(*quick.trace_, *plain.trace_)
    for run, color, words in ((plain, "#7f8794", "plain"), (quick, STRONG, "accelerated")):
        right.plot(np.array(run.trace_[:-1]) / least - 1, color=color, label=words)
    right.set_yscale("log")
    right.set_ylim(bottom=1e-7)
    right.set_xlabel("iteration")
    right.legend(frameon=False)
    _title(right, "stress above the minimum, relative")
    for ax in (left, middle, right):
        _quiet(ax)
    return figure


def sammon_mapping() -> Any:
    """Six clusters by MDS and by Sammon mapping; distances in the maps relative to those in the data."""
    figure, (left, middle, right) = _panels(3, (10.5, 3.6))
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 25)
    X = 6 * rng.standard_normal((6, 10))[y] + 0.7 * rng.standard_normal((150, 10))
    models = {"MDS": lowland.MDS(eps=1e-9), "SammonMapping": lowland.SammonMapping()}
    given = _distances(X)
    borders = np.quantile(given, np.linspace(0, 1, 11))
    bins = np.digitize(given, borders[1:-1])
    middles = [np.median(given[bins == b]) for b in range(10)]
    for ax, (name, model), color in zip((left, middle), models.items(), ("#7f8794", STRONG), strict=True):
        Z = model.fit_transform(X)
        for label in range(6):
            style = {"color": plots.style.COLORS[label], "marker": plots.style.MARKERS[label]}
            ax.scatter(*Z[y == label].T, s=14, linewidths=0, **style)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xticks([])
        ax.set_yticks([])
        _title(ax, name)
        ratio = _distances(Z) / given
        right.plot(middles, [ratio[bins == b].mean() for b in range(10)], "o-", color=color, markersize=4, label=name)
    right.axhline(1, color=MARK, linewidth=1)
    right.set_ylim(0, None)
    right.set_xlabel("distance in the data")
    right.set_ylabel("mean of map / data")
    right.legend(frameon=False, loc="lower right")
    _title(right, "distances in the map, relative")
    for ax in (left, middle, right):
        _quiet(ax)
    return figure


def spectral_embedding() -> Any:
    """A Swiss roll from the side, its first two coordinates, and the first against the position along the spiral."""
    figure, (left, middle, right) = _panels(3, (10.5, 3.4))
    rng = np.random.default_rng(0)
    s, h = 1.5 * np.pi * (1 + 2 * rng.random(1500)), 10 * rng.random(1500)
    X = np.column_stack([s * np.cos(s), h, s * np.sin(s)])
    Z = lowland.SpectralEmbedding(2, n_neighbors=12).fit_transform(X)
    length = (s * np.sqrt(1 + s**2) + np.arcsinh(s)) / 2  # along the spiral
    style = {"c": length, "cmap": plots.style.SEQUENTIAL, "s": 7, "linewidths": 0}
    left.scatter(X[:, 0], X[:, 2], **style)
    left.set_aspect("equal")
    left.set_axis_off()
    _title(left, "Swiss roll, from the side")
    middle.scatter(*Z.T, **style)
    middle.set_axis_off()
    _title(middle, "spectral embedding")
    right.scatter(length, Z[:, 0], **style)
    right.set_xlabel("length along the spiral")
    right.set_ylabel("first coordinate")
    right.set_yticks([])
    _title(right, "first coordinate along the spiral")
    _quiet(right)
    return figure


def diffusion_map() -> Any:
    """A circle with nonuniform density, embeddings with and without correction for it, and the decay in time."""
    figure, (left, plain, free, right) = _panels(4, (11.5, 3.1))
    u = (np.arange(240) + 0.5) / 240
    angle = 2 * np.pi * u + 0.85 * np.sin(2 * np.pi * u)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    style = {"c": np.cos(angle), "cmap": plots.style.SEQUENTIAL, "s": 12, "linewidths": 0}
    found = {alpha: lowland.DiffusionMap(10, alpha=alpha).fit(X) for alpha in (0, 1)}
    for ax, Z, words in (
        (left, X, "data: denser on one side"),
        (plain, found[0].embedding_, "α = 0: density has an effect"),
        (free, found[1].embedding_, "α = 1: density is corrected"),
    ):
        ax.scatter(Z[:, 0], Z[:, 1], **style)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_axis_off()
        _title(ax, words)
    plots.decay(found[1].eigenvalues_, (1, 4, 16), ax=right)
    _title(right, "decay of the eigenvalues")
    return figure


def umap() -> Any:
    """Handwritten digits by UMAP and by densMAP."""
    figure, axes = _panels(2, (9.0, 4.2))
    digits = load_dataset("digits")
    for ax, densmap, words in zip(axes, (False, True), ("UMAP", "densMAP: dense groups stay dense"), strict=True):
        Z = lowland.UMAP(densmap=densmap, random_state=0).fit_transform(digits.X)
        plots.embedding(Z, digits.y, ax=ax)
        ax.set_axis_off()
        _title(ax, words)
    return figure


def _distances(X: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import pdist

    return pdist(X)


def _panels(count: int, size: tuple[float, float], lines: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(lines, count // lines, squeeze=False).ravel()


def _title(ax: Any, words: str) -> None:
    ax.set_title(words, fontsize="medium", color=INK, loc="left")


def locally_linear_embedding() -> Any:
    """LLE of iris with a disconnected and a connected graph; a Swiss roll by standard LLE and by LTSA."""
    from lowland import LocallyLinearEmbedding
    from lowland.errors import DataWarning

    iris, roll = load_dataset("iris"), load_dataset("swiss_roll", n=1000)
    figure, axes = _panels(4, (8.4, 7.0), lines=2)
    panels = (
        (iris.X, iris.y, {"disconnected": "ignore"}, "iris, disconnected graph: an artifact"),
        (iris.X, iris.y, {"disconnected": "connect"}, "iris, graph connected"),
        (roll.X, roll.truth[:, 0], {"method": "standard"}, "Swiss roll, standard LLE"),
        (roll.X, roll.truth[:, 0], {"method": "ltsa"}, "Swiss roll, LTSA"),
    )
    for ax, (X, color, options, words) in zip(axes, panels, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the figure is about it
            Z = LocallyLinearEmbedding(2, n_neighbors=12, **options).fit_transform(X)
        ax.scatter(Z[:, 0], Z[:, 1], c=color, s=7, cmap="viridis", linewidths=0)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel("colors: species" if X is iris.X else "colors: position along the spiral")
        _title(ax, words)
    return figure


def isomap() -> Any:
    """A Swiss roll unrolled, one with a short circuit, and the residual variances of both."""
    figure, axes = _panels(3, (9, 2.9))
    for ax, seed, words in zip(
        axes, (0, 5), ("unrolled: k = 12, seed 0", "short circuit: k = 12, seed 5"), strict=False
    ):
        roll = load_dataset("swiss_roll", n=1024, seed=seed)
        model = lowland.Isomap(2, n_neighbors=12).fit(roll.X)
        Z = model.embedding_
        ax.scatter(Z[:, 0], Z[:, 1], c=roll.y, s=5, cmap="viridis")
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xticks([])
        ax.set_yticks([])
        _title(ax, words)
        left = model.residual_variances_
        axes[2].plot(range(1, 11), left, "o-", color=STRONG if seed == 0 else MARK, markersize=4, label=f"seed {seed}")
        axes[2].axvline(model.elbow_, color=WEAK, linewidth=1, zorder=0, label="elbow" if seed else None)
    axes[2].set_xlabel("dimensions")
    axes[2].set_yscale("log")
    axes[2].legend(frameon=False)
    _title(axes[2], "residual variance")
    return figure


def intrinsic_dimension() -> Any:
    """Estimators on balls of known dimension, the estimate by scale, and the local dimension."""
    figure, (left, middle, right) = _panels(3, (11, 3.3))
    _known_dimensions(left)
    _dimension_over_scales(middle)
    _dimension_map(right)
    return figure


def _ball(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1)[:, None] * rng.random((n, 1)) ** (1 / d)


def _known_dimensions(ax: Any) -> None:
    true = np.array([1, 2, 3, 5, 7, 10, 14, 20])
    ax.plot([0, 21], [0, 21], color=WEAK, linewidth=0.8, zorder=0)
    for method, color, marker in (("auto", STRONG, "o"), ("mle", MARK, "s"), ("twonn", "#b8860b", "^"),
                                  ("correlation", "#6b7280", "v")):  # fmt: skip
        found = [lowland.quality.intrinsic_dimension(_ball(1000, d, d), method).value for d in true]
        ax.plot(true, found, color=color, marker=marker, markersize=4, linewidth=1, label=method)
    ax.set_xlabel("true dimension")
    ax.legend(frameon=False, title="method", alignment="left", fontsize="small", title_fontsize="small")
    _title(ax, "estimates on balls of 1,000 points")
    _quiet(ax)


def _dimension_over_scales(ax: Any) -> None:
    sets = {
        "translated digits": (load_dataset("moved_digits", size=50, shift=8).X, STRONG),
        "noisy Swiss roll": (load_dataset("swiss_roll", n=2000, noise=0.3).X, MARK),
    }
    for name, (X, color) in sets.items():
        found = lowland.quality.intrinsic_dimension(X)
        x = (found.details["radius"] / found.details["radius"][-1]) ** 2
        ax.plot(x, found.details["dimension at radius"], "o", color=color, markersize=4, label=name)
        at = 0.0 if "zero" in found.details["taken from"] else 1.0
        ax.errorbar(at, found.value, found.standard_error, color=color, fmt="D", capsize=4, markerfacecolor="white",
                    zorder=3)  # fmt: skip
    ax.set_xlabel("radius² (largest: 1)")
    ax.set_xlim(-0.07, 1.07)
    ax.set_ylim(1.8, 5.2)
    ax.legend(frameon=False, loc="upper left")
    _title(ax, "estimates by radius (diamonds: final)")
    _quiet(ax)


def _dimension_map(ax: Any) -> None:
    rng = np.random.default_rng(0)
    line = np.column_stack([rng.uniform(-2, -1, 250), np.zeros((250, 2))])
    sheet = np.column_stack([rng.uniform(-1, 1, 900), rng.uniform(-0.8, 0.8, 900), np.zeros(900)])
    X = np.concatenate([line, sheet, 0.8 * _ball(1500, 3, 1) + [1.8, 0, 0]])
    local = lowland.quality.intrinsic_dimension(X, per_point=True).per_point
    drawn = ax.scatter(X[:, 0], X[:, 1], c=local, s=5, linewidths=0, vmin=1, vmax=3, cmap="viridis")
    ax.figure.colorbar(drawn, ax=ax, ticks=[1, 2, 3], location="bottom", shrink=0.6, label="local dimension")
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    _title(ax, "a line, a square and a ball")


def sequential_feature_selector() -> Any:
    """Forward and floating backward selection of 4 columns of wine."""
    import pandas as pd

    from lowland import SequentialFeatureSelector, plots
    from lowland.data import load_dataset

    wine = load_dataset("wine")
    frame = pd.DataFrame(wine.X, columns=[name.partition("/")[0] for name in wine.names])
    figure, axes = _panels(2, (10, 4.2))
    for ax, direction, words in (
        (axes[0], "forward", "forward"),
        (axes[1], "floating-backward", "floating backward"),
    ):
        chosen = SequentialFeatureSelector(n_features_to_select=4, direction=direction).fit(frame, wine.y)
        plots.selection_path(chosen.path_, ax=ax)
        ax.set_ylim(0.75, 1.0)
        _title(ax, f"{words}: 4 columns score {chosen.score_:.3f}")
    return figure


def self_organizing_map() -> Any:
    """A grid fitted to a point cloud; the wine data on a map: U-matrix, rows and one component plane."""
    figure, panels = _panels(4, (8.6, 6.4), lines=2)
    rng = np.random.default_rng(0)
    angle, away = rng.uniform(0, 1.2 * np.pi, 2500), rng.uniform(1, 2, 2500)
    X = np.column_stack([away * np.cos(angle), away * np.sin(angle)])
    som = lowland.SelfOrganizingMap((7, 24), topology="rectangular", final_radius=0.7).fit(X)
    net = som.prototypes_.reshape(*som.grid_, 2)
    panels[0].scatter(*X.T, s=4, color=WEAK, linewidths=0)
    for line in (*net, *net.swapaxes(0, 1)):
        panels[0].plot(*line.T, color=STRONG, linewidth=0.7)
    panels[0].scatter(*som.prototypes_.T, s=7, color=MARK, linewidths=0, zorder=3)
    panels[0].set_aspect("equal")
    panels[0].set_axis_off()
    _title(panels[0], "a grid fitted to a point cloud")
    wine = load_dataset("wine")
    Z = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    som = lowland.SelfOrganizingMap((8, 10), coordinates="smooth").fit(Z)
    plots.u_matrix(som.u_matrix_, ax=panels[1], title="wine: U-matrix")
    plots.hit_map(som.hits_, ax=panels[2], title="points per unit (colors: growers)")
    places = som.transform(Z)
    for one, color in enumerate(plots.style.COLORS[:3]):
        panels[2].scatter(*places[wine.y == one].T, s=8, color=color, linewidths=0.3, edgecolors="white", zorder=3)
    for marks in panels[2].collections[1:2]:
        marks.set_facecolor(WEAK)
    names = list(wine.names)
    plots.component_planes(som.prototypes_[:, [names.index("proline")]], som.grid_, names=["proline"], ax=panels[3])
    return figure


def growth() -> Any:
    """Time and memory of the manifold methods by the number of points, measured by the job ``growth``."""
    curves = json.loads((ROOT / "benchmarks" / "growth.json").read_text())
    figure, axes = _panels(2, (9.5, 4.2))
    for (name, points), color, mark in zip(curves.items(), plots.style.COLORS, plots.style.MARKERS, strict=False):
        n, seconds, memory = np.array(points).T
        axes[0].loglog(n, seconds, color=color, marker=mark, markersize=4, linewidth=1.3, label=name)
        axes[1].loglog(n, memory / 1e6, color=color, marker=mark, markersize=4, linewidth=1.3)
    n = np.array([3e4, 1e6])
    for ax, at in zip(axes, (0.02, 6.0), strict=True):
        ax.loglog(n, at * n / n[0], color=WEAK, linewidth=1, linestyle="--")
        ax.text(n[1], at * n[1] / n[0], " ∝ n", color=INK, va="center", fontsize="small")
        ax.set_xlabel("points on a Swiss roll")
        _quiet(ax)
    axes[0].legend(frameon=False, fontsize="small")
    _title(axes[0], "time of a fit in seconds, two cores")
    _title(axes[1], "memory beyond the data in MB")
    return figure


def feature_filter() -> Any:
    """Six kinds of dependence of a target on a column, and four scores for each."""
    from matplotlib.figure import Figure

    from lowland import FeatureFilter

    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, 400)
    noise = rng.standard_normal(400)
    shapes = {
        "linear": x + 0.25 * noise,
        "monotone": np.exp(4 * x + 0.6 * noise),
        "quadratic": 2 * x**2 + 0.15 * noise,
        "periodic": np.sin(9 * x) + 0.25 * noise,
        "circular": np.where(rng.random(400) < 0.5, 1, -1) * np.sqrt(np.clip(1 - x**2, 0, 1)) + 0.06 * noise,
        "independent": noise,
    }
    scores = {"pearson": "|r|", "spearman": "|ρ|", "distance-correlation": "dCor", "mutual-information": "MI"}
    figure = Figure(figsize=(11.5, 4.0), layout="constrained")
    tops, bottoms = figure.subplots(2, 6, height_ratios=(1.2, 1))
    for top, bottom, (words, y) in zip(tops, bottoms, shapes.items(), strict=True):
        heights = [abs(FeatureFilter(score).fit(x[:, None], y).scores_[0]) for score in scores]
        heights[-1] = np.sqrt(
            1 - np.exp(-2 * heights[-1])
        )  # correlation of a bivariate normal with this mutual information
        top.scatter(x, y, s=4, color=STRONG, linewidths=0)
        top.set_xticks([])
        top.set_yticks([])
        for spine in top.spines.values():
            spine.set_color(WEAK)
        _title(top, words)
        bottom.bar(range(4), heights, color=[WEAK, WEAK, MARK, STRONG], width=0.7)
        bottom.set_xticks(range(4), list(scores.values()), fontsize="small")
        bottom.set_ylim(0, 1.05)
        _quiet(bottom)
        if bottom is not bottoms[0]:
            bottom.set_yticklabels([])
    return figure


def feature_agglomeration() -> Any:
    """Dendrogram of the columns of wine; pixels of the digits in groups, and a digit before and after pooling."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from sklearn.feature_extraction.image import grid_to_graph

    figure = Figure(figsize=(12.5, 3.9), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.1)
    left, groups, before, after = figure.subplots(1, 4, width_ratios=(2, 1, 1, 1))
    wine = load_dataset("wine")
    tree = lowland.FeatureAgglomeration(4, metric="correlation", linkage="average").fit(wine.X)
    names = [name.partition("/")[0].replace("_", " ") for name in wine.names]
    plots.dendrogram(tree.children_, tree.distances_, tree.labels_, names=names, ax=left)
    left.set_ylabel("1 − correlation")
    _title(left, "wine: 13 columns in 4 clusters")
    sample = load_dataset("digits")
    model = lowland.FeatureAgglomeration(12, connectivity=grid_to_graph(8, 8)).fit(sample.X)
    colors = ListedColormap([*plots.style.COLORS, "#2f7f4f", "#f3d3e0"])
    groups.imshow(model.labels_.reshape(8, 8), cmap=colors)
    _title(groups, "64 pixels of the digits\nin 12 clusters")
    one = sample.X[[4]]
    for ax, X, words in (
        (before, one, "a digit:\n64 pixels"),
        (after, model.inverse_transform(model.transform(one)), "reconstructed from\n12 pooled values"),
    ):
        ax.imshow(X.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        _title(ax, words)
    for ax in (groups, before, after):
        ax.set_xticks([])
        ax.set_yticks([])
    return figure


def vector_quantizer() -> Any:
    """An image in fewer and fewer colors, the error by bits per pixel, and code vectors of the digits."""
    figure, panels = _panels(5, (13, 2.9))
    picture = _landscape()
    pixels = picture.reshape(-1, 3)
    panels[0].imshow(picture)
    _title(panels[0], "24 bits per pixel")
    for ax, k in ((panels[1], 16), (panels[2], 4)):
        book = lowland.VectorQuantizer(k, output="index", random_state=0).fit(pixels)
        ax.imshow(book.inverse_transform(book.transform(pixels)).reshape(picture.shape))
        _title(ax, f"{k} colors: {book.bits_per_row_:.0f} bits,\nentropy {book.entropy_:.1f}")
    for ax in panels[:3]:
        ax.set_axis_off()
    bits = np.arange(1, 8)
    explained = [
        lowland.VectorQuantizer(2**b, random_state=0).fit(pixels).explained_variance_fraction_ for b in bits.tolist()
    ]
    panels[3].plot(bits, 100 * (1 - np.array(explained)), color=STRONG, marker="o", markersize=4)
    panels[3].set_yscale("log")
    panels[3].set_xlabel("bits per pixel")
    _title(panels[3], "unexplained variance (%)")
    _quiet(panels[3])
    sample = load_dataset("digits")
    book = lowland.VectorQuantizer(16, random_state=0).fit(sample.X)
    plots.images(book.cluster_centers_, sample.image_shape, columns=4, ax=panels[4])
    _title(panels[4], "16 code vectors, digits")
    return figure


def _landscape() -> np.ndarray:
    """A synthetic landscape with sky, sun, fields and a canal, (100, 130, 3), values from 0 to 1."""
    x, y = np.meshgrid(np.linspace(-1, 1, 130), np.linspace(0, 1, 100))
    sky = np.stack([0.35 + 0.6 * y, 0.45 + 0.35 * y, 0.85 - 0.45 * y], axis=2)
    glow = np.exp(-((x - 0.35) ** 2 + (y - 0.45) ** 2) / 0.08)[..., None]
    sky = sky + glow * (np.array([1.0, 0.8, 0.35]) - sky)
    deep = np.clip((y - 0.58) / 0.42, 0, 1)
    stripes = (0.5 + 0.5 * np.sin(x / (0.12 + deep) * 6))[..., None]
    field = stripes * np.array([0.42, 0.58, 0.22]) + (1 - stripes) * np.array([0.62, 0.62, 0.28])
    field = field * (0.6 + 0.4 * deep[..., None])
    water = np.stack([0.55 + 0.2 * (1 - deep), 0.55 + 0.1 * (1 - deep), 0.6 + 0 * deep], axis=2)
    canal = np.abs(x + 0.25 - 0.5 * (1 - deep)) < 0.03 + 0.22 * deep
    land = np.where(canal[..., None], water, field)
    picture = np.where((y > 0.58)[..., None], land, sky)
    sun = (x - 0.35) ** 2 + 1.7 * (y - 0.45) ** 2 < 0.012
    return np.clip(np.where(sun[..., None], np.array([1.0, 0.93, 0.7]), picture), 0, 1)


def autoencoder() -> Any:
    """An arc reconstructed from one component; digits reconstructed from ten, compared with PCA."""
    figure, (left, middle, right) = _panels(3, (11.5, 3.4))
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 1.5 * np.pi, 500)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.06 * rng.standard_normal((500, 2))
    pca = lowland.PCA(1).fit(X)
    model = lowland.Autoencoder(1, hidden_layer_sizes=(24, 12), random_state=0).fit(X)
    left.scatter(*X.T, s=8, color=WEAK, linewidths=0)
    left.plot(*pca.inverse_transform(np.array([[-1.6], [1.6]])).T, color=INK, linewidth=1)
    Z = model.encode(X)
    left.plot(*model.decode(np.linspace(Z.min(), Z.max(), 300)[:, None]).T, color=MARK)
    left.set_aspect("equal")
    left.set_axis_off()
    _title(left, "one component: PCA (black)\nand autoencoder (red)")
    sample = load_dataset("digits")
    order = np.random.default_rng(1).permutation(len(sample.X))
    known, new = sample.X[order[:1400]], sample.X[order[1400:]]
    widths, lost = (2, 4, 6, 8, 10, 14), []
    for k in widths:
        pca = lowland.PCA(k).fit(known)
        model = lowland.Autoencoder(k, hidden_layer_sizes=(128,), batch_size=64, max_iter=40, random_state=0).fit(known)
        back = [pca.inverse_transform(pca.transform(new)), model.decode(model.encode(new))]
        lost.append([float(np.mean(np.sum((each - new) ** 2, axis=1))) for each in back])
        if k == 10:
            shown = np.concatenate([each[:10] for each in (new, *back)])
    middle.plot(widths, np.array(lost)[:, 0], "o-", color=INK, markersize=3, label="PCA")
    middle.plot(widths, np.array(lost)[:, 1], "o-", color=MARK, markersize=3, label="autoencoder")
    middle.set_ylim(0, None)
    middle.set_xlabel("number of components")
    middle.set_ylabel("reconstruction error")
    middle.legend(frameon=False)
    _quiet(middle)
    _title(middle, "reconstruction of held-out digits")
    plots.images(shown, sample.image_shape, columns=10, limits=(0, 16), ax=right)
    _title(right, "held-out digits (top), reconstructed from\n10 components by PCA and autoencoder")
    return figure


def l1_selector() -> Any:
    """Regularization path; cross-validated loss by penalty; stability of the selection."""
    names, X, y = _sparse_table()
    figure, axes = _panels(3, (11.5, 3.6))
    selector = lowland.L1Selector().fit(X, y)
    plots.coefficient_paths(
        selector.alphas_, selector.coef_path_ * X.std(axis=0), names=names, chosen=selector.alpha_, ax=axes[0]
    )
    _title(axes[0], "regularization path")
    mean = selector.cv_losses_.mean(axis=1)
    error = selector.cv_losses_.std(axis=1, ddof=1) / np.sqrt(selector.cv_losses_.shape[1])
    best = int(np.argmin(mean))
    axes[1].fill_between(selector.alphas_, mean - error, mean + error, color=WEAK, alpha=0.6, linewidth=0)
    axes[1].plot(selector.alphas_, mean, color=STRONG)
    axes[1].axvline(selector.alphas_[best], color=MARK, linewidth=1, label="minimum")
    axes[1].axvline(selector.alpha_, color="#3a3f47", linewidth=1, linestyle="--", label="one standard error")
    axes[1].set_xscale("log")
    axes[1].invert_xaxis()
    axes[1].set_xlabel("penalty α")
    axes[1].set_ylabel("squared error on held-out rows")
    axes[1].legend(frameon=False)
    _title(axes[1], "cross-validation")
    _quiet(axes[1])
    stable = lowland.L1Selector(rule="stability").fit(X, y)
    order = np.argsort(stable.stability_)[-12:]
    colors = [STRONG if stable.support_[j] else WEAK for j in order]
    axes[2].barh(range(12), stable.stability_[order], color=colors)
    axes[2].set_yticks(range(12), [names[j] for j in order], fontsize="small")
    axes[2].axvline(stable.threshold, color=MARK, linewidth=1)
    axes[2].set_xlabel("selection frequency in subsamples")
    _title(axes[2], f"expected false selections: at most {stable.error_bound_:.2g}")
    _quiet(axes[2])
    return figure


def _sparse_table() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Forty correlated columns; five of them have an effect."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 40)) + 0.5 * rng.standard_normal((150, 1))
    return [f"x{j}" for j in range(40)], X, X[:, :5] @ [2.0, -1.6, 1.2, 0.9, -0.7] + 1.5 * rng.standard_normal(150)


def tree_selector() -> Any:
    """Cross-validated error of the pruned trees; complexity at which columns are removed; permutation importance."""
    wine = load_dataset("wine")
    names = [name.partition("/")[0] for name in wine.names]
    selector = lowland.TreeSelector().fit(wine.X, wine.y)
    figure, axes = _panels(3, (11.5, 3.4))
    mean = selector.cv_losses_.mean(axis=1)
    error = selector.cv_losses_.std(axis=1, ddof=1) / np.sqrt(selector.cv_losses_.shape[1])
    axes[0].errorbar(selector.n_leaves_, mean, error, color=STRONG, ecolor=WEAK, marker="o", markersize=4, capsize=3)
    at = int(np.flatnonzero(selector.alphas_ == selector.alpha_)[0])
    axes[0].scatter(selector.n_leaves_[at], mean[at], s=90, facecolors="none", edgecolors=MARK, zorder=3)
    axes[0].set_xticks(range(1, int(selector.n_leaves_.max()) + 1, 2))
    axes[0].set_xlabel("leaves of the pruned tree")
    axes[0].set_ylabel("error on held-out rows")
    _title(axes[0], "one-standard-error rule (circle)")
    _quiet(axes[0])
    met = [step.feature for step in selector.path_]
    colors = [STRONG if selector.support_[j] else WEAK for j in met]
    axes[1].barh(range(len(met)), selector.removal_alphas_[met], color=colors)
    axes[1].set_yticks(range(len(met)), [names[j] for j in met], fontsize="small")
    axes[1].axvline(selector.alpha_, color=MARK, linewidth=1)
    axes[1].set_xscale("log")
    axes[1].set_xlabel("complexity at which it is removed")
    _title(axes[1], "columns of the full tree")
    _quiet(axes[1])
    order = np.argsort(selector.permutation_importances_)[-6:]
    axes[2].barh(range(len(order)), selector.permutation_importances_[order], color=STRONG,
                 xerr=selector.permutation_importances_std_[order], ecolor="#3a3f47", capsize=3)  # fmt: skip
    axes[2].set_yticks(range(len(order)), [names[j] for j in order], fontsize="small")
    axes[2].set_xlabel("decrease in accuracy")
    _title(axes[2], "permutation importance, held-out rows")
    _quiet(axes[2])
    return figure


def quality() -> Any:
    """Trustworthiness of each row, R_NX curves, and a Shepard diagram for the Swiss roll."""
    roll = load_dataset("swiss_roll", seed=1)
    flat, unrolled = lowland.PCA(2).fit_transform(roll.X), lowland.Isomap(2).fit_transform(roll.X)
    noise = np.random.default_rng(0).standard_normal((len(roll.X), 2))
    figure, (left, middle, right) = _panels(3, (11.0, 3.7))
    trust = lowland.quality.trustworthiness(roll.X, flat, n_neighbors=10, per_row=True)
    plots.embedding(flat, trust, title="PCA of a Swiss roll: trustworthiness of each point", ax=left)
    shown = {"Isomap": unrolled, "PCA": flat, "noise": noise}
    curves = {name: lowland.quality.co_ranking(roll.X, Z) for name, Z in shown.items()}
    plots.rnx_curve(curves, title="R_NX by neighborhood size", ax=middle)
    plots.shepard(lowland.quality.shepard(roll.X, unrolled), ax=right)
    right.legend(frameon=False, labelcolor=INK, loc="lower right", fontsize="small")  # beside the pairs
    _title(right, "Isomap: Euclidean distances are not preserved")
    return figure


def getting_started() -> Any:
    """Wine by PCA and by UMAP."""
    wine = load_dataset("wine")
    X = (wine.X - wine.X.mean(0)) / wine.X.std(0)
    figure, panels = _panels(2, (10, 4.4))
    maps = {"PCA": lowland.PCA(2), "UMAP": lowland.UMAP(random_state=0)}
    for ax, (name, method) in zip(panels, maps.items(), strict=True):
        Z, axes = method.fit_transform(X), (f"{name} 1", f"{name} 2")
        plots.embedding(Z, wine.y, label_names=wine.label_names, axis_names=axes, title=f"{name} of wine", ax=ax)
    return figure


def getting_started_trust() -> Any:
    """Maps of wine and of noise with as many rows and columns, colored by the reliability of the points."""
    X = load_dataset("wine").X
    tables = {"wine": (X - X.mean(0)) / X.std(0), "noise": np.random.default_rng(0).standard_normal(X.shape)}
    figure, panels = _panels(2, (10, 4.4))
    for ax, (name, rows) in zip(panels, tables.items(), strict=True):
        model = lowland.UMAP(random_state=0).fit(rows)
        found = lowland.reliability(model, rows, random_state=0)
        for kind, look in MEANINGS.items():
            points = model.embedding_[found.classes == kind]
            style = {"color": COLORS[look], "marker": MARKERS[look], "label": f"{kind}: {len(points)}"}
            ax.scatter(*points.T, s=26, linewidths=0, **style)
        _title(ax, f"UMAP of {name}")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(0, -0.02), ncols=3)
        _quiet(ax)
    return figure


def grid_tsne() -> Any:
    """t-SNE of three tables with five perplexities."""
    return _grid("perplexity", (3, 10, 30, 60, 120), lambda value: lowland.TSNE(perplexity=value, random_state=0))


def grid_umap() -> Any:
    """UMAP of three tables with five numbers of neighbors."""
    return _grid("n_neighbors", (4, 8, 15, 30, 100), lambda value: lowland.UMAP(n_neighbors=value, random_state=0))


def grid_pacmap() -> Any:
    """PaCMAP of three tables with five numbers of neighbors."""
    return _grid("n_neighbors", (3, 5, 10, 20, 60), lambda value: lowland.PaCMAP(n_neighbors=value, random_state=0))


def _grid(parameter: str, values: tuple[int, ...], method: Any) -> Any:
    """Maps of three tables, one per line, with the values of a parameter, one per column."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(0)
    digits = load_dataset("digits")
    sizes, deviations = (30, 100, 300), (0.3, 1.0, 2.0)
    centers = 4 * rng.standard_normal((3, 10))
    groups = np.concatenate(
        [c + s * rng.standard_normal((n, 10)) for c, s, n in zip(centers, deviations, sizes, strict=True)]
    )
    tables = {
        "digits": (digits.X[:600], digits.y[:600]),
        "unequal groups": (groups, np.repeat([0, 1, 2], sizes)),
        "noise": (rng.standard_normal((430, 10)), np.zeros(430, int)),
    }
    figure = Figure(figsize=(12.5, 7.6), layout="constrained")
    panels = figure.subplots(len(tables), len(values))
    for line, (name, (X, y)) in zip(panels, tables.items(), strict=True):
        for ax, value in zip(line, values, strict=True):
            Z = method(value).fit_transform(X)
            ax.scatter(*Z.T, s=4, c=[plots.style.COLORS[c] for c in y], linewidths=0)
            ax.set_aspect("equal", adjustable="datalim")
            ax.set_xticks([])
            ax.set_yticks([])
            for side in ax.spines.values():
                side.set_color(WEAK)
            if name == "digits":
                ax.set_title(f"{parameter} {value}", fontsize="medium", color=INK)
        line[0].set_ylabel(name, color=INK, fontsize="large")
    return figure


def growth_peers() -> Any:
    """Time of a fit by the number of rows, in Lowland and in other libraries (``benchmarks/growth_peers.py``)."""
    figure = _growth_by_library(("PCA", "t-SNE", "PaCMAP", "Isomap"), 1, 1.0)
    figure.supylabel("seconds of a fit", fontsize="medium", color=INK)
    return figure


def growth_memory() -> Any:
    """Memory beyond the data by the number of rows, in Lowland and in other libraries."""
    figure = _growth_by_library(("t-SNE", "PaCMAP", "Isomap"), 2, 1e-6)
    figure.supylabel("MB beyond the data", fontsize="medium", color=INK)
    return figure


def _growth_by_library(methods: tuple[str, ...], value: int, unit: float) -> Any:
    """One panel per method: a value by the number of rows, with a line per library."""
    curves = json.loads((ROOT / "benchmarks" / "growth_peers.json").read_text())["methods"]
    looks = {"Lowland": (STRONG, "o"), "scikit-learn": (MARK, "s"), "pacmap": (MARK, "^")}
    figure, panels = _panels(len(methods), (2.7 * len(methods), 3.2))
    for ax, method in zip(panels, methods, strict=True):
        for library, points in curves[method].items():
            if library in looks:
                color, marker = looks[library]
                found = np.array([point for point in points if point[value] > 0])
                line = {"color": color, "marker": marker, "markersize": 4, "label": library}
                ax.loglog(found[:, 0], unit * found[:, value], **line)
        ax.set_xlabel("rows")
        ax.legend(frameon=False, fontsize="small", labelcolor=INK)
        _title(ax, method)
        _quiet(ax)
    return figure
