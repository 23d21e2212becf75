"""The simulations behind docs/can-i-trust-this-map.md: ``PYTHONPATH=src python benchmarks/trust.py NAME [RUNS]``.

Without a name, the script lists them. Each prints what it measured, with the number of runs, and takes seconds
(effects) to an hour (noise). RUNS is the number of seeds; the default is that of the page.
"""

import os
import sys
import warnings

import numpy as np
from scipy.stats import kstest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import lowland
from lowland import quality
from lowland.data import load_dataset
from lowland.evidence.clusters import label_codes, test_clusters
from lowland.evidence.contrasts import effect_of_levels, effect_of_numbers
from lowland.evidence.problem import open_problem
from lowland.evidence.reliability import CLASSES

METHODS = {
    "PCA": lambda: lowland.PCA(2),
    "t-SNE": lambda: lowland.TSNE(random_state=0),
    "UMAP": lambda: lowland.UMAP(random_state=0),
    "PaCMAP": lambda: lowland.PaCMAP(random_state=0),
    "Isomap": lambda: lowland.Isomap(2, disconnected="connect"),
    "MDS": lambda: lowland.MDS(2, random_state=0),
    "LLE": lambda: lowland.LocallyLinearEmbedding(random_state=0),
    "spectral embedding": lambda: lowland.SpectralEmbedding(random_state=0),
    "kernel PCA": lambda: lowland.KernelPCA(2, kernel="rbf"),
    "FastICA": lambda: lowland.FastICA(2, random_state=0),
}
INCLUDED, KEPT = ("wine", "digits", "iris", "breast_cancer"), ("mnist", "olivetti", "yeast")
SURVEY = ("cnae9", "har", "sms", "seismic", "svhn")  # Espadoto and others 2019
SPREAD = {"normal": lambda rng, n: rng.standard_normal(n), "exponential": lambda rng, n: rng.exponential(size=n) - 1}


def noise_table(kind, n, seed, d=10):
    """Independent columns."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) if kind == "normal" else rng.uniform(size=(n, d))


def planted(n, seed, d=10, many=4):
    """Gaussian groups, pairwise about seven standard deviations apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % many
    return 5 * np.linalg.qr(rng.standard_normal((d, d)))[0][:many][y] + rng.standard_normal((n, d)), y


def share(found):
    """A fraction with the number of runs."""
    return f"{np.mean(found):.1%} of {len(found)}"


def tested(problem, labels, seed):
    """The evidence for clusters, as ``Reliability.clusters`` returns it, without testing the points."""
    return test_clusters(problem, label_codes(labels, problem.kept), found=False, seed=seed)


# --- noise and groups ---


def noise(seeds=20):
    """p-values, reliable points and groups in maps of noise."""
    every = []
    for name, method in METHODS.items():
        reliable, separate, p = [], [], []
        for kind in ("normal", "uniform"):
            for n in (100, 200, 400):
                for seed in range(seeds):
                    X = noise_table(kind, n, seed)
                    found = lowland.reliability(method().fit(X), X, random_state=seed)
                    reliable.append(found.fraction("reliable"))
                    p.append(found.p_values[np.random.default_rng(seed).integers(n)])
                    separate.append(any(c.verdict == "separate" for c in found.clusters()))
        every += separate
        uniform = kstest(p, "uniform").pvalue
        print(
            f"{name}: at most {max(reliable):.1%} reliable, one p-value per map: KS p = {uniform:.2f}, "
            f"no group in {share(~np.array(separate))}", flush=True,
        )  # fmt: skip
    print(f"no group in {share(~np.array(every))}")


def blob(seeds=20):
    """Noise cut into three clusters by k-means."""
    clean = []
    for name in ("PCA", "FastICA", "t-SNE", "UMAP"):
        for kind in ("normal", "uniform"):
            for n in (100, 300):
                clean += [not_separate(METHODS[name](), noise_table(kind, n, seed), seed) for seed in range(seeds)]
        print(f"until {name}: no cluster is separate in {share(clean)}", flush=True)


def correlated(seeds=12):
    """A correlated Gaussian of 300 rows, mapped by ten methods and cut into three clusters by k-means."""
    clean = []
    for name, method in METHODS.items():
        for seed in range(seeds):
            X = noise_table("normal", 300, seed) @ noise_table("normal", 10, seed + 100)
            clean.append(not_separate(method(), X, seed))
        print(f"until {name}: no cluster is separate in {share(clean)}", flush=True)


