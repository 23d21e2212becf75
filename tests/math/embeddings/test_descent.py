"""The optimizer of neighbor embeddings, and the objective of t-SNE."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.manifold import _t_sne

from lowland.errors import DataError
from lowland.math.embeddings.descent import (
    ROWS,
    Adam,
    DescentStep,
    Momentum,
    Phase,
    RowBlocks,
    StoppingRule,
    block_bounds,
    count_blocks,
    descend,
    row_blocks,
)
from lowland.math.embeddings.kl_divergence import (
    Anchor,
    KLDivergence,
    conditional_affinities,
    gaussian_affinities,
    given_affinities,
    schedule,
    uniform_affinities,
)
from lowland.math.embeddings.repulsion import ExactRepulsion
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.math.optimize.outcome import Divergence, Outcome
from lowland.run.run import Run
from lowland.run.settings import Settings

from . import tsne_formulas

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
    with row_blocks(Run(Settings(threads=threads))) as blocks:
        assert blocks.sum(len(x), lambda a, b: x[a:b].sum()) == pytest.approx(expected, rel=1e-12)
        once = {blocks.sum(len(x), lambda a, b: x[a:b].sum()) for _ in range(20)}
    with row_blocks(Run(Settings(threads=1))) as alone:
        assert once == {alone.sum(len(x), lambda a, b: x[a:b].sum())}


def test_an_error_in_a_block_reaches_the_caller():
    def fail(a, b):
        if a:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), row_blocks(Run(Settings(threads=2))) as blocks:
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
    return Run(Settings(threads=threads, progress=False, **options))


@pytest.mark.parametrize(("rule", "rate"), [(Momentum(), 0.1), (Adam(0.5, 0.9), 0.05)])
def test_both_rules_reach_the_minimum(rule, rate):
    objective = Quadratic([Phase(600, rule, rate, 0.0)])
    found = descend(objective, np.zeros_like(TARGET), run(), solver=SOLVER)
    assert np.abs(found.Z - TARGET).max() < 1e-2
    assert found.outcome.name == "exact"
    assert len(found.outcome.trace) == found.outcome.iterations // 50
    assert found.outcome.trace[-1] == found.value < found.outcome.trace[0]


def test_the_norm_of_the_gradient_is_that_of_the_last_iteration():
    found = descend(Quadratic([Phase(1, Momentum(), 0.1)]), np.zeros_like(TARGET), run(), solver=SOLVER)
    assert found.gradient_norm == pytest.approx(np.linalg.norm(TARGET), rel=1e-5)


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


RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 6))
P = gaussian_affinities(nearest_neighbors(X, 60), 20.0)
SERIAL = RowBlocks(None, 1)
POINTS = np.random.default_rng(0).standard_normal((700, 5)) * np.geomspace(1, 10, 700)[:, None]
RUN = Run(Settings(threads=2, progress=False))
A = RNG.standard_normal((50, 2))


def objective(dof=1.0, anchor=None, phases=()):
    return KLDivergence(P, ExactRepulsion(dof), phases, dof, anchor)


def gradient_of(objective, Z, exaggeration=1.0):
    G = np.empty_like(Z)
    objective.gradient(Z, DescentStep(0, 1, 0, {"exaggeration": exaggeration}), G, SERIAL)
    return G


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("dof", [1.0, 0.5])
def test_value_and_gradient_are_the_formulas(k, dof):
    Z = RNG.normal(0, 3, (300, k))
    assert objective(dof).divergence(Z, SERIAL) == pytest.approx(
        tsne_formulas.divergence(P.toarray(), Z, dof), rel=1e-6
    )
    for exaggeration in (1.0, 12.0):
        found = gradient_of(objective(dof), Z, exaggeration)
        np.testing.assert_allclose(
            found, tsne_formulas.gradient(P.toarray(), Z, dof, exaggeration), rtol=1e-5, atol=1e-9
        )


@pytest.mark.parametrize("anchor", [None, Anchor(RNG.normal(0, 1, (300, 2)), 0.2)])
def test_the_gradient_is_the_derivative_of_the_value(anchor):
    f, Z, step = objective(0.8, anchor), RNG.normal(0, 3, (300, 2)), DescentStep(0, 1, 0, {"exaggeration": 1.0})
    G = gradient_of(f, Z)
    for direction in RNG.standard_normal((3, 300, 2)):
        h = 1e-5
        slope = (f.value(Z + h * direction, step, SERIAL) - f.value(Z - h * direction, step, SERIAL)) / (2 * h)
        assert slope == pytest.approx(float((G * direction).sum()), rel=1e-4)


def test_divergence_and_gradient_are_those_of_scikit_learn():
    from scipy.spatial.distance import squareform

    Z = RNG.normal(0, 3, (300, 2))
    theirs, gradient = _t_sne._kl_divergence(Z.ravel(), squareform(P.toarray(), checks=False), 1, 300, 2)
    assert objective().divergence(Z, SERIAL) == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(gradient_of(objective(), Z), gradient.reshape(300, 2), rtol=1e-4, atol=1e-9)


def test_a_descent_lowers_the_divergence_and_bits_are_equal_on_any_threads():
    phases = schedule((50, 150), (12.0, 1.0), (25.0, 300.0), 300, 1.0)
    start = (1e-4 * X[:, :2]).astype(np.float32)
    found = [
        descend(
            objective(phases=phases),
            start.copy(),
            Run(Settings(threads=threads, progress=False)),
            solver=Outcome("exact"),
        )
        for threads in (1, 3)
    ]
    assert all((found[0].Z == each.Z).all() for each in found)
    assert found[0].value < 0.7 * objective().divergence(start, SERIAL)


# --- affinities -------------------------------------------------------------------------------------------------------


def perplexities(P):
    """exp of the entropy of each row."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.exp(-np.nansum(P * np.log(P), axis=1))


