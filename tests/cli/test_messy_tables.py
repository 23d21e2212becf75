"""Tables as people have them: from the file to coordinates in one command, or one message that names all problems."""

import json
import runpy
from pathlib import Path

import pytest

from lowland.data.open import open_rows

TABLES = runpy.run_path(str(Path(__file__).parents[1] / "data/messy/tables.py"))["TABLES"]


@pytest.mark.parametrize("messy", TABLES, ids=lambda messy: messy.name)
def test_a_messy_table(lowland, messy):
    messy.write(Path(messy.name))
    words = ["fit", "pca", messy.name, "-k", 2, "--to", "z.csv", "--json", *messy.words]
    result = lowland(*words)
    if messy.refused:
        assert result.exit_code == 1
        message = result.stdout if result.stdout else result.stderr
        message = json.loads(message)["error"]["message"] if message.startswith("{") else message
        assert "\n" not in message.strip()
        for term in messy.refused:
            assert term in message
        result = lowland(*words, *messy.remedy)
    assert result.exit_code == 0, result.stdout + result.stderr
    assert json.loads(result.stdout)["data"]["columns"] == messy.columns
    notes = [line for line in result.stderr.splitlines() if line.startswith("lowland: note:")]
    for term in messy.noted:
        assert term in notes[0]
    assert open_rows("z.csv", columns=["pca0", "pca1"]).to_array().shape[1] == 2


def test_standard_input(process):
    text = "a;b;c\n" + "".join(f"{i},5;{i * i % 7};{i % 3}\n" for i in range(20))
    done = process("fit", "pca", "-", "-k", 2, "--to", "z.csv", "--json", input=text)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["columns"] == 3
    assert "decimal comma" in done.stderr


def test_from_standard_input_to_standard_output(process, table, lowland):
    done = process("fit", "pca", "-", "-k", 2, "--to", "-", input=table.read_text())
    assert done.returncode == 0, done.stderr
    assert "Fitted PCA" in done.stderr
    assert lowland("fit", "pca", table, "-k", 2, "--to", "z.csv").exit_code == 0
    assert done.stdout == Path("z.csv").read_text()


@pytest.mark.parametrize(
    ("words", "term"),
    [(("--separator", "ab"), "--separator"), (("--decimal", "x"), "--decimal"),
     (("--encoding", "klingon"), "--encoding"), (("--sheet", "a"), "sheet"), (("--array", "a"), "array")],
)  # fmt: skip
def test_wrong_options_of_reading(lowland, table, words, term):
    result = lowland("fit", "pca", table, *words)
    assert result.exit_code == 1
    assert term in result.stderr
