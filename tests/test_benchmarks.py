"""The page of benchmark results: new results replace old ones, the others are kept."""

from benchmarks import report
from benchmarks.lines import Line
from benchmarks.registry import all_jobs


def test_results_of_other_jobs_are_kept(tmp_path, monkeypatch):
    page, jobs = tmp_path / "benchmarks.md", all_jobs()
    monkeypatch.setattr(report, "PAGE", page)

    def measure(name, seconds, processor):
        outcome = report.Outcome(jobs[name].title, "2026-01-01", (Line("alone | all", seconds),))
        monkeypatch.setattr(report, "last", lambda: ({name: outcome}, {"processor": processor, "cores": "2"}))
        report.write_page(jobs)

    measure("tall", 1.0, "A")
    measure("iris", 2.0, "A")
    measure("isomap_roll", 3.0, "B")
    measure("iris", 4.0, "A")
    text = page.read_text(encoding="utf-8")
    assert text.count("\n## ") == 2
    assert [line for line in text.splitlines() if line.startswith("| alone")] == [
        f"| alone &#124; all | {seconds} s | – | – | – | – |  |" for seconds in (1, 4, 3)
    ]
    assert f"{jobs['isomap_roll'].title} †" in text
    assert "- †: measured on another machine; B, 2 cores" in text
    assert f"{jobs['tall'].title} |" in text
