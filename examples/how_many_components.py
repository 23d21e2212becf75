"""How many components? Where the rank is known three rules find it, a share of variance does not.

500 rows of 50 columns have rank 5, and noise of deviation 1 on top. The knee of the scree plot, parallel analysis
(what columns without correlation would give) and the evidence of probabilistic PCA ask what is more than noise. A
share of the variance asks what is worth storing: with more noise it keeps more of it. Both are fair questions; they
are not the same.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA, plots
from lowland.plots.style import INK, MARK, STRONG, quiet
from lowland.rules import Knee, ParallelAnalysis

RANK = 5
rules = {"share": 0.9, "knee": Knee(), "parallel": ParallelAnalysis(), "evidence": "mle"}
chosen = {}  # by noise, and by rule
for noise in (0.3, 1.0):
    X = load_dataset("low_rank", n=500, d=50, rank=RANK, decay=0.9, noise=noise, seed=0).X
    chosen[noise] = {name: PCA(rule).fit(X).choice_ for name, rule in rules.items()}
    for name in ("knee", "parallel", "evidence"):
        assert chosen[noise][name].n_components == RANK, (noise, name, chosen[noise][name])
assert chosen[0.3]["share"].n_components <= RANK
assert chosen[1.0]["share"].n_components > 2 * RANK, "the share keeps noise"

pca, choices = PCA().fit(X), chosen[noise]
counts = np.arange(1, 51)
figure, axes = panels(2, 2, (10, 6.4))


def mark(ax, name: str, height: float) -> None:
    m = choices[name].n_components
    ax.axvline(m + 0.5 * (name != "evidence"), color=MARK, linestyle="--", linewidth=1.2)
    ax.annotate(f"{m} kept", (m, height), xytext=(10, 0), textcoords="offset points", color=INK)
    quiet(ax)


ax = axes[0, 0]
ax.plot(counts, 100 * np.cumsum(pca.explained_variance_ratio_), "o-", color=STRONG, markersize=3)
ax.axhline(90, color=INK, linewidth=0.8)
ax.set(xlabel="components", ylabel="share of the variance (%)", ylim=(0, 103))
mark(ax, "share", 40)
title(ax, "A share of 90%: keeps noise as well")

plots.scree(pca.explained_variance_, pca.total_variance_, choices["knee"], ax=axes[0, 1])
mark(axes[0, 1], "knee", 10)
title(axes[0, 1], "The knee: where the scree plot bends")

ax = axes[1, 0]
ax.semilogy(counts, pca.explained_variance_, "o", color=STRONG, markersize=4, label="eigenvalues")
ax.semilogy(counts, choices["parallel"].evidence["threshold"], color=INK, linewidth=1, label="without correlation")
ax.set(xlabel="component", ylabel="eigenvalue")
ax.legend(frameon=False, labelcolor=INK)
mark(ax, "parallel", 20)
title(ax, "Parallel analysis: more than chance gives")

ax = axes[1, 1]
evidence = choices["evidence"].evidence["log_evidence"]
ax.plot(counts[:-1], (evidence - evidence.max()) / 1000, "o-", color=STRONG, markersize=3)
ax.set(xlabel="components", ylabel="log evidence (thousands)")
mark(ax, "evidence", 0.5 * (evidence.min() - evidence.max()) / 1000)
title(ax, "Evidence: the likeliest dimension")
show(
    figure,
    f"Knee, parallel analysis and evidence find the rank, {RANK}, under little noise and much; 90% of the variance"
    f" takes {chosen[0.3]['share'].n_components} components under noise of 0.3 and"
    f" {chosen[1.0]['share'].n_components} under noise of 1.",
)
