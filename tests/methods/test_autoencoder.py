"""Autoencoders."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import lowland
from lowland import PCA, Autoencoder
from lowland.data import load_dataset
from lowland.errors import DataWarning, MemoryBudgetError, ParameterError
from lowland.math.networks import training
from lowland.methods.autoencoder import layer_widths

LINEAR = {"activation": "identity", "validation_fraction": 0.0}


def arc(n=600, seed=0, dtype=np.float64):
    """An arc of a circle in three dimensions, away from the origin, with a little noise."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 1.5 * np.pi, n)
    X = np.column_stack([3 * np.cos(angle), 3 * np.sin(angle), np.zeros(n)]) + 0.03 * rng.standard_normal((n, 3))
    return (X + 20).astype(dtype)


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits").X


# --- the result


@pytest.mark.parametrize("hidden", [(), (8,)])
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_a_linear_network_has_the_error_of_pca(name, hidden):
    X = load_dataset(name).X
    X = X / X.std(axis=0)
    model = Autoencoder(2, hidden_layer_sizes=hidden, tol=1e-8, random_state=0, **LINEAR).fit(X)
    lost = PCA(2).fit(X).distortion()
    assert model.optimizer_ == "lbfgs"
    assert model.reconstruction_error(X).mean() == pytest.approx(lost, rel=1e-4)
    assert model.loss_ == pytest.approx(lost, rel=1e-4)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_a_linear_network_trained_on_batches_has_the_error_of_pca(digits, engine):
    pytest.importorskip(engine)
    options = {"solver": "adam", "engine": engine, "batch_size": 64, "learning_rate": 0.01, "max_iter": 40}
    model = Autoencoder(5, hidden_layer_sizes=(), random_state=0, **options, **LINEAR).fit(digits)
    assert model.engine_.startswith(engine)
    assert model.reconstruction_error(digits).mean() == pytest.approx(PCA(5).fit(digits).distortion(), rel=0.01)


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_nonlinear_activations_follow_an_arc(solver):
    X, new = arc(), arc(300, seed=1)
    options = {"learning_rate": 0.01, "max_iter": 150, "batch_size": 64} if solver == "adam" else {}
    model = Autoencoder(1, hidden_layer_sizes=(24, 12), solver=solver, random_state=0, **options).fit(X)
    assert model.reconstruction_error(new).mean() < 0.05 * PCA(1).fit(X).distortion()


@pytest.mark.parametrize("bend", ["relu", "elu", "tanh", "logistic"])
def test_every_activation_beats_a_linear_network(bend):
    X = arc(150)
    model = Autoencoder(1, activation=bend, random_state=0).fit(X)
    assert model.reconstruction_error(X).mean() < 0.6 * PCA(1).fit(X).distortion()


def test_reported_losses_are_correct():
    X = arc()
    whole = Autoencoder(2, validation_fraction=0, random_state=0).fit(X)
    assert whole.loss_ == pytest.approx(whole.reconstruction_error(X).mean(), rel=1e-6)
    assert whole.validation_loss_ is None
    assert whole.validation_losses_ == ()
    model = Autoencoder(2, random_state=0).fit(X)
    held = training.choose_validation_rows(600, 0.1, 10**6, _after_the_weights(model))
    errors = model.reconstruction_error(X)
    assert model.validation_loss_ == pytest.approx(errors[held].mean(), rel=1e-6)
    assert model.loss_ == pytest.approx(np.delete(errors, held).mean(), rel=1e-6)
    assert model.validation_loss_ == min(model.validation_losses_)  # the best are kept
    assert model.best_iter_ == 1 + int(np.argmin(model.validation_losses_))
    assert len(model.trace_) == len(model.validation_losses_) == model.n_iter_
    assert model.converged_
    assert "validation loss" in model.stopped_because_
    assert [W.shape for W, _ in model.encoder_] == [(3, 16), (16, 2)]
    assert [W.shape for W, _ in model.decoder_] == [(2, 16), (16, 3)]


