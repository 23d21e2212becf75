"""Faults of workers: canceled, killed, too large, too slow. The table stays usable each time."""

import asyncio
import time

import numpy as np
import psutil

from lowland.explorer import queue

from .server import FOREVER


def test_cancel_ends_the_process_at_once(explorer):
    table = explorer.open("large.csv")
    record = explorer.descending(table)
    assert record["status"] == "running"
    workers = explorer.workers()
    found = explorer.post(f"/api/maps/{record['id']}/cancel").json()
    assert found["status"] == "canceled"
    assert "again" in found["error"]
    end = time.monotonic() + 30
    while not psutil.wait_procs(workers, timeout=0.05)[0]:
        assert time.monotonic() < end
    assert explorer.map(explorer.compute(table["id"])["id"])["status"] == "done"
    again = explorer.post(f"/api/maps/{record['id']}/restart").json()
    assert again["status"] == "queued"
    explorer.until(f"/api/maps/{record['id']}", lambda m: m["status"] == "running")
    explorer.post(f"/api/maps/{record['id']}/cancel")
    again = explorer.post(f"/api/maps/{record['id']}/restart").json()  # at once: the process may still be outcome
    assert again["status"] == "queued"
    explorer.until(f"/api/maps/{record['id']}", lambda m: m["status"] == "running")
    explorer.client.delete(f"/api/maps/{record['id']}")
    assert explorer.get(f"/api/maps/{record['id']}").status_code == 404


def test_a_map_that_waits_can_be_canceled(explorer):
    table = explorer.open("large.csv")
    running = [explorer.compute(table["id"], "TSNE", **FOREVER)["id"] for _ in range(2)]
    for name in running:
        explorer.until(f"/api/maps/{name}", lambda m: m["status"] == "running")
    waiting = explorer.compute(table["id"])
    assert explorer.get(f"/api/maps/{waiting['id']}").json()["status"] == "queued"
    assert explorer.post(f"/api/maps/{waiting['id']}/cancel").json()["status"] == "canceled"
    other = explorer.compute(table["id"])
    explorer.post(f"/api/maps/{other['id']}/cancel")
    assert explorer.post(f"/api/maps/{other['id']}/restart").json()["status"] == "queued"  # it waits again
    assert explorer.open("small.csv")["status"] == "ready"  # tables are read meanwhile
    for name in running:
        explorer.post(f"/api/maps/{name}/cancel")
    assert explorer.map(other["id"])["status"] == "done"
    assert explorer.get(f"/api/maps/{waiting['id']}").json()["status"] == "canceled"


def test_a_worker_that_is_killed_breaks_only_its_map(explorer):
    table = explorer.open("large.csv")
    record = explorer.descending(table)
    explorer.kill_workers()
    found = explorer.map(record["id"])
    assert found["status"] == "broken"
    assert "killed" in found["error"]
    assert "unchanged" in found["error"]
    assert explorer.get(f"/api/tables/{table['id']}/rows").status_code == 200
    assert explorer.map(explorer.compute(table["id"])["id"])["status"] == "done"


def test_time_is_limited(start):
    first = start()
    table = first.open("large.csv")  # without a limit: a busy machine may need longer to read it
    first.stop()
    explorer = start("--time-limit", "1")
    found = explorer.map(explorer.compute(table["id"], "TSNE", **FOREVER)["id"])
    assert found["status"] == "failed"
    assert "took longer than 1 s" in found["error"]
    assert explorer.get(f"/api/tables/{table['id']}/rows").status_code == 200


def test_too_much_memory_is_refused_with_a_sentence(start, folder):
    rng = np.random.default_rng(0)
    np.save(folder / "many.npy", rng.normal(size=(12_000, 3)))
    explorer = start("--memory", "600MB")
    table = explorer.open("many.npy")
    record = explorer.compute(table["id"], "KernelPCA", eigen_solver="dense", n_landmarks=None, kernel="rbf")
    found = explorer.map(record["id"])
    (folder / "many.npy").unlink()
    assert found["status"] == "failed"
    assert "600 MB of memory" in found["error"] or "memory" in found["error"].lower()


def test_a_finished_worker_is_reused(explorer, table):
    for _ in range(3):
        explorer.measured(explorer.compute(table["id"])["id"])
    end = time.monotonic() + 30
    while len(explorer.workers()) > 4:  # two that are reused, one that measures, and one that answers questions
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_process_that_cannot_be_started_is_told(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(queue, "WorkerProcess", refused)

    async def outcome():
        return await queue.Queue(tmp_path, queue.Limits()).submit(queue.Job({}, "map", "The map"))

    found = asyncio.run(outcome())
    assert found.status == "broken"
    assert "Cannot allocate memory. Free some memory" in found.error


def test_a_quiet_server_says_that_it_is_alive(monkeypatch):
    monkeypatch.setattr(queue, "KEEP_ALIVE", 0.01)

    async def heard():
        stream = queue.Events().stream({})
        return [await anext(stream), await anext(stream)]

    assert b"event: alive" in asyncio.run(heard())[1]
