"""A pytest plugin that measures which lines each test runs."""

import os
from collections.abc import Iterator

import coverage
import pytest

_COVERAGE = coverage.Coverage(data_file=os.environ["MUTANTS_COVERAGE"], source=["toolc"], messages=False)


def pytest_configure() -> None:
    _COVERAGE.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _COVERAGE.switch_context(item.nodeid)
    return (yield)


def pytest_unconfigure() -> None:
    _COVERAGE.stop()
    _COVERAGE.save()