def not_separate(method, X, seed):
    """Whether no cluster is called separate when the map is cut into three by k-means."""
    problem = open_problem(method.fit(X), X, None, None)
    cut = KMeans(3, n_init=3, random_state=seed).fit_predict(problem.Z)
    return all(c.verdict != "separate" for c in tested(problem, cut, seed))


def groups(seeds=20):
    """Planted groups, labels given."""
    for n in (100, 300):
        whole = []
        for name in ("PCA", "t-SNE", "UMAP"):
            for seed in range(seeds):
                X, y = planted(n, seed)
                problem = open_problem(METHODS[name]().fit(X), X, None, None)
                whole.append([c.verdict for c in tested(problem, y, seed)] == ["separate"] * 4)
        print(f"{n} rows: all four separate in {share(whole)}")


def nulls(seeds=3):
    """Fraction of reliable points with each null, in made and in real tables."""

    def standardized(name):
        X = np.asarray(load_dataset(name).X, dtype=float)
        return (X - X.mean(axis=0)) / X.std(axis=0)

    tables = {
        "correlated Gaussian": lambda seed: noise_table("normal", 200, seed) @ noise_table("normal", 10, seed + 100),
        "groups": lambda seed: planted(200, seed)[0],
        "groups along columns": lambda seed: noise_table("normal", 200, seed) + 6 * np.eye(10)[np.arange(200) % 4],
        "iris": lambda seed: standardized("iris"),
        "wine": lambda seed: standardized("wine"),
    }
    for title, table in tables.items():
        for name in ("PCA", "t-SNE", "UMAP"):
            found = []
            for seed in range(seeds):
                X = table(seed)
                model = METHODS[name]().fit(X)
                found.append(
                    [
                        lowland.reliability(model, X, null=null, random_state=seed).fraction("reliable")
                        for null in ("independent", "gaussian")
                    ]
                )
            print(f"{title}, {name}: " + " and ".join(f"{share:.0%}" for share in np.mean(found, axis=0)), flush=True)


# --- what is wrong with a map ---


def swapped(seeds=10):
    """5% of the coordinates exchanged, in groups of rows: the area under the ROC curve for finding them.

    Two rows of one group that exchange their places keep about the same neighbors where the map does not resolve the
    group. So the area is also printed for rows that moved to another group, against rows that did not move.
    """
    stayed, left, lowest = [], [], []
    for name in ("PCA", "t-SNE", "UMAP"):
        every, between = [], []
        for seed in range(seeds):
            X, y = planted(200, seed)
            Z = np.asarray(METHODS[name]().fit_transform(X))
            chosen = np.random.default_rng(seed).permutation(200)[:10]
            Z[chosen] = Z[np.roll(chosen, 1)]
            found = lowland.reliability(Z, X, method=METHODS[name](), random_state=seed)
            moved = np.isin(np.arange(200), chosen)
            away = moved.copy()
            away[chosen] = y[chosen] != y[np.roll(chosen, 1)]
            every.append(_areas(moved, found))
            between.append(_areas(away, found, away | ~moved))
            stayed += [*found.classes[moved & ~away]]
            left += [*found.classes[away]]
            lowest += [*(np.argsort(np.argsort(found.stability))[moved] < 20)]
        _print_areas(f"{name}, all", every)
        _print_areas(f"{name}, moved to another group", between)
    for what, classes in (("moved to another group", left), ("moved within a group", stayed)):
        print(f"{what}: " + ", ".join(f"{kind} {share(np.array(classes) == kind)}" for kind in CLASSES))
    print(f"in the tenth of lowest stability: {share(lowest)}")


def torn(seeds=6):
    """A Swiss roll: points of which more than a fifth of the nearest neighbors along the surface are far in the map."""
    for name in ("t-SNE", "UMAP", "PaCMAP"):
        areas = []
        for seed in range(seeds):
            roll = load_dataset("swiss_roll", n=600, seed=seed)
            model = METHODS[name]().set_params(random_state=seed).fit(roll.X)
            wrong = _lost(np.column_stack([roll.y, roll.X[:, 1]]), np.asarray(model.embedding_)) > 0.2
            if wrong.sum() >= 5:
                areas.append(_areas(wrong, lowland.reliability(model, roll.X, random_state=seed)))
        _print_areas(name, areas)


