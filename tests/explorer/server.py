"""``lowland explore`` in a process of its own, and what a browser sees of its events."""

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
import psutil

FOREVER = {"max_iter": 10_000_000, "n_iter_without_progress": 10_000_000, "min_grad_norm": 0.0}
WAIT = 120.0  # seconds; the machine may be busy


class Explorer:
    """A server process, and a client with its token."""

    def __init__(self, folder, workspace, *arguments, file=None, largest=None):
        """``largest``: kilobytes of a file at most, as on a disk that is full."""
        limit = ["bash", "-c", f'ulimit -f {largest}; exec "$@"', "_"] if largest else []
        given = [str(file)] if file else []
        self.problems = tempfile.TemporaryFile("w+")  # noqa: SIM115  a pipe that nobody reads would stop the server
        self.process = subprocess.Popen(
            [*limit, sys.executable, "-m", "lowland", "explore", *given, "--folder", str(folder), "--workspace",
             str(workspace), "--no-open", *arguments],
            stdout=subprocess.PIPE, stderr=self.problems, text=True,
        )  # fmt: skip
        line = self.process.stdout.readline()
        found = re.match(r"Lowland explorer: (http://127\.0\.0\.1:(\d+))/\?token=(\S+)", line)
        if found is None:
            self.problems.seek(0)
            raise RuntimeError(line + self.problems.read())
        self.address, self.port, self.token = found[1], int(found[2]), found[3]
        self.page = f"{self.address}/?token={self.token}"
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

    def stop(self, sent=signal.SIGINT):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(sent)
        code = self.process.wait(WAIT)
        self.client.close()
        self.process.stdout.close()
        self.problems.close()
        return code

    def kill(self):
        """End the server at once, as a crash would."""
        self.stop(signal.SIGKILL)

    def kill_workers(self):
        """End all worker processes at once, as a machine without memory would."""
        for process in self.workers():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def forget(self):
        """Remove all tables with their maps, once these have ended: else workers are killed, and others load."""
        for table in self.get("/api/tables").json():
            self.table(table["id"])
        for each in self.get("/api/maps").json():
            if each["parameters"] != FOREVER:
                self.measured(each["id"])
        for table in self.get("/api/tables").json():
            self.client.delete(f"/api/tables/{table['id']}")


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
