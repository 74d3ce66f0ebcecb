"""The arguments of process 1."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolc.guest import launch_args

SHOW = """
import resource
from toolc.guest import launch_args
launch_args.require_separate_kernel()
launch_args.set_limits()
print([resource.getrlimit(each) for each in (resource.RLIMIT_DATA, resource.RLIMIT_NPROC)])
"""
ROOT = str(Path(launch_args.__file__).parents[2])


def run(*words: str, limits: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"{limits}{SHOW}", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


INHERITED = run().stdout


def test_limits_are_set_permanently() -> None:
    found = run("pids=20", "not-kernel=1.2.3", "memory=1000000000").stdout
    assert found == "[(1000000000, 1000000000), (20, 20)]\n"


@pytest.mark.parametrize("words", [["tests/x.py", "-k", "a=b"], ["cpus=1", "memory=lots", "pids=-1", "pids"]])
def test_other_arguments_are_ignored(words: list[str]) -> None:
    assert run(*words).stdout == INHERITED


def test_a_lower_limit_of_the_sandbox_is_kept() -> None:
    lower = "import resource; resource.setrlimit(resource.RLIMIT_NPROC, (7, 7))\n"
    assert run("pids=20", limits=lower).stdout.endswith("(7, 7)]\n")


def test_the_guest_exits_on_the_wrong_kernel() -> None:
    done = run(f"not-kernel={os.uname().release}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("the runtime must give sandboxes a separate kernel, but it uses the host's kernel\n")
