"""Docker daemons of special kinds: one that has gVisor, which may be the usual daemon, and a newer one."""

import atexit
import contextlib
import functools
import os
import shutil
from pathlib import Path
from typing import Final

from engines.own_daemon import TOOLS, missing, own_daemon
from toolc.model.json_schema import JsonObject
from toolc.sandbox.docker.api_client import NoDaemonError, find_socket
from toolc.sandbox.docker.daemon import Daemon, connect

NEWER_DOCKER: Final = "/var/lib/toolc-test/docker-trixie"
"""The folder that ``.ci/with-newer-docker`` makes."""


@functools.cache
def newer_docker_socket() -> str:
    """Return the path of the socket of a newer Docker. Raise ``NoDaemonError`` where none can be started."""
    if missing() or not Path(NEWER_DOCKER).is_dir():
        raise NoDaemonError(f"there is no {NEWER_DOCKER}", "Run the tests as root with .ci/with-newer-docker.")
    return start_daemon({"exec-opts": ["native.cgroupdriver=cgroupfs"]}, NEWER_DOCKER)


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
    # Control groups not by systemd: older gVisor cannot ask it for a group.
    runtimes: JsonObject = {"runsc": {"path": runsc, "runtimeArgs": ["--network=none", "--oci-seccomp"]}}
    return start_daemon({"runtimes": runtimes, "exec-opts": ["native.cgroupdriver=cgroupfs"]})


def start_daemon(configuration: JsonObject, root: str = "") -> str:
    """Start a daemon that runs as long as this process, and return the path of its socket."""
    running = contextlib.ExitStack()
    daemon = running.enter_context(own_daemon(configuration=configuration, root=root))
    atexit.register(_stop, os.getpid(), running)
    return daemon.socket


def _stop(starter: int, running: contextlib.ExitStack) -> None:
    # A forked child runs these functions too, and must not end its parent's daemon.
    if os.getpid() == starter:
        running.close()
