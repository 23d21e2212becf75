"""Tables as people have them: from the file to the report in one command, or one message that names all problems."""

import json
import runpy
import shlex
from pathlib import Path

import pytest

TABLES = runpy.run_path(str(Path(__file__).parents[1] / "data/messy/tables.py"))["TABLES"]


@pytest.mark.parametrize("messy", TABLES, ids=lambda messy: messy.name)
def test_a_messy_table(lowland, messy):
    messy.write(Path(messy.name))
    words = ["compare", messy.name, "--methods", "pca", "--no-cache", "--to", "report.html", "--json", *messy.words]
    result = lowland(*words)
    if messy.refused:
        assert result.exit_code == 1, result.stdout
        message = json.loads(result.stdout)["error"]["message"]
        assert "\n" not in message.strip()
        for term in messy.refused:
            assert term in message
        command = shlex.split(message[message.index("lowland compare") :])[1:] if not messy.remedy else None
        result = lowland(*(command or [*words, *messy.remedy]))
    assert result.exit_code == 0, result.stdout + result.stderr
    facts = json.loads(result.stdout)
    assert facts["columns"] == messy.columns
    assert [trial["status"] for trial in facts["trials"]] == ["done"], facts["trials"]
    notes = [line for line in result.stderr.splitlines() if line.startswith("lowland: note:")]
    for term in messy.noted:
        assert term in notes[0]
    said = [f"{name}: {sentence}" for name, sentence in (facts["prepared"] or {}).items()]
    assert bool(said) == bool(messy.prepared)
    for term in messy.prepared:
        assert any(term in sentence for sentence in said), said
    assert "<html" in Path("report.html").read_text()


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