def _lost(flat, Z, k=10):
    """Fraction of the nearest neighbors along the surface that are not among the nearest tenth in the map."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=k).fit(flat).kneighbors(return_distance=False)
    wide = NearestNeighbors(n_neighbors=len(Z) // 10).fit(Z).kneighbors(return_distance=False)
    return np.array([1 - np.isin(a, b).mean() for a, b in zip(near, wide, strict=True)])


def _areas(wrong, found, among=slice(None)):
    measures = (found.p_values, -found.stability, found.displacement)
    return [roc_auc_score(wrong[among], values[among]) for values in measures]


def _print_areas(name, areas):
    for what, values in zip(("p-values", "stability", "displacement"), np.transpose(areas), strict=True):
        print(f"{name}, {what}: AUC {values.mean():.3f} on average of {len(values)}, smallest {values.min():.3f}")


def drivers(seeds=100):
    """Three groups, each of which varies along its own column."""
    right = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        y = np.repeat(np.arange(3), 40)
        X = 0.3 * rng.standard_normal((120, 12))
        X[np.arange(120), y] += 12
        X[np.arange(120), 3 * (y + 1)] += 2 * rng.standard_normal(120)
        for map_of in (lowland.PCA(5).fit(X), METHODS["UMAP"]().fit(X), lowland.PCA(5).fit_transform(X)):
            found = lowland.describe(map_of, X).regions(y)
            right += [r.drivers[0][0] == f"x{3 * (r.label + 1)}" for r in found]
    print(f"the planted column is the first driver in {share(right)}")


# --- intervals ---


def refits(runs=500):
    """Intervals over refits, ten tables: the mean over all seeds is the truth."""
    covered = {"score of reliability": [], "score of sweep": [], "stability of sweep": []}
    covered |= {"stability of compare": [], "fidelity when made again of compare": []}
    for table in range(10):
        X = noise_table("normal", 60, table, 6) * [3, 2, 1, 1, 1, 1]
        model, found = lowland.PCA(2).fit(X), {name: [] for name in covered}
        for seed in range(runs // 10):
            r = lowland.reliability(model, X, random_state=seed)
            s = lowland.sweep(lowland.PCA(), X, n_components=[2, 3], random_state=seed).settings[0]
            scores = lowland.compare(X, None, ["pca"], cache=False, seed=seed)["pca"].scores
            again = [scores[name] for name in ("stability", "fidelity when made again")]
            intervals = [(r.score, *r.interval), (s.score, *s.interval), (s.stability, *s.stability_interval)]
            intervals += [(each.value, each.low, each.high) for each in again]
            for own, interval in zip(found.values(), intervals, strict=True):
                own.append(interval)
        for name, values in found.items():
            truth = np.mean([value for value, _, _ in values])
            covered[name] += [low <= truth <= high for _, low, high in values]
    for name, each in covered.items():
        print(f"{name}: covered in {share(each)}")


def effects(runs=500):
    """Intervals of ``contrasts``: Cohen's d and h."""
    for kind, draw in SPREAD.items():
        for a, b, ratio in (
            (10, 10, 1),
            (10, 90, 1),
            (20, 20, 1),
            (20, 80, 1),
            (20, 200, 1),
            (30, 70, 1),
            (30, 70, 2),
            (100, 100, 1),
            (100, 300, 3),
        ):
            for d in (-2, 0, 0.8, 2):
                rng, chosen, covered = np.random.default_rng(0), np.arange(a + b) < a, []
                shift = d * np.sqrt(((a - 1) * ratio**2 + b - 1) / (a + b - 2))
                for _ in range(runs):
                    x = draw(rng, a + b) * np.where(chosen, ratio, 1) + shift * chosen
                    low, high = effect_of_numbers("x", x, chosen).interval
                    covered.append(low <= d <= high)
                print(
                    f"d = {d}, {kind}, {a} and {b} rows, deviations 1:{ratio}: covered in {share(covered)}", flush=True
                )
    for p, q, a, b in ((0.5, 0.3, 10, 10), (0.6, 0.2, 30, 70), (0.9, 0.5, 30, 30), (0.05, 0.2, 100, 100)):
        rng, chosen, covered = np.random.default_rng(0), np.arange(a + b) < a, []
        truth = 2 * np.arcsin(np.sqrt(p)) - 2 * np.arcsin(np.sqrt(q))
        for _ in range(runs):
            codes = (rng.random(a + b) < np.where(chosen, p, q)).astype(int)
            found = effect_of_levels("x", codes, ["no", "yes"], chosen)
            low, high = found.interval
            covered.append(low <= (truth if found.level == "yes" else -truth) <= high)
        print(f"h, {p} and {q}, {a} and {b} rows: covered in {share(covered)}")


