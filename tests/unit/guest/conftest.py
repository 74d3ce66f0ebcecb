"""The ``guest`` fixture: runs calls in a real sandbox."""

import os

import pytest
from real_guest import Guest

from toolc.runtime.wire import call_loop


@pytest.fixture
def guest(monkeypatch: pytest.MonkeyPatch) -> Guest:
    if os.geteuid() != 0:
        pytest.skip("these tests create namespaces, which requires root")
    # The tests wait for the guest's own report, however long it takes.
    monkeypatch.setattr(call_loop, "GRACE_SECONDS", 60.0)
    return Guest()
