"""Generate the list of public names, the tables of methods, and the pictures.

``make docs`` generates everything, ``make texts`` everything but the pictures, and ``python docs/generate.py umap`` the
texts and one picture. The output is deterministic. Tests check that the texts are up to date. They come from the class
of each method and from the table "In short" of its page.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lowland
from lowland.methods.base.plan import steps_of
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import Entry, entries, load_method
from lowland.run.cost import REFERENCE, TOGETHER, CostStep, Size, peak_bytes
from lowland.run.memory import show_bytes
from lowland.run.progress import in_words

DOCS = Path(__file__).parent
METHODS = DOCS / "methods" / "index.md"
API = DOCS / "api" / "index.md"
WHICH = DOCS / "which-method.md"
SCALE = DOCS / "scale.md"
GPU = DOCS / "how-to" / "gpu.md"
WIDTH, MOST_BYTES = 1650, 250_000  # of a picture: pixels, and its size in the repository
PURPOSES = (  # the order of the tables of methods; each method names its purpose in the table "In short" of its page
    "Linear axes",
    "Maps that keep neighbors together",
    "Maps that keep distances",
    "Curved manifolds",
    "Counts and categories",
    "Known classes",
    "Learned codes",
    "Choose or merge columns",
)
MODULES = ("data", "quality", "plots", "study", "rules", "algorithms", "errors")
SHORT = ("Purpose", "Preserves", "Linear", "Time", "Memory", "Measured")  # rows of the table "In short" on such a page


def main(*, draw_pictures: bool = True, only: Collection[str] = ()) -> None:
    """Generate everything; of the pictures only those named, if any are."""
    METHODS.write_text(with_methods(METHODS.read_text(encoding="utf-8")), encoding="utf-8")
    API.write_text(names_of_the_site(), encoding="utf-8")
    SCALE.write_text(with_scale(SCALE.read_text(encoding="utf-8")), encoding="utf-8")
    WHICH.write_text(with_facts(WHICH.read_text(encoding="utf-8")), encoding="utf-8")
    for name, draw in pictures().items() if draw_pictures else ():
        if only and name not in only:
            continue
        path = DOCS / "pictures" / f"{name}.png"
        save_picture(draw(), path)
        size = path.stat().st_size
        print(f"{path.relative_to(DOCS.parent)}: {size / 1000:.0f} kB")
        if size > MOST_BYTES:
            sys.exit(f"{path} is larger than {MOST_BYTES} bytes. Draw fewer points, or lower the resolution.")


# --- pictures ---------------------------------------------------------------------------------------------------------


def pictures() -> dict[str, Callable[[], Any]]:
    """Return the function that draws each picture: from pictures.py, or else from the page that shows it."""
    sys.path.insert(0, str(DOCS))
    module = importlib.import_module("pictures")
    drawn = {n: f for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == "pictures"}
    found = {name: draw for name, draw in drawn.items() if not name.startswith("_")}
    for entry in entries().values():
        page = page_of(entry)
        for name in re.findall(r"\]\(\.\./pictures/(\w+)\.png\)", page.read_text(encoding="utf-8")):
            found.setdefault(name, partial(drawn_by_page, page))
    return found


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure as a PNG of ``WIDTH`` pixels in 256 colors, which halves its size."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=WIDTH / figure.get_figwidth(), facecolor="white", metadata={"Software": None})
    whole = Image.open(drawn).convert("RGB")
    image = whole.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)  # keeps rare colors
    image.save(path, optimize=True)


def drawn_by_page(page: Path) -> Any:
    """Run the Python snippets of a page in an empty folder and return the variable ``figure``."""
    snippets = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    space: dict[str, Any] = {"__name__": "snippet"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(compile("\n".join(snippets), str(page), "exec"), space)
        finally:
            os.chdir(before)
    if "figure" not in space:
        raise ValueError(f"{page.name} shows a picture that no code draws. Draw it in a snippet: figure = plots....")
    return space["figure"]


# --- texts ------------------------------------------------------------------------------------------------------------


def with_methods(text: str) -> str:
    """Return the page that lists the methods with up-to-date tables."""
    return _between(text, METHODS.name, "methods", methods_tables())


def with_facts(text: str) -> str:
    """Return the page "Which method when" with up-to-date tables of abilities and costs."""
    for mark, table in (("facts", facts_table), ("costs", costs_table)):
        text = _between(text, WHICH.name, mark, table())
    return text


def with_scale(text: str) -> str:
    """Return the page "Scale" with an up-to-date table of methods."""
    return _between(text, SCALE.name, "scale", scale_table())


def scale_table() -> str:
    """Return one line per method: files, Dask, GPU, cores; the time and memory of its plan, and its limits."""
    lines = [
        "| Method | Larger than memory | Dask: fit | GPU | On one core | Time | Memory | Points in 8 GB | Limits |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    rows = re.findall(r"^\| ((?:partly )?on the [GC]PU)[^|]*\| ([^|]*) \|$", GPU.read_text(encoding="utf-8"), re.M)
    where = {name: words for words, names in rows for name in names.split(", ")}
    for entry in entries().values():
        cls = load_method(entry.name)
        study = traits_of(cls).study
        near = {} if study.n_neighbors is None else {"n_neighbors": study.n_neighbors + study.counts_itself}
        wide = {"n_components": 2} if traits_of(cls).width_parameter == "n_components" else {}
        est = cls(**{**wide, **study.parameters, **near})

        def planned(n: int, est: Any = est) -> tuple[float, float]:
            steps = steps_of(est, Size(n, 50, classes=3, budget=2**40))
            return sum(REFERENCE.seconds(step) for step in steps), peak_bytes(steps)

        steps = steps_of(est, Size(100_000, 50, classes=3, budget=2**40))
        alone = max(steps, key=_seconds_alone)
        share = sum(map(_seconds_alone, steps)) / sum(REFERENCE.seconds(step) for step in steps)
        seconds, used = planned(100_000)
        most = next((n for n in _round_numbers() if planned(n)[1] > 8e9), None)
        fit = "by blocks" if entry.streams else "with landmarks" if entry.streams_with_landmarks else "gathers"
        own = traits_of(cls)
        whole = f"all rows in memory {own.all_rows[1]}" if own.all_rows else "" if own.streams else "all rows in memory"
        gpu = where.get(entry.name, "not measured" if own.reads == "numbers" else "no")
        can = (
            _large(entry), fit, gpu, alone.name if share > 0.5 else "", in_words(seconds), show_bytes(used),
            "any" if entry.streams or most is None else f"{most:,}", whole,
        )  # fmt: skip
        lines.append(f"| [{entry.name}](methods/{page_of(entry).name}) | {' | '.join(can)} |")
    return "\n".join(lines)


def _seconds_alone(step: CostStep) -> float:
    """The seconds of a step in which one core works, whatever their number."""
    alone = {kind: amount for kind, amount in step.work.items() if kind not in TOGETHER}
    return REFERENCE.seconds(CostStep(step.name, alone))


def _round_numbers() -> Iterator[int]:
    """Yield 1,000, 1,200, 1,500, 2,000 and so on, up to 1,000,000,000."""
    return (int(each * 10**power) for power in range(3, 9) for each in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8))


def page_of(entry: Entry) -> Path:
    """Return the page of a method."""
    return DOCS / "methods" / f"{entry.module.rpartition('.')[2]}.md"


def in_short(entry: Entry) -> dict[str, str]:
    """Return the table "In short" of a method's page."""
    page = page_of(entry)
    section = page.read_text(encoding="utf-8").partition("\n## In short\n")[2].partition("\n## ")[0]
    table = dict(re.findall(r"^\| (\w+) \| (.*) \|$", section, re.M))
    missing = [name for name in SHORT if name not in table]
    if missing:
        raise ValueError(f'The table "In short" of {page.name} lacks {", ".join(missing)}. See the page of PCA.')
    return table


