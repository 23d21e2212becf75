"""Records that are stored in model files."""

from dataclasses import dataclass

import pytest

from lowland.arrays.records import RECORDS, record


@pytest.fixture(autouse=True)
def untouched_registry(monkeypatch):
    monkeypatch.setattr("lowland.arrays.records.RECORDS", dict(RECORDS))


def test_a_record_is_registered_by_its_name():
    import lowland.arrays.records as module

    @record
    @dataclass(frozen=True)
    class Interval:
        lower: float
        upper: float

    assert module.RECORDS["Interval"] is Interval
    assert Interval(0.0, 1.0).upper == 1.0


def test_only_dataclasses_with_a_unique_name_are_registered():
    with pytest.raises(TypeError, match="must be a dataclass"):
        record(type("Plain", (), {}))
    namesake = dataclass(type("Moments", (), {"__annotations__": {"n": float}}))
    from lowland.math.statistics.moments import Moments

    assert RECORDS["Moments"] is Moments
    with pytest.raises(TypeError, match="no other record"):
        record(namesake)
