"""What preloaded modules must not leave in a fork server, each found in a new interpreter."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from toolc.guest.forks.preloading import NotSharedError, preload
sys.argv = ["-", "preload=json"]
{before}
try:
    preload(is_locked=False, kept=())
except NotSharedError as error:
    print(error)
else:
    import gc
    print("shared", gc.get_freeze_count() > 0, "json" in sys.modules)
os._exit(0)
"""


def run(before: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=f"{before}\nsys.stdout = os.fdopen(1, 'w', 1)")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_modules_without_a_trace_are_shared() -> None:
    assert run("") == "shared True True\n"


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("import threading, time; threading.Thread(target=time.sleep, args=(99,), daemon=True).start()", "threads"),
        ("kept = open('/etc/hostname')", "keep /etc/hostname open"),
        ("import mmap; kept = mmap.mmap(-1, 4096)", "shared memory"),
        ("import subprocess; kept = subprocess.Popen(['sleep', '1'])", "started processes"),
    ],
)
def test_what_calls_would_share_is_refused(before: str, reason: str) -> None:
    found = run(before)
    assert found.startswith("calls cannot share the modules in preload (json) because they ")
    assert reason in found
