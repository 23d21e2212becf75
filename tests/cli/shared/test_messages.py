"""Messages of the library on the command line: marks become flags."""

import pytest

from lowland.cli.main import cli
from lowland.cli.shared.messages import on_command_line, one_line
from lowland.errors import ParameterError


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


def test_a_parameter_error_names_its_flags(lowland, table):
    error = ParameterError("at most 2.", "Choose 2.", method="LinearDiscriminantAnalysis", n_components=9)
    assert on_command_line(error, cli.named(["fit", "lda", "file.csv"])) == "-k 9: at most 2. Choose 2."
    assert "Use --radius 0.1 --n-neighbors none" in lowland("fit", "isomap", table, "--radius", 0.1).stderr
    assert "Python" not in lowland("transform", "no", table, "--to", "z.csv").stderr


def test_messages_become_one_line():
    text = "Names should match.\nUnseen:\n- a\n- b\nMissing:\n- c\nSelect them."
    assert one_line(text) == "Names should match. Unseen: a, b. Missing: c. Select them."
    assert one_line("a name  that ends in .html .") == "a name that ends in .html."
