"""Build the wheel and the source distribution, check them, and try each in a new environment for every Python found.

With a version, check a release: ``python scripts/build.py 0.1.0`` requires first that version, changelog, citation and
working tree agree, and at the end names the commands that remain.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
TRY = """
import tempfile, pathlib, lowland
X, y = lowland.data.load_dataset("wine").X, lowland.data.load_dataset("wine").y
pca = lowland.PCA(2, scale=True).fit(X)
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "wine.lowland"
    lowland.save(pca, path)
    assert (lowland.load(path).transform(X) == pca.transform(X)).all()
assert lowland.UMAP(n_epochs=20, random_state=0).fit_transform(X).shape == (178, 2)
print("lowland", lowland.__version__, "works")
"""


def call(*words: str | Path, folder: Path = ROOT) -> str:
    """Run a command, which must succeed, and return what it printed."""
    return subprocess.run(list(map(str, words)), cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout


def require(fact: object, text: str) -> None:
    """End with a message unless the fact holds."""
    if not fact:
        sys.exit(f"Not ready to release: {text}")


def check_release(version: str) -> None:
    """Check that everything names this version."""
    named = re.search(r'__version__ = "(.+)"', (ROOT / "src/lowland/__init__.py").read_text(encoding="utf-8"))
    require(named and named[1] == version, f"src/lowland/__init__.py does not say {version}.")
    heading = f"## [{version}] {date.today():%Y-%m-%d}"
    require(heading in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), f'CHANGELOG.md has no heading "{heading}".')
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    require(f"\nversion: {version}\n" in cited, f"CITATION.cff does not say {version}.")
    require(not call("git", "status", "--porcelain"), "the working tree has changes that are not committed.")
    require(f"v{version}" not in call("git", "tag").split(), f"the tag v{version} already exists.")


def build() -> list[Path]:
    """Build both distributions from an empty folder and check their metadata."""
    shutil.rmtree(DIST, ignore_errors=True)
    call(sys.executable, "-m", "build", "--outdir", DIST)
    made = sorted(DIST.iterdir())
    call(sys.executable, "-m", "twine", "check", "--strict", *made)
    return made


def is_here(python: str) -> bool:
    """Whether this Python can be run."""
    return (
        shutil.which(python) is not None and subprocess.run([python, "--version"], capture_output=True).returncode == 0
    )


def try_out(distribution: Path, python: str) -> None:
    """Install a distribution in a new environment and use it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        call(python, "-m", "venv", folder / "env")
        call(folder / "env/bin/pip", "install", "--quiet", distribution, folder=folder)
        print(
            f"{distribution.name}, {python}:",
            call(folder / "env/bin/python", "-c", TRY, folder=folder).strip(),
            flush=True,
        )
        call(folder / "env/bin/lowland", "sample", "iris", "--to", "iris.csv", folder=folder)
        call(folder / "env/bin/lowland", "fit", "pca", "iris.csv", "--to", "z.csv", folder=folder)


def main() -> None:
    """Build and try; check a release first if a version is named."""
    versions = sys.argv[1:]
    for version in versions:
        check_release(version)
    made = build()
    found = [python for python in PYTHONS if is_here(python)]
    for distribution in made:
        for python in found or [sys.executable]:
            try_out(distribution, python)
    for version in versions:
        print(f"Ready. Publish with: git tag v{version} && git push origin v{version} && twine upload dist/*")


if __name__ == "__main__":
    main()
