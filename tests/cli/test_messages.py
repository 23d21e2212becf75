"""Messages of the command line name flags and files, those of Python name parameters: mistakes with every method."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import lowland as ll
from lowland.cli.main import cli
from lowland.cli.messages import on_command_line
from lowland.cli.options import flag_names, is_settable, value_of
from lowland.cli.show import one_line
from lowland.data import available
from lowland.data.write import write_chunks
from lowland.errors import ParameterError
from lowland.math.distances.metrics import METRICS
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import entries, load_method

METHODS = list(entries())
# values that messages may repeat: choices, names of metrics, and names of data sets
VALUES = {choice for e in entries().values() for flag in e.flags for choice in flag.choices or []}
VALUES |= {*available(), *METRICS}
SYNTAX = (
    r"NAME=VALUE|\bn=5000|METHOD\.PARAMETER=|isomap\.n_neighbors(=[\d,]+)?|--option \w+=|global_pca|area under R_NX"
)
PYTHON = "|".join([
    r"\b[a-z]+(?:_[a-z\d]+)+_?\b",  # a parameter or an attribute
    r"\b\w+=", r"\b\w+\.\w+\(", r"\b[A-Z]\w+\(", r"\b(?:fit|transform|call)\(", r"\b(?:None|True|False)\b",
    r"(?<!-)\b[XZy]\b(?!-)", r"\bfloat(?:32|64)\b", r"\bdtype\b", r"\bndarray\b", r"\bsklearn\b", r"\bnp\.",
    r"\bPython\b(?!:)", r"\blowland\.[a-z]\w+\b", r"RandomState|Generator", r"\ba function\b|\bcallable\b",
    r"\(\d+, ?\d*\)", r"\[\d+, \d+\]", r"\bshape\b", r"Unexpected error", r"Traceback", r"\b(?:partial_)?fit\(",
])  # fmt: skip
WRONG = ("foo", "-1", "0", "1e99", "none", "1,2", "")
SLOW = {"select-l1", "select-sequential", "select-tree"}  # cross-validated: fewer fits


def pythonisms(text, words=()):
    """What a user of the command line must not see; quoted names and the user's own words are not searched."""
    text = re.sub(r"(?<!\w)'[^']*'(?!\w)", "''", text)
    for word in sorted(filter(None, map(str, words)), key=len, reverse=True):
        text = text.replace(f" {word}", " ")
    return [found for found in re.findall(PYTHON, re.sub(SYNTAX, "", text)) if found not in VALUES]


@pytest.mark.parametrize(
    ("verb", "python", "here"),
    [
        ("isomap", "`Isomap(n_neighbors=5)`: the data has 3 rows.", "--n-neighbors 5: the data has 3 rows."),
        ("isomap", "Use `Isomap(radius=0.1, n_neighbors=None)` to", "Use --radius 0.1 --n-neighbors none to"),
        ("isomap", "Raise `radius` or `tol`, not the radius.", "Raise --radius or --tol, not the radius."),
        ("isomap", "Set `disconnected='largest'` or 'ignore'.", "Set --disconnected largest or 'ignore'."),
        ("isomap", "There is no file '`n_neighbors`.csv', nor column '`max_iter`'.", None),
        ("isomap", "the n_iter_ of n_components", None),
        ("isomap", "Use `PCA(n_components=2)`.", "Use lowland fit pca -k 2."),
        ("isomap", "Use `TruncatedSVD(50)`.", "Use lowland fit truncated-svd -k 50."),
        ("pca", "`X` has 3 features. `y` has 4, as does `y`.",
         "FILE has 3 features. The label column has 4, as does the label column."),
        ("isomap", "Choose at most 3, or `None`, not 'None'.", "Choose at most 3, or none, not 'None'."),
        ("som", "`SelfOrganizingMap(grid=[3, 4])`: give two", "--grid 3,4: give two"),
        ("quantize", "the data has 150 rows (`n_samples=150`).", "the data has 150 rows."),
        ("kernel-pca", "or `remove_zero_eig=True` to", "or --remove-zero-eig to"),
        ("pca", "fell below `tol=1e-05`.", "fell below --tol 1e-05."),
        ("pca", 'raise it with `lowland.config(memory="3GB")`.', "raise it with --memory 3GB."),
        ("pca", "Impute (`lowland.impute(X, 'mean')`).", "Impute (--impute mean)."),
        ("pca", "use `open_rows(file, missing=['?'], drop=['x, y', 'z'])`.",
         """use --missing '?' --drop '"x, y",z'."""),
        ("pca", "Make it dense (`X.toarray()`), or", "Make it dense, or"),
        ("incremental-pca", "Use `PCA(svd_solver='randomized')`.", "Use lowland fit pca --svd-solver randomized."),
    ],
)  # fmt: skip
def test_marks_become_flags(verb, python, here):
    assert on_command_line(python, cli.named(["fit", verb, "--json", "file.csv"])) == (here or python)


