"""The explorer with a folder of tables, and a browser: one of each for all tests, with a fresh page for every test."""

import pytest
from tests.study.report.browser import fresh_browser


@pytest.fixture
def browser():
    return fresh_browser(width=1600)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    from .explorer_page import write_tables

    return write_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session")
def explorers(tmp_path_factory):
    """Starts explorers that are stopped at the end; their maps are none of the person's own."""
    for name in ("fastapi", "uvicorn", "openpyxl", "PIL"):
        pytest.importorskip(name)
    from tests.explorer.server import Explorer

    started = []

    def start(*arguments, **options):
        started.append(Explorer(*arguments, **options))
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield start
        for server in started:
            server.stop()


@pytest.fixture(scope="session")
def workspace(tmp_path_factory):
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="session")
def server(explorers, folder, workspace):
    return explorers(folder, workspace, "--max-upload", "8MB")


@pytest.fixture
def visitor(browser):
    """A person; at the end, nothing was written to the console but what the test expects, and nothing popped up."""
    from .explorer_page import Person

    person = Person(browser)
    yield person
    person.leave()
    assert [problem for problem in browser.problems if not any(text in problem for text in person.expected)] == []
    assert browser.dialogs == []


@pytest.fixture
def person(visitor, server):
    """The page without any table."""
    visitor.visit(server.page)
    visitor.sees(".empty", "Drop a file here")
    yield visitor
    visitor.leave()
    server.forget()


@pytest.fixture
def iris(person):
    """The page with iris and its first map."""
    person.show("iris.parquet")
    return person
