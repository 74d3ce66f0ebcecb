"""An executor with real sandboxes, and the event loop of synchronous runs."""

import asyncio
from collections.abc import Iterator

import pytest
from calls.framework_tools import executor_of

from toolc import Executor


@pytest.fixture(scope="module")
def executor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    with executor_of(tmp_path_factory.mktemp("frameworks")) as executor:
        yield executor


@pytest.fixture(autouse=True)
def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Set the event loop of this thread: the frameworks' synchronous functions use one that they do not close."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    asyncio.set_event_loop(None)
    loop.close()
