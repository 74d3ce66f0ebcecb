"""What process 1 is told on its command line, and does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolc.guest import launch_args

SHOW = """
import resource
from toolc.guest import launch_args as told
told.require_separate_kernel()
told.set_limits()
print([resource.getrlimit(each) for each in (resource.RLIMIT_DATA, resource.RLIMIT_NPROC)])
"""
ROOT = str(Path(launch_args.__file__).parents[2])


def run(*words: str, limits: str = "") -> subprocess.CompletedProcess[str]:
    program = f"{limits}{SHOW}"
    return subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False, cwd=ROOT
    )


INHERITED = run().stdout


@pytest.mark.parametrize(
    ("words", "data", "processes"),
    [
        (["memory=1000000000", "pids=20"], 1_000_000_000, 20),
        (["pids=20", "not-kernel=1.2.3", "memory=1000000000"], 1_000_000_000, 20),
    ],
)
def test_limits_are_set_for_good(words: list[str], data: int, processes: int) -> None:
    assert run(*words).stdout == f"[({data}, {data}), ({processes}, {processes})]\n"


@pytest.mark.parametrize("words", [["tests/x.py", "-k", "a=b"], ["cpus=1", "memory=lots", "pids=-1", "pids"]])
def test_other_words_are_nobodys(words: list[str]) -> None:
    assert run(*words).stdout == INHERITED


def test_a_lower_limit_of_the_sandbox_stays() -> None:
    lower = "import resource; resource.setrlimit(resource.RLIMIT_NPROC, (7, 7))\n"
    assert run("pids=20", limits=lower).stdout.endswith("(7, 7)]\n")


def test_the_kernel_that_must_not_be_there_ends_it_at_once() -> None:
    done = run(f"not-kernel={os.uname().release}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("the runtime must isolate sandboxes by a separate kernel, but uses the host's kernel\n")
