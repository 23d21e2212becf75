"""The hunt: seeded hostile inputs against Lowland, in ``python -m hunt``. Not part of the tests."""
