"""The program: exit codes, warnings, errors."""

import numpy as np


def test_warnings_are_printed_once_in_one_line(lowland, X, model):
    np.save("x.npy", X)
    result = lowland("transform", model, "x.npy", "--to", "z.csv")
    assert result.exit_code == 0
    assert result.stderr.count("lowland: warning: ") == 1
    assert len(result.stderr.splitlines()) == 1


def test_debug_shows_the_traceback(lowland, files):
    for words in (("fit", "pca", "nowhere.csv", "--debug"), ("--debug", "fit", "pca", "nowhere.csv")):
        result = lowland(*words)
        assert result.exit_code == 1
        assert "Traceback" in result.stderr
        assert result.stderr.splitlines()[-1].startswith("lowland: There is no file")


def test_an_unexpected_error_is_printed_in_one_line(lowland, table, monkeypatch):
    from lowland.methods.pca import PCA

    def broken(self, *_):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(PCA, "_solve", broken)
    result = lowland("fit", "pca", table)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0].startswith("lowland: Unexpected error: ZeroDivisionError: oh.")
    assert len(result.stderr.splitlines()) == 1


def test_without_arguments_the_help_is_shown(lowland):
    result = lowland()
    assert result.exit_code == 2
    assert "Commands:" in result.stderr


def test_running_the_module(process):
    done = process("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("lowland ")
