"""Commands: their help in sections, and the names they suggest."""

import click
import pytest

from lowland.cli.options import DATA, Command, CommandGroup, Option, section
from lowland.cli.verbs.fit import fit


def test_sections_of_the_help_follow_the_order_of_their_first_options():
    params = [*section("First", Option("--a", "A.")), *section(DATA, Option("--b", "B.")), Option("--c", "C.")]
    command = Command("x", params=params)
    text = command.get_help(click.Context(command))
    places = [text.index(word) for word in ("First:", "--a", "Data:", "--b", "Other:", "--c")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("lda2", "Did you mean 'lda'?"),
        ("kpca", "Did you mean 'kernel-pca'?"),
        ("zzzz", "Choose one of: "),
        ("iris.csv", "method before the file: lowland fit pca iris.csv"),
    ],
)
def test_an_unknown_name_is_reported(word, words):
    assert words in fit.missing(click.Context(fit), word)


def test_a_command_is_looked_up_once():
    class Counting(CommandGroup):
        calls = 0

        def get_command(self, ctx, cmd_name):
            self.calls += 1
            return super().get_command(ctx, cmd_name)

    group = Counting("all", commands=[Command("one")])
    name, command, rest = group.resolve_command(click.Context(group), ["one", "--x"])
    assert (name, command.name, rest, group.calls) == ("one", "one", ["--x"], 1)
