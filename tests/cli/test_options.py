"""Options shared by the commands."""

import json


def test_the_settings_of_a_call_end_with_it(lowland, table):
    from lowland.run.settings import settings

    before = settings()
    lowland("fit", "pca", table, "--threads", 1, "--memory", "1GB", "--no-progress")
    assert settings() == before


def test_columns_may_be_named_one_at_a_time(tmp_path):

    from click.testing import CliRunner

    from lowland.cli.main import cli

    path = tmp_path / "x.csv"
    path.write_text("a,b,c,d\n1,2,x,y\n3,5,x,z\n4,4,u,v\n")
    result = CliRunner().invoke(cli, ["fit", "pca", str(path), "-k", "1", "--drop", "c", "--drop", "d", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["data"]["columns"] == 2
