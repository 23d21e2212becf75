"""Maps that were computed before: the same rows, labels, method and parameters, in the cache of the studies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lowland.data.write import atomic_write
from lowland.explorer.workspace import FILES_OF_A_MAP
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method
from lowland.study.environment import code_version
from lowland.study.plan import Planned
from lowland.study.scoring.measures import VERSION
from lowland.study.trials.cache import TrialCache, fingerprint, key_of

if TYPE_CHECKING:
    from lowland.explorer.mapping import MapInputs, Send

MOST_BYTES = 128 * 2**20  # of one map


class KnownMap:
    """The entry of one map in the cache; None of the calls does anything if the map cannot have one."""

    def __init__(self, inputs: MapInputs, planned: Planned, seed: int) -> None:
        self.key: str | None = None
        if traits_of(load_method(planned.method)).reads_text:  # fitted to the cells, not to the prepared rows
            return
        labels, weights = inputs.labels, inputs.weights
        beside = [v for v in (labels.codes, labels.targets, weights) if v is not None]
        facts = {
            "what": "map", "data": fingerprint([np.asarray(inputs.rows.X)]), "names": inputs.rows.names, "seed": seed,
            "beside": [fingerprint([values]) for values in beside],
            "classes": None if labels.classes is None else [str(c) for c in labels.classes],
            "weighted": weights is not None,
            "scaled": inputs.rows.scaled, "method": planned.method, "parameters": planned.parameters,
            "rows": planned.fitted_rows, "version": code_version(), "measures": VERSION,
        }  # fmt: skip
        try:
            self.key = key_of(facts)
        except TypeError:
            return

    def restore(self, folder: Path, send: Send) -> dict[str, Any] | None:
        """Write the files of a map that is known and report it; None: it must be computed."""
        kept = None if self.key is None else TrialCache().get(self.key)
        if kept is None:
            return None
        record, arrays = kept
        try:
            done, has_transform, measured = record["done"], bool(record["has_transform"]), record["measured"]
        except KeyError:
            return None
        for name, values in arrays.items():
            if FILES_OF_A_MAP.fullmatch(name):
                with atomic_write(folder / name) as path:
                    path.write_bytes(values.tobytes())
        if not (folder / "coordinates.f32").exists():
            return None
        send({"event": "done", **done})
        send({"event": "model", "has_transform": has_transform})
        return {"measured": measured}

    def keep(self, folder: Path, done: dict[str, Any], has_transform: bool, measured: dict[str, Any]) -> None:
        """Store a map that was computed and measured."""
        if self.key is None:
            return
        files = [path for path in sorted(folder.iterdir()) if FILES_OF_A_MAP.fullmatch(path.name)]
        if sum(path.stat().st_size for path in files) > MOST_BYTES:
            return
        arrays = {path.name: np.fromfile(path, dtype=np.uint8) for path in files}
        record = {"done": done, "has_transform": has_transform, "measured": measured}
        TrialCache().put(self.key, record, arrays)
