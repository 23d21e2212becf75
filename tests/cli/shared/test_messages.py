"""Messages of the library, rewritten for the command line."""

import pytest

from lowland.cli.main import cli
from lowland.cli.shared.messages import in_flags, one_line


@pytest.mark.parametrize(
    ("verb", "python", "here"),
    [
        ("isomap", "Isomap(n_neighbors=5): the data has 3 rows.", "--n-neighbors 5: the data has 3 rows."),
        ("isomap", "Use Isomap(radius=0.1, n_neighbors=None) to", "Use --radius 0.1 --n-neighbors none to"),
        ("isomap", "Raise n_neighbors, disconnected='connect'.", "Raise --n-neighbors, --disconnected connect."),
        ("isomap", "say disconnected='largest' or 'ignore'.", "say --disconnected largest or ignore."),
        ("isomap", "Raise tol or max_iter.", "Raise --tol or --max-iter."),
        ("isomap", "There is no file 'n_neighbors.csv', nor column 'max_iter'.", None),
        ("isomap", "the reg of n_iter_ and n_components(3), of PCA(n_components=2)", None),
        ("isomap", "Choose at most 3, or None, not 'None'.", "Choose at most 3, or none, not 'None'."),
        ("som", "SelfOrganizingMap(grid=[3, 4]): give two", "--grid 3,4: give two"),
        ("quantize", "the data has n_samples=150 rows.", "the data has 150 rows."),
        ("autoencoder", "widths such as (512, 256), or None", "widths such as 512,256, or none"),
        ("kernel-pca", "or remove_zero_eig=True to", "or --remove-zero-eig to"),
        ("pca", "fell below tol=1e-05.", "fell below --tol 1e-05."),
        ("lda", "LinearDiscriminantAnalysis(n_components=9): at most 2.", "-k 9: at most 2."),
        ("incremental-pca", "Use PCA(svd_solver='randomized').", None),
    ],
)  # fmt: skip
def test_python_parameters_become_flags(verb, python, here):
    assert in_flags(python, cli.named(["fit", verb, "--json", "file.csv"])) == (here or python)


def test_messages_on_the_command_line_name_flags(lowland, table):
    assert "lowland: --n-neighbors 500: the data has 60 rows." in lowland("dimension", table, "--neighbors", 500).stderr
    result = lowland("fit", "isomap", table, "--n-neighbors", 1)
    assert "Raise --n-neighbors" in result.stderr
    assert "Use --radius 0.1 --n-neighbors none" in lowland("fit", "isomap", table, "--radius", 0.1).stderr
    assert "Python" not in lowland("transform", "no", table, "--to", "z.csv").stderr


def test_messages_become_one_line():
    text = "Names should match.\nUnseen:\n- a\n- b\nMissing:\n- c\nSelect them."
    assert one_line(text) == "Names should match. Unseen: a, b. Missing: c. Select them."
    text = "Drop them (--drop on the command line, X.drop(columns=...) in Python), or name the labels (--label, y)."
    assert one_line(text) == "Drop them (--drop), or name the labels (--label)."
    assert one_line('or raise it with lowland.config(memory="3GB").') == "or raise it with --memory 3GB."
