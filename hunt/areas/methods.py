"""Every method on degenerate tables, types, layouts and scales, against an independent route where there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hunt import laws
from hunt.cases import Area, Wrong
from hunt.layouts import DTYPES, LAYOUTS, REFUSED_DTYPES, cast, fits
from hunt.routes import ROUTES, Fitted
from hunt.tables import INVALID, KINDS, REGULAR, labels
from lowland.errors import LowlandError
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import entries, load_method

SCALES = (
    *(0, 0, 0, 0, 3, -3, 20, -20, 60, -60, -76, 100, -120, 200, 256, -256, -300, 400),
    *(500, -504, 506, 508, -508, 510, -512, -530, 530, -664, -1000, 1000),  # where squares reach their limits
)
INTEGERS = ("bool", "int64", "int32", "int16", "int8", "uint8", ">i4")  # whose NaN became 0
SHORT = {  # searches short enough for thousands of cases
    "Autoencoder": {"max_iter": 15},
    "LinearAutoencoder": {"max_iter": 300},
    "ProjectionPursuit": {"n_starts": 20, "n_null": 0},
    "SequentialFeatureSelector": {"cv": 2},
    "L1Selector": {"alphas": 8, "cv": 2},
    "TreeSelector": {"n_repeats": 1, "cv": 2},
    "SammonMapping": {"max_iter": 60},
    "MDS": {"max_iter": 60},
    "SelfOrganizingMap": {"grid": (3, 3)},
    "FastICA": {"max_iter": 60},
}
VARIANTS: dict[str, list[dict[str, Any]]] = {  # besides the defaults
    "PCA": [
        {"svd_solver": "full"},
        {"svd_solver": "arpack"},
        {"svd_solver": "randomized"},
        {"n_components": 2, "svd_solver": "randomized"},
        {"n_components": 2, "svd_solver": "power"},
        {"scale": True},
        {"n_components": 0.9},
    ],
    "TruncatedSVD": [{"algorithm": "arpack"}],
    "KernelPCA": [{"kernel": "rbf"}, {"kernel": "poly"}, {"n_components": 2, "eigen_solver": "arpack"}],
    "Whitening": [{"method": m} for m in ("zca", "cholesky", "pca-cor", "zca-cor")],
    "LinearDiscriminantAnalysis": [{"solver": "eigen"}, {"solver": "eigen", "shrinkage": "auto"}],
    "LocallyLinearEmbedding": [{"method": m} for m in ("modified", "ltsa")],
    "SpectralEmbedding": [{"affinity": "rbf"}],
    "Isomap": [{"metric": "manhattan"}, {"n_landmarks": 5}],
    "MDS": [{"metric_mds": False}, {"metric": "manhattan"}, {"solver": "gradient"}, {"init": "random"}],
    "ClassicalMDS": [{"metric": "manhattan"}, {"n_landmarks": 5}],
    "DiffusionMap": [{"n_neighbors": 4}, {"epsilon": "median"}],
    "FeatureFilter": [{"statistic": s} for s in ("variance", "mutual-information", "pearson", "mrmr")],
    "FactorAnalysis": [{"rotation": "varimax"}, {"rotation": "oblimin"}],
    "VectorQuantizer": [{"n_clusters": 2}, {"n_clusters": 5}],
    "FastICA": [{"algorithm": "deflation"}, {"fun": "cube"}],
    "FeatureAgglomeration": [{"pooling_func": np.median}],
    "TSNE": [
        {"perplexity": [2.0, 4.0]},
        {"method": "exact"},
        {"init": "random"},
        {"init": "spectral"},
        {"anchor": "pca"},
        {"n_components": 3},
        {"metric": "manhattan"},
        {"disconnected": "connect"},
    ],
    "UMAP": [
        {"densmap": True},
        {"init": "pca"},
        {"init": "random"},
        {"unique": True},
        {"n_components": 1},
        {"metric": "manhattan"},
        {"disconnected": "connect"},
        {"local_connectivity": 1.5, "set_op_mix_ratio": 0.5},
    ],
    "PaCMAP": [{"n_neighbors": None}, {"init": "random"}, {"n_components": 3}, {"distance": "manhattan"}],
    "LocalMAP": [{"n_neighbors": None}, {"init": "random"}, {"n_components": 3}, {"low_dist_thres": 1.0}],
}
HOMOGENEOUS = {  # how the result scales with the data; others have no such law
    "PCA": 1, "IncrementalPCA": 1, "TruncatedSVD": 1, "ClassicalMDS": 1, "Whitening": 0, "FeatureAgglomeration": 1,
    "LinearDiscriminantAnalysis": 0, "Isomap": 1, "LocallyLinearEmbedding": 0, "DiffusionMap": 0, "VectorQuantizer": 1,
    "TSNE": 0, "UMAP": 0, "PaCMAP": 0, "LocalMAP": 0,
}  # fmt: skip
PLACED_ANEW = {"MDS", "SammonMapping"}  # transform minimizes the stress of each row alone
SHIFT_FREE = set(HOMOGENEOUS) - {
    *("TruncatedSVD", "FeatureAgglomeration", "LocallyLinearEmbedding"),
    *("TSNE", "UMAP", "PaCMAP", "LocalMAP"),  # rounding errors, which a shift adds, grow during the descent
}


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Fit one method to one table; the seed steps through all pairs of them."""
    names, kinds = sorted(entries()), list(KINDS)
    name, kind = names[seed % len(names)], kinds[seed // len(names) % len(kinds)]
    X, e = KINDS[kind](rng), int(rng.choice(SCALES))
    X = np.abs(X) if traits_of(load_method(name)).reads == "counts" else X
    dtype, layout = str(rng.choice(DTYPES)), str(rng.choice(list(LAYOUTS)))
    if traits_of(load_method(name)).reads_text and dtype in ("str", "words", "mixed"):
        dtype = "float64"  # text is no mistake there
    with np.errstate(all="ignore"):
        scaled = np.ldexp(X, e)
    if np.isfinite(X).all() and not np.isfinite(scaled).all():
        e, scaled = 0, X
    table = cast(scaled, dtype)
    layout = layout if fits(layout, dtype, X) else "C"
    word, y = labels(rng, X)
    choice = dict(SHORT.get(name, {}))
    variants = VARIANTS.get(name, [])
    if variants and rng.random() < 0.5:
        choice |= variants[int(rng.integers(len(variants)))]
    traits = traits_of(load_method(name))
    if traits.needs_y is False and not traits.reads_y:
        word, y = "none", None

    def make(**more: Any) -> Any:
        est = load_method(name)(**{**traits.quick, **choice, **more})
        return est.set_params(random_state=seed) if "random_state" in est.get_params() else est

    if name == "Isomap" and rng.random() < 0.3 and len(X) > 3 and "metric" not in choice:
        choice |= {"n_neighbors": len(X) - 1}
    case = f"{name}({', '.join(f'{k}={v}' for k, v in choice.items())}) on {kind}, 2**{e}, {dtype}, {layout}, y: {word}"
    try:
        return _fit(rng, make, name, kind, X, table, y, word, e, dtype, layout, case, folder)
    except Wrong as error:
        raise Wrong(f"{case}: {error}") from None
    except LowlandError:
        raise
    except Exception as error:
        error.args = (f"{case}: {error}",)
        raise


def _fit(
    rng: np.random.Generator, make: Any, name: str, kind: str, X: np.ndarray, table: np.ndarray, y: Any, word: str,
    e: int, dtype: str, layout: str, case: str, folder: Path,
) -> str:  # fmt: skip
    plain = table.astype(np.float64) if dtype not in REFUSED_DTYPES else None
    refusal = kind in INVALID or dtype in REFUSED_DTYPES or (plain is not None and not np.isfinite(plain).all())
    if dtype in INTEGERS and kind not in ("no rows", "no columns"):
        refusal = False
    given = LAYOUTS[layout](table, folder)
    traits = traits_of(load_method(name))
    before = table.copy()
    try:
        together = rng.random() < 0.5 and not refusal
        est = make()
        raw = est.fit_transform(given, y) if together else None
        est = est if together else est.fit(given, y)
        Z = laws.dense(est.transform(given))
    except LowlandError as error:
        text = str(error)
        if len(text) < 15 or not text.rstrip().endswith((".", ")", "?")):
            raise Wrong(f"the message is not a sentence: {text!r}") from None
        regular = kind in REGULAR and dtype in ("float64", ">f8") and abs(e) <= 60 and word in ("none", "three classes")
        if "correlation needs numbers" in text:
            regular = False
        if layout == "sparse" and ("too far from the origin" in text or "would convert the sparse rows" in text):
            regular = False  # sparse rows can neither be shifted nor factorized without becoming dense
        if regular and (layout != "sparse" or traits.takes_sparse):
            raise Wrong(f"a regular table is refused: {text}") from None
        return f"refused: {case}: {text}"[:200]
    if refusal:
        raise Wrong("invalid data is accepted")
    assert plain is not None
    if not np.array_equal(table, before, equal_nan=table.dtype.kind in "fc"):
        raise Wrong("the input is changed")
    if not np.isfinite(Z).all():
        raise Wrong(f"the result is not finite: {Z[~np.isfinite(Z)][0]}")
    excluded = int(getattr(est, "n_excluded_", 0))
    if Z.ndim != 2 or len(Z) not in (len(plain), len(plain) - excluded):
        raise Wrong(f"the result has shape {Z.shape} for {len(plain)} rows")
    small = np.finfo(np.float32).eps if dtype in ("float32", ">f4", "float16") else np.finfo(float).eps
    largest = float(np.abs(plain).max(initial=0.0))
    unit = float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1)) if largest else 1.0
    with np.errstate(all="ignore"):  # a type may have rounded a regular table into another one
        faithful = np.allclose(np.ldexp(plain, -e), X, rtol=1e-2, atol=1e-2 * np.abs(X).max())
    fitted = Fitted(est, Z, plain / unit, y, unit, float(small), kind if faithful else "rounded")
    used = est.get_params()
    exact = used.get("metric") in (None, "euclidean", "minkowski") and used.get("n_landmarks") is None
    if name in ROUTES and not excluded and exact and not used.get("scale"):
        ROUTES[name](fitted)
    try:
        _law(rng, make, name, Z, raw, est, plain, y, given, dtype, kind, folder)
    except LowlandError as error:
        raise Wrong(f"accepted the first time, then refused: {error}") from None
    return f"done: {case}"[:200]


