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
    columns = messy.columns
    if columns > 5_000:  # a study of 100,000 columns takes half a minute
        columns, lines = 5_000, Path(messy.name).read_text().splitlines()
        Path(messy.name).write_text("\n".join(",".join(line.split(",")[:5_000]) for line in lines) + "\n")
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
    assert facts["encoded"] == columns
    assert [trial["status"] for trial in facts["trials"]] == ["done"], facts["trials"]
    notes = [line for line in result.stderr.splitlines() if line.startswith("lowland: note:")]
    for term in messy.noted:
        assert term in notes[0]
    said = [f"{name}: {sentence}" for name, sentence in (facts["prepared"] or {}).items()]
    assert bool(said) or not messy.prepared
    for term in messy.prepared:
        assert any(term in sentence for sentence in said), said
    assert "<html" in Path("report.html").read_text()


def test_from_standard_input_to_standard_output(process, lowland):
    text = "a;b;c\n" + "".join(f"{i},5;{i * i % 7};{i % 3}\n" for i in range(20))
    done = process("fit", "pca", "-", "-k", 2, "--to", "-", input=text)
    assert done.returncode == 0, done.stderr
    assert "Fitted PCA" in done.stderr
    assert "decimal comma" in done.stderr
    Path("x.csv").write_text(text)
    assert lowland("fit", "pca", "x.csv", "-k", 2, "--to", "z.csv").exit_code == 0
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


def test_categories_that_are_missing_have_a_command_that_works(lowland, tmp_path):
    rows = [f"{'' if i == 4 else 'xyz'[i % 3]},{'uv'[i % 2]}" for i in range(30)]
    Path("words.csv").write_text("a,b\n" + "\n".join(rows))
    refused = lowland("fit", "mca", "words.csv", "--to", "z.csv", "--impute", "none")
    assert (refused.exit_code, "--missing-values category" in refused.stderr) == (1, True)
    command = refused.stderr[refused.stderr.index("lowland fit mca") :]
    assert lowland(*shlex.split(command)[1:], "--model", "m.lowland").exit_code == 0
    later = lowland("transform", "m.lowland", "words.csv", "--to", "new.csv")
    assert "--missing-values category" in later.stderr


def test_arrays_named_like_arguments_are_named(lowland):
    """In other messages, X and y are arguments of Python."""
    import h5py
    import numpy as np

    np.savez("x.npz", train=np.eye(4), X_test=np.eye(4), y=np.arange(4))
    assert "'train', 'X_test', 'y'" in lowland("fit", "pca", "x.npz").stderr
    with h5py.File("x.h5ad", "w") as file:
        file["X"] = np.eye(4)
        file["obs/index"], file["var/index"] = list("abcd"), list("efgh")
    assert "contains only 'X'" in lowland("fit", "pca", "x.h5ad", "--array", "raw").stderr


def test_lists_and_infinity_have_a_command_that_works(lowland):
    lines = [{"a": i * i % 7, "b": i % 5, "c": [i], "d": {"e": i}, "f": "xy"[i % 2]} for i in range(30)]
    Path("x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    rows = [f"{'inf' if i == 4 else i * i % 7},{i % 5},{'' if i == 3 else i % 3}" for i in range(30)]
    Path("y.csv").write_text("a,b,c\n" + "\n".join(rows))
    for file, words in (
        ("x.jsonl", ("'c' contains lists", "'d' contains lists, records", "--drop c,d")),
        ("y.csv", ("infinity", "--drop a")),
    ):
        refused = lowland("fit", "pca", file, "--to", f"{file}.csv")
        assert refused.exit_code == 1
        assert all(word in refused.stderr for word in words), refused.stderr
        command = refused.stderr[refused.stderr.index("lowland fit pca") :]
        assert lowland(*shlex.split(command)[1:]).exit_code == 0


def test_all_problems_of_a_table_are_in_one_message(lowland):
    """Texts among numbers, infinity, lists and missing values: none is left for a second message."""
    import pandas as pd

    n = range(30)
    columns = {
        "a": ["n.d." if i == 7 else str(i % 5) for i in n], "b": [None if i % 10 == 0 else i * i % 7 for i in n],
        "c": [float("-inf") if i == 3 else i % 3 + 0.5 for i in n], "f": ["xy"[i % 2] for i in n],
        "d": ["<0.01" if i == 5 else str(i / 7) for i in n],
    }  # fmt: skip
    pd.DataFrame(columns).to_csv("x.csv", index=False)
    pd.DataFrame({**columns, "e": [[i] for i in n]}).to_parquet("x.parquet")
    said = ("'n.d.' (row 8)", "'<0.01' (row 6)", "'b' (3)", "infinity (1 value, first in row 4)")
    for file, more, left in (("x.csv", "--missing", "abd"), ("x.parquet", "'e' contains lists", "b")):
        refused = lowland("fit", "pca", file, "--drop", "f", "--to", "z.csv", "--force")
        assert refused.exit_code == 1
        for word in (*said, more):
            assert word in refused.stderr
        command = refused.stderr[refused.stderr.index("lowland fit pca") :]
        done = lowland(*shlex.split(command)[1:])
        assert done.exit_code == 0, done.stderr
        assert len(Path("z.csv").read_text().splitlines()[0].split(",")) == len(left)


def test_looking_at_infinity(lowland):
    Path("x.csv").write_text(
        "a,b,c\n" + "".join(f"{'inf' if i == 3 else i / 7},{i % 5},{i * i % 7}\n" for i in range(30))
    )
    look = lowland("look", "x.csv").stdout
    assert "'a': infinity" in look
    assert lowland(*shlex.split(look[look.index("lowland fit pca") :])[1:]).exit_code == 0


def test_ids_stay_as_they_are_written(lowland):
    big = 12345678901234567890
    Path("x.csv").write_text("code,big,a,b\n" + "".join(f"{i:05},{big + i},{i * i % 7},{i % 5}\n" for i in range(30)))
    assert lowland("fit", "pca", "x.csv", "--id", "code", "--keep", "big", "--to", "z.csv").exit_code == 0
    last = Path("z.csv").read_text().splitlines()[-1]
    assert (last.split(",")[0], last.split(",")[-1]) == ('"00029"', f'"{big + 29}"')


def test_the_index_of_a_feather_file(lowland):
    frame = pytest.importorskip("pandas").DataFrame({"a": range(20), "b": [i * i % 7 for i in range(20)]})
    frame.index = [f"s{i}" for i in range(20)]
    frame.rename_axis("sample").to_feather("x.feather")
    assert lowland("fit", "pca", "x.feather", "--to", "z.csv").exit_code == 0
    assert Path("z.csv").read_text().splitlines()[1].startswith('"s0",')
