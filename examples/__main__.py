"""Run the gallery: every script draws a figure and checks the result it shows.

``make gallery`` runs all scripts, ``python examples randu ellipse`` runs two.

Figures are written to gallery/, with a page index.html that shows them all. ``--docs`` writes docs/gallery.md instead,
with the figures that need no additional data.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import html
import io
import os
import runpy
import shutil
import sys
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import gallery

HERE = Path(__file__).resolve().parent
CHAPTERS = {
    "Principal components and projections": (
        "ellipse",
        "variance_or_error",
        "variance_along_directions",
        "line_then_plane",
        "standardization",
        "whitening_in_three_panels",
        "exercise_matrices",
        "eigen_digits",
        "eigenfaces",
        "randu",
    ),
    "Classes": (
        "scatter_of_classes",
        "fisher_against_pca",
        "iris_six_ways",
    ),
    "Independent components": (
        "cocktail_party",
        "cocktail_recordings",
        "foetal_ecg",
    ),
    "Kernels and distances": (
        "concentric_circles",
        "airports",
    ),
    "Manifold learning": (
        "angles_on_a_circle",
        "geodesic_distances",
        "swiss_roll",
        "s_curve",
        "sphere_patch",
        "iris_lle_collapse",
        "iris_isomap",
        "faces_isomap",
        "faces_lle",
        "moved_patch",
    ),
    "Neighbor embeddings": (
        "mnist_four_maps",
        "attraction_and_repulsion",
        "tsne_perplexity",
        "tsne_global_term",
        "density_of_clusters",
    ),
    "Autoencoders, self-organizing maps and text": (
        "linear_autoencoder_against_pca",
        "mnist_three_ways",
        "clustering_and_map",
        "text_collection",
    ),
    "Number of components": ("how_many_components",),
    "Dimensionality reduction before classification": ("textbook_question",),
}


@dataclass(frozen=True)
class Outcome:
    """Outcome of a script."""

    script: str
    status: str  # "drawn", "skipped" or "failed"
    seconds: float
    words: str  # the result it shows, the reason it was skipped, or the error


def main() -> int:
    """Run the named scripts, or all. Return the number of failures."""
    names = [name for chapter in CHAPTERS.values() for name in chapter]
    parser = argparse.ArgumentParser(prog="python examples", description=__doc__.splitlines()[0])
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help=f"one or more of: {', '.join(names)}")
    parser.add_argument("--docs", action="store_true", help="write docs/gallery.md, without additional data")
    arguments = parser.parse_args()
    if unknown := set(arguments.scripts) - set(names):
        parser.error(f"unknown script: {', '.join(sorted(unknown))}. Choose from: {', '.join(names)}.")
    if arguments.docs:
        os.environ.pop("LOWLAND_DATA", None)
    outcomes = [run(name) for name in arguments.scripts or names]
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    print(f"\n{len(outcomes)} scripts in {sum(outcome.seconds for outcome in outcomes):.0f} s: {_counts(outcomes)}.")
    if arguments.docs and not failed:
        write_docs(HERE.parent / "docs", outcomes)
    elif not arguments.scripts:
        print(f"All figures on one page: {write_page(outcomes)}.")
    return len(failed)


def run(name: str) -> Outcome:
    """Run one script as a main program."""
    print(f"\n{name}: {about(name)}", flush=True)
    begun, status = time.perf_counter(), "drawn"
    try:
        runpy.run_path(str(HERE / f"{name}.py"), run_name="__main__")
        words = (gallery.FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip()
    except gallery.Skipped as reason:
        status, words = "skipped", str(reason)
        print(words)
    except Exception as error:
        status, words = "failed", f"{type(error).__name__}: {error}"
        traceback.print_exc(file=sys.stdout)
    return Outcome(name, status, time.perf_counter() - begun, words)


def about(name: str) -> str:
    """Return the first sentence of the script's docstring: its title."""
    text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))) or name
    return text.partition("\n\n")[0].replace("\n", " ").rstrip(".")


def write_page(outcomes: Iterable[Outcome]) -> Path:
    """Write gallery/index.html: every figure with its title and its result."""
    found = {outcome.script: outcome for outcome in outcomes}
    page = io.StringIO()
    with contextlib.redirect_stdout(page):
        print('<!doctype html><html lang="en"><meta charset="utf-8"><title>Lowland gallery</title>')
        print('<meta name="viewport" content="width=device-width">')
        print("<style>body{font:16px/1.5 system-ui,sans-serif;color:#3a3f47}")
        print("body{max-width:1100px;margin:2rem auto;padding:0 1rem}img{max-width:100%}figure{margin:2rem 0 3rem}")
        print("body{overflow-wrap:anywhere}code{color:#717581}.failed{color:#bd1f01}</style>")
        print("<h1>Lowland gallery</h1>")
        for chapter, names in CHAPTERS.items():
            print(f"<h2>{html.escape(chapter)}</h2>")
            for name in names:
                outcome, words = found[name], html.escape(about(name))
                print(f"<figure id='{name}'><h3>{words}</h3>")
                if outcome.status == "drawn":
                    print(f"<img src='{name}.png' alt='{words}' loading='lazy'>")
                print(f"<figcaption class='{outcome.status}'>{html.escape(outcome.words)} ", end="")
                print(f"<code>examples/{name}.py, {outcome.seconds:.1f} s</code></figcaption></figure>")
    path = gallery.FOLDER / "index.html"
    path.parent.mkdir(exist_ok=True)
    path.write_text(page.getvalue(), encoding="utf-8")
    return path


def write_docs(docs: Path, outcomes: Iterable[Outcome]) -> None:
    """Write docs/gallery.md and copy the figures to docs/gallery."""
    found = {outcome.script: outcome for outcome in outcomes}
    lines = [
        "# Gallery",
        "",
        "Short scripts, each with its figure and the result that it checks by assertions. `make gallery` runs all of",
        "them and writes one page, `gallery/index.html`. `python examples/randu.py` runs one. Scripts without a figure",
        "here read data that Lowland does not include from the folder `LOWLAND_DATA` ([data](data.md#data-sets)).",
    ]
    (docs / "gallery").mkdir(exist_ok=True)
    for chapter, names in CHAPTERS.items():
        lines += ["", f"## {chapter}"]
        for name in names:
            lines += ["", f"### [{about(name)}](../examples/{name}.py)"]
            if found[name].status == "drawn":
                shutil.copy(gallery.FOLDER / f"{name}.png", docs / "gallery" / f"{name}.png")
                lines += [
                    "",
                    f"![Figure of {name}.py](gallery/{name}.png)",
                    "",
                    found[name].words,
                ]  # its title is above
    (docs / "gallery.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _counts(outcomes: list[Outcome]) -> str:
    return ", ".join(
        f"{sum(outcome.status == status for outcome in outcomes)} {status}" for status in ("drawn", "skipped", "failed")
    )


if __name__ == "__main__":
    sys.exit(min(main(), 1))
