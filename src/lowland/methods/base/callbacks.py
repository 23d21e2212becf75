"""scikit-learn's callbacks, from its version 1.9 on: a stage of a fit is a task, and each percent of it a subtask."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lowland.errors import LowlandError
from lowland.run.progress import Progress
from lowland.run.settings import config

PARTS = 100  # subtasks of a stage whose amount of work is known


def set_callbacks(estimator: Any, callbacks: tuple[Any, ...]) -> None:
    """Keep the callbacks with the estimator, as scikit-learn does."""
    try:
        from sklearn.callback import CallbackSupportMixin
    except ImportError as error:
        raise LowlandError(
            "Callbacks need scikit-learn 1.9 or later. Update it: pip install -U scikit-learn"
        ) from error
    CallbackSupportMixin.set_callbacks(estimator, *callbacks)


class _Tasks:
    """Reports progress as tasks to the callbacks."""

    def __init__(self, estimator: Any, root: Any) -> None:
        self.estimator, self.root = estimator, root
        self.stages: dict[str, Any] = {}  # the task of each stage
        self.lock = threading.Lock()

    def __call__(self, event: Progress) -> bool:
        """Begin the task of a new stage, and report the subtasks done since the last event; False if one is to stop."""
        with self.lock:
            if event.stage not in self.stages:
                self.stages[event.stage] = self._begun(self.root, event.stage, PARTS if event.total else None)
            stage, going_on = self.stages[event.stage], True
            number = sum(1 for _ in stage) - 1
            done = int(PARTS * min(1.0, event.done / event.total)) if event.total else number + 1
            for _ in range(number, done):
                part = self._begun(stage, f"part of {event.stage}", 0)
                going_on &= not part.call_on_fit_task_end(estimator=self.estimator)
            return going_on

    def _begun(self, task: Any, name: str, parts: int | None) -> Any:
        begun = task.subcontext(task_name=name, max_subtasks=parts)
        begun.call_on_fit_task_begin(estimator=self.estimator)
        return begun

    def finish(self) -> None:
        """End the tasks of all stages."""
        for stage in self.stages.values():
            stage.call_on_fit_task_end(estimator=self.estimator)


@contextmanager
def reported_to_callbacks(estimator: Any) -> Iterator[None]:
    """Report the progress of a fit to the callbacks of an estimator, if it has any."""
    if not hasattr(estimator, "_skl_callbacks"):
        yield
        return
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback._callback_support import callback_management_context

    with callback_management_context(estimator):
        root = CallbackSupportMixin._init_callback_context(estimator, max_subtasks=None)
        root.call_on_fit_task_begin(estimator=estimator)
        tasks = _Tasks(estimator, root)
        with config(progress=tasks):
            yield
        tasks.finish()
        root.call_on_fit_task_end(estimator=estimator)