def _after_the_weights(model):
    rng = np.random.default_rng(0)
    for W, _ in (*model.encoder_, *model.decoder_):
        rng.standard_normal(W.shape)
    return rng


@pytest.mark.parametrize(
    "options", [{"sparsity": 0.5}, {"noise": 1.0, "max_iter": 60}, {"solver": "adam", "max_iter": 60}], ids=str
)
def test_the_loss_is_that_of_the_stored_weights(options):
    X = arc(120)
    model = Autoencoder(2, random_state=0, **options).fit(X)
    errors = model.reconstruction_error(X)
    held = training.choose_validation_rows(120, 0.1, 10**6, _after_the_weights(model))
    assert model.loss_ == pytest.approx(np.delete(errors, held).mean(), rel=1e-4)
    assert model.validation_loss_ == pytest.approx(errors[held].mean(), rel=1e-4)


def test_the_decoder_may_be_of_another_shape():
    model = Autoencoder(1, hidden_layer_sizes=(6, 5), decoder_layer_sizes=9, random_state=0).fit(arc(200))
    assert [b.shape[0] for _, b in model.encoder_] == [6, 5, 1]
    assert [b.shape[0] for _, b in model.decoder_] == [9, 3]
    turned = Autoencoder(1, hidden_layer_sizes=(6, 5), random_state=0).fit(arc(200))
    assert [b.shape[0] for _, b in turned.decoder_] == [5, 6, 3]


@pytest.mark.parametrize("bend", ["logistic", "relu"])
def test_reconstructions_stay_in_the_range_of_the_values(digits, bend):
    X = digits[:150]
    model = Autoencoder(8, output_activation=bend, random_state=0).fit(X)
    back = model.decode(model.encode(X))
    assert back.min() >= -1e-9
    assert bend == "relu" or back.max() <= 16 + 1e-9
    assert model.reconstruction_error(X).mean() < PCA(2).fit(X).distortion()


def test_a_default_fit_has_a_smaller_error_than_pca():
    X = load_dataset("wine").X
    X = X / X.std(axis=0)
    lost = [Autoencoder(2, random_state=seed).fit(X).reconstruction_error(X).mean() for seed in range(3)]
    assert np.median(lost) < PCA(2).fit(X).distortion()  # with few validation rows, one of them may stop early


# --- seeds, engines, files


@pytest.mark.parametrize("options", [{}, {"noise": 0.2}, {"noise": 0.2, "noise_kind": "masking"}, {"sparsity": 0.1}])
def test_both_engines_agree_with_adam(options):
    pytest.importorskip("torch")
    X = arc(300)
    a, b = (
        Autoencoder(1, solver="adam", engine=engine, max_iter=5, random_state=0, **options).fit(X)
        for engine in ("numpy", "torch")
    )
    np.testing.assert_allclose(a.trace_, b.trace_, rtol=1e-4)
    np.testing.assert_allclose(a.transform(X), b.transform(X), atol=1e-3)


def test_both_engines_agree_with_lbfgs():
    pytest.importorskip("torch")
    X = load_dataset("iris").X
    a, b = (
        Autoencoder(2, solver="lbfgs", engine=engine, random_state=0, tol=1e-8, **LINEAR).fit(X)
        for engine in ("numpy", "torch")
    )
    assert a.loss_ == pytest.approx(b.loss_, rel=1e-5)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_training_from_a_file_larger_than_memory_agrees_with_the_array(tmp_path, monkeypatch, engine):
    import pyarrow as pa
    import pyarrow.parquet

    pytest.importorskip(engine)
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 6000)
    monkeypatch.setattr(training, "WINDOW_BYTES", 4000)
    X = arc(2000, dtype=np.float32)
    pa.parquet.write_table(pa.table({name: X[:, j] for j, name in enumerate("abc")}), tmp_path / "x.parquet")
    options = {"solver": "adam", "engine": engine, "max_iter": 4, "batch_size": 50, "random_state": 0}
    whole = Autoencoder(1, **options).fit(X)
    with lowland.config(memory="60kB", threads=1):  # a quarter of it is less than the table
        streamed = Autoencoder(1, **options).fit(tmp_path / "x.parquet")
    Z = streamed.encode(tmp_path / "x.parquet")
    for (W, b), (V, c) in zip(streamed.encoder_, whole.encoder_, strict=True):
        np.testing.assert_array_equal(W, V)
        np.testing.assert_array_equal(b, c)
    np.testing.assert_allclose(Z, whole.encode(X), atol=1e-6)  # other slabs have other rounding errors
    assert Z.dtype == np.float32
    assert streamed.trace_ == whole.trace_