@pytest.mark.parametrize("perplexity", [2.0, 85.0])
@pytest.mark.parametrize("unit", [1.0, 1e-120, 1e120])
def test_every_row_has_the_perplexity_in_any_unit(perplexity, unit):
    graph = nearest_neighbors(POINTS * unit, 90)
    P = conditional_affinities(graph, perplexity, RUN).reshape(700, 90)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(perplexities(P), perplexity, rtol=1e-6)
    assert (np.diff(P, axis=1) <= 0).all()  # nearest first


def test_joint_affinities_are_those_of_scikit_learn():
    graph = nearest_neighbors(POINTS, 90)
    squares = scipy.sparse.csr_matrix((graph.length**2, graph.to.copy(), graph.start))  # theirs sorts in place
    theirs = _t_sne._joint_probabilities_nn(squares, 30.0, 0)
    ours = gaussian_affinities(graph, 30.0)
    assert ours.sum() == pytest.approx(1)
    assert abs(ours - ours.T).max() < 1e-18
    np.testing.assert_allclose(
        ours.toarray(), theirs.toarray(), rtol=2e-3, atol=1e-9
    )  # theirs: tolerance 1e-5, float32


def test_several_perplexities_are_averaged():
    graph = nearest_neighbors(POINTS, 90)
    each = [conditional_affinities(graph, p, RUN) for p in (5.0, 30.0)]
    np.testing.assert_allclose(conditional_affinities(graph, [5.0, 30.0], RUN), (each[0] + each[1]) / 2)


def test_where_no_width_attains_the_perplexity():
    length = np.array([0, 0, 0, 0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 4.0])
    graph = NeighborGraph(np.array([0, 5, 10, 12, 12]), np.array([1, 2, 3, 0, 2] * 2 + [0, 1], dtype=np.int32), length)
    P = conditional_affinities(graph, 3.0, RUN)
    np.testing.assert_allclose(P[:5], [0.25, 0.25, 0.25, 0.25, 0], atol=1e-12)  # four duplicates are more than three
    np.testing.assert_allclose(P[5:10], 0.2)  # equal distances
    np.testing.assert_allclose(P[10:], 0.5)  # only two neighbors


def test_uniform_affinities_count_neighbors():
    graph = nearest_neighbors(POINTS, 10)
    P = uniform_affinities(graph)
    values = np.unique((P.data * 2 * 700 * 10).round(9))
    np.testing.assert_array_equal(values, [1, 2])  # one-sided or mutual neighbors
    assert P.sum() == pytest.approx(1)


def test_given_affinities_are_made_symmetric_and_sum_to_one():
    A = np.array([[5, 2.0, 0], [0, 0, 1.0], [0, 3.0, 0]])
    expected = np.array([[0, 2, 0], [2, 0, 4], [0, 4, 0]]) / 12
    for kind in (np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_array):
        np.testing.assert_allclose(given_affinities(kind(A)).toarray(), expected)


@pytest.mark.parametrize(
    ("A", "fault"),
    [
        (np.ones((3, 2)), "square"),
        (np.array([[0, -1.0], [1, 0]]), "negative"),
        (np.array([[0, np.nan], [1, 0]]), "NaN"),
        (np.eye(3), "zero"),
    ],
)
def test_invalid_affinities_are_refused(A, fault):
    with pytest.raises(DataError, match=fault):
        given_affinities(A)


# --- anchor -----------------------------------------------------------------------------------------------------------


def test_a_scaled_copy_of_the_reference_costs_nothing():
    anchor = Anchor(A, 0.25)
    assert anchor.with_value(7 * A, 2.0) == pytest.approx(1.5)
    G = np.ones_like(A)
    anchor.add_gradient(7 * A, G)
    np.testing.assert_allclose(G, 0.75)


def test_the_value_is_the_mean_squared_distance_at_the_best_scale():
    Z = RNG.standard_normal((50, 2))
    tried = [((Z - s * A) ** 2).sum() / 50 for s in np.linspace(0, 1, 10_001)]
    assert Anchor(A, 1.0).with_value(Z, 3.0) == pytest.approx(min(tried), rel=1e-6)
    assert Anchor(A, 0.5).scale(-A) == 0  # never negative


def test_the_reference_is_rotated_or_reflected_to_the_start():
    turn = np.array([[0.0, 1.0], [1.0, 0.0]])
    start = A - A.mean(axis=0)
    anchor = Anchor.aligned(3 * A @ turn + 5, 0.5, start)
    np.testing.assert_allclose(anchor.A, 3 * start, atol=1e-12)
