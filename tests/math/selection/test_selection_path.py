"""Paths of a selection as steps and as text."""

from lowland.math.selection.selection_path import Move, numbered, path_table


def test_moves_are_numbered_and_named():
    moves = [Move("add", 1, 0.5, (1,)), Move("find", None, 0.75, (0, 1))]
    first, second = numbered(moves, ["length", "width"])
    assert (first.number, first.name, first.size) == (1, "width", 1)
    assert (second.number, second.name, second.size, second.feature) == (2, "length, width", 2, None)
    assert path_table([first, second]).splitlines() == [
        "step  action  feature        score  columns",
        "   1  add     width            0.5        1",
        "   2  find    length, width   0.75        2",
    ]
