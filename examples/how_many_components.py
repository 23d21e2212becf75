"""How many components? Knee, parallel analysis and evidence find a known rank, but a fraction of variance does not.

500 rows of 50 columns have rank 5, plus noise. The knee of the scree plot, parallel analysis (compared with
uncorrelated columns) and the evidence of probabilistic PCA estimate the number of components above the noise. A
fraction of the explained variance answers another question, how much to store: with more noise it keeps more
components.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA, plots
from lowland.plots.style import INK, MARK, STRONG, quiet
from lowland.rules import Knee, ParallelAnalysis

RANK = 5
rules = {"fraction": 0.9, "knee": Knee(), "parallel": ParallelAnalysis(), "evidence": "mle"}
chosen = {}  # by noise level and rule
for noise in (0.3, 1.0):
    X = load_dataset("low_rank", n=500, d=50, rank=RANK, decay=0.9, noise=noise, seed=0).X
    chosen[noise] = {name: PCA(rule).fit(X).choice_ for name, rule in rules.items()}
    for name in ("knee", "parallel", "evidence"):
        assert chosen[noise][name].n_components == RANK, (noise, name, chosen[noise][name])
assert chosen[0.3]["fraction"].n_components <= RANK
assert chosen[1.0]["fraction"].n_components > 2 * RANK, "the fraction of variance keeps noise"

pca, choices = PCA().fit(X), chosen[noise]
counts = np.arange(1, 51)
figure, axes = panels(2, 2, (10, 6.4))


def mark(ax, name: str, height: float) -> None:
    m = choices[name].n_components
    ax.axvline(m + 0.5 * (name != "evidence"), color=MARK, linestyle="--", linewidth=1.2)
    ax.annotate(f"{m} components", (m, height), xytext=(10, 0), textcoords="offset points", color=INK)
    quiet(ax)


ax = axes[0, 0]
ax.plot(counts, 100 * np.cumsum(pca.explained_variance_ratio_), "o-", color=STRONG, markersize=3)
ax.axhline(90, color=INK, linewidth=0.8)
ax.set(xlabel="number of components", ylabel="explained variance (%)", ylim=(0, 103))
mark(ax, "fraction", 40)
title(ax, "90% of the variance: includes noise")

plots.scree(pca.explained_variance_, pca.total_variance_, choices["knee"], ax=axes[0, 1])
mark(axes[0, 1], "knee", 10)
title(axes[0, 1], "Knee of the scree plot")

ax = axes[1, 0]
ax.semilogy(counts, pca.explained_variance_, "o", color=STRONG, markersize=4, label="eigenvalues")
ax.semilogy(counts, choices["parallel"].evidence["threshold"], color=INK, linewidth=1, label="uncorrelated columns")
ax.set(xlabel="component", ylabel="eigenvalue")
ax.legend(frameon=False, labelcolor=INK)
mark(ax, "parallel", 20)
title(ax, "Parallel analysis")

ax = axes[1, 1]
evidence = choices["evidence"].evidence["log_evidence"]
ax.plot(counts[:-1], (evidence - evidence.max()) / 1000, "o-", color=STRONG, markersize=3)
ax.set(xlabel="number of components", ylabel="log evidence (thousands)")
mark(ax, "evidence", 0.5 * (evidence.min() - evidence.max()) / 1000)
title(ax, "Evidence of probabilistic PCA")
show(
    figure,
    f"Knee, parallel analysis and evidence find the rank, {RANK}, at both noise levels. 90% of the variance takes"
    f" {chosen[0.3]['fraction'].n_components} components with noise of standard deviation 0.3 and"
    f" {chosen[1.0]['fraction'].n_components} with 1.",
)
