"""Options every test may ask for."""

from __future__ import annotations

import pytest
from hypothesis import settings

# Shared machines stall: a slow example is no failure, and a failing one must come back on the next run.
settings.register_profile("toolc", deadline=None, print_blob=True)
settings.load_profile("toolc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the golden files anew instead of comparing")
    parser.addoption("--benchmarks", action="store_true", help="run the benchmarks of tests/bench too")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written instead of compared."""
    return bool(request.config.getoption("--golden"))


def pytest_ignore_collect(collection_path: object, config: pytest.Config) -> bool | None:
    if "bench" in str(collection_path).split("/") and not config.getoption("--benchmarks"):
        return True
    return None
