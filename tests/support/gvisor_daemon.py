"""A Docker daemon that has gVisor: the one that ``docker`` itself would use, else one that the tests start."""

import atexit
import contextlib
import functools
import os
import shutil

from own_daemon import TOOLS, missing, own_daemon

from toolc.sandbox.docker.api_client import NoDaemonError, find_socket
from toolc.sandbox.docker.daemon import Daemon, connect


@functools.cache
def gvisor_socket() -> str:
    """Return the path of its socket. Raise ``NoDaemonError`` where there is none and none can be started."""
    usual = find_socket(os.environ)
    if has_gvisor(connect(usual)):
        return usual
    runsc = shutil.which("runsc", path=TOOLS)
    if missing() or not runsc:
        raise NoDaemonError(
            f"the Docker daemon at {usual} has no runtime runsc (gVisor)",
            "Register one, or run the tests with .ci/with-engines.",
        )
    return _start(runsc)


def has_gvisor(daemon: Daemon) -> bool:
    """Return whether the daemon has a runtime that is gVisor."""
    return any(runtime.isolation == "gvisor" for runtime in daemon.runtimes)


def _start(runsc: str) -> str:
    """Start a daemon that runs as long as this process."""
    running = contextlib.ExitStack()
    daemon = running.enter_context(
        own_daemon(
            configuration={
                "runtimes": {"runsc": {"path": runsc, "runtimeArgs": ["--network=none", "--oci-seccomp"]}},
                # Not by systemd: older gVisor cannot ask it for a group.
                "exec-opts": ["native.cgroupdriver=cgroupfs"],
            }
        )
    )
    atexit.register(_stop, os.getpid(), running)
    return daemon.socket


def _stop(starter: int, running: contextlib.ExitStack) -> None:
    # A forked child runs these functions too, and must not end its parent's daemon.
    if os.getpid() == starter:
        running.close()