def test_tensors_dask_and_float32_in_batches():
    torch = pytest.importorskip("torch")
    da = pytest.importorskip("dask.array")
    X = arc(500)
    options = {"solver": "adam", "max_iter": 5, "random_state": 0}
    whole = Autoencoder(1, **options).fit(X)
    tensor = Autoencoder(1, **options).fit(torch.asarray(X))
    assert isinstance(tensor.encoder_[0][0], torch.Tensor)
    np.testing.assert_allclose(tensor.encode(torch.asarray(X)).numpy(), whole.encode(X), atol=1e-12)
    lazy = Autoencoder(1, **options).fit(da.from_array(X, chunks=(77, 3)))
    np.testing.assert_array_equal(lazy.encode(X), whole.encode(X))
    single = Autoencoder(1, **options).fit(X.astype(np.float32))
    assert single.encoder_[0][0].dtype == np.float32
    np.testing.assert_allclose(single.encode(X.astype(np.float32)), whole.encode(X), atol=1e-3)


def test_a_saved_model_needs_no_torch(tmp_path):
    pytest.importorskip("torch")
    X = arc(300, dtype=np.float32)
    model = Autoencoder(1, solver="adam", engine="torch", max_iter=5, random_state=0).fit(X)
    lowland.save(model, tmp_path / "m.lowland")
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "z.npy", model.encode(X))
    program = (
        "import sys\n"
        "class NoTorch:\n"  # as if it were not installed
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'torch': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "import numpy as np, lowland\n"
        f"folder = {str(tmp_path)!r}\n"
        "model, X = lowland.load(folder + '/m.lowland'), np.load(folder + '/x.npy')\n"
        "assert np.array_equal(model.encode(X), np.load(folder + '/z.npy'))\n"
        "assert model.decode(model.encode(X)).shape == X.shape\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_torch_numpy_trains(monkeypatch):
    monkeypatch.setattr("lowland.arrays.engines.importlib.util.find_spec", lambda name: None)
    model = Autoencoder(1, solver="adam", max_iter=3, random_state=0).fit(arc(100))
    assert model.engine_ == "numpy on cpu"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_small_networks_are_trained_by_numpy_and_large_ones_by_torch():
    pytest.importorskip("torch")
    X = np.random.default_rng(0).standard_normal((300, 130)).astype(np.float32)
    options = {"solver": "adam", "max_iter": 1, "random_state": 0}
    assert Autoencoder(2, hidden_layer_sizes=8, **options).fit(X).engine_ == "numpy on cpu"
    assert Autoencoder(2, hidden_layer_sizes=600, **options).fit(X).engine_ == "torch on cpu"


# --- variants


def test_denoising_learns_to_undo_the_noise(digits):
    noisy = digits + 4 * np.random.default_rng(0).standard_normal(digits.shape)
    options = {"solver": "adam", "max_iter": 30, "learning_rate": 3e-3, "random_state": 0}
    plain, taught = (Autoencoder(16, noise=level, **options).fit(digits[:1500]) for level in (0.0, 0.9))
    lost = [np.mean((m.decode(m.encode(noisy[1500:])) - digits[1500:]) ** 2) for m in (plain, taught)]
    assert lost[1] < 0.95 * lost[0]
    masked = Autoencoder(16, noise=0.3, noise_kind="masking", **options).fit(digits[:1500])
    holes = np.where(np.random.default_rng(1).random(digits.shape) < 0.3, digits.mean(axis=0), digits)
    lost = [np.mean((m.decode(m.encode(holes[1500:])) - digits[1500:]) ** 2) for m in (plain, masked)]
    assert lost[1] < 0.9 * lost[0]


def test_sparse_codes_are_sparser(digits):
    options = {"code_activation": "relu", "solver": "adam", "learning_rate": 3e-3, "max_iter": 15, "random_state": 0}
    plain, sparse = (Autoencoder(20, sparsity=price, **options).fit(digits).encode(digits) for price in (0.0, 0.1))
    assert np.mean(sparse == 0) > np.mean(plain == 0) + 0.1
    wide = Autoencoder(100, sparsity=0.1, **{**options, "max_iter": 2}).fit(digits)  # wider than the rows
    assert wide.encode(digits).shape == (1797, 100)


def test_the_mean_activation_reaches_the_sparsity_target(digits):
    codes = {"sparsity_kind": "kl", "sparsity_target": 0.1, "code_activation": "logistic"}
    options = {"solver": "adam", "learning_rate": 1e-2, "max_iter": 12, "random_state": 0, **codes}
    models = (Autoencoder(10, hidden_layer_sizes=32, sparsity=price, **options).fit(digits) for price in (1e-9, 10.0))
    usual, asked = (model.encode(digits).mean(axis=0) for model in models)
    assert np.abs(asked - 0.1).max() < 0.05
    assert np.abs(usual - 0.1).max() > 0.2


# --- stopping and invalid input


def test_too_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match="did not converge.*limit of 3 iterations.*Raise max_iter"):
        model = Autoencoder(1, max_iter=3).fit(arc())
    assert not model.converged_
    assert model.n_iter_ == 3
    with pytest.warns(ConvergenceWarning, match="one-cycle"):
        Autoencoder(1, solver="adam", schedule="constant", max_iter=3).fit(arc())
    ended = Autoencoder(1, solver="adam", max_iter=3).fit(arc())
    assert ended.converged_
    assert "schedule" in ended.stopped_because_