def _law(
    rng: np.random.Generator, make: Any, name: str, Z: np.ndarray, raw: Any, est: Any, plain: np.ndarray, y: Any,
    given: Any, dtype: str, kind: str, folder: Path,
) -> None:  # fmt: skip
    """One of the laws, drawn at random."""
    size = float(np.abs(Z).max(initial=0.0))
    tol = max(traits_of(est).tolerance, 1e-8) * size
    exact = dtype in ("float64", ">f8") and kind in ("normal", "rolled sheet", "two clusters")

    def fit(X: Any, y: Any) -> Any:
        return make().fit(X, y)

    if raw is not None and exact and name not in PLACED_ANEW and not _flat(est, plain):
        laws.rows_are_where_they_were(Z, laws.dense(raw), 1e4 * tol)
    draw, used = int(rng.integers(7)), est.get_params()
    whole = exact and not used.get("n_landmarks") and getattr(est, "converged_", True)
    whole = whole and used.get("metric_mds", True)  # the order of ties and steps matters to ranks
    scales = name in HOMOGENEOUS and not used.get("densmap")  # logarithms of radii in other units are rounded anew
    if draw == 0:
        laws.saved_equals(est, Z, given, folder)
    elif draw == 1 and raw is not None:
        laws.result_is_yours(est, Z, given, raw)
    elif draw == 2:
        laws.twice_the_same(fit, Z, given, y)
    elif draw == 3 and exact:
        laws.layout_is_nothing(fit, Z, plain, y, 100 * tol)
    elif draw == 4 and exact and scales and 1e-100 < np.abs(plain).max() < 1e100:
        laws.scaled_by_two(fit, Z, plain, y, int(rng.integers(-20, 20)), HOMOGENEOUS[name], 100 * tol)
    elif draw == 5 and whole and traits_of(est).order_free and not _flat(est, plain) and used.get("init") != "random":
        laws.permuted(fit, Z, plain, y, rng.permutation(len(plain)), max(1e4 * tol, _angle(est) * size))
    elif draw == 6 and whole and name in SHIFT_FREE and used.get("solver") != "eigen":  # as scikit-learn
        shift = float(np.abs(plain).max()) * rng.integers(1, 4, plain.shape[1])
        laws.shifted(fit, Z, plain, y, shift, 1e4 * tol)


def _flat(est: Any, plain: np.ndarray) -> bool:
    """Whether a Gaussian kernel of fixed width sees all rows as equal: then no direction is better than another."""
    if est.get_params().get("kernel") == "rbf":
        values = np.sort(np.asarray(est.eigenvalues_, float))
        return bool((np.diff(values) <= 1e-6 * values[-1]).any())
    return est.get_params().get("affinity") == "rbf" and not 1e-3 < np.abs(plain).max() < 1e3


def _angle(est: Any) -> float:
    """The angle, in radians, within which FastICA knows its directions when the cosine of a step is 1 - tol."""
    return 3 * float(np.sqrt(2 * est.tol)) if type(est).__name__ == "FastICA" else 0.0


AREA = Area("methods", "every method on degenerate tables, types, layouts and scales", run, cases=30_000, limit=20)
