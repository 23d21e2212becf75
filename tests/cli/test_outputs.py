"""What must not be overwritten, and names given more than once."""

import pytest

from lowland.cli.show import coordinate_refusal
from lowland.methods.registry import entries, load_method


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_the_file_that_is_read_is_never_written(tmp_path, force):
    from click.testing import CliRunner

    from lowland.cli.main import cli

    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n3,5\n4,4\n")
    before = path.read_text()
    result = CliRunner().invoke(cli, ["fit", "pca", str(path), "-k", "1", "--to", str(path), *force])
    assert result.exit_code != 0
    assert path.read_text() == before


@pytest.mark.parametrize("name", entries())
def test_before_a_fit_coordinates_are_not_refused(name):
    assert coordinate_refusal(load_method(name)()) is None
