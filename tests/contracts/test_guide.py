"""The example of the guide for contributors passes every contract as it stands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import lowland

ROOT = Path(__file__).parents[2]


def test_the_method_of_the_guide_passes_the_contracts(tmp_path):
    compiled = shutil.ignore_patterns("__pycache__", "*.js", "*.css")
    shutil.copytree(Path(lowland.__file__).parent, tmp_path / "lowland", ignore=compiled)
    page = (ROOT / "docs" / "develop" / "add_a_method.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    (tmp_path / "lowland/methods/random_projection.py").write_text(text, encoding="utf-8")
    program = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [*program, "tests/contracts", "-k", "RandomProjection and not docs_page"],  # the page is the next step
        cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 50
