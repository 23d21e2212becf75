"""The session: tables and maps with their states, and the tasks that change them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import shutil
import time
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import Any, Literal

from lowland.errors import FileProblem
from lowland.explorer.folder import Folder
from lowland.explorer.queue import Events, Job, Limits, Queue
from lowland.explorer.workspace import START, Record, RequestError, Store, Workspace, not_found
from lowland.methods.registry import FIRST
from lowland.run.processes import TaskOutcome

Role = Literal["feature", "id", "label", "weight", "keep", "drop"]
Scale = Literal["none", "standard", "auto"]
Impute = Literal["median", "mean", "knn", "em"]
READ, PREPARE, COMPUTE, MEASURE, ANSWER = (  # tasks of the workers
    "lowland.explorer.tables:read_table", "lowland.explorer.tables:prepare_rows", "lowland.explorer.maps:compute_map",
    "lowland.explorer.maps:measure_map", "lowland.explorer.answers:answer_question",
)  # fmt: skip
FINISHED: Record = {"stage": None, "fraction": None, "seconds_left": None}  # fields of a map
UNMEASURED: Record = {"measures": [], "scores": {}, "curves": [], "basis": None, "measured": False}
MEASURING = "measuring the quality"
ID = re.compile("[0-9a-f]{12}")
RESTARTED = "The explorer was stopped before {what} was finished. Start it again."


class Session:
    """One explorer: its folder, workspace, store, events and queue."""

    def __init__(self, folder: Path, workspace: Path, limits: Limits) -> None:
        self.folder, self.limits = Folder(folder), limits
        self.workspace, self._lock = _locked(workspace)
        self.store = Store(self.workspace.database)
        self.events = Events()
        self.queue = Queue(self.workspace.root, limits)
        self.first: str | None = None  # the table of the file that was named at the start
        self.tasks: dict[str, Job] = {}  # by the id of the table, the map or the estimate
        self._stored: OrderedDict[str, Any] = OrderedDict()
        self._mark_broken()
        self._remove_leftovers()

    def _mark_broken(self) -> None:
        """After a restart: what was not finished is marked, and can be started again."""
        for kind, ends in (("map", "broken"), ("table", "failed")):
            for record in self.store.all(kind):
                if record["status"] in ("queued", "running", "reading", "preparing"):
                    what = "the map" if kind == "map" else "the table"
                    error = RESTARTED.format(what=what)
                    self.store.put(kind, {**record, "status": ends, "error": error, "progress": None, "stage": None})
        for record in self.store.all("map"):
            answers = record["answers"]
            kept = {question: each for question, each in answers.items() if each["status"] == "done"}
            if len(kept) < len(answers):
                self.store.put("map", {**record, "answers": kept})
        for record in self.store.all("placed"):
            if record["status"] in ("queued", "running"):
                self.store.put("placed", {**record, "status": "broken", "error": RESTARTED.format(what="this")})

    def _remove_leftovers(self) -> None:
        """After a server was killed: remove what belongs to no record, and the logs of its workers."""
        root = self.workspace.root
        for place, kind in (("tables", "table"), ("uploads", "table"), ("maps", "map"), ("exports", None)):
            for each in (root / place).glob("*"):
                ours = ID.fullmatch(each.name.partition(".")[0]) is not None
                if ours and (kind is None or self.store.get(kind, each.name) is None):
                    each.unlink() if each.is_file() else self.workspace.remove(each)
        for log in root.glob("worker-*.log"):
            log.unlink(missing_ok=True)

    async def start(self) -> None:
        """Start the warm worker, and measure the maps that were not measured before the explorer was stopped."""
        self.events.attach()
        self.queue.warm()
        for record in self.store.all("map", status="done", measured=False):
            self._measure(record["id"])

    async def close(self) -> None:
        """End all workers and close the store."""
        self.tasks.clear()  # what ends now starts nothing more
        self.events.close()
        await self.queue.close()
        self.store.close()
        self._lock.close()

    # --- records ---

    def table(self, name: str, *, read: bool = False, ready: bool = False) -> Record:
        """Return the record of a table, or raise an error.

        ``read``: also if its cells are not read yet; ``ready``: also if its rows are not prepared yet.
        """
        found = self.store.get("table", name)
        if found is None:
            raise not_found("table", name)
        is_read = found["status"] in ("ready", "preparing")
        if (ready and found["status"] != "ready") or (read and not is_read):
            raise RequestError(409, found["error"] or "The table is still being read. Try again in a moment.")
        return found

    def map(self, name: str, *, done: bool = False) -> Record:
        """Return the record of a map, or raise an error; ``done``: also if it has no coordinates yet."""
        found = self.store.get("map", name)
        if found is None:
            raise not_found("map", name)
        if done and found["status"] != "done":
            raise RequestError(409, found["error"] or "The map is still being computed. Try again when it is done.")
        return found

    def stored(self, name: str) -> Any:
        """Return the cells of a table that is read, memory-mapped: a ``StoredTable``."""
        from lowland.data.stored_table import StoredTable

        self.table(name, read=True)
        if name not in self._stored:
            self._stored[name] = StoredTable(self.workspace.table(name) / "table.arrow")
            while len(self._stored) > 32:
                self._stored.popitem(last=False)
        return self._stored[name]

    def rows_folder(self, name: str) -> Path:
        """Return the folder of the prepared rows of a table."""
        table = self.table(name, ready=True)
        if table["prepared"] is None:
            raise RequestError(409, table["unprepared"] or "The rows are not prepared. Choose columns as features.")
        return self.workspace.rows(name, table["version"])

    def prepared_rows(self, name: str) -> Any:
        """Return the prepared rows of a table, (n, d), memory-mapped."""
        from lowland.explorer.workspace import open_array

        return open_array(self.rows_folder(name) / "X.npy")

    def put(self, kind: str, record: Record) -> Record:
        """Store a record, and send it to all browsers."""
        self.store.put(kind, record)
        self.publish(kind, record)
        return record

    def publish(self, kind: str, record: Record) -> None:
        """Send a record to all browsers."""
        self.events.publish(kind, self.public(record))

    def public(self, record: Record) -> Record:
        """Return a record without what only the server needs."""
        found = {key: value for key, value in record.items() if key != "private"}
        if "columns" in found:
            found["maps"] = len(self.store.all("map", table=record["id"]))
        if "method" in found:
            found["outdated"] = self.is_outdated(record)
        return found

    def is_outdated(self, record: Record) -> bool:
        """Whether a map was computed from features, weights or values prepared otherwise, or learned other labels."""
        keys = ("features", "scaled", "imputed", "weight", *(["label"] if record.get("learns_labels") else []))
        return bool(self._changed_roles(record).intersection(keys))

    def _changed_roles(self, record: Record) -> set[str]:
        """What has changed in the table since a map was computed and measured."""
        table, then = self.store.get("table", record["table"]), record["private"].get("roles")
        if table is None or then is None or table["version"] == record["private"]["version"]:
            return set()
        now = _roles_of(table)
        return {key for key in now if now[key] != then.get(key)}

    def update(self, kind: str, name: str, *, store: bool = True, **fields: Any) -> None:
        """Change fields of a record that may have been deleted meanwhile; ``store``: False for mere progress."""
        record = self.store.get(kind, name)
        if record is None:
            return
        record.update(fields)
        if store:
            try:
                self.store.put(kind, record)
            except RequestError as error:  # the disk is full: the browsers learn of it, and the record stays in memory
                if not record.get("error"):
                    record["error"] = str(error)
        self.publish(kind, record)

    def follow(self, name: str, job: Job, ended: Any) -> None:
        """Submit a job; ``ended`` receives its outcome, unless another job has taken its place meanwhile."""
        job.after = self.tasks.get(name)
        self.tasks[name] = job

        def done(outcome: asyncio.Future[TaskOutcome]) -> None:
            if self.tasks.get(name) is job:
                del self.tasks[name]
                with contextlib.suppress(RequestError):  # the disk is full
                    ended(outcome.result())

        self.queue.submit(job).add_done_callback(done)

    # --- tables ---

    def add_table(
        self, name: str, source: str, message: dict[str, Any], *, first_map: str | None = FIRST, **more: Any
    ) -> Record:
        """Add a table and read it in a worker; ``message`` names the file, or the rows of another table."""
        from lowland.methods.registry import find_method

        record: Record = {
            "id": more.pop("id", None) or new_id(), "name": name, "source": source, "status": "reading", "error": None,
            "progress": None, "rows": None, "columns": [], "notes": [], "suggestions": [], "duplicates": None,
            "has_images": False, "image_shape": None, "parent": None, "prepared": None, "unprepared": None,
            "scale": "auto", "impute": "median", "version": 0, "created": time.time(),
            "read": message.get("read") or {}, **more,
            "private": {"message": message, "first_map": first_map},
        }  # fmt: skip
        try:
            if first_map not in (None, FIRST):
                find_method(first_map)
            self.put("table", record)
        except BaseException:  # an unknown method, or a full disk: nothing is left of an upload
            self.workspace.remove(self.workspace.upload(record["id"]))
            self.workspace.remove(self.workspace.table(record["id"]))
            raise
        self._read(record)
        return record

    def read_again(self, name: str, read: dict[str, Any] | None = None) -> Record:
        """Read a table again, with other options or after a failure."""
        record = self.table(name)
        if name in self.tasks:
            raise RequestError(409, "The table is still being read. Try again in a moment.")
        private = record["private"]
        if read is not None:
            private = {**private, "message": {**private["message"], "read": read}}
        self._stored.pop(name, None)
        record = {**record, "status": "reading", "error": None, "read": private["message"].get("read") or {}}
        self.put("table", {**record, "version": record["version"] + 1, "private": private})
        self._read(self.table(name))
        return self.table(name)

    def _read(self, record: Record) -> None:
        name, folder = record["id"], self.workspace.table(record["id"])
        message = {
            **record["private"]["message"], "task": READ, "folder": str(folder), "scale": record["scale"],
            "impute": record["impute"], "rows_folder": str(self.workspace.rows(name, record["version"])),
            "table_bytes": self.limits.table_bytes, "most_rows": self.limits.rows, "most_columns": self.limits.columns,
        }  # fmt: skip
        job = Job(message, "read", "The table", partial(self._table_progress, name))
        self.follow(name, job, partial(self._table_read, name))

    def _table_progress(self, name: str, event: dict[str, Any]) -> None:
        progress = {"fraction": event.get("fraction"), "text": event.get("stage")}
        self.update("table", name, store=False, progress=progress)

    def _table_read(self, name: str, outcome: TaskOutcome) -> None:
        record = self.store.get("table", name)
        path = record["private"]["message"].get("path") if record else None

        def shown(text: str) -> str:  # a person knows the file by its name: an upload is in a folder of ours
            return text.replace(str(Path(path).parent) + os.sep, "") if path else text

        if outcome.status != "done":
            self.update("table", name, status="failed", error=shown(outcome.error or ""), progress=None)
            return
        keys = ("rows", "columns", "duplicates", "has_images", "image_shape")
        found = {key: outcome.result[key] for key in keys}
        found["notes"] = [shown(text) for text in outcome.result["notes"]]
        prepared = _prepared_fields(outcome.result["prepared"])
        maps = self._discard_maps(name, found["rows"])
        self.update("table", name, status="ready", error=None, progress=None, **found, **prepared)
        for each in self.store.all("map", table=name):  # of a saved session
            if "roles" not in each["private"] and prepared["prepared"] is not None:
                self.update("map", each["id"], private=self._origin(name))
        first = record and record["private"].get("first_map")
        is_plane = prepared.get("n_features", 0) > 1  # one feature has no map of two dimensions
        if record and first and is_plane and not self.store.all("map", table=name):
            maps = maps or [{"method": first, "parameters": {}, "name": None}]
        for each in maps:
            with contextlib.suppress(RequestError):
                self.add_map(name, each["method"], each["parameters"], each["name"])

    def _discard_maps(self, name: str, n: int) -> list[Record]:
        """Delete what belongs to rows that were read before; return the maps, which are computed again."""
        record = self.store.get("table", name)
        if record is None or record["rows"] is None:
            return []
        maps = self.store.all("map", table=name)
        for each in maps:
            self.delete_map(each["id"])
        for kind in ("selection", "state") if record["rows"] != n else ():
            for each in self.store.all(kind, table=name):
                self.store.delete(kind, each["id"])
        self.events.publish("selection", {"table": name})
        return maps

    def set_roles(self, name: str, roles: dict[str, str], **how: str) -> Record:
        """Change the roles of columns, their ``scale`` or how to ``impute`` them, and prepare the rows again."""
        before, record = self.tasks.get(name), self.table(name, read=True)
        names = [column["name"] for column in record["columns"]]
        for column in roles:
            if column not in names:
                raise RequestError(422, f"The table has no column {column[:80]!r}. Reload the page.")
        columns = [{**c, "role": roles.get(c["name"], c["role"])} for c in record["columns"]]
        label = _label_of(record["columns"])
        for single in ("id", "label", "weight"):  # at most one column has each of these roles: the new one
            holders = [c for c in columns if c["role"] == single]
            for c in holders:
                if len(holders) > 1 and roles.get(c["name"]) != single:
                    c["role"] = "keep"
        version = record["version"] + 1
        fields = {"columns": columns, **how, "version": version, "status": "preparing", "error": None}
        record = self.put("table", {**record, **fields})
        if before is not None:  # what it prepares is out of date
            self.queue.cancel(before)
        folder = self.workspace.table(name)
        message = {
            "task": PREPARE, "stored": str(folder / "table.arrow"), "rows": str(self.workspace.rows(name, version)),
            "columns": columns, "scale": record["scale"], "impute": record["impute"],
            "image_shape": record["image_shape"],
            "label_is_new": _label_of(columns) not in (None, label), "chosen": list(roles),
        }  # fmt: skip

        def ended(outcome: TaskOutcome) -> None:
            found = outcome.result if outcome.status == "done" else {"error": outcome.error}
            self.update("table", name, status="ready", progress=None, **_prepared_fields(found))
            now = self.store.get("table", name)
            maps = self.store.all("map", table=name)
            busy = {m["private"]["version"] for m in maps if m["id"] in self.tasks or self._is_asked(m)}
            for folder in self.workspace.table(name).glob("rows-*"):  # remove prepared rows that no map needs any more
                if now is not None and int(folder.name.removeprefix("rows-")) not in {now["version"], *busy}:
                    self.workspace.remove(folder)
            for each in maps:
                if each["status"] == "done" and self._changed_roles(each) == {"label"} and not self.is_outdated(each):
                    self._measure(each["id"])  # the same coordinates, scored by the new labels
                else:  # it may be outdated
                    self.publish("map", each)

        self.follow(name, Job(message, "read", "The table", partial(self._table_progress, name)), ended)
        return record

    def delete_table(self, name: str) -> None:
        """Delete a table with its maps and selections, and the file if it was uploaded."""
        self.table(name)
        for record in self.store.all("map", table=name):
            self.delete_map(record["id"])
        if name in self.tasks:
            self.queue.cancel(self.tasks[name])
        for kind in ("selection", "state"):
            for record in self.store.all(kind, table=name):
                self.store.delete(kind, record["id"])
        self.store.delete("table", name)
        self._stored.pop(name, None)
        self.workspace.remove(self.workspace.table(name))
        self.workspace.remove(self.workspace.upload(name))
        self.events.publish("table", {"id": name, "status": "deleted"})

    # --- maps ---

    def inputs_of(self, name: str) -> dict[str, Any]:
        """Return what a task needs to open the rows and labels of a table."""
        rows, roles = self.rows_folder(name), _roles_of(self.table(name))
        stored = self.workspace.table(name) / "table.arrow"
        return {"stored": str(stored), "rows": str(rows), "label": roles["label"], "weight": roles["weight"]}

    def _origin(self, name: str) -> Record:
        """What a map is computed from: the version, inputs and roles of its table at this time."""
        table = self.table(name)
        return {"version": table["version"], "inputs": self.inputs_of(name), "roles": _roles_of(table)}

    def add_map(
        self, table: str, method: str, parameters: dict[str, Any], name: str | None, replaces: str | None = None,
        *, warm: bool = False,
    ) -> Record:  # fmt: skip
        """Add a map and queue it; ``warm``: it starts from the coordinates of the map that it replaces in the page."""
        from lowland.methods.registry import find_method

        entry = find_method(method)
        self.rows_folder(table)
        of = self.table(table)
        record: Record = {
            "id": new_id(), "table": table, "name": name or entry.title, "method": entry.name, "parameters": parameters,
            "created": time.time(), "run": 0, "replaces": replaces, "start": None, **self._new_run(table),
        }  # fmt: skip
        if replaces is not None and self.map(replaces)["table"] != table:
            raise RequestError(422, "replaces: that map shows another table. Choose a map of this one.")
        if warm:
            record["start"] = self._start_from(replaces, entry, self.workspace.map(record["id"]))
        self.put("map", record)
        self._compute(record)
        self.publish("table", of)
        return record

    def _start_from(self, replaces: str | None, entry: Any, folder: Path) -> list[Record]:
        """Keep the coordinates from which a map starts; return the parameters of all maps that led to them."""
        before = self.map(replaces or "", done=True)
        same = before["method"] == entry.name and not before.get("fitted_rows") and not self.is_outdated(before)
        if not entry.warm or not same:
            raise RequestError(
                422, "warm: a map can continue only a map of the same iterative method, fitted to the same columns of "
                "all rows. Compute it from scratch."
            )  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.workspace.map(before["id"]) / "coordinates.f32", folder / START)
        earlier = before["start"] if before.get("warm") else []
        return [*earlier, before.get("fitted") or before["parameters"]]

    def _new_run(self, table: str) -> Record:
        """Return the fields of a map that is to be computed from a table as it is now."""
        of = self.table(table)
        return {
            "status": "queued", **FINISHED, "error": None, "warnings": [],
            "n": of["rows"], "components": None, "seconds": None, "memory": None, "version": 0, **UNMEASURED,
            "has_transform": False, "warm": False, "answers": {},
            "private": {**self._origin(table), "notes": of.get("prepared_notes", [])},
        }  # fmt: skip

    def restart_map(self, name: str) -> Record:
        """Compute a map again that is outdated, failed, was canceled or is broken; the new one takes its place."""
        record = self.map(name)
        before = self.tasks.get(name)  # one that was canceled may still be ending
        is_busy = before is not None and not before.is_canceled
        if (record["status"] == "done" or is_busy) and not self.is_outdated(record):
            raise RequestError(409, "The map is already computed, or is being computed.")
        fields = {**self._new_run(record["table"]), "run": record["run"] + 1}
        if self.is_outdated(record):  # it would depend on columns that are not used any more
            fields["start"] = None
        if before is not None:
            self.queue.cancel(before)
        self._forget_placed(name)
        self._forget_answers(record)
        record = self.put("map", {**record, **fields})
        self._compute(record)
        return record

    def _forget_placed(self, name: str) -> None:
        """Forget the new rows that were placed on a map."""
        for placed in self.store.all("placed", map=name):
            if placed["id"] in self.tasks:
                self.queue.cancel(self.tasks[placed["id"]])
            self.store.delete("placed", placed["id"])

    def _compute(self, record: Record) -> None:
        name = record["id"]
        message = {"task": COMPUTE, **self._task_of(record)}
        started = partial(self.update, "map", name, status="running")
        job = Job(message, "map", "The map", partial(self._map_event, name), started)
        self.follow(name, job, partial(self._map_ended, name))

    def _task_of(self, record: Record) -> Record:
        """Return what a worker needs to know of a map."""
        folder = self.workspace.map(record["id"])
        start = {"start": str(folder / START)} if record.get("start") else {}
        told = {key: record[key] for key in ("method", "parameters")}
        return {"map": str(folder), **told, **start, **record["private"]["inputs"]}

    def _map_event(self, name: str, event: dict[str, Any]) -> None:
        kind = event.pop("event")
        if kind == "progress":
            self.update("map", name, store=False, **{"seconds_left": None, **event})
        elif kind == "live":
            record = self.store.get("map", name)
            if record is not None:
                record["version"], record["components"] = event["version"], event["components"]
                self.events.publish("live", {"id": name, **event})
        elif kind == "model":
            self.update("map", name, **event)
        elif kind == "done":
            record = self.map(name)
            notes = record["private"]["notes"] if event["read"] is None else []  # else it reads the cells as they are
            event["warnings"] = [*notes, *event["warnings"]]
            fields = {**FINISHED, "fraction": 1.0, "version": record["version"] + 1, **event}
            self.update("map", name, status="done", **fields)

    def _map_ended(self, name: str, outcome: TaskOutcome) -> None:
        record = self.store.get("map", name)
        if record is None:
            self.workspace.remove(self.workspace.map(name))
        elif record["status"] == "done":
            computed = outcome.result.get("computed")
            record["private"] = {**record["private"], "computed": computed}
            is_measured = outcome.result.get("measured") is not None and "label" not in self._changed_roles(record)
            if outcome.status == "done" and not is_measured:
                self._measure(name)
            else:
                self._map_measured(name, outcome)
        else:
            status = outcome.status if outcome.status != "done" else "failed"
            self.update("map", name, status=status, error=outcome.error, **FINISHED)

    def _measure(self, name: str) -> None:
        """Measure the quality of a map that is done, by the labels that the table has now."""
        record = self.map(name)
        private = record["private"]
        if not self.is_outdated(record):
            with contextlib.suppress(RequestError):  # the rows are being prepared: it is measured again after that
                private = {**private, **self._origin(record["table"])}
        self.update("map", name, measured=False, scores={}, stage=MEASURING, private=private)
        message = {
            "task": MEASURE,
            **self._task_of({**record, "private": private}),
            "computed": private.get("computed"),
        }
        if name in self.tasks:
            self.queue.cancel(self.tasks[name])
        self.follow(name, Job(message, "measure", "The measurement"), partial(self._map_measured, name))

    def _map_measured(self, name: str, outcome: TaskOutcome) -> None:
        record = self.store.get("map", name)
        if record is None:
            self.workspace.remove(self.workspace.map(name))
            return
        found = dict(outcome.result.get("measured") or {})
        more = found.pop("warnings", [f"The quality was not measured: {outcome.error}"])
        warnings = list(dict.fromkeys([*record["warnings"], *more]))
        self.update("map", name, stage=None, warnings=warnings, measured=True, **found)

    # --- questions about maps ---

    def ask(self, name: str, question: str, about: dict[str, Any]) -> Record:
        """Ask whether a map is real, or what its axes mean; a question that was asked before is asked again."""
        record = self.map(name, done=True)
        if self.is_outdated(record):
            raise RequestError(409, "The map is outdated. Update it, then ask again.")
        private = {**record["private"], **self._origin(record["table"])}
        fields: Record = {"status": "queued", "of": about.get("name"), "error": None, **FINISHED}
        self.update("map", name, private=private, answers={**record["answers"], question: fields})
        message = {
            "task": ANSWER, "map": str(self.workspace.map(name)), "method": record["method"], "question": question,
            "parameters": record["parameters"], "about": about, **private["inputs"],
        }  # fmt: skip

        def on_event(event: dict[str, Any]) -> None:
            if event.pop("event") == "progress":
                self._answer(name, question, store=False, status="running", **event)

        def ended(outcome: TaskOutcome) -> None:
            self._answer(name, question, status=outcome.status, error=outcome.error, **FINISHED)

        key = _key_of(name, question)
        if key in self.tasks:
            self.queue.cancel(self.tasks[key])
        started = partial(self._answer, name, question, status="running")
        self.follow(key, Job(message, "evidence", "The answer", on_event, started), ended)
        return self.map(name)

    def _answer(self, name: str, question: str, *, store: bool = True, **fields: Any) -> None:
        """Change fields of an answer, if it is still wanted."""
        answers = (self.store.get("map", name) or {}).get("answers", {})
        if question in answers:
            self.update("map", name, store=store, answers={**answers, question: {**answers[question], **fields}})

    def forget_answer(self, name: str, question: str) -> Record:
        """Stop answering a question, or forget its answer."""
        answers = self.map(name)["answers"]
        if (job := self.tasks.get(_key_of(name, question))) is not None:
            self.queue.cancel(job)
        self.update("map", name, answers={each: answers[each] for each in answers if each != question})
        return self.map(name)

    def _is_asked(self, record: Record) -> bool:
        return any(_key_of(record["id"], question) in self.tasks for question in record["answers"])

    def _forget_answers(self, record: Record) -> None:
        """Forget all that was asked about a map."""
        for question in record["answers"]:
            self.forget_answer(record["id"], question)

    # --- the end of maps ---

    def cancel_map(self, name: str) -> Record:
        """Stop computing a map; a map that is done stays as it is."""
        self.map(name)
        if name in self.tasks:
            self.queue.cancel(self.tasks[name])
            record = self.map(name)
            if record["status"] != "done":
                error = "The map was canceled. Start it again if needed."
                self.update("map", name, status="canceled", error=error, **FINISHED)
        return self.map(name)

    def delete_map(self, name: str) -> None:
        """Delete a map."""
        record = self.map(name)
        if name in self.tasks:
            self.queue.cancel(self.tasks[name])
        self._forget_placed(name)
        self._forget_answers(record)
        self.store.delete("map", name)
        self.workspace.remove(self.workspace.map(name))
        self.events.publish("map", {"id": name, "table": record["table"], "status": "deleted"})
        of = self.store.get("table", record["table"])
        if of is not None:
            self.publish("table", of)


def _roles_of(table: Record) -> dict[str, Any]:
    """What the maps of a table are computed from: its columns by role, whether they are scaled, and how imputed."""
    roles = [c["role"] for c in table["columns"]]
    single = {role: roles.index(role) if role in roles else None for role in ("label", "weight")}
    features = [j for j, role in enumerate(roles) if role == "feature"]
    imputed = (table.get("imputed") or {}).get("how")
    return {**single, "features": features, "scaled": table.get("scaled"), "imputed": imputed}


def _key_of(name: str, question: str) -> str:
    """The key of a task that answers a question about a map."""
    return f"{name} {question}"


def _label_of(columns: list[Record]) -> str | None:
    return next((c["name"] for c in columns if c["role"] == "label"), None)


def new_id() -> str:
    """Return a new id."""
    return secrets.token_hex(6)


def unique_names(names: list[str]) -> list[str]:
    """Return the names; equal ones get a number."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _prepared_fields(found: dict[str, Any]) -> dict[str, Any]:
    """The fields of a table that say how its rows were prepared."""
    changed: dict[str, Any] = {key: found[key] for key in ("columns", "suggestions") if key in found}
    if found.get("error"):
        return {**changed, "prepared": None, "unprepared": found["error"], "prepared_notes": [], "findings": []}
    return {
        **changed, "prepared": found["report"], "unprepared": None, "prepared_notes": found["notes"],
        "findings": found["findings"], "scaled": found["scaled"], "imputed": found["imputed"],
        "n_features": found["n_columns"],
    }  # fmt: skip


def _locked(root: Path) -> tuple[Workspace, Any]:
    """Lock a workspace, which only one explorer may use at a time."""
    try:
        workspace = Workspace(root)
        lock = open(root / "lock", "w")  # noqa: SIM115  open as long as the session
    except OSError as error:
        raise FileProblem(
            f"The workspace {str(root)!r} cannot be written: {error.strerror}. Choose another workspace."
        ) from error
    try:
        import fcntl
    except ImportError:  # Windows
        return workspace, lock
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise FileProblem(
            f"The workspace {str(root)!r} is used by another explorer. Stop that one, or choose another workspace."
        ) from error
    return workspace, lock
