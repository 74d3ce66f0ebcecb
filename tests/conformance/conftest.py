"""The servers that sandboxed programs reach, and the ``call`` that lets a program try."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from egress_calls import Call, look_up
from local_servers import Servers, servers

from toolc.runtime.egress import polling


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("servers")) as found:
        yield found


@pytest.fixture
def call(tmp_path: Path, there: Servers, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setattr(polling, "look_up", look_up)
    return Call(tmp_path, there)
