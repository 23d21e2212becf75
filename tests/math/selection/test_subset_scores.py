"""The count of scored subsets."""

from lowland.math.selection.subset_scores import Tally


def test_a_tally_counts_and_shows_progress():
    shown = []
    tally = Tally(shown.append)
    tally(3)
    tally(1)
    assert tally.n == 4
    assert shown == [3, 1]
    assert Tally().failures == []
    assert Tally().failures is not Tally().failures
