"""Many calls at once hold nothing more when they are over; ``make soak`` makes a thousand at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from killing import ENGINES, lacks

PROGRAM = Path(__file__).with_name("many_calls.py")


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_grows_with_the_calls(engine: str, tmp_path: Path) -> None:
    if reason := lacks(engine):
        pytest.skip(reason)
    argv = [sys.executable, str(PROGRAM), engine, "40", "20", str(tmp_path / "hello.yaml")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=110)
    found = json.loads(done.stdout)
    assert found["right"]
    assert found["during"]["descriptors"] <= found["before"]["descriptors"]
    assert found["during"]["threads"] <= found["before"]["threads"]
    assert found["during"]["memory_kib"] < found["before"]["memory_kib"] + 4096
    # The janitor is the only child, and its pipe the only descriptor beside the standard ones and the list's own.
    assert found["after"]["threads"] == 1
    assert found["after"]["children"] == 1
    assert found["after"]["descriptors"] <= 6
