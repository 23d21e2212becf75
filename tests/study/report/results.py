"""Artificial studies for the report: small, large, and adversarial ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowland.study.result import Advice, Curve, Score, ShownTable, StudyResult, Trial

SCRIPT = "<script>alert(1)</script>"
METHODS = (
    "PCA", "Isomap", "LocallyLinearEmbedding", "LaplacianEigenmaps", "KernelPCA", "SammonMapping", "ClassicalMDS",
    "MDS", "FastICA", "FactorAnalysis", "Whitening", "LinearDiscriminantAnalysis", "SelfOrganizingMap", "Autoencoder",
    "LaggedPCA", "SlowFeatures", "ProjectionPursuit", "RandomProjection", "DiffusionMap", "TruncatedSVD",
)  # fmt: skip
ABOUT = {
    "trustworthiness": "Fraction of the neighbors in the embedding that are neighbors in the data, weighted by rank.",
    "continuity": "Fraction of the neighbors in the data that are neighbors in the embedding, weighted by rank.",
    "R_NX area": "Neighbors preserved beyond chance, averaged over all neighborhood sizes.",
    "stress": "Root of the squared differences of distances, over the squared distances.",
    "neighbor accuracy": "Fraction of rows whose nearest neighbors in the embedding have their label.",
}


def blobs(m, classes, rng, k=2):
    """Clusters that are rotated and curved differently for each trial."""
    centers = rng.standard_normal((classes, k)) * 4
    label = np.arange(m) % classes
    return centers[label] + rng.standard_normal((m, k)) * 0.9, label


def bent(Z, i, rng):
    turn = np.linalg.qr(rng.standard_normal((Z.shape[1],) * 2))[0]
    W = Z @ turn * (1, 10.0 ** (i % 3), 1e-3)[i % 3]
    W[:, 1] += np.sin(W[:, 0] / W[:, 0].std()) * W[:, 1].std() * (i % 4) / 2
    return (W + W.std() * 0.05 * (i % 5) * rng.standard_normal(W.shape)).astype(np.float32)


def curves(i, k, rng, pairs=1500):
    x = np.unique(np.geomspace(1, 500, 60).astype(int)).astype(float)
    R = (0.8 - 0.03 * i) * np.exp(-((np.log(x) - 3 - 0.05 * i) ** 2) / 8)
    high = rng.gamma(3.0, 1.0, pairs)
    low = high * (1 + 0.02 * i) + rng.standard_normal(pairs) * 0.1 * (i + 1)
    found = {
        "R_NX": Curve(x, R, "neighborhood size", "R_NX"),
        "Shepard": Curve(high, np.abs(low), "distance in the data", "distance in the embedding", "cloud"),
    }
    if i % 3 == 0:
        components = np.arange(1.0, 11)
        found["scree"] = Curve(
            components, 10.0 ** (1 - i % 4) * np.exp(-components / 2.5), "component", "explained variance"
        )
        found["distortion"] = Curve(components, (5 + i / 10) * np.exp(-components / 3), "components", "distortion")
    if i % 4 == 1:
        found["residual variance"] = Curve(
            np.arange(1.0, 9), 0.6 * np.exp(-np.arange(1.0, 9) / 2), "dimensions", "1 − r²"
        )
    return found


def trial(name, i, Z, rng, per_row=("trustworthiness", "continuity")):
    value = 0.97 - 0.013 * i
    scores = {
        "trustworthiness": Score(value, "higher", ABOUT["trustworthiness"], value - 0.012, value + 0.011),
        "continuity": Score(0.95 - 0.01 * ((i * 7) % 9), "higher", ABOUT["continuity"]),
        "R_NX area": Score(0.62 - 0.02 * i, "higher", ABOUT["R_NX area"]),
        "stress": Score(0.08 + 0.031 * ((i * 3) % 7), "lower", ABOUT["stress"]),
    }
    if i % 2 == 0:
        scores["neighbor accuracy"] = Score(0.9 - 0.01 * i, "higher", ABOUT["neighbor accuracy"])
    trust = {n: (1 - rng.beta(1.2, 6 + j, len(Z))).astype(np.float32) for j, n in enumerate(per_row)}
    return Trial(
        name=name, method=name.split()[0], parameters={"n_components": 2, "n_neighbors": 10 + i}, status="done",
        seconds=0.02 * 1.6**i, memory=int(3e6 * 1.3**i), cached=i % 6 == 5, n_components=Z.shape[1], scores=scores,
        warnings=("The fit did not converge. Raise max_iter=1000.",) if i == 3 else (),
        curves=curves(i, 2, rng), per_row=trust, Z=Z,
    )  # fmt: skip


WITHOUT = (
    Trial("LLE n_neighbors=600", "LocallyLinearEmbedding", {"n_neighbors": 600}, "failed",
          "LocallyLinearEmbedding(n_neighbors=600): the data has 150 rows. Choose at most 149.", seconds=0.01),
    Trial("Autoencoder", "Autoencoder", {}, "timed out", "The fit exceeded the time limit of 60 s."),
    Trial("SlowFeatures", "SlowFeatures", {}, "left out", "Its rows must be in order of time."),
)  # fmt: skip


def study(m=150, n_trials=6, classes=3, seed=0, k=2, without=True, columns=4):
    """A typical study: some clusters, a few trials, some without a result."""
    rng = np.random.default_rng(seed)
    Z, label = blobs(m, classes, rng, k)
    values = np.round(Z @ rng.standard_normal((k, columns)) + rng.standard_normal((m, columns)), 1).astype(np.float32)
    names = ("sepal length", "sepal width", "petal length", "petal width", *map(str, range(columns)))[:columns]
    class_names = np.array(["setosa", "versicolor", "virginica", *(f"class {i}" for i in range(3, classes))])
    trials = tuple(trial(METHODS[i % 20], i, bent(Z, i, rng), rng) for i in range(n_trials))
    table = ShownTable("iris.csv", m, columns, "3f2a90c1", np.arange(m), names, values, "species", class_names[label])
    advice = (
        Advice("visualize", "PCA", 2, "PCA with 2 dimensions preserves neighborhoods best in the least time.",
               ("Trustworthiness 0.97, the best of 6 trials; Isomap has 0.96.", "It took 20 ms, Isomap 32 ms.")),
        Advice("compress", "PCA", 3, "PCA with 3 components explains 99% of the variance.",
               ("The third adds 4%, the fourth 1%.",)),
        Advice("classify", None, None, "No trial predicts the classes better than the majority-class baseline.",
               ()),
    )  # fmt: skip
    return StudyResult(
        table, trials + (WITHOUT if without else ()), advice, k, "visualize",
        "lowland compare iris.csv --label species --to report.html",
        {"Lowland": "0.7.0", "Python": "3.11.7", "numpy": "2.4.6", "scikit-learn": "1.9.1"},
        {"processor": "x86_64, 2 cores", "memory": "16 GB", "system": "Linux"}, "2026-11-15 19:20", 12.3,
    )  # fmt: skip


def large(m=100_000, panels=20):
    """The largest numbers of points and panels that the report supports."""
    result = study(m, panels, classes=10, without=False)
    return replace(result, table=replace(result.table, source="hundred_thousand.parquet"))


def nasty():
    """Names, labels, texts and files that would run or break the page if they were not escaped."""
    result = study(60, 3)
    texts = [SCRIPT, "</script><script>alert(2)</script>", "<img src=x onerror=alert(3)>",
             "a\u2028b\u2029c & \"d\" 'e'", "<!-- script -->", "]]>", "\ud83e\uddea ünïcødé", "x" * 300]  # fmt: skip
    labels = np.array([texts[i % len(texts)] for i in range(60)], dtype=object)
    table = replace(
        result.table,
        source=f"{SCRIPT}.csv",
        names=tuple(texts[:4]),
        label_name=texts[2],
        labels=labels,
        fingerprint=SCRIPT,
    )
    first = replace(result.trials[0], name=SCRIPT, parameters={SCRIPT: SCRIPT}, warnings=(SCRIPT, texts[1]))
    first.scores[SCRIPT] = Score(0.5, "higher", texts[2])
    first.per_row[texts[2]] = np.linspace(0, 1, 60, dtype=np.float32)
    first.curves["</script>"] = Curve(np.arange(3.0), np.arange(3.0), SCRIPT, texts[3])
    failed = replace(result.trials[-1], name=texts[1], error=f"It says {texts[2]} and {SCRIPT}.")
    advice = (Advice("visualize", SCRIPT, 2, texts[1], (texts[2], texts[0])),)
    return replace(
        result, table=table, trials=(first, *result.trials[1:-1], failed), advice=advice,
        command=f"compare('{texts[1]}')", versions={SCRIPT: SCRIPT}, machine={texts[2]: texts[1]}, started=SCRIPT,
    )  # fmt: skip


def gaps():
    """Rows left out, values missing, scores without a number, some rows shown, one component or five."""
    result = study(80, 5, k=2)
    rng = np.random.default_rng(1)
    a, b, c, d, e = result.trials[:5]
    holes = a.Z.copy()
    holes[::4] = np.nan
    holes[1, 0] = np.inf
    values = result.table.values.copy()
    values[:, 0] = np.nan
    values[::3, 1] = np.nan
    values[:, 2] = 7
    labels = result.table.labels.astype(object)
    labels[::5] = None
    a.scores["stress"] = Score(float("nan"), "lower", ABOUT["stress"])
    a.per_row["trustworthiness"][::4] = np.nan
    trials = (
        replace(a, Z=holes),
        replace(b, Z=b.Z[:, :1], n_components=1),
        replace(c, Z=np.zeros_like(c.Z)),
        replace(d, Z=np.full_like(d.Z, np.nan), per_row={}),
        replace(e, Z=rng.standard_normal((80, 5)).astype(np.float32), n_components=5),
        replace(e, name="without a picture", Z=None, curves={}, per_row={}),
        *result.trials[5:],
    )
    table = replace(result.table, rows=8000, shown=np.arange(80) * 100 + 3, values=values, labels=labels)
    return replace(result, table=table, trials=trials, complete=False)


def with_labels(labels, **changes):
    """A small study with other labels."""
    result = study(len(labels), 3) if labels is not None else study(90, 3)
    name = None if labels is None else "label"
    return replace(result, table=replace(result.table, labels=labels, label_name=name, **changes))


def outlier(far=1e4, m=200):
    """Two clusters in every panel, and one row far away from both."""
    result = study(m, 3, classes=2, without=False)
    trials = []
    for one in result.trials:
        Z = one.Z / one.Z.std()
        Z[7] = (far, -far / 2)
        trials.append(replace(one, Z=Z))
    return replace(result, trials=tuple(trials))


def crowded():
    """Twenty classes and thirty trials, all with long names, and curves of very different heights."""
    result = study(200, 6, classes=20, without=False)
    labels = np.array([f"a class with a very long descriptive name, number {i % 20}" for i in range(200)])
    trials = tuple(
        replace(
            one,
            name=f"{one.name} with a long list of parameters, n_neighbors={i}",
            curves={"R_NX": replace(one.curves["R_NX"], y=one.curves["R_NX"].y * (1e-3 if i == 2 else 1))},
        )
        for i in range(5)
        for one in result.trials
    )
    return replace(result, trials=trials, table=replace(result.table, labels=labels))


def with_ids(m=150):
    """A study whose rows have ids and columns that were kept."""
    whole = study(m)
    kept = {
        "site": np.array(["meadow", "forest"])[np.arange(m) % 2],
        "notes": np.array([f"note {i} about <b>row</b>" for i in range(m)]),
        "place": np.array(["north", None, "south"] * m, dtype=object)[:m],
        "height": np.arange(m) / 7,
    }
    ids = np.array([f"plant {i:03}" for i in range(m)], dtype=object)
    return replace(whole, table=replace(whole.table, id_name="plant", ids=ids, kept=kept))