def test_messages_become_one_line():
    text = "Names should match.\nUnseen:\n- a\n- b\nMissing:\n- c\nSelect them."
    assert one_line(text) == "Names should match. Unseen: a, b. Missing: c. Select them."
    assert one_line("a name  that ends in .html .") == "a name that ends in .html."


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Files with mistakes of every kind."""
    folder = tmp_path_factory.mktemp("tables")
    X = np.random.default_rng(0).standard_normal((30, 4)) * [5, 3, 1, 0.5]
    labels = np.where(X[:, 0] > 0, "up", "down").astype(object)

    def write(name, rows, columns="abcd"):
        write_chunks([rows], folder / name, list(columns))

    gaps, infinite, flat = X.copy(), X.copy(), X.copy()
    gaps[7, 2], infinite[7, 2], flat[:, 1] = np.nan, np.inf, 3
    write("good.csv", X)
    write("counts.csv", np.abs(X))
    write("nan.csv", gaps)
    write("inf.csv", infinite)
    write("flat.csv", flat)
    write("constant.csv", np.ones((30, 4)))
    write("one_row.csv", X[:1])
    write("one_column.csv", X[:, :1], "a")
    write("far.csv", np.concatenate([X[:15], X[15:] + 1e4]))
    write("labels.csv", np.column_stack([X.astype(object), labels]), [*"abcd", "way"])
    write("alone.csv", np.column_stack([X.astype(object), [f"c{i}" for i in range(30)]]), [*"abcd", "way"])
    (folder / "twice.csv").write_text("a,b,a\n1,2,3\n4,5,6\n")
    (folder / "header.csv").write_text("a,b,c,d,way\n")
    (folder / "empty.csv").touch()
    D = np.linalg.norm(X[:, None] - X, axis=-1)
    np.save(folder / "lopsided.npy", D + np.triu(np.ones_like(D), 1))
    np.save(folder / "vector.npy", X[:, 0])
    np.save(folder / "images.npy", X[None])
    np.save(folder / "complex.npy", X + 1j)
    np.save(folder / "huge.npy", X * 1e200)
    scipy.sparse.save_npz(folder / "sparse.npz", scipy.sparse.csr_array(X * (np.abs(X) > 1)))
    return folder


@pytest.fixture
def said(lowland, tables, monkeypatch):
    """Run a command in the folder of the tables and check everything that it says."""
    monkeypatch.chdir(tables)

    def run(*words):
        result = lowland(*words)
        for line in result.stderr.splitlines():
            assert not pythonisms(line, words), f"{words}\n{line}"
        return result

    return run


@pytest.mark.parametrize("name", METHODS)
def test_mistakes_with_values_of_flags(said, name):
    entry = entries()[name]
    rows = ["labels.csv", "--label", "way"] if entry.needs_y else ["good.csv"]
    for flag in (flag for flag in entry.flags if is_settable(flag) and flag.kinds != ["bool"]):
        wrong = [*WRONG, *(choice[:-1] for choice in flag.choices or [])]
        limited = [value for value in wrong if not _is_allowed(name, flag, value)]
        for value in limited:
            said("fit", entry.verb, *rows, flag_names(flag.name)[-1], value)


@pytest.mark.parametrize("name", METHODS)
def test_mistakes_with_files(said, tables, name):
    entry = entries()[name]
    label = ["--label", "a"] if entry.needs_y else []
    for file in sorted(path.name for path in tables.iterdir() if path.suffix in (".csv", ".npy", ".npz")):
        if entry.verb not in SLOW or file in ("nan.csv", "one_row.csv", "sparse.npz", "vector.npy"):
            said("fit", entry.verb, file, *label)
    for words in (["nowhere.csv"], ["good.csv", "--drop", "a,b,c,d"], ["good.csv", "--columns", "a,q"],
                  ["labels.csv", "--label", "wey"], ["alone.csv", "--label", "way"], ["labels.csv"],
                  ["good.csv", *label, "--memory", "1kB"]):  # fmt: skip
        said("fit", entry.verb, *words)
    if any(flag.name in ("n_components", "n_features_to_select", "n_clusters") for flag in entry.flags):
        rows = ["labels.csv", "--label", "way"] if entry.verb in ("lda", "select-filter", *SLOW) else ["good.csv"]
        rows = ["counts.csv"] if traits_of(load_method(name)).reads == "counts" else rows
        found = said("fit", entry.verb, *rows, "-k", 99)
        assert found.exit_code == 0 or "-k" in found.stderr


@pytest.mark.parametrize("verb", ["pca", "isomap", "kernel-pca", "lda", "som", "quantize", "agglomerate"])
def test_mistakes_with_models(said, tables, verb):
    label = ["labels.csv", "--label", "way"] if verb == "lda" else ["good.csv"]
    assert said("fit", verb, *label, "--model", f"{verb}.m", "--force").exit_code == 0
    for command in ("transform", "inverse", "predict"):
        for file in ("labels.csv", "nan.csv", "one_column.csv", "header.csv", "vector.npy", "lopsided.npy",
                     "sparse.npz", "nowhere.csv"):  # fmt: skip
            said(command, f"{verb}.m", file, "--to", "out.csv", "--force")
    said("evaluate", "good.csv", "good.csv", "--model", f"{verb}.m")


def test_mistakes_with_other_commands(said, tables):
    for file in sorted(path.name for path in tables.iterdir() if path.suffix in (".csv", ".npy", ".npz")):
        said("dimension", file)
        said("evaluate", file, "good.csv")
        said("evaluate", "good.csv", file)
        said("inspect", file)
    for words in (
        ("dimension", "good.csv", "--n-neighbors", 500), ("dimension", "good.csv", "--method", "twon"),
        ("dimension", "good.csv", "--sample", 2), ("evaluate", "good.csv", "good.csv", "--n-neighbors", 500),
        ("compare", "good.csv", "--methods", "pcca"), ("compare", "good.csv", "--methods", "pca", "-k", 9),
        ("compare", "good.csv", "--sweep", "isomap.n_neighbours=3"), ("compare", "good.csv", "--purpose", "classify"),
        ("compare", "good.csv", "--scale", "standrd"), ("compare", "nan.csv"),
        ("sample", "foo"), ("sample", "swiss_roll", "-o", "n=foo"), ("sample", "low_rank", "-o", "n=3"),
        ("sample", "sphere", "-o", "seed=-1"), ("sample", "iris", "-o", "foo=1"), ("methods", "foo"),
    ):  # fmt: skip
        assert said(*words).exit_code != 0


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_a_metric_that_is_estimated_from_the_rows_is_no_mistake(said, metric):
    assert said("fit", "diffusion-map", "good.csv", "--metric", metric).exit_code == 0


def test_compare_names_the_flags_of_each_method(said):
    words = ("compare", "far.csv", "--methods", "isomap", "--sweep", "isomap.n_neighbors=5,500", "--no-cache")
    result = said(*words)
    assert result.exit_code == 0
    assert "Raise --n-neighbors" in result.stdout
    assert "--n-neighbors 500: the data has 30 rows." in result.stdout


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (("fit", "pca", "good.csv", "-k", 9), ("-k 9: the number of components must be between 1 and 4",)),
        (
            ("fit", "isomap", "good.csv", "--radius", 1),
            ("Both --n-neighbors and --radius", "Use --radius 1.0 --n-neighbors none"),
        ),
        (("fit", "kernel-pca", "constant.csv"), ("Check the data and --gamma",)),
        (("fit", "diffusion-map", "far.csv", "--disconnected", "error"), ("Raise --epsilon",)),
        (("fit", "autoencoder", "one_column.csv"), ("or set --noise or --sparsity",)),
        (("fit", "isomap", "lopsided.npy", "--metric", "precomputed"), ("in row 1, column 2", "with its transpose")),
        (("fit", "lda", "header.csv", "--label", "way"), ("no labels",)),
    ],
)
def test_messages_on_the_command_line(said, words, messages):
    found = said(*words).stderr
    for message in messages:
        assert message in found


def test_messages_in_python_name_no_flags():
    """No text of the library outside of the command line contains a flag or a command."""
    for path in Path(ll.__file__).parent.rglob("*.py"):
        if "cli" in path.parts or path.name == "repeat.py":  # which writes commands that repeat a map
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = re.search(r"(?<![\w-])--[a-z]|\blowland (?:fit|transform|compare|evaluate) |command line:",
                                  node.value)  # fmt: skip
                assert not found, f"{path}:{node.lineno}: {node.value}"


@pytest.mark.parametrize("name", [n for n in METHODS if any(f.name == "metric" for f in entries()[n].flags)])
def test_near_names_of_metrics_are_suggested(name):
    X = np.random.default_rng(0).standard_normal((20, 4))
    with pytest.raises(ValueError, match="Did you mean 'euclidean'"):
        load_method(name)(metric="eucledian").fit(X)


@pytest.mark.parametrize("name", METHODS)
def test_near_choices_are_suggested(name):
    """Every parameter with a choice of names: kernels, affinities, rotations, solvers."""
    X = np.random.default_rng(0).standard_normal((20, 4))
    for flag in entries()[name].flags:
        for choice in (choice for choice in flag.choices or [] if len(choice) > 4 and "str" not in flag.kinds):
            with pytest.raises(ValueError, match=r"Did you mean '"):
                load_method(name)(**{flag.name: choice[:-1] + "xx"}).fit(X, np.arange(20) % 2)


def test_near_names_are_suggested_by_functions():
    X = np.random.default_rng(0).standard_normal((20, 4))
    with pytest.raises(ValueError, match="Did you mean 'euclidean'"):
        ll.quality.trustworthiness(X, X[:, :2], metric="eucledian")
    with pytest.raises(ValueError, match="Did you mean 'varimax'"):
        ll.algorithms.rotate(X, "varimx")
    with pytest.raises(ValueError, match="Did you mean 'standard'"):
        ll.compare(X, scale="standrd")
    with pytest.raises(ValueError, match="Did you mean 'twonn'"):
        ll.quality.intrinsic_dimension(X, "twon")


def _is_allowed(name, flag, text):
    """Whether a value is one that the method takes, which would be a fit, not a mistake."""
    from lowland.methods.base.params import parameters_of

    limits = next(p for p in parameters_of(load_method(name)) if p.name == flag.name)
    try:
        return limits.fits(value_of(flag, text))
    except ParameterError:
        return False
