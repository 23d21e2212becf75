"""The quality of a map, measured in the worker after the map is shown: scores, trust per row, and curves."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lowland import quality
from lowland.errors import unmarked
from lowland.explorer.mapping import SEED, MapInputs, stored_graph
from lowland.explorer.workspace import write_floats, write_json
from lowland.math.statistics.sampling import evenly_spread
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method
from lowland.plain import to_plain
from lowland.run.settings import config
from lowland.study.plan import Planned
from lowland.study.result import Curve, Trial
from lowland.study.scoring.measures import EmbeddingScorer, neighbors_for
from lowland.study.trials.fit import SharedInputs, in_a_sentence, model_measures

SAMPLE = 20_000  # rows up to which all are measured
MOST_COMPONENTS = 50  # of a scree
MOST_LOADINGS = 2_000  # columns


def measured(
    est: Any, planned: Planned, shared: SharedInputs, inputs: MapInputs, Z: np.ndarray, folder: Path
) -> dict[str, Any]:
    """Measure a map; write the values per row and the curves, and return what is shown of them."""
    n = len(Z)
    chosen = np.ones(n, dtype=bool) if n <= SAMPLE else evenly_spread(n, SAMPLE, np.random.default_rng(SEED))
    X, some = np.ascontiguousarray(shared.X[chosen]), np.ascontiguousarray(Z[chosen])
    y = None if inputs.labels.codes is None else inputs.labels.codes[chosen]
    targets = None if inputs.labels.targets is None else inputs.labels.targets[chosen]
    place = Path(inputs.rows.folder) if chosen.all() else Path(inputs.rows.folder) / "sample"
    place.mkdir(exist_ok=True)
    warned: list[str] = []
    trial = Trial(planned.name, planned.method, planned.parameters, "done", Z=some)
    try:
        with config(progress=False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = stored_graph(X, neighbors_for(len(X)), place)
            trial = EmbeddingScorer.of(X, graph, y, SEED, targets).scored(trial)
            if trial.per_row:  # it was evaluated
                trial.per_row.update(_of_every_row(X, some, {"trustworthiness", "continuity"} - trial.per_row.keys()))
            if n <= SAMPLE and not traits_of(est).reads_text:
                scores, curves, _ = model_measures(est, shared)
                trial.scores.update({k: v for k, v in scores.items() if k not in trial.scores})
                trial.curves.update(curves)
        warned += map(unmarked, trial.warnings)
    except Exception as error:  # the map is valid all the same
        warned.append(f"The quality could not be measured: {unmarked(in_a_sentence(error))}")
    curves = {**trial.curves, **_of_linear_model(est, inputs)}
    write_json(folder / "curves.json", {name: _plain_curve(curve) for name, curve in curves.items()})
    measures = []
    for number, (name, values) in enumerate(trial.per_row.items()):
        every = np.full(n, np.nan, dtype=np.float32)
        every[chosen] = values
        write_floats(folder / f"trust-{number}.f32", every)
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        better = trial.scores[name].better if name in trial.scores else "higher"
        measures.append({"name": name, "low": low, "high": high, "better": better})
    shown = {name: {**asdict(score), "correct_bits": ""} for name, score in trial.scores.items()}
    basis = None if chosen.all() else f"Measured on {int(chosen.sum()):,} evenly spaced rows of {n:,}."
    return to_plain({"measures": measures, "scores": shown, "curves": list(curves), "warnings": warned, "basis": basis})


def _of_every_row(X: np.ndarray, Z: np.ndarray, names: set[str]) -> dict[str, np.ndarray]:
    """The values of all rows; a study has them only for a table of some thousand rows."""
    measures = (quality.trustworthiness, quality.continuity)
    k = neighbors_for(int((~np.isnan(Z).any(axis=1)).sum()))
    found = [measure(X, Z, k, per_row=True, sample=None) for measure in measures if measure.__name__ in names]
    return {each.name: each.per_row for each in found if each.per_row is not None}


def _of_linear_model(est: Any, inputs: MapInputs) -> dict[str, Any]:
    """The scree and the loadings of a linear method."""
    found: dict[str, Any] = {}
    with contextlib.suppress(Exception), warnings.catch_warnings(), config(progress=False):
        warnings.simplefilter("ignore")
        if hasattr(est, "explained_variance_ratio_"):
            ratio = np.asarray(est.explained_variance_ratio_, dtype=float)
            X = np.asarray(inputs.rows.X)
            more = min(MOST_COMPONENTS, *X.shape)
            if type(est).__name__ == "PCA" and len(ratio) < more and X.size <= 2e8:
                ratio = np.asarray(load_method("PCA")(more).fit(X).explained_variance_ratio_)
            number = np.arange(1, len(ratio) + 1)
            found["scree"] = Curve(number, ratio, "component", "explained variance ratio")
        loadings = np.asarray(est.components_, dtype=float)
        names = inputs.rows.names
        if loadings.ndim == 2 and loadings.shape[1] == len(names) <= MOST_LOADINGS:
            found["loadings"] = {
                "x": loadings[0], "y": loadings[1] if len(loadings) > 1 else np.zeros(len(names)), "names": names,
                "values": loadings[:10], "x_name": "component 1", "y_name": "component 2", "kind": "loadings",
            }  # fmt: skip
    return found


def _plain_curve(curve: Any) -> Any:
    return to_plain(asdict(curve) if isinstance(curve, Curve) else curve)
