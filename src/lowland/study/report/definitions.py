"""What each measure says in general: one sentence, abbreviations spelt out, no numbers of a trial."""

from __future__ import annotations

from collections.abc import Iterable

from lowland.study.result import Trial

MEANINGS = {
    "area under R_NX": (
        "Q_NX is the share of nearest neighbours that data and embedding have in common, and R_NX the same on a scale "
        "where 0 is chance and 1 is perfect; the area is its mean over all sizes of neighbourhoods, small ones "
        "counting most."
    ),
    "trustworthiness": "Whether the nearest in the embedding are near in the data; 1 where no stranger is among them.",
    "continuity": "Whether the nearest in the data are near in the embedding; 1 where none was torn away.",
    "relative rank error in the embedding": (
        "By how much the nearest in the embedding have another rank in the data, relative to the rank; 0 where none "
        "has."
    ),
    "relative rank error in the data": (
        "By how much the nearest in the data have another rank in the embedding, relative to the rank; 0 where none "
        "has."
    ),
    "LCMC": (
        "Local continuity meta-criterion: the share of the nearest that data and embedding have in common, less what "
        "chance gives."
    ),
    "neighbours kept": "Share of the nearest in the data that are among the nearest in the embedding.",
    "normalized stress": (
        "By how much distances in the embedding, in the unit that suits best, differ from those in the data, relative "
        "to these; large distances count most."
    ),
    "Sammon stress": (
        "By how much distances in the embedding, in the unit that suits best, differ from those in the data, each "
        "relative to itself, so that small distances count as much as large ones."
    ),
    "Spearman correlation": "Whether the order of the distances is kept: the correlation of their ranks.",
    "Pearson correlation": "Whether the distances are kept, up to unit and constant: their correlation.",
    "residual variance": (
        "Share of the variance of the distances in the data that those in the embedding do not explain."
    ),
    "neighbourhood hit": "Share of the nearest in the embedding that have the label of the row.",
    "nearest-neighbour accuracy": (
        "Share of rows whose label their nearest in the embedding name, the row itself left out."
    ),
    "nearest-neighbour accuracy in the data": (
        "Share of rows whose label their nearest in the data name, the row itself left out: what an embedding can be "
        "held against."
    ),
    "silhouette": "How much nearer the classes lie to themselves than to the next one, from −1 to 1.",
    "downstream accuracy": (
        "Share of held-out rows whose label their five nearest neighbours name rightly, in folds; a method that learns "
        "from labels is fitted without the rows held out."
    ),
    "reconstruction error": "Mean squared distance between a row and what comes back from its coordinates.",
    "explained share": (
        "Share of the variance of the data that comes back from the coordinates; below 0 where the mean alone would do "
        "better."
    ),
}


def meaning_of(name: str, trials: Iterable[Trial]) -> str:
    """Return what a measure says whatever the trial; of one not named above, what its trials say alike."""
    texts = {trial.scores[name].about for trial in trials if name in trial.scores}
    if name in MEANINGS:
        return MEANINGS[name]
    return texts.pop() if len(texts) == 1 else "What it says is told with each trial, in detail."
