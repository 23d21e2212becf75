"""``lowland.explore`` in a notebook and elsewhere."""

import sys
import types
from pathlib import Path

import IPython
import numpy as np
import pandas as pd
import pytest

import lowland
from lowland.data import load_dataset
from lowland.errors import MissingExtra
from lowland.explorer.start import explore
from lowland.explorer.widget import MapsWidget
from lowland.run.progress import in_notebook

IRIS = load_dataset("iris")
FRAME = pd.DataFrame(IRIS.X, columns=IRIS.names).assign(
    species=[IRIS.label_names[i] for i in IRIS.y], place=["a", "b", None] * 50
)


@pytest.fixture(scope="module")
def study():
    return lowland.compare(FRAME.drop(columns="place"), "species", ["pca"], cache=False)


@pytest.fixture
def notebook(monkeypatch):
    monkeypatch.setattr(IPython, "get_ipython", lambda: types.SimpleNamespace(kernel=object()))


@pytest.fixture
def server(monkeypatch):
    """The explorer's server, which only keeps what it was started with."""
    calls = []

    def run(**settings):
        found = None if settings["file"] is None else settings["file"]
        read = pd.read_parquet(found) if found is not None and found.suffix == ".parquet" else None
        calls.append({**settings, "read": read})
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "lowland.explorer.app", types.SimpleNamespace(run=run))
    return calls


def test_a_kernel_is_a_notebook_and_a_terminal_is_not(monkeypatch, notebook):
    assert in_notebook()
    monkeypatch.setattr(IPython, "get_ipython", types.SimpleNamespace)  # a shell without a kernel
    assert not in_notebook()
    monkeypatch.setattr(IPython, "get_ipython", lambda: None)
    assert not in_notebook()


def test_a_notebook_gets_a_widget_with_computed_maps(notebook):
    widget = lowland.explore(IRIS.X, IRIS.y, methods=["pca", "mds"], scale="standard", cache=False)
    assert isinstance(widget, MapsWidget)
    assert [each["name"] for each in widget._maps] == ["PCA", "MDS"]
    assert "trustworthiness" in widget._maps[0]["trust"]


def test_columns_are_prepared_as_in_a_study(notebook):
    widget = lowland.explore(FRAME, "species", methods="pca", cache=False)
    kinds = {column["name"]: column["kind"] for column in widget._table["columns"]}
    assert kinds["place"] == kinds["species"] == "category"
    assert widget._table["label"] == 0
    of_numbers = lowland.compare(FRAME, "species", "pca", cache=False)
    assert of_numbers.table.preparation.report["place"].startswith("category")
    drawn = np.frombuffer(widget._maps[0]["coordinates"]["data"], dtype="<f4").reshape(2, -1).T
    np.testing.assert_allclose(drawn, of_numbers["pca"].Z, atol=1e-5)


def test_given_maps_are_evaluated_only_together_with_methods(notebook):
    alone = explore(IRIS.X, maps={"petals": IRIS.X[:, 2:]})
    assert [(each["name"], each.get("trust")) for each in alone._maps] == [("petals", None)]
    joined = explore(IRIS.X, maps={"petals": IRIS.X[:, 2:]}, methods=["pca"], cache=False)
    assert [each["name"] for each in joined._maps] == ["PCA", "petals"]
    assert joined._maps[1]["trust"]


def test_a_study_is_explored_with_and_without_its_data(notebook, study):
    widget = study.explore(color="trustworthiness")
    widget.selection = [1]
    assert widget.selected["species"].tolist() == ["setosa"]
    assert widget.color == "trustworthiness"
    with_data = study.explore(FRAME)
    with_data.selection = [1]
    pd.testing.assert_frame_equal(with_data.selected, FRAME.iloc[[1]])
    assert study._repr_html_().startswith("<")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda study: explore(where="notebook"), "needs data"),
        (lambda study: explore(IRIS.X, where="here"), "where"),
        (lambda study: explore(study, IRIS.y, where="notebook"), "no y"),
        (lambda study: explore(study, k=3, where="notebook"), "k=.*methods"),
        (lambda study: explore(IRIS.X, maps={"a": IRIS.X}, where="browser"), "notebook.*report"),
        (lambda study: study.explore(where="browser"), "study.report"),
        (lambda study: explore(IRIS.X, k=3, where="browser"), "k=.*port"),
    ],
)
def test_what_does_not_fit_is_refused(study, call, said):
    with pytest.raises(ValueError, match=said):
        call(study)


def test_a_notebook_does_not_run_the_server(notebook, server):
    with pytest.raises(ValueError, match="terminal"):
        explore(IRIS.X, where="browser")
    assert server == []


def test_elsewhere_data_in_memory_is_opened_in_the_browser_with_its_labels(server):
    assert lowland.explore(FRAME.drop(columns="species"), FRAME["species"], port=4000) is None
    (call,) = server
    pd.testing.assert_frame_equal(
        call["read"][FRAME.columns], FRAME, check_dtype=False, check_column_type=False, check_index_type=False
    )
    assert call["port"] == 4000
    assert call["file"].parent == call["folder"]
    assert call["folder"] not in call["workspace"].parents
    assert not call["folder"].exists()  # stopped: the copy is gone
    assert not call["workspace"].parent.exists()


def test_elsewhere_a_file_is_opened_in_its_folder(server, tmp_path):
    FRAME.to_csv(tmp_path / "iris.csv", index=False)
    explore(tmp_path / "iris.csv")
    explore()
    assert server[0]["file"] == (tmp_path / "iris.csv").resolve()
    assert server[0]["folder"] == tmp_path.resolve()
    assert server[1]["file"] is None
    with pytest.raises(FileNotFoundError, match=r"no\.csv"):
        explore(tmp_path / "no.csv")


def test_the_address_is_printed_and_opened(server, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    explore(IRIS.X)
    server[0]["ready"]("http://127.0.0.1:8787/?token=t")
    assert "http://127.0.0.1:8787/?token=t" in capsys.readouterr().out
    (page,) = opened  # other users see the arguments of the browser's process, so the token is in a file
    assert "token" not in page
    file = Path(page.removeprefix("file://"))
    assert "http://127.0.0.1:8787/?token=t" in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "lowland.explorer.widget")
    with pytest.raises(MissingExtra, match=r"pip install .*\[notebook\]"):
        explore(IRIS.X, maps={"a": IRIS.X}, where="notebook")