@pytest.mark.parametrize("options", [{"learning_rate": 1e-5, "max_iter": 300}, {"max_iter": 1}])
def test_a_network_that_learned_nothing_warns(options):
    with pytest.warns(ConvergenceWarning, match="learned nothing.*of the variance.*Raise max_iter"):
        model = Autoencoder(2, solver="adam", engine="numpy", random_state=0, **options).fit(load_dataset("iris").X)
    assert not model.converged_


def test_early_stopping_keeps_the_best_weights(digits):
    model = Autoencoder(
        8, hidden_layer_sizes=(256,), solver="adam", learning_rate=0.01, schedule="constant", max_iter=200,
        n_iter_no_change=3, random_state=0,
    ).fit(digits[:200])  # fmt: skip
    assert model.converged_
    assert model.best_iter_ <= model.n_iter_ < 200
    assert model.validation_loss_ == min(model.validation_losses_)


def test_early_stopping_waits_while_the_learning_rate_rises():
    """No decrease is enough for this tolerance: a constant rate ends at once, a rising one is given its time."""
    options = {"solver": "adam", "tol": 0.99, "n_iter_no_change": 1, "max_iter": 100, "random_state": 0}
    ends = [Autoencoder(1, schedule=each, **options).fit(arc(60)).n_iter_ for each in ("constant", "one-cycle")]
    assert ends[0] < 5 < 10 <= ends[1] < 30


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 4}, "at most 3"),
        ({"decoder_layer_sizes": (-1,)}, "decoder_layer_sizes"),
        ({"solver": "lbfgs", "noise": 0.1}, "solver='adam'"),
        ({"noise": 1.5, "noise_kind": "masking"}, "between 0 and 1"),
        ({"sparsity": 0.1, "sparsity_kind": "kl"}, "code_activation='logistic'"),
        ({"engine": "numpy", "device": "cuda"}, "numpy.*CPU"),
        (
            {"solver": "adam", "learning_rate": 1e9, "activation": "relu", "schedule": "constant"},
            "smaller learning_rate",
        ),
    ],
)
def test_invalid_parameters_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        Autoencoder(**{"n_components": 1, **options}).fit(arc(100))


