"""A real server on a free port of this machine, with real workers and files."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import httpx
import numpy as np
import psutil
import pytest

FOREVER = {"max_iter": 10_000_000, "n_iter_without_progress": 10_000_000, "min_grad_norm": 0.0}
WAIT = 120.0  # seconds; the machine may be busy


class Explorer:
    """A server process, and a client with its token."""

    def __init__(self, folder, workspace, *arguments, file=None):
        given = [str(file)] if file else []
        self.problems = tempfile.TemporaryFile("w+")  # noqa: SIM115  a pipe that nobody reads would stop the server
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lowland", "explore", *given, "--folder", str(folder), "--workspace", str(workspace),
             "--no-open", *arguments],
            stdout=subprocess.PIPE, stderr=self.problems, text=True,
        )  # fmt: skip
        line = self.process.stdout.readline()
        found = re.match(r"Lowland explorer: (http://127\.0\.0\.1:(\d+))/\?token=(\S+)", line)
        if found is None:
            self.problems.seek(0)
            raise RuntimeError(line + self.problems.read())
        self.address, self.port, self.token = found[1], int(found[2]), found[3]
        self.folder, self.workspace = folder, workspace
        self.client = self.new_client()

    def new_client(self, **headers):
        headers = {"Authorization": f"Bearer {self.token}", **headers}
        return httpx.Client(base_url=self.address, headers=headers, timeout=WAIT)

    def get(self, path, **options):
        return self.client.get(path, **options)

    def post(self, path, **options):
        return self.client.post(path, **options)

    def open(self, path, **more):
        """Open a file of the folder, and wait until it is read."""
        answer = self.post("/api/tables", json={"path": path, "first_map": None, **more})
        assert answer.status_code == 201, answer.text
        return self.table(answer.json()["id"])

    def table(self, name):
        return self.until(f"/api/tables/{name}", lambda table: table["status"] in ("ready", "failed"))

    def compute(self, table, method="PCA", **parameters):
        answer = self.post("/api/maps", json={"table": table, "method": method, "parameters": parameters})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def map(self, name):
        return self.until(f"/api/maps/{name}", lambda m: m["status"] not in ("queued", "running"))

    def measured(self, name):
        return self.until(
            f"/api/maps/{name}", lambda m: m["measured"] or m["status"] not in ("queued", "running", "done")
        )

    def workers(self):
        """The worker processes."""
        return psutil.Process(self.process.pid).children()

    def descending(self, table, method="TSNE"):
        """Start a map that never ends, and wait until it descends."""
        record = self.compute(table["id"], method, **FOREVER)
        return self.until(f"/api/maps/{record['id']}", lambda m: m["version"] > 0 or m["status"] == "failed")

    def until(self, path, holds):
        end = time.monotonic() + WAIT
        while True:
            found = self.get(path).json()
            if holds(found):
                return found
            assert time.monotonic() < end, found
            time.sleep(0.02)

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(WAIT)
        self.client.close()
        self.process.stdout.close()
        self.problems.close()
        return code

    def kill(self):
        self.process.kill()
        self.process.wait(WAIT)
        self.client.close()
        self.process.stdout.close()
        self.problems.close()


class Listener:
    """What a browser sees of the events, read in a thread."""

    def __init__(self, explorer):
        self.seen, self.client = [], explorer.new_client()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        assert self.ready.wait(WAIT)

    def _read(self):
        name = None
        with contextlib.suppress(httpx.HTTPError), self.client.stream("GET", "/api/events", timeout=None) as answer:
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    self.seen.append((name, json.loads(line[6:])))
                    self.ready.set()

    def wait_for(self, holds):
        end = time.monotonic() + WAIT
        while not any(holds(*each) for each in list(self.seen)):
            assert time.monotonic() < end, [name for name, _ in self.seen]
            time.sleep(0.02)
        return next(data for name, data in self.seen if holds(name, data))


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
def forever():
    """Parameters of a t-SNE that never ends."""
    return FOREVER


@pytest.fixture(scope="session")
def table(explorer):
    return explorer.open("small.csv")


@pytest.fixture(scope="session")
def pca(explorer, table):
    return explorer.measured(explorer.compute(table["id"])["id"])
