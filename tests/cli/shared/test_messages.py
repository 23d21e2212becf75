"""Messages of the library, rewritten for the command line."""

import pytest

from lowland.cli.main import cli
from lowland.cli.shared.messages import on_command_line, one_line


@pytest.mark.parametrize(
    ("verb", "python", "here"),
    [
        ("isomap", "Isomap(n_neighbors=5): the data has 3 rows.", "--n-neighbors 5: the data has 3 rows."),
        ("isomap", "Use Isomap(radius=0.1, n_neighbors=None) to", "Use --radius 0.1 --n-neighbors none to"),
        ("isomap", "Raise n_neighbors, disconnected='connect'.", "Raise --n-neighbors, --disconnected connect."),
        ("isomap", "say disconnected='largest' or 'ignore'.", "say --disconnected largest or ignore."),
        ("isomap", "Raise tol or max_iter.", "Raise --tol or --max-iter."),
        ("isomap", "There is no file 'n_neighbors.csv', nor column 'max_iter'.", None),
        ("isomap", "the reg of n_iter_ and n_components(3)", None),
        ("isomap", "Use PCA(n_components=2).", "Use lowland fit pca -k 2."),
        ("isomap", "Use TruncatedSVD(50).", "Use lowland fit truncated-svd -k 50."),
        ("isomap", "Both n_neighbors and radius are set. Raise radius, not the radius.",
         "Both --n-neighbors and --radius are set. Raise --radius, not the radius."),
        ("pca", "X has 3 features, but PCA is expecting 4 features as input.", "FILE has 3 columns, but PCA needs 4."),
        ("pca", "The column 'X' of 'y.csv' is True, not 'True'.", "The column 'X' of 'y.csv' is yes, not 'True'."),
        ("isomap", "Choose at most 3, or None, not 'None'.", "Choose at most 3, or none, not 'None'."),
        ("som", "SelfOrganizingMap(grid=[3, 4]): give two", "--grid 3,4: give two"),
        ("quantize", "the data has n_samples=150 rows.", "the data has 150 rows."),
        ("autoencoder", "widths such as (512, 256), or None", "widths such as 512,256, or none"),
        ("kernel-pca", "or remove_zero_eig=True to", "or --remove-zero-eig to"),
        ("pca", "fell below tol=1e-05.", "fell below --tol 1e-05."),
        ("pca", 'or raise it with lowland.config(memory="3GB").', "or raise it with --memory 3GB."),
        ("lda", "LinearDiscriminantAnalysis(n_components=9): at most 2.", "-k 9: at most 2."),
        ("incremental-pca", "Use PCA(svd_solver='randomized').", "Use lowland fit pca --svd-solver randomized."),
    ],
)  # fmt: skip
def test_python_parameters_become_flags(verb, python, here):
    assert on_command_line(python, cli.named(["fit", verb, "--json", "file.csv"])) == (here or python)


def test_messages_on_the_command_line_name_flags(lowland, table):
    assert "lowland: --n-neighbors 500: the data has 60 rows." in lowland("dimension", table, "--neighbors", 500).stderr
    result = lowland("fit", "isomap", table, "--n-neighbors", 1)
    assert "Raise --n-neighbors" in result.stderr
    assert "Use --radius 0.1 --n-neighbors none" in lowland("fit", "isomap", table, "--radius", 0.1).stderr
    assert "Python" not in lowland("transform", "no", table, "--to", "z.csv").stderr


def test_messages_become_one_line():
    text = "Names should match.\nUnseen:\n- a\n- b\nMissing:\n- c\nSelect them."
    assert one_line(text) == "Names should match. Unseen: a, b. Missing: c. Select them."
    assert one_line("a name  that ends in .html .") == "a name that ends in .html."
