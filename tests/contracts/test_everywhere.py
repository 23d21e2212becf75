"""Whatever is in the registry is also on the command line and in the docs."""

from pathlib import Path

import pytest

import lowland
from lowland.methods import registry
from lowland.methods.base.traits import traits_of

from .battery import METHODS

ROOT = Path(__file__).parents[2]
SCALE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", METHODS)
def test_public_name_docs_page_and_doc(name):
    cls = getattr(lowland, name)
    module = cls.__module__.rpartition(".")[2]
    assert name in dir(lowland)
    page = (ROOT / "docs" / "methods" / f"{module}.md").read_text(encoding="utf-8")
    assert name in page
    for word in ("\n1. ", "\n2. ", "doi:"):  # a contract of attributes checks the sections
        assert word in cls.__doc__, word
    assert traits_of(cls).cost is not None, "what a fit costs"
    assert name in SCALE, "its limits"


@pytest.mark.parametrize("name", METHODS)
def test_the_example_in_the_docstring_runs(name):
    import doctest

    cls = getattr(lowland, name)
    finder = doctest.DocTestFinder(recurse=False)
    for test in finder.find(cls, name):
        result = doctest.DocTestRunner().run(test)
        assert result.attempted > 0
        assert result.failed == 0


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_has_a_sentence(name):
    for flag in registry.entries()[name].flags:
        assert flag.doc.endswith(".")
        assert len(flag.doc) > 8
