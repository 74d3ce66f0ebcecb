"""The ``guest`` that the tests of this folder call."""

from __future__ import annotations

import os

import pytest
from real_guest import Guest


@pytest.fixture
def guest() -> Guest:
    if os.geteuid() != 0:
        pytest.skip("the guest's own tests make namespaces, which takes root")
    return Guest()
