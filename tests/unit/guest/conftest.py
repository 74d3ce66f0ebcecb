"""The ``guest`` that the tests of this folder call."""

from __future__ import annotations

import os

import pytest
from real_guest import Guest

from toolc.runtime.wire import call_loop


@pytest.fixture
def guest(monkeypatch: pytest.MonkeyPatch) -> Guest:
    if os.geteuid() != 0:
        pytest.skip("the guest's own tests make namespaces, which takes root")
    # What is tested is the guest's own verdict, however long it takes.
    monkeypatch.setattr(call_loop, "GRACE_SECONDS", 60.0)
    return Guest()
