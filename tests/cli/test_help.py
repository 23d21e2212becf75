"""Help loads nothing heavy and names every flag; the command lines of the documentation run."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lowland.cli.main import cli
from lowland.cli.options import TAKEN, flag_names, has_no_effect, is_settable
from lowland.methods.registry import entries

DOCS = Path(__file__).parents[2] / "docs"
HEAVY = {"numpy", "scipy", "sklearn", "numba", "pandas", "polars", "pyarrow", "narwhals", "torch", "dask", "rich"}


def commands(page):
    """The command lines of a page, as words; one by one in a shell they would run in this order."""
    return [line.split() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("lowland ")]


PAGES = [DOCS / "command-line.md", *(page for page in sorted(DOCS.glob("methods/*.md")) if commands(page))]


def modules_loaded_by(*words: str) -> set[str]:
    code = (
        "import sys\nfrom lowland.cli.main import cli\n"
        "try:\n    cli.main(sys.argv[1:])\nexcept SystemExit as leave:\n    assert not leave.code, leave.code\n"
        "print('modules:', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.rpartition("modules:")[2].split())


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["fit", "--help"],
        ["fit", "pca", "--help"],
        ["dimension", "--help"],
        ["evaluate", "--help"],
        ["compare", "--help"],
        ["methods"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(words):
    assert modules_loaded_by(*words).isdisjoint(HEAVY)


def test_listing_the_samples_loads_no_library_of_methods():
    assert modules_loaded_by("sample").isdisjoint(HEAVY - {"numpy"})


@pytest.mark.parametrize("verb", cli.commands)
def test_every_command_has_a_summary_and_is_listed_in_the_help(lowland, verb):
    own = lowland(verb, "--help")
    assert own.exit_code == 0
    sentence = cli.commands[verb].get_short_help_str(limit=200)
    assert sentence.endswith(".")
    words = [word.strip(",.") for word in sentence.split()]
    assert 2 * sum(word in own.stdout for word in words) > len(words)  # the full help says the same
    assert verb in lowland("--help").stdout


@pytest.mark.parametrize("verb", sorted(e.verb for e in entries().values()))
def test_every_method_appears_and_every_parameter_has_a_flag(lowland, verb):
    entry = next(e for e in entries().values() if e.verb == verb)
    assert verb in lowland("fit", "--help").stdout
    listing = lowland("methods").stdout
    assert f"{verb} " in listing
    assert entry.summary in listing
    text = lowland("fit", verb, "--help").stdout
    settable = [flag for flag in entry.flags if is_settable(flag) and not has_no_effect(flag)]
    for flag in settable:
        assert all(name in text for name in flag_names(flag.name)), flag.name
    assert " ".join(text.split()).count("[default: ") >= len(settable)  # wherever the lines break
    assert ("[required]" in text) is entry.needs_y


@pytest.mark.parametrize("verb", sorted(e.verb for e in entries().values()))
def test_help_names_flags_instead_of_python_parameters(lowland, verb):
    text = " ".join(lowland("fit", verb, "--help").stdout.split())
    found = re.search(
        r"lowland\.\w+\(|\bNone\b|\bTrue\b|\bFalse\b|\w\(\)|\ba function\b|[a-z]_(?!\w)|\bX (holds|is)\b", text
    )
    assert found is None, found
    described = re.sub(r"'[^']*'|\S+[|]\S+", "", text)  # quoted values and lists of values
    names = [flag.name for entry in entries().values() for flag in entry.flags if "_" in flag.name]
    found = re.search(rf"\b({'|'.join(names)})\b|\bX and y\b|\bof y\b|\bsplitter\b|\bor an estimator\b", described)
    assert found is None, found


def test_parameters_that_take_only_objects_have_no_flag(lowland):
    """Parameters that take only objects exist only in Python."""
    hidden = {(e.verb, flag.name) for e in entries().values() for flag in e.flags if not is_settable(flag)}
    assert {("lda", "covariance_estimator"), ("fast-ica", "fun_args"), ("fast-ica", "w_init")} <= hidden
    for verb, name in (each for each in hidden if each[1] not in TAKEN):
        assert f"--{name.replace('_', '-')}" not in lowland("fit", verb, "--help").stdout


@pytest.mark.parametrize("entry", entries().values(), ids=lambda e: e.verb)
def test_no_parameter_hides_an_option_of_the_command(entry):
    command = cli.commands["fit"].get_command(None, entry.verb)
    names = [param.name for param in command.params]
    flags = [flag for param in command.params for flag in (*param.opts, *param.secondary_opts)]
    assert len(set(names)) == len(names)
    assert len(set(flags)) == len(flags)


def test_only_methods_with_streaming_landmarks_mention_it(lowland):
    def reported(verb):
        return " ".join(lowland("fit", verb, "--help").stdout.split())

    message = {e.verb for e in entries().values() if "unless --n-landmarks is set" in reported(e.verb)}
    assert message == {"kernel-pca"}  # classical-mds streams without them
    assert [line.split()[0] for line in lowland("methods").stdout.splitlines() if "with landmarks" in line] == [
        *message
    ]
    found = json.loads(lowland("methods", "--json").stdout)["methods"]
    assert {m["method"] for m in found if m["streams_with_landmarks"]} == message


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_command_lines_of_a_page_run(lowland, page):
    for words in commands(page):
        result = lowland(*words[1:])
        assert result.exit_code == 0, (words, result.stderr)


def test_pages_have_command_lines():
    assert len(commands(PAGES[0])) > 10
    assert len(PAGES) > 8
