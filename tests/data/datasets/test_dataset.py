"""A data set unpacks into rows and labels, and describes itself."""

from lowland import data as samples


def test_a_sample_unpacks_and_describes_itself():
    sample = samples.load_dataset("iris")
    X, y = sample
    assert X is sample.X
    assert y is sample.y
    assert "150 × 4" in repr(sample)
    assert sample.label_names == ("setosa", "versicolor", "virginica")
