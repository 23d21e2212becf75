"""What must not be overwritten, and names given more than once."""

import pytest


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


def test_columns_may_be_named_one_at_a_time(tmp_path):
    import json

    from click.testing import CliRunner

    from lowland.cli.main import cli

    path = tmp_path / "x.csv"
    path.write_text("a,b,c,d\n1,2,x,y\n3,5,x,z\n4,4,u,v\n")
    result = CliRunner().invoke(cli, ["fit", "pca", str(path), "-k", "1", "--drop", "c", "--drop", "d", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["data"]["columns"] == 2
