"""Failed starts: what the errors say, and that too many open files leak nothing."""

import errno
import os
import re
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Mount, Profile
from toolc.sandbox.docker.api_client import ApiError, Client
from toolc.sandbox.docker.container import open_process
from toolc.sandbox.docker.daemon import Daemon, Runtime
from toolc.sandbox.docker.enforced_limits import runtime_failure
from toolc.sandbox.docker.engine import _start_error

DAEMON = Daemon(client=Client("/run/docker.sock"), version="28.3.0", id="ABCD")
NO_NETWORK = "OCI runtime start failed: setting up network: cannot run with network enabled in root network namespace"


RUNSC, KATA = Runtime("runsc", "gvisor", "path=/nowhere/runsc"), Runtime("kata", "vm")


def test_a_failure_of_a_runtime_has_the_remedy() -> None:
    assert runtime_failure(RUNSC, NO_NETWORK) == (
        f"the Docker runtime 'runsc' does not work: {NO_NETWORK}; register runsc with \"runtimeArgs\": "
        '["--network=none", "--oci-seccomp"] in /etc/docker/daemon.json'
    )
    assert "make this command work on the daemon's machine: docker run --rm --runtime kata IMAGE true" in str(
        runtime_failure(KATA, "failed to create shim task: /dev/kvm: no such file or directory")
    )


@pytest.mark.parametrize(
    ("message", "own"),
    [
        (NO_NETWORK, True),
        ("failed to create shim task: OCI runtime create failed: fork/exec /usr/bin/kata-runtime: no such file", True),
        ("OCI runtime create failed: creating container: write /sys/fs/cgroup/x/cgroup.procs: invalid argument", False),
        ("Unknown runtime specified runsc", True),
        ("unknown runtime name: runsc", True),
        ("No such image: toolc/base:0.1.0", False),
        ("the daemon did not answer in time", False),
    ],
)
def test_other_errors_are_not_failures_of_a_runtime(message: str, own: bool) -> None:
    assert (runtime_failure(RUNSC, message) is not None) == own
    assert runtime_failure(Runtime("runc"), message) is None
    assert runtime_failure(None, message) is None


def test_too_many_open_files_leave_no_descriptor_of_process_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_: Path, **__: object) -> str:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(Client, "call", lambda *_, **__: {"State": {"Pid": os.getpid()}})
    monkeypatch.setattr(Path, "read_text", read)
    before = sorted(each.name for each in Path("/proc/self/fd").iterdir())
    with pytest.raises(InfrastructureError, match="too many open files"):
        open_process(DAEMON.client, "0123456789ab")
    assert sorted(each.name for each in Path("/proc/self/fd").iterdir()) == before


@pytest.mark.parametrize(
    ("scratch", "message"),
    [
        (
            "",
            (
                "the Docker daemon cannot find the workspace /var/tmp/f00d: it was removed, or the daemon runs .*; "
                "use a workspace that the daemon can "
            ),
        ),
        (
            "/var/lib/toolc/1",
            "the Docker daemon runs on .*the copy of the workspace in /var/tmp/f00d; set XDG_STATE_HOME to a folder ",
        ),
    ],
)
def test_a_workspace_that_the_daemon_cannot_find_has_a_remedy(scratch: str, message: str) -> None:
    mount = Mount(source="/var/tmp/f00d", mode="rw", owner=1, group=1, scratch=scratch)
    error = ApiError("invalid mount config for type bind: bind source path does not exist: /var/tmp/f00d", 400)
    assert re.match(message, str(_start_error(Profile(workspace=mount), "python:3.13", error)))