def samples(runs=500):
    """Intervals of quality measures that were evaluated on a sample: the value of all rows is the truth."""
    rng = np.random.default_rng(0)
    X, y = planted(2000, 0)
    Z = np.asarray(lowland.PCA(2).fit_transform(X)) + 0.3 * rng.standard_normal((2000, 2))
    names = ("trustworthiness", "continuity", "lcmc", "mean_relative_rank_errors", "normalized_stress", "raw_stress",
             "sammon_stress", "r_nx_area", "residual_variance", "nearest_neighbor_accuracy", "neighborhood_hit",
             "silhouette")  # fmt: skip
    for name in names:
        measure, with_labels = (
            getattr(quality, name),
            name in ("nearest_neighbor_accuracy", "neighborhood_hit", "silhouette"),
        )
        given = (Z, y) if with_labels else (X, Z)
        whole = _each(measure(*given, sample=None))
        found = [_each(measure(*given, sample=300, random_state=seed)) for seed in range(runs)]
        for j, truth in enumerate(whole):
            ends = [(each[j].low, each[j].high) for each in found]
            if ends[0][0] is None:
                print(f"{truth.name}: no interval")
                continue
            print(f"{truth.name}: covered in {share([low <= truth.value <= high for low, high in ends])}", flush=True)


def _each(found):
    return found if isinstance(found, tuple | list) else [found]


def compared(runs=500):
    """Intervals in a study, on tables drawn from one distribution: the mean over all tables is the truth."""
    found = {}
    for seed in range(runs):
        X, y = planted(80, seed, 6, 3)
        X = 0.3 * X + noise_table("normal", 80, 10_000 + seed, 6)
        study = lowland.compare(X, y, ["pca", "lda"], cache=False, seed=seed)
        for trial in study.trials:
            for name, score in trial.scores.items():
                if score.low is not None and name not in ("stability", "fidelity when made again"):
                    found.setdefault((trial.name, name), []).append((score.value, score.low, score.high))
    for (trial, name), values in found.items():
        value, low, high = np.transpose(values)
        covered = (low <= value.mean()) & (value.mean() <= high)
        print(f"{trial}, {name}: covered in {share(covered)}")


# --- parameters ---


def perplexity(rows=1000, *names):
    """The range of perplexity that ``sweep`` calls equivalent, and the accuracy of labels it does not see."""
    for name in names or (*INCLUDED, *(KEPT + SURVEY if "LOWLAND_DATA" in os.environ else ())):
        X, y = _labeled(name, rows)
        found = lowland.sweep(lowland.TSNE(), X, perplexity=[v for v in (5, 10, 15, 30, 50, 100) if 3 * v < len(X)])
        right = {}
        for setting in found.settings:
            Z = setting.method.set_params(random_state=0).fit_transform(X)
            right[setting.name] = cross_val_score(KNeighborsClassifier(10), Z, y, cv=LeaveOneOut()).mean()
        equal = [s.name for s in found.equivalent]
        print(
            f"{name}: {equal}, {min(right[s] for s in equal):.3f} to {max(right[s] for s in equal):.3f}, "
            f"best {max(right.values()):.3f}, at 30 {right['perplexity=30']:.3f}", flush=True,
        )  # fmt: skip


def _labeled(name, rows):
    """At most so many rows of a table with classes; columns of different units are standardized."""
    if name in SURVEY:
        with np.load(f"{os.environ['LOWLAND_DATA']}/survey.npz") as file:
            X, y = file[f"{name}_X"], file[f"{name}_y"]
    elif name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
    else:
        table = load_dataset(name)
        X, y = table.X, table.y
    kept = np.random.default_rng(0).permutation(len(X))[:rows]
    X, y = np.asarray(X, dtype=float)[kept], np.asarray(y)[kept]
    if name in ("wine", "iris", "breast_cancer", "yeast"):
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    return X, y


SIMULATIONS = {f.__name__: f for f in (
    noise, blob, correlated, groups, nulls, swapped, torn, drivers, refits, effects, samples, compared, perplexity,
)}  # fmt: skip


def main():
    """Run the simulation that is named, or list all."""
    if len(sys.argv) < 2 or sys.argv[1] not in SIMULATIONS:
        print("\n".join(f"{name:12s} {f.__doc__}" for name, f in SIMULATIONS.items()))
        return
    warnings.simplefilter("ignore")
    SIMULATIONS[sys.argv[1]](*(int(word) if word.isdigit() else word for word in sys.argv[2:]))


if __name__ == "__main__":
    main()
