"""A browser for all tests of the page."""

from collections.abc import Iterator

import pytest
from browsers.chromium import HAS_BROWSER, NODE_MODULES, Browser, browser


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if not (HAS_BROWSER and NODE_MODULES):
        pytest.skip("Chromium or TOOLC_NODE_MODULES is missing")
    with browser() as started:
        yield started
