"""The run: order, threads, budget, progress, stopping."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  its BLAS is counted too, from the start

import lowland
from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.data.open import open_rows
from lowland.errors import DataError, MemoryBudgetError, ParameterError, Stopped
from lowland.math.statistics.moments import Total
from lowland.run import memory
from lowland.run.memory import parse_bytes, release, show_bytes, slabs_in_flight
from lowland.run.progress import COMPILING, in_one_call, pulse
from lowland.run.run import Run, serial_run
from lowland.run.settings import require_memory, settings


@pytest.fixture
def small_slabs(monkeypatch):
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 800)


class Order:
    """A statistic that remembers the order in which its parts were merged."""

    def __init__(self, parts):
        self.parts = parts

    def __add__(self, other):
        return Order(self.parts + other.parts)

    def is_finite(self):
        return True


def test_results_are_merged_in_the_order_of_the_rows(small_slabs):
    X = np.arange(4000.0).reshape(-1, 4)

    def slow_first(chunk):
        time.sleep(0.02 if chunk[0, 0] == 0 else 0)
        return Order([chunk[0, 0]])

    with lowland.config(threads=4):
        merged = Run().fold(open_rows(X), slow_first)
    assert merged.parts == sorted(merged.parts)
    assert len(merged.parts) > 10


def test_at_most_a_few_slabs_are_in_flight(small_slabs):
    alive, most, lock = 0, 0, threading.Lock()

    class Chunks:
        def __iter__(self):
            nonlocal alive, most
            for _ in range(40):
                with lock:
                    alive += 1
                    most = max(most, alive)
                yield np.ones((10, 4))

    def consume(chunk):
        nonlocal alive
        time.sleep(0.002)
        with lock:
            alive -= 1
        return Total(chunk.sum(axis=0))

    with lowland.config(threads=2):
        total = Run().fold(open_rows(Chunks()), consume)
    np.testing.assert_array_equal(total.value, 400)
    assert most <= 2 + 2 + 1  # threads + 1 in flight, one being read, one opened in advance


def counts():
    """Threads of each BLAS but faiss's own, which is left alone."""
    import threadpoolctl

    libraries = [lib for lib in threadpoolctl.threadpool_info() if "faiss" not in lib["filepath"]]
    return [lib["num_threads"] for lib in libraries if lib["user_api"] == "blas"]


def test_the_caller_of_map_rows_has_all_threads(small_slabs):
    inside = []

    def look(chunk):
        inside.extend(counts())
        return chunk

    before = counts()
    X = np.arange(4000.0).reshape(-1, 4)
    with lowland.config(threads=4):
        parts = []
        for part in Run().map_rows(look, open_rows(X)):
            assert counts() == before
            parts.append(part)
    assert set(inside) == {1}
    np.testing.assert_array_equal(np.concatenate(parts), X)


@pytest.mark.parametrize(("count", "words"), [(99, "at least 100 rows.* 99 labels"), (101, "100 rows.* 101 labels")])
def test_vectors_beside_rows_of_unknown_length_are_checked(count, words):
    X = np.ones((50, 2))
    with pytest.raises(DataError, match=words):
        Run().fold(open_rows([X, X]), lambda chunk, w: Total(w.sum()), np.ones(count))
    assert Run().fold(open_rows([X, X]), lambda chunk, w: Total(w.sum()), np.ones(100)).value == 100


def test_the_last_of_overlapping_runs_restores_blas():
    import threadpoolctl

    before = threadpoolctl.threadpool_info()
    entered, leave = threading.Event(), threading.Event()

    def other_run():
        with blas_on_one_thread():
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=other_run)
    with blas_on_one_thread():
        other.start()
        entered.wait(10)
    leave.set()
    other.join()
    assert threadpoolctl.threadpool_info() == before


def test_an_error_in_a_worker_is_raised(small_slabs):
    def fail(chunk):
        raise ZeroDivisionError("in the worker")

    with pytest.raises(ZeroDivisionError, match="worker"):
        Run().fold(open_rows(np.ones((500, 4))), fail)


# --- budget ---


@pytest.mark.parametrize(("text", "size"), [("1GB", 10**9), ("1.5 MiB", 3 * 2**19), ("12", 12), (7, 7), ("2kb", 2000)])
def test_memory_sizes_as_strings(text, size):
    assert parse_bytes(text) == size


