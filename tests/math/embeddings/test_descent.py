import numpy as np
import pytest

from lowland.math.embeddings.descent import (
    ROWS,
    Adam,
    Momentum,
    Phase,
    StoppingRule,
    block_bounds,
    count_blocks,
    descend,
    row_blocks,
)
from lowland.math.optimize.outcome import Divergence, Outcome
from lowland.run.local import LocalRun
from lowland.run.settings import Settings

TARGET = np.random.default_rng(0).standard_normal((1500, 2))
SOLVER = Outcome("exact", "it is a test")


# --- blocks of rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, ROWS, 10 * ROWS + 7])
def test_blocks_cover_all_rows_once(n):
    rows = [i for block in range(count_blocks(n)) for i in range(*block_bounds(block, n))]
    assert rows == list(range(n))


@pytest.mark.parametrize("threads", [2, 16])
def test_sums_do_not_depend_on_the_number_of_threads(threads):
    x = np.random.default_rng(0).standard_normal(20 * ROWS + 3)
    expected = sum(x[slice(*block_bounds(block, len(x)))].sum() for block in range(count_blocks(len(x))))
    with row_blocks(LocalRun(Settings(threads=threads))) as blocks:
        assert blocks.sum(len(x), lambda a, b: x[a:b].sum()) == pytest.approx(expected, rel=1e-12)
        once = {blocks.sum(len(x), lambda a, b: x[a:b].sum()) for _ in range(20)}
    with row_blocks(LocalRun(Settings(threads=1))) as alone:
        assert once == {alone.sum(len(x), lambda a, b: x[a:b].sum())}


def test_an_error_in_a_block_reaches_the_caller():
    def fail(a, b):
        if a:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), row_blocks(LocalRun(Settings(threads=2))) as blocks:
        blocks.rows(9 * ROWS, fail)


# --- descent ----------------------------------------------------------------------------------------------------------


class Quadratic:
    """Half the sum of the squared distances to a target: the gradient is their difference."""

    name = "squared error"

    def __init__(self, phases, fail_at=None, error=KeyboardInterrupt):
        self.phases, self.fail_at, self.error, self.steps = phases, fail_at, error, []

    def gradient(self, Z, step, G, blocks):
        self.steps.append(step)
        if step.iteration == self.fail_at:
            if self.error is not KeyboardInterrupt:
                raise self.error from KeyboardInterrupt()
            raise KeyboardInterrupt

        def rows(a, b):
            G[a:b] = step.weights.get("pull", 1.0) * (Z[a:b] - TARGET[a:b])

        blocks.rows(len(Z), rows)

    def value(self, Z, step, blocks):
        return blocks.sum(len(Z), lambda a, b: 0.5 * float(((Z[a:b] - TARGET[a:b]) ** 2).sum()))


def run(threads=2, **options):
    return LocalRun(Settings(threads=threads, progress=False, **options))


@pytest.mark.parametrize(("rule", "rate"), [(Momentum(), 0.1), (Adam(0.5, 0.9), 0.05)])
def test_both_rules_reach_the_minimum(rule, rate):
    objective = Quadratic([Phase(600, rule, rate, 0.0)])
    found = descend(objective, np.zeros_like(TARGET), run(), solver=SOLVER)
    assert np.abs(found.Z - TARGET).max() < 1e-2
    assert found.outcome.name == "exact"
    assert len(found.outcome.trace) == found.outcome.iterations // 50
    assert found.outcome.trace[-1] == found.value < found.outcome.trace[0]


def test_bits_are_equal_on_any_number_of_threads():
    maps = [
        descend(Quadratic([Phase(60, Momentum(), 0.1)]), np.zeros_like(TARGET), run(threads), solver=SOLVER).Z
        for threads in (1, 2, 16)
    ]
    assert all((maps[0] == Z).all() for Z in maps)


def test_weights_and_rates_change_linearly_within_a_phase():
    objective = Quadratic(
        [Phase(10, Adam(), 0.1, weights={"pull": 10.0}, weights_end={"pull": 0.0}), Phase(5, Adam(), 0.1)]
    )
    descend(objective, np.zeros_like(TARGET), run(), solver=SOLVER)
    assert [step.weights.get("pull") for step in objective.steps] == [*np.arange(10.0, 0.0, -1.0), *[None] * 5]
    assert [step.phase for step in objective.steps] == [0] * 10 + [1] * 5
    assert [step.iteration for step in objective.steps] == list(range(15))


def test_a_small_gradient_and_patience_stop_it():
    loose = descend(
        Quadratic([Phase(5000, Momentum(0.5), 0.5)]), np.zeros_like(TARGET), run(), solver=SOLVER,
        stop=StoppingRule(least_gradient=1.0),
    )  # fmt: skip
    assert "gradient" in loose.outcome.stopped_because
    assert loose.gradient_norm <= 1
    stuck = descend(
        Quadratic([Phase(5000, Adam(0.0, 0.0, 0.0), 1.0)]), np.zeros_like(TARGET), run(), solver=SOLVER,
        stop=StoppingRule(patience=100),
    )  # fmt: skip
    assert "not lower" in stuck.outcome.stopped_because


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemError])  # the latter from a compiled function
def test_ctrl_c_keeps_the_map_so_far(error):
    objective = Quadratic([Phase(200, Momentum(), 0.01)], fail_at=70, error=error)
    with pytest.warns(UserWarning, match="Ctrl-C after 70 of 200"):
        found = descend(objective, np.zeros_like(TARGET), run(), solver=SOLVER)
    assert found.interrupted
    assert not found.outcome.converged
    assert found.outcome.iterations == 70
    assert 0 < found.value < 0.5 * (TARGET**2).sum()


def test_a_callback_receives_copies_and_can_stop():
    seen = []

    def watch(snapshot):
        seen.append((snapshot.iteration, snapshot.total, snapshot.value))
        snapshot.embedding[:] = np.nan
        return snapshot.iteration < 150

    found = descend(
        Quadratic([Phase(500, Momentum(), 0.01)]), np.zeros_like(TARGET), run(), solver=SOLVER, callback=watch
    )
    assert [iteration for iteration, _, _ in seen] == [50, 100, 150]
    assert np.isfinite(found.Z).all()
    assert found.outcome.iterations == 150
    assert "callback" in found.outcome.stopped_because


def test_steps_that_overflow_are_an_error():
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(Divergence, match="not finite"):
        descend(Quadratic([Phase(3000, Momentum(longest=1e300), 1e8)]), np.zeros_like(TARGET), run(), solver=SOLVER)
