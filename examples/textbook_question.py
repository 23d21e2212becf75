"""Does dimensionality reduction improve classification by a neural network or a self-organizing map?

A textbook asks this for iris, wine and yeast. Every method for numbers reduces standardized rows to two columns (yeast:
four). A neural network and a SOM whose units predict their majority class are trained on them. Everything is fitted to
four fifths of the rows and evaluated on the rest, with the settings of ``lowland compare``. Significance level: 1%.
"""

import os
import warnings

import numpy as np
from joblib import Parallel, delayed
from rich import box, console, table
from scipy import spatial, stats
from sklearn import model_selection, neural_network, preprocessing

from gallery import load_dataset, panels, show, title
from lowland import SelfOrganizingMap
from lowland.methods.registry import entries, load_method
from lowland.plots.style import COLORS, quiet
from lowland.study.plan import StudySize, plan

SETS = {"iris": (2, 3), "wine": (2, 3), "yeast": (4, 1)}  # number of components, repeats of the five folds
ROWS = ["all columns", *(n for n in entries() if "Correspondence" not in n and "Mixed" not in n)]  # not for categories


def by_network(Z, y, new):
    units = preprocessing.StandardScaler().fit(Z)
    network = neural_network.MLPClassifier((8,), "tanh", solver="lbfgs", alpha=0.1, max_iter=5000, random_state=0)
    return network.fit(units.transform(Z), y).predict(units.transform(new))


def by_map(Z, y, new):
    som = SelfOrganizingMap(convergence_epochs=0).fit(Z)
    votes = np.zeros((len(som.prototypes_), y.max() + 1))
    np.add.at(votes, (som.predict(Z), y), 1)
    used = votes.any(axis=1)  # dead units have no class
    return votes[used].argmax(axis=1)[spatial.distance.cdist(new, som.prototypes_[used]).argmin(axis=1)]


def accuracies(X, y, method, k, repeats):  # in each fold, (folds, 2)
    folds = model_selection.RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    found, k = [], min(k, {"SelfOrganizingMap": 2, "ProjectionPursuit": 3}.get(method, k))  # their maximum
    for train, test in folds.split(X, y):
        columns = preprocessing.StandardScaler().fit(X[train])
        Z, new = columns.transform(X[train]), columns.transform(X[test])
        if method != ROWS[0]:
            chosen = plan(StudySize(len(train), X.shape[1], k, int(y.max()) + 1, "classify"), [method])[0].parameters
            with warnings.catch_warnings(action="ignore"):  # disconnected graphs and small classes of yeast
                reducer = load_method(method)(**chosen).fit(Z, y[train])
                Z, new = reducer.transform(Z), reducer.transform(new)
        with warnings.catch_warnings(action="error"):  # of a network that did not converge
            found.append([np.mean(predict(Z, y[train], new) == y[test]) for predict in (by_network, by_map)])
    return np.array(found)


def half_width(values, level):  # of a confidence interval; folds overlap in training rows (Nadeau and Bengio 2003)
    J, spread = values.shape[1], values.std(axis=1, ddof=1)
    return stats.t.ppf((1 + level) / 2, J - 1) * spread * np.sqrt(1 / J + 1 / 4)


samples = {name: load_dataset(name) for name in SETS if name != "yeast" or "LOWLAND_DATA" in os.environ}
folds = [np.array(Parallel(-1)(delayed(accuracies)(*samples[s], m, *SETS[s]) for m in ROWS)) for s in samples]
mean, half = np.array([a.mean(axis=1) for a in folds]), np.array([half_width(a, 0.95) for a in folds])
change = mean - mean[:, :1]  # (sets, methods, 2), against all columns
real = np.abs(change) > np.array([half_width(a - a[:1], 0.99) for a in folds])
fisher = change[:2, ROWS.index("LinearDiscriminantAnalysis")]  # on iris and wine
assert not np.any(real & (change > 0)), "a method is significantly better"
assert change[2:].max(initial=0) < 0.04, "a method may be better on yeast"
assert np.all(fisher > [-0.02, 0.01]), "discriminant analysis is worse on iris or wine"
assert real[1, ROWS.index("ProjectionPursuit")].all(), "projection pursuit does not lose the classes of wine"
order = [0, *(1 + np.argsort(-change[:, 1:].sum(axis=(0, 2))))]
report = table.Table("Reduction", *(f"{name}, {by}" for name in samples for by in ("network", "map")), box=box.MARKDOWN)
for m in order:
    cells = zip(*(a[:, m].flat for a in (mean, half, real)), strict=True)
    report.add_row(ROWS[m], *(f"{value:.2f} ± {more:.2f}{' ▼' if worse else '  '}" for value, more, worse in cells))
console.Console(width=140).print(report)
figure, (axes,) = panels(1, len(samples), (3 * len(samples) + 1.8, 7.4), sharey=True)
for (i, name), (j, by) in ((a, b) for a in enumerate(samples) for b in enumerate(("neural network", "SOM"))):
    x, y, ax, color = mean[i, order, j], 0.2 - 0.4 * j - np.arange(len(ROWS)), axes[i], COLORS[2 * j]
    ax.axvline(x[0], color=color, linewidth=0.8)
    ax.hlines(y, x - half[i, order, j], np.minimum(x + half[i, order, j], 1), color=color, linewidth=1)
    ax.scatter(x, y, 22, np.where(real[i, order, j], color, "w"), marker="os"[j], ec=color, zorder=3, label=by)
    title(ax, f"{name}: from {samples[name].X.shape[1]} to {SETS[name][0]} columns")
    quiet(ax)
axes[0].set_yticks(-np.arange(len(ROWS)), [ROWS[m] for m in order])
figure.supxlabel("accuracy on held-out rows, 95% CI\nlines: all columns; filled: significantly worse", size="medium")
axes[1].legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 0.95))
fact = f"No: of {change[:, 1:].size} results none is significantly better than all columns, {real.sum()} are"
show(figure, f"{fact} significantly worse. LDA increases the accuracy of the SOM by at least {fisher[:, 1].min():.3f}.")