def test_sizes_are_shown_in_three_digits():
    assert (show_bytes(1536), show_bytes(3e15)) == ("1.54 kB", "3e+03 TB")


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1 light-year", 0, True, 1.5])
def test_invalid_memory_sizes_are_refused(text):
    with pytest.raises(ParameterError, match="memory"):
        lowland.config(memory=text)


def test_budget_limits_slabs_in_flight_or_refuses():
    assert slabs_in_flight(10, 4, 10**6) == 5
    assert slabs_in_flight(10, 4, 70) == 2
    with pytest.raises(MemoryBudgetError, match="config"):
        slabs_in_flight(10, 4, 20)


def test_the_budget_never_changes_the_answer(small_slabs):
    X = np.random.default_rng(0).standard_normal((3000, 4))
    whole = lowland.PCA(2).fit(X)
    with lowland.config(memory="4kB"):
        tight = lowland.PCA(2).fit(X)
    assert np.array_equal(whole.components_, tight.components_)


def test_config_is_restored():
    from lowland.run.settings import settings

    before = settings()
    with lowland.config(threads=3, memory="1GB"):
        assert settings().threads == 3
        assert settings().memory == 10**9
    assert settings() == before
    for wrong in ({"threads": 0}, {"threads": 1.5}, {"output": "list"}, {"progress": "loud"}):
        with pytest.raises(ParameterError):
            lowland.config(**wrong)


# --- progress ---


def test_a_callback_receives_every_stage(small_slabs):
    events = []
    with lowland.config(progress=events.append):
        lowland.PCA(2, svd_solver="randomized", random_state=0).fit(np.random.default_rng(0).standard_normal((600, 20)))
    stages = {event.stage for event in events}
    assert "summing columns" in stages
    assert "block Krylov" in stages
    last = [event for event in events if event.stage == "summing columns"][-1]
    assert last.done == last.total == 600


@pytest.mark.parametrize("solver", ["covariance_eigh", "randomized", "power"])
def test_a_callback_stops_the_work(small_slabs, solver, monkeypatch):
    monkeypatch.setattr("lowland.run.progress.EVENT_EVERY", 0)
    est = lowland.PCA(2, svd_solver=solver, random_state=0)
    with lowland.config(progress=lambda event: False), pytest.raises(Stopped, match="callback"):
        est.fit(np.random.default_rng(0).standard_normal((600, 20)))
    assert not hasattr(est, "components_")


def test_silent_without_a_terminal(small_slabs, capsys):
    lowland.PCA(2).fit(np.random.default_rng(0).standard_normal((600, 20)))
    assert capsys.readouterr() == ("", "")


def test_plain_lines_without_a_terminal(small_slabs, monkeypatch, capsys):
    monkeypatch.setattr("lowland.run.progress.LINE_EVERY", 0)
    with lowland.config(progress=True):
        lowland.PCA(2).fit(np.random.default_rng(0).standard_normal((600, 20)))
    assert "summing moments: " in capsys.readouterr().err