def _between(text: str, page: str, mark: str, table: str) -> str:
    """Replace the text between two marks of a page by a table."""
    begin, end = f"<!-- {mark}: written by make docs -->", f"<!-- {mark}: end -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} lacks the marks {begin} and {end}. Put them around the table.")
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"


def methods_tables() -> str:
    """Return one table per purpose, with a line per method: page, name on the command line, summary."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries().values():
        groups.setdefault(in_short(entry)["Purpose"], []).append(entry)
    unknown = set(groups) - set(PURPOSES)
    if unknown:
        raise ValueError(f"Unknown purpose: {', '.join(sorted(unknown))}. Choose from: {', '.join(PURPOSES)}.")
    parts = []
    for purpose in PURPOSES:
        parts += [f"## {purpose}", "| Method | Command line | Summary |\n|---|---|---|"]
        for entry in groups[purpose]:
            parts[-1] += f"\n| [{entry.name}]({page_of(entry).name}) | `{entry.verb}` | {entry.summary} |"
    return "\n\n".join(parts)


def names_of_the_site() -> str:
    """Return the start page of the reference on the site: every public name, with a page each."""
    parts = [
        "# Reference",
        "On the site, every name has a page with its parameters, attributes and examples. Elsewhere, "
        "`help(lowland.PCA)` and `lowland fit pca --help` show them.",
        "## Methods",
        _pages("lowland", list(entries())),
        "## Functions and classes of `lowland`",
        _pages("lowland", [n for n in dir(lowland) if n not in entries() and n not in MODULES and n != "__version__"]),
    ]
    for public in MODULES:
        module = importlib.import_module(f"lowland.{public}")
        parts += [f"## `lowland.{public}`", _first_line(module), _pages(f"lowland.{public}", _public_names(module))]
    return "\n\n".join(parts) + "\n"


def _pages(module: str, names: list[str]) -> str:
    """Return the directive that lists names of a module and writes a page for each."""
    listed = "\n".join(f"   {name}" for name in names)
    return f"```{{eval-rst}}\n.. currentmodule:: {module}\n\n.. autosummary::\n   :toctree: generated\n\n{listed}\n```"


def _public_names(module: Any) -> list[str]:
    names = getattr(module, "__all__", None) or [
        n for n, v in vars(module).items() if inspect.isclass(v) and v.__module__ == module.__name__
    ]
    return sorted(names)


def facts_table() -> str:
    """Return one line per method: labels, out-of-sample extension, inverse transform, large files, sparse data."""
    lines = [
        "| Method | Labels | New rows | Inverse transform | Larger than memory | Sparse data |",
        "|---|---|---|---|---|---|",
    ]
    for entry in entries().values():
        cls = load_method(entry.name)
        labels = "required" if entry.needs_y else "optional" if traits_of(cls).reads_y else "no"
        back = "on request" if hasattr(cls, "fit_inverse_transform") else _yes(hasattr(cls, "inverse_transform"))
        can = (labels, _yes(hasattr(cls, "transform")), back, _large(entry), _yes(entry.takes_sparse))
        lines.append(f"| [{entry.name}](methods/{page_of(entry).name}) | {' | '.join(can)} |")
    return "\n".join(lines)


def costs_table() -> str:
    """Return one line per method: what it preserves, its cost, and the largest data set it was measured on."""
    lines = [
        "| Method | Preserves | Linear? | Time | Memory | Largest data set measured |",
        "|---|---|---|---|---|---|",
    ]
    for entry in entries().values():
        short = in_short(entry)
        cells = [short[name] for name in ("Preserves", "Linear", "Time", "Memory", "Measured")]
        lines.append(f"| {entry.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _first_line(value: Any) -> str:
    return _cell((inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " "))


def _cell(text: str) -> str:
    """A text in a Markdown table."""
    return text.replace("|", "\\|").replace("``", "`")


def _large(entry: Any) -> str:
    """Whether a method accepts files larger than memory."""
    return "with landmarks" if entry.streams_with_landmarks else _yes(entry.streams)


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


if __name__ == "__main__":
    main(draw_pictures="--texts" not in sys.argv, only=[name for name in sys.argv[1:] if name != "--texts"])