def test_constant_rows_warn():
    with pytest.warns(DataWarning, match="Every column is constant"):
        model = Autoencoder(1).fit(np.full((60, 3), 7.0))
    np.testing.assert_allclose(model.decode(model.encode(np.full((2, 3), 7.0))), 7.0, atol=1e-3)


def test_a_constant_column_is_reconstructed():
    X = np.column_stack([arc(60), np.full(60, 5.0)])
    model = Autoencoder(2, random_state=0).fit(X)
    np.testing.assert_allclose(model.decode(model.encode(X))[:, 3], 5.0, atol=0.1)


@pytest.mark.parametrize("size", [2.0**-80, 2.0**100])
def test_errors_of_tiny_and_huge_float32(size):
    X = arc(60, dtype=np.float32)
    errors, sized = (Autoencoder(1, random_state=0).fit(Y).reconstruction_error(Y) for Y in (X, X * np.float32(size)))
    assert sized.dtype == np.float64
    assert sized.mean() / size**2 == pytest.approx(errors.mean(), rel=1e-3)


def test_every_form_of_hidden_layer_sizes():
    assert layer_widths((512, 256.0), 4, "hidden_layer_sizes") == (512, 256)
    assert layer_widths(7, 4, "hidden_layer_sizes") == layer_widths(np.array([7]), 4, "hidden_layer_sizes") == (7,)
    assert layer_widths((), 4, "hidden_layer_sizes") == ()
    assert [layer_widths(None, d, "hidden_layer_sizes") for d in (3, 64, 1000)] == [(16,), (128,), (512,)]
    for bad in ("512", (0,), (1.5,), (True,), ((3,),), (float("nan"),)):
        with pytest.raises(ParameterError, match="integers"):
            layer_widths(bad, 4, "hidden_layer_sizes")


def test_a_callback_sees_the_codes_of_mini_batches():
    X, shots = arc(), []
    settings = {"solver": "adam", "random_state": 0, "max_iter": 31, "validation_fraction": 0.0}
    Z = Autoencoder(2, **settings).fit_transform(X, callback=shots.append)
    np.testing.assert_allclose(shots[-1].embedding, Z, rtol=1e-4, atol=1e-4)
    assert shots[-1].value < shots[0].value
    model = Autoencoder(2, **settings).fit(X, callback=lambda shot: False)
    assert model.n_iter_ == 1
    assert "callback" in model.stopped_because_


def test_encode_and_decode_equal_transform_and_inverse():
    X = arc()
    model = Autoencoder(2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.encode(X), model.transform(X))
    np.testing.assert_array_equal(model.decode(model.encode(X)), model.inverse_transform(model.transform(X)))
    errors = np.sum((model.decode(model.encode(X)) - X) ** 2, axis=1)
    np.testing.assert_allclose(model.reconstruction_error(X), errors, rtol=1e-9)
    assert model.reconstruction_error(X).shape == (600,)
    strange = np.full((1, 3), 60.0)
    assert model.reconstruction_error(strange)[0] > 100 * model.reconstruction_error(X).max()


@pytest.mark.parametrize("width", [2**40, 2**63 - 1])
def test_a_network_beyond_the_memory_is_refused_before_its_weights_are_drawn(width):
    with pytest.raises(MemoryBudgetError, match="hidden_layer_sizes=None"):
        Autoencoder(2, hidden_layer_sizes=width).fit(np.eye(30))