def test_progress_bars_may_be_nested(small_slabs, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("lowland.run.progress.SHOW_AFTER", 0)
    monkeypatch.setattr("lowland.run.progress.EVENT_EVERY", 0)
    with lowland.config(progress=True):
        lowland.PCA(2, svd_solver="randomized", random_state=0).fit(np.random.default_rng(0).standard_normal((600, 20)))
    from lowland.run.progress import _screen

    assert _screen.display is None


def test_a_notebook_shows_bars_and_clears_them(small_slabs, monkeypatch, capsys):
    display = pytest.importorskip("IPython.display")
    shown = []

    class Place:
        def update(self, html):
            shown.append(html.data)

    def draw(html, display_id):
        shown.append(html.data)
        return Place()

    monkeypatch.setattr(display, "display", draw)
    monkeypatch.setattr("lowland.run.progress.in_notebook", lambda: True)
    monkeypatch.setattr("lowland.run.progress.SHOW_AFTER", 0)
    monkeypatch.setattr("lowland.run.progress.EVENT_EVERY", 0)
    X = np.random.default_rng(0).standard_normal((600, 20))
    lowland.PCA(2, svd_solver="randomized", random_state=0).fit(X)  # the default setting
    assert any("<progress value=" in html for html in shown)
    assert shown[-1] == ""  # cleared at the end
    shown.clear()
    with lowland.config(progress=False):
        lowland.PCA(2, svd_solver="randomized", random_state=0).fit(X)
    assert not shown
    assert capsys.readouterr().err == ""


def compile_one():
    import numba

    import lowland.kernels.compile  # noqa: F401

    with Run().stage("adding"):
        assert numba.njit(lambda x: x + 1)(1) == 2


def test_compilation_is_reported_to_a_callback():
    events = []
    with lowland.config(progress=events.append):
        compile_one()
    assert [event.stage for event in events] == [COMPILING, "adding"]


def test_compilation_is_reported_once_in_plain_lines(capsys):
    with lowland.config(progress=True):
        compile_one()
    assert capsys.readouterr().err == f"{COMPILING}\n"


def test_compilation_is_reported_on_a_terminal_and_the_bar_is_cleared(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with lowland.config(progress=True):
        compile_one()
    from lowland.run.progress import _screen

    assert "compiling, only once" in capsys.readouterr().err
    assert _screen.display is None


def test_a_callback_that_fails_during_compilation_raises_once():
    def fails(event):
        raise KeyError("mine")

    with lowland.config(progress=fails), pytest.raises(KeyError, match="mine"):
        compile_one()
    test_compilation_is_reported_to_a_callback()


def test_ctrl_c_stops_within_a_second():
    program = """
        import numpy as np, lowland
        class Endless:
            def __iter__(self):
                chunk = np.random.default_rng(0).standard_normal((500, 50))
                for place in range(10**9):
                    if place == 10:
                        print("ready", flush=True)
                    yield chunk
        for solver in ("covariance_eigh", "randomized"):
            try:
                lowland.PCA(5, svd_solver=solver).fit(Endless())
            except KeyboardInterrupt:
                print("stopped", flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    for _ in range(2):
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n"  # in the middle of rows without end
    process.stdout.close()
    process.wait(timeout=10)


# --- tasks ---


def test_each_returns_results_in_the_order_of_the_tasks():
    def work(task):
        time.sleep(0.02 if task == 0 else 0)
        return task**2, threading.get_ident()

    for threads in (1, 4):
        with lowland.config(threads=threads):
            found = Run().each("squaring", range(30), work)
        assert [square for square, _ in found] == [i**2 for i in range(30)]
        assert (threading.get_ident() in {who for _, who in found}) == (threads == 1)
    assert Run().each("nothing", [], work) == []


def test_each_limits_blas_to_one_thread():
    import threadpoolctl

    def blas_threads(_):
        return max(
            lib["num_threads"]
            for lib in threadpoolctl.threadpool_info()
            if lib["user_api"] == "blas" and "faiss" not in lib["filepath"]
        )

    with lowland.config(threads=2):
        assert set(Run().each("counting", range(4), blas_threads)) == {1}


@pytest.mark.parametrize("threads", [1, 3])
def test_each_raises_the_first_error_and_can_be_stopped(threads):
    def work(task):
        if task == 3:
            raise DataError("no good")
        return task

    with lowland.config(threads=threads), pytest.raises(DataError, match="no good"):
        Run().each("working", range(50), work)
    with lowland.config(threads=threads, progress=lambda event: False), pytest.raises(Stopped, match="working"):
        Run().each("working", range(50), abs)


def test_rounds_keep_their_threads_and_the_caller_takes_the_first_task():
    with lowland.config(threads=3), Run().rounds() as together:
        found = [together(range(3), lambda task: (task, threading.get_ident())) for _ in range(5)]
    assert [[task for task, _ in each] for each in found] == [[0, 1, 2]] * 5
    assert {each[0][1] for each in found} == {threading.get_ident()}
    assert len({who for each in found for _, who in each}) <= 4


def test_folds_of_rows_in_memory_are_rounds_of_the_threads_that_are_kept(small_slabs):
    X, seen = np.arange(4000.0).reshape(-1, 4), set()

    def first(chunk):
        seen.add(threading.get_ident())
        return Order([chunk[0, 0]])

    with lowland.config(threads=3):
        run = Run()
        with run.rounds():
            merged = [run.fold(open_rows(X), first).parts for _ in range(5)]
            gathered = run.gather(lambda chunk: 2 * chunk, open_rows(X), 4)
    assert merged == [sorted(merged[0])] * 5
    assert threading.get_ident() in seen
    assert len(seen) <= 3
    np.testing.assert_array_equal(gathered, 2 * X)


def test_an_interrupted_round_waits_for_its_threads():
    """Otherwise a thread would still write to a map that Ctrl-C has ended."""
    begun, ended = threading.Event(), []

    def work(task):
        if task == 0:
            begun.wait(10)
            raise KeyboardInterrupt
        begun.set()
        time.sleep(0.2)
        ended.append(task)

    with lowland.config(threads=2), Run().rounds() as together:
        with pytest.raises(KeyboardInterrupt):
            together(range(2), work)
        assert ended == [1]


def test_a_serial_run_has_one_thread_and_no_progress():
    events = []
    with lowland.config(threads=4, progress=events.append):
        who = serial_run().each("working", range(3), lambda task: threading.get_ident())
    assert set(who) == {threading.get_ident()}
    assert not events


# --- work inside a step -----------------------------------------------------------------------------------------------


def _never_advance():
    while True:
        pulse()


def test_a_loop_inside_a_step_reports_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr("lowland.run.progress.EVENT_EVERY", 0.0)
    events = []

    def callback(event):
        events.append(event)
        return len(events) < 5

    with lowland.config(progress=callback):
        run = Run()
        with pytest.raises(Stopped, match="searching"), run.stage("searching", 1):
            _never_advance()
        assert {event.stage for event in events} == {"searching"}
        events.clear()
        with pytest.raises(Stopped):  # also between two stages
            _never_advance()


@pytest.mark.parametrize("threads", [2, 3])
def test_waiting_for_a_slow_task_reports_progress(threads):
    reported = threading.Event()

    def callback(event):
        reported.set()

    with lowland.config(progress=callback, threads=threads):
        done = Run().each("waiting", [0, 1, 2], lambda task: reported.wait(30))
    assert done == [True, True, True]


def test_a_pulse_without_a_callback_does_nothing():
    pulse()
    with lowland.config(progress=False), Run().stage("silent", 1):
        pulse()


# --- calls that cannot be interrupted ---------------------------------------------------------------------------------


def test_one_call_reports_progress_and_returns_its_result_or_error():
    reported = threading.Event()
    with lowland.config(progress=lambda event: reported.set()):
        assert in_one_call(lambda: reported.wait(30))
    with pytest.raises(ZeroDivisionError):
        in_one_call(lambda: 1 // 0)


def test_one_call_uses_the_settings_of_numpy_of_the_caller():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        in_one_call(lambda: np.ones(1) / np.zeros(1))


def test_a_callback_stops_one_call():
    release = threading.Event()
    with lowland.config(progress=lambda event: False), pytest.raises(Stopped):
        in_one_call(lambda: release.wait(60))
    release.set()


def test_a_factorization_that_was_stopped_ends_before_the_interpreter():
    program = """
        import numpy as np, lowland, scipy.sparse as sp
        from scipy.sparse.linalg import splu
        from lowland.run.progress import in_one_call
        T = sp.diags_array([-np.ones(299), 2.1 * np.ones(300), -np.ones(299)], offsets=[-1, 0, 1])
        A = sp.csc_array(sp.kronsum(T, T))
        try:
            with lowland.config(progress=lambda event: False):
                in_one_call(lambda: splu(A))
        except lowland.Stopped:
            print("stopped")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped\n", "")


def test_ctrl_c_says_what_must_end_first():
    program = """
        import os, signal, time, numpy as np, lowland
        from lowland.data.rows import ArrayRows
        from lowland.run import progress
        from lowland.run.run import Run
        progress.SAY_AFTER = 0.05
        lowland.config(threads=2)
        for work in (
            lambda: progress.in_one_call(lambda: slow(0)),
            lambda: Run().each("waiting", [0, 1, 2], slow),
            lambda: list(Run().map_rows(slow, ArrayRows(np.ones((9, 2)), most_rows=3))),
        ):
            begun = []
            def slow(task):
                begun.append(task)
                if len(begun) == 1:
                    time.sleep(0.2)
                    os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.8)
                return task
            try:
                work()
            except KeyboardInterrupt:
                print("stopped", len(begun) < 3)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "stopped True\n" * 3, done.stderr
    for words in ("after the factorization ends", "after the current tasks end", "after the current chunks end"):
        assert words in done.stderr


def test_a_call_of_lapack_is_announced(monkeypatch, capsys):
    monkeypatch.setattr("lowland.math.spectra.leading._LARGE", 10)
    X = np.random.default_rng(0).standard_normal((60, 20))
    events = []
    with lowland.config(progress=events.append):
        lowland.PCA(2, svd_solver="covariance_eigh").fit(X)
    assert any("LAPACK" in event.stage for event in events)
    with lowland.config(progress=True):
        lowland.PCA(2, svd_solver="covariance_eigh").fit(X)
    assert "cannot be interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("group", "files", "limits"),
    [
        ("0::/", {"memory.max": "1000"}, [1000]),
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "2000", "memory.max": "3000"}, [2000, 3000]),
        ("4:memory:/docker/x\n0::/", {"memory/memory.limit_in_bytes": "4000"}, [4000]),
        ("4:cpu,memory:/x", {"memory/x/memory.limit_in_bytes": "5000"}, [5000]),
        ("9:name=systemd:/", {}, []),
    ],
)
def test_the_memory_of_a_container(tmp_path, group, files, limits):
    (tmp_path / "own").write_text(group + "\n")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert list(memory._limits_of_container(tmp_path / "own", tmp_path)) == limits
    assert list(memory._limits_of_container(tmp_path / "none", tmp_path)) == []


def test_the_default_budget_respects_the_limit_of_the_shell():
    code = "import lowland.run.settings as s; print(s.settings().budget)"
    limited = f"ulimit -v 4000000; exec {sys.executable} -c '{code}'"
    found = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=True).stdout
    assert int(found) <= 4_000_000 * 1024 // 2


@pytest.mark.parametrize("threads", [1, 3])
def test_fits_run_at_the_same_time_on_a_share_of_the_threads_and_in_order(threads: int) -> None:
    together = threading.Barrier(threads)

    def work(task: int) -> tuple[int, int]:
        together.wait(timeout=10)
        return 2 * task, settings().thread_count

    with lowland.config(threads=threads):
        found = Run().fits("fitting", range(6), work)
        assert settings().thread_count == threads
    assert found == [(2 * task, 1) for task in range(6)]


def test_fits_that_need_more_than_their_share_of_the_memory_run_one_after_another() -> None:
    running, most = [], []

    def work(task: int) -> int:
        running.append(task)
        most.append(len(running))
        try:
            require_memory(600, "A fit")
            return 2 * task
        finally:
            running.remove(task)

    with lowland.config(threads=2, memory=1000):
        assert Run().fits("fitting", range(4), work) == [0, 2, 4, 6]
        assert settings().budget == 1000
    assert most[-4:] == [1] * 4
    with lowland.config(threads=2, memory=500), pytest.raises(MemoryBudgetError):
        Run().fits("fitting", range(4), work)


def test_an_interrupt_stops_fits_that_run() -> None:
    started, ended = [], []

    def press(event: lowland.Progress) -> None:
        if len(started) == 2:
            raise KeyboardInterrupt

    def work(task: int) -> None:
        started.append(task)
        with Run().stage("descending") as stage:
            try:
                while True:  # until a step is refused
                    stage.advance()
            finally:
                ended.append(task)

    with lowland.config(threads=2, progress=press), pytest.raises(KeyboardInterrupt):
        Run().fits("fitting", range(6), work)
    assert sorted(ended) == sorted(started) == [0, 1]


# --- arrays mapped to files -------------------------------------------------------------------------------------------


def test_a_large_array_is_mapped_to_a_file_and_keeps_its_values_when_released(rng):
    X = rng.standard_normal((200, 50))
    with lowland.config(memory="160kB"):
        small, large = Run().scratch((10, 10), np.float32), Run().scratch(X.shape, np.float64)
    assert small.base is None
    assert isinstance(large.base, np.memmap)
    assert type(large) is np.ndarray
    large[:] = X
    release(large)
    np.testing.assert_array_equal(large, X)
    release(X)  # in memory: nothing happens


def test_changes_of_a_private_map_survive_a_release(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((100, 100)))
    X = np.load(tmp_path / "x.npy", mmap_mode="c")
    X[:] = 3
    release(np.asarray(X))
    assert (X == 3).all()
