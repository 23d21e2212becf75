"""A real server on a free port of this machine, with real workers and files."""

import numpy as np
import pytest
from tests.study.report.browser import fresh_browser

from .server import Explorer, Listener


def write_csv(path, n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) + 4 * y[:, None]
    head = ",".join([*(f"x{j}" for j in range(d)), "label"])
    lines = [",".join([*(f"{v:.6f}" for v in row), f"class {c}"]) for row, c in zip(X, y, strict=True)]
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """The cache of maps: none of the person's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("explored") / "data"
    place.mkdir()
    write_csv(place / "small.csv")
    write_csv(place / "large.csv", n=3_000, d=8)
    (place.parent / "secret.csv").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    (place / "leads_out.csv").symlink_to(place.parent / "secret.csv")
    (place / "inside").mkdir()
    return place


@pytest.fixture(scope="session")
def explorer(folder, tmp_path_factory):
    """One server for the tests that leave it running."""
    found = Explorer(folder, tmp_path_factory.mktemp("workspace"), "--max-upload", "2MB")
    yield found
    assert found.stop() == 0


@pytest.fixture
def start(folder, tmp_path):
    """Start servers of a test's own; ``start()`` again with the same workspace restarts one."""
    started = []

    def begin(*arguments, workspace=tmp_path / "workspace", **more):
        started.append(Explorer(more.pop("folder", folder), workspace, *arguments, **more))
        return started[-1]

    yield begin
    for each in started:
        each.kill()


@pytest.fixture
def listen():
    listeners = []

    def begin(explorer):
        listeners.append(Listener(explorer))
        return listeners[-1]

    yield begin
    for each in listeners:
        each.client.close()


@pytest.fixture(scope="session")
def table(explorer):
    return explorer.open("small.csv")


@pytest.fixture(scope="session")
def pca(explorer, table):
    return explorer.measured(explorer.compute(table["id"])["id"])


@pytest.fixture
def browser():
    return fresh_browser()
