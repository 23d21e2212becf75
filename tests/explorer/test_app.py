"""The server as a whole: start, stop, kill, restart, ports, a full disk."""

import json
import signal
import socket

import httpx
import psutil
import pytest
from click.testing import CliRunner

from lowland.cli.main import cli
from lowland.errors import FileProblem
from lowland.explorer.app import listening_socket
from lowland.explorer.workspace import Store


def command(*arguments):
    """Call a command that ends before a server starts, in this process."""
    return CliRunner().invoke(cli, ["explore", *arguments, "--no-open"])


def test_a_killed_server_loses_nothing(start):
    first = start()
    table = first.open("large.csv")
    done = first.measured(first.compute(table["id"])["id"])
    wanted = first.get(f"/api/maps/{done['id']}/coordinates").content
    first.client.put(f"/api/tables/{table['id']}/state", json={"panels": 3})
    running = first.descending(table)
    left = first.workspace / "uploads" / "0123456789ab"  # of an upload that was cut off
    left.mkdir()
    (first.workspace / "uploads" / "mine.txt").write_text("not ours")
    children = psutil.Process(first.process.pid).children()
    first.kill()
    psutil.wait_procs(children, timeout=60)
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]

    second = start()
    assert second.get(f"/api/maps/{done['id']}/coordinates").content == wanted
    assert second.get(f"/api/maps/{done['id']}").json()["scores"] == done["scores"]
    assert second.get(f"/api/tables/{table['id']}/state").json() == {"panels": 3}
    broken = second.get(f"/api/maps/{running['id']}").json()
    assert broken["status"] == "broken"
    assert "Start it again" in broken["error"]
    assert second.post(f"/api/maps/{running['id']}/restart").json()["status"] == "queued"
    second.until(f"/api/maps/{running['id']}", lambda m: m["status"] == "running")
    assert [path.name for path in left.parent.iterdir()] == ["mine.txt"]


def test_a_map_is_measured_after_a_restart_if_it_was_not_before(start):
    first = start()
    table = first.open("small.csv")
    wanted = first.measured(first.compute(table["id"])["id"])
    first.stop()
    store = Store(first.workspace / "explorer.sqlite")
    store.put("map", {**store.get("map", wanted["id"]), "measured": False, "scores": {}, "stage": "measuring"})
    store.close()
    found = start().measured(wanted["id"])
    assert (found["scores"], found["stage"]) == (wanted["scores"], None)


@pytest.mark.skipif(not hasattr(psutil.Process, "memory_maps"), reason="the system does not list what is loaded")
def test_the_server_loads_no_library_of_the_workers(explorer, start):
    explorer.get("/api/methods")  # the index of the methods is in the cache from now on
    server = start()
    record = server.measured(server.compute(server.open("small.csv")["id"])["id"])
    assert record["status"] == "done"
    loaded = " ".join(each.path for each in psutil.Process(server.process.pid).memory_maps())
    assert "pydantic" in loaded
    assert not [name for name in ("scipy", "sklearn", "numba", "pandas") if f"/{name}/" in loaded]


def test_a_file_is_opened_at_once_and_a_signal_stops_the_server_and_its_workers(start, folder, listen):
    explorer = start("--host", "0.0.0.0", file=folder / "small.csv")
    found = explorer.until("/api/maps", lambda maps: bool(maps) and maps[0]["status"] == "done")
    assert found[0]["method"] == "PCA"
    assert [t["name"] for t in explorer.get("/api/tables").json()] == ["small.csv"]
    explorer.problems.seek(0)
    assert "other machines" in explorer.problems.read()
    assert httpx.get(f"{explorer.address}/api/tables").status_code == 401  # the token is demanded
    listen(explorer)  # a browser that listens does not keep it from stopping
    children = explorer.workers()
    assert explorer.stop(signal.SIGTERM) == 0  # the shared explorer is stopped by Ctrl-C
    psutil.wait_procs(children, timeout=60)
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
    again = start(file=folder / "small.csv")  # unchanged: it is not read again
    (known,) = again.get("/api/tables").json()
    assert again.get("/api/maps").json()[0]["id"] == found[0]["id"]
    again.open("large.csv")
    again.stop()
    third = start(file=folder / "small.csv")
    assert third.get("/api/session").json()["table"] == known["id"]  # it is shown, not the one that was opened last


def test_a_busy_port(start, folder, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = command("--folder", str(folder), "--workspace", str(tmp_path / "w"), "--port", str(port))
        assert found.exit_code == 1
        assert str(port) in found.stderr
        assert "--port" in found.stderr or "port" in found.stderr


def test_without_a_given_port_the_next_free_one_is_taken():
    first = listening_socket("127.0.0.1", None)
    second = listening_socket("127.0.0.1", None)
    assert first.getsockname()[1] != second.getsockname()[1]
    first.close()
    second.close()


def test_an_address_that_is_not_ours_is_refused():
    with pytest.raises(FileProblem, match=r"cannot listen on 192\.0\.2\.1: .*Choose an address of this machine"):
        listening_socket("192.0.2.1", None)


def test_one_workspace_belongs_to_one_explorer(explorer, folder):
    found = command("--folder", str(folder), "--workspace", str(explorer.workspace))
    assert found.exit_code == 1
    assert "another explorer" in found.stderr


def test_mistakes_on_the_command_line(folder, tmp_path):
    for arguments, term in (
        (["nothing.csv"], "nothing.csv"),
        (["--folder", str(tmp_path / "none")], "no folder"),
        ([str(folder / "small.csv"), "--folder", str(folder / "inside")], "outside"),
    ):
        found = command(*arguments)
        assert found.exit_code in (1, 2)
        assert term in found.stderr


def test_a_full_disk(start):
    """Files of at most 1 MB: what does not fit fails with a sentence, and leaves nothing half-written."""
    explorer = start(largest=1024)

    def upload(text):
        return explorer.post("/api/uploads", files={"file": ("x.csv", text.encode())})

    answer = upload("1,2\n" * 2**19)
    assert answer.status_code == 507
    assert "disk space" in answer.json()["error"]
    assert not list((explorer.workspace / "uploads").iterdir())
    made = explorer.table(upload("a,b\n" + "".join(f"{i},{i}\n" for i in range(80_000))).json()["id"])
    assert made["status"] == "failed"
    assert "disk space" in made["error"]
    assert not [p for p in (explorer.workspace / "tables").rglob("*") if p.is_file()]
    small = explorer.table(upload("a,b\n1,2\n3,4\n5,7\n8,9\n").json()["id"])
    assert small["status"] == "ready", small["error"]


def test_errors_are_json(explorer):
    for path in (
        "/nothing",
        "/api/nothing",
        "/api/tables/none",
        "/api/tables/..%2Fx",
        "/api/tables/a%2Fb",
        "/api/tables/%00",
        "/api/tables/%27%20OR%201%3D1",
        "/pages/none.js",
        "/pages/../explorer/app.py",
        "/pages/%00",
        f"/pages/{'x' * 300}",
    ):
        answer = explorer.get(path)
        assert answer.status_code == 404
        assert set(json.loads(answer.text)) == {"error", "type"}
