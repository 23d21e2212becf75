"""Reliability of the leading maps of a study: which points keep their neighbors better than in maps of null data."""

from __future__ import annotations

import numpy as np

from lowland.evidence.reliability import RELIABLE as RELIABLE_CLASS
from lowland.evidence.reliability import reliability
from lowland.math.statistics.sampling import evenly_spread
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method
from lowland.study.table import StudyTable
from lowland.trial.parameters import Planned
from lowland.trial.records import Score
from lowland.trial.scores import P_VALUE, RELIABILITY, RELIABLE, STABILITY

STAYS = "Fraction of neighbors in the map that stay when it is made again from subsamples with other seeds."
Tested = tuple[dict[str, Score], dict[str, np.ndarray]]  # scores, and values of each row, by name


def evaluate_map(planned: Planned, Z: np.ndarray, data: StudyTable, shown: np.ndarray, seed: int) -> Tested:
    """Return the fraction of reliable points and the stability of a map, and the class of each of the rows shown.

    The map is evaluated on the rows to which its method was fitted, as far as they are shown. Nothing is returned for
    methods that are fitted to categories or counts, or to labels that some rows do not have.
    """
    method = load_method(planned.method)(**planned.parameters) if planned.estimator is None else planned.estimator
    traits, y = traits_of(method), None
    if traits.needs_y or traits.learns_labels_in_study:
        y = data.labels.codes if data.labels.targets is None else data.labels.targets
        if y is None or (np.isnan(y).any() if y.dtype.kind == "f" else y.min() < 0):
            return {}, {}
    if traits.reads != "numbers":
        return {}, {}
    n = len(data.X)
    fitted = np.ones(n, dtype=bool)
    if planned.fitted_rows is not None:
        fitted = evenly_spread(n, planned.fitted_rows, np.random.default_rng(seed))
    known = fitted[shown]
    found = reliability(
        np.where(known[:, None], Z, np.nan), data.X[shown], None if y is None else y[shown], method=method,
        random_state=seed,
    )  # fmt: skip
    scores = {
        RELIABLE: Score(found.fraction(RELIABLE_CLASS), "higher", found.summary),
        STABILITY: Score(found.score, "higher", STAYS, *found.interval),
    }
    rows = {RELIABILITY: found.class_codes, P_VALUE: found.p_values, STABILITY: found.stability}
    return scores, {name: np.asarray(values, dtype=np.float32) for name, values in rows.items()}
