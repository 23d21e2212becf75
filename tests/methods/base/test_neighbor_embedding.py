"""What neighbor embeddings share: labels, snapshots, Ctrl-C."""

import numpy as np
import pytest

from lowland import TSNE, UMAP, LocalMAP, PaCMAP
from lowland.errors import DataError, DataWarning, ParameterError

QUICK = {
    TSNE: {"perplexity": 4.0, "max_iter": 120},
    UMAP: {"n_neighbors": 5, "n_epochs": 120},
    PaCMAP: {"n_neighbors": 4, "num_iters": (40, 40, 40)},
    LocalMAP: {"n_neighbors": 4, "num_iters": (40, 40, 40)},
}


@pytest.mark.parametrize("cls", [TSNE, PaCMAP, LocalMAP])
def test_labels_of_an_unsupervised_method_are_ignored(cls, rng):
    """Whatever they are, also where rows are left out."""
    X = np.concatenate([rng.normal(0, 1, (40, 3)), rng.normal(1e3, 1, (30, 3))])
    search = {"perplexity": 2.0} if cls is TSNE else {"n_neighbors": 1}
    model = cls(**{**QUICK[cls], **search}, disconnected="largest", random_state=0)
    graph = np.linalg.norm(X[:, None] - X, axis=2)
    graph[:40, 40:] = graph[40:, :40] = np.inf
    with pytest.warns(DataWarning, match="disconnected"):
        Z = model.fit_transform(X, graph=graph)
    assert np.isnan(Z[40:]).all()
    with pytest.warns(DataWarning, match="disconnected"):
        assert np.array_equal(model.fit_transform(X, ["any"] * 3, graph), Z, equal_nan=True)


@pytest.mark.parametrize("unique", [False, True])
def test_labels_of_a_file_of_unknown_length_are_counted(rng, tmp_path, unique):
    np.savetxt(tmp_path / "x.csv", rng.standard_normal((30, 3)), delimiter=",", header="a,b,c", comments="")
    with pytest.raises(DataError, match="30 rows"):
        UMAP(**QUICK[UMAP], unique=unique).fit(tmp_path / "x.csv", np.zeros(29, dtype=int))


@pytest.mark.parametrize("cls", list(QUICK))
def test_the_solver_says_how_neighbors_were_found(cls, rng):
    X = rng.standard_normal((60, 4))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = cls(**QUICK[cls], random_state=0)
    assert model.fit(X).solver_.reason.endswith("; neighbors: exact, by comparisons of all pairs")
    assert model.fit(X, graph=D).solver_.reason.endswith("; neighbors: given")
    metric = "distance" if hasattr(model, "distance") else "metric"
    assert "exact, by the given distances" in model.set_params(**{metric: "precomputed"}).fit(D).solver_.reason


def test_the_solver_states_the_recall_of_an_approximate_search(rng):
    pytest.importorskip("faiss")
    model = UMAP(**QUICK[UMAP], force_approximation_algorithm=True, random_state=0).fit(rng.standard_normal((300, 4)))
    assert f"approximate (HNSW), recall {model.recall_:.3f}" in model.solver_.reason


@pytest.mark.parametrize("cls", list(QUICK))
def test_a_callback_receives_snapshots_and_can_end_the_fit(cls, rng):
    X, seen = rng.standard_normal((60, 4)), []

    def watch(snapshot):
        seen.append(snapshot)
        return snapshot.iteration < 100

    model = cls(**QUICK[cls], random_state=0).fit(X, callback=watch)
    assert [s.iteration for s in seen] == [50, 100]
    assert all(s.total == 120 for s in seen)
    assert model.n_iter_ == 100
    assert not model.interrupted_
    np.testing.assert_array_equal(seen[-1].embedding.astype(X.dtype), model.embedding_)
    assert not np.array_equal(seen[0].embedding, seen[1].embedding)  # copies


def test_a_callback_that_is_no_function_is_refused(rng):
    with pytest.raises(ParameterError, match=r"UMAP.fit\(callback=3\): callback must be a function"):
        UMAP(**QUICK[UMAP]).fit(rng.standard_normal((60, 4)), callback=3)


@pytest.mark.parametrize("cls", list(QUICK))
def test_ctrl_c_keeps_the_map_so_far(cls, rng):
    X = rng.standard_normal((60, 4))

    def interrupt(snapshot):
        raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="50 of 120 iterations.*unfinished"):
        model = cls(**QUICK[cls], random_state=0).fit(X, callback=interrupt)
    assert model.interrupted_
    assert model.n_iter_ == 50
    assert np.isfinite(model.embedding_).all()
    assert not model.solver_.converged
    assert np.isfinite(model.transform(X[:3])).all()


@pytest.mark.parametrize(("cls", "rate"), [(UMAP, "learning_rate"), (PaCMAP, "lr")])
def test_steps_that_overflow_are_an_error_that_names_the_rate(cls, rate, rng):
    with pytest.raises(ParameterError, match=rf"{rate}=.*not finite.*smaller {rate}"):
        cls(**{**QUICK[cls], rate: 1e40}).fit(rng.normal(0, 1, (60, 3)))
