"""The browser of the tests of reports."""

import pytest

from .browser import fresh_browser


@pytest.fixture
def browser():
    return fresh_browser()
