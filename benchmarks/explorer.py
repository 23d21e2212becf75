"""The explorer: time to the first picture, to cancel, and to answer fifty clients while a map is computed."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer
from benchmarks.registry import Plan, job

ROOT = Path(__file__).parents[1]
FOREVER = {"max_iter": 10_000_000, "n_iter_without_progress": 10_000_000, "min_grad_norm": 0.0}
CLIENTS, READS = 50, 20  # clients, and results that each of them reads
PAUSE = 0.5  # seconds between two reads of one client


@contextlib.contextmanager
def exploring(n: int, d: int = 20) -> Iterator[Any]:
    """Run ``lowland explore`` on a new table of n rows; yield the time of its start and a client."""
    import httpx

    with tempfile.TemporaryDirectory(prefix="lowland-bench-") as place:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, d)) + 3 * rng.integers(0, 5, (n, 1))
        import pyarrow as pa
        import pyarrow.parquet as parquet

        file = Path(place) / "table.parquet"
        parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])}), file)
        started = time.perf_counter()
        words = ["explore", str(file), "--no-open", "--workspace", str(Path(place) / "workspace")]
        process = subprocess.Popen([sys.executable, "-m", "lowland", *words], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            address = re.search(r"http://\S+", process.stdout.readline())
            assert address is not None
            base, _, token = address[0].partition("/?token=")
            with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=120) as client:
                yield started, client, address[0]
        finally:
            process.terminate()
            process.wait(20)


def first_map(client: Any) -> dict[str, Any]:
    """Wait for the map that is computed at once."""
    while True:
        found = client.get("/api/maps").json()
        if found and found[0]["status"] == "done":
            return found[0]
        time.sleep(0.01)


@job("explorer: from the command to the first picture of 10,000 rows, cancel, and fifty clients")
def explorer(plan: Plan) -> Iterator[Line]:
    n = plan.size(10_000, 1_000)
    for what, browser in (("first coordinates", False), ("first picture in the browser", True)):
        seconds = _first_picture(n) if browser else _first_coordinates(n)
        if seconds is not None:
            bars = (Bar("ours", 3.0),) if browser and not plan.quick else ()
            yield Line(f"{what} of {n:,} rows", seconds, required=bars)
    many = plan.size(1_000_000, 20_000)
    found = _many_points(many)
    if found is not None:
        picture, lasso, (heap, process), rows = found
        yield Line(f"from the command to the picture of {many:,} rows x 5", picture)
        bars = () if plan.quick else (Bar("ours", 1.0),)
        yield Line(
            f"lasso over {many:,} points", lasso, required=bars,
            remark=f"{rows:,} rows selected; {heap / 1e6:,.0f} MB in JavaScript, {process / 1e6:,.0f} MB of the page",
        )  # fmt: skip
    m = plan.size(50_000, 2_000)
    with exploring(m) as (_, client, _):
        done = first_map(client)
        wanted = {"table": done["table"], "method": "TSNE", "parameters": FOREVER}
        running = client.post("/api/maps", json=wanted).json()["id"]
        while client.get(f"/api/maps/{running}").json()["version"] < 2:
            time.sleep(0.05)
        waits = fifty_clients(client, done, 4 * 2 * m)
        p95 = float(np.quantile(waits, 0.95))
        remark = f"median {np.median(waits):.3f} s, longest {waits.max():.3f} s, {len(waits):,} answers"
        bars = () if plan.quick else (Bar("ours", 0.2),)
        yield Line(
            f"95th percentile of {CLIENTS} clients, coordinates of {m:,} rows, while t-SNE runs", p95, required=bars,
            remark=remark,
        )  # fmt: skip
        started = time.perf_counter()
        client.post(f"/api/maps/{running}/cancel")
        while client.get(f"/api/maps/{running}").json()["status"] != "canceled":
            time.sleep(0.005)
        yield Line(f"cancel t-SNE of {m:,} rows", time.perf_counter() - started, required=(Bar("ours", 1.0),))


def _first_coordinates(n: int) -> float:
    with exploring(n) as (started, client, _):
        done = first_map(client)
        client.get(f"/api/maps/{done['id']}/coordinates")
        return time.perf_counter() - started


def _many_points(n: int) -> tuple[float, float, tuple[float, float], int] | None:
    """Seconds to the picture of n rows and of a lasso over them, bytes of JavaScript and of the page, rows selected."""
    import psutil

    sys.path.insert(0, str(ROOT))
    from tests.pages.explorer_page import Person
    from tests.study.report.browser import Browser, chromium

    program = chromium()
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="lowland-bench-") as profile:
        browser = Browser(program, Path(profile), 1600, 1000)
        person = Person(browser)
        try:
            with exploring(n, 5) as (started, _, address):
                person.visit(address)
                person.until("document.querySelector('.lv-panel[data-status=done][data-drawn]')", 120)
                picture = time.perf_counter() - started
                person.settle()
                person.tool("lasso")
                left, top, right, bottom = person.plot()
                corners = [(left + 5, top + 5), ((left + right) / 2, top + 5), ((left + right) / 2, bottom - 5)]
                browser.mouse("mouseMoved", *corners[0])
                browser.mouse("mousePressed", *corners[0], "left", 1, clickCount=1)
                for x, y in [*corners[1:], (left + 5, bottom - 5)]:
                    browser.mouse("mouseMoved", x, y, "left", 1)
                begun = time.perf_counter()
                browser.mouse("mouseReleased", left + 5, bottom - 5, "left", 0, clickCount=1)
                person.sees("#pane-selection h2", "selected")
                person.settle()
                lasso = time.perf_counter() - begun
                rows = int(person.text("#pane-selection h2").split()[0].replace(",", ""))
                browser.call("HeapProfiler.collectGarbage")
                usage = browser.call("Runtime.getHeapUsage")
                heap = usage["usedSize"] + usage.get("backingStorageSize", 0)
                pages = psutil.Process(browser.process.pid).children(recursive=True)
                process = max(each.memory_info().rss for each in pages if "--type=renderer" in each.cmdline())
                return picture, lasso, (heap, process), rows
        finally:
            browser.close()


def _first_picture(n: int) -> float | None:
    """Seconds from the command until points are on the page, in a browser that is already running."""
    sys.path.insert(0, str(ROOT))
    from tests.study.report.browser import Browser, chromium

    program = chromium()
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="lowland-bench-") as profile:
        browser = Browser(program, Path(profile))
        try:
            with exploring(n) as (started, _, address):
                browser.call("Page.navigate", url=address)
                browser.until("document.documentElement?.dataset.ready", 60)
                browser.until(
                    "[...document.querySelectorAll('canvas')].some((c) => c.width && [...c.getContext('2d')"
                    ".getImageData(0, 0, c.width, c.height).data].some((v, i) => i % 4 === 3 && v))", 60,
                )  # fmt: skip
                return time.perf_counter() - started
        finally:
            browser.close()


def fifty_clients(client: Any, done: dict[str, Any], size: int) -> np.ndarray:
    """Seconds of each answer when many clients read a result again and again."""
    import httpx

    waits: list[float] = []
    problems: list[str] = []
    place, headers = f"/api/maps/{done['id']}/coordinates", dict(client.headers)

    def read(number: int) -> None:
        with httpx.Client(base_url=client.base_url, headers=headers, timeout=60) as own:
            time.sleep(PAUSE * number / CLIENTS)
            for _ in range(READS):
                begun = time.perf_counter()
                answer = own.get(place)
                waits.append(time.perf_counter() - begun)
                if answer.status_code != 200 or len(answer.content) != size:
                    problems.append(f"{answer.status_code}, {len(answer.content)} bytes")
                time.sleep(PAUSE)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise WrongAnswer(f"Results differ from what was expected: {problems[0]}")
    return np.array(waits)
