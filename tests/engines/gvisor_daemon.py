"""A Docker daemon that has gVisor: the one that ``docker`` itself would use, else one of these tests' own."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from docker.api.client import APIClient

from toolc.engines.docker_daemon import Daemon, connect
from toolc.engines.docker_host import NoHostError, find_socket
from toolc.engines.images import base_tag

SECONDS = 60.0
"""How long a daemon may take to start."""

APART = (
    "--bridge=none", "--iptables=false", "--ip6tables=false",
    "--containerd-namespace=toolc-tests", "--containerd-plugins-namespace=toolc-tests-plugins",
)  # fmt: skip
"""What keeps it out of the way of the machine's own daemon, whose network and containerd it may share."""

TOOLS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@functools.cache
def gvisor_socket() -> str:
    """Its socket. Raises ``NoHostError`` that says what is missing where there is none and none can be started."""
    usual = find_socket(os.environ)
    if has_gvisor(connect(usual)):
        return usual
    missing = [program for program in ("dockerd", "runsc") if not shutil.which(program, path=TOOLS)]
    if os.geteuid() != 0 or missing:
        raise NoHostError(
            f"the Docker daemon at {usual} has no runtime runsc (gVisor)",
            "Register one, or run the tests with .ci/with-engines.",
        )
    return _start(usual)


def has_gvisor(daemon: Daemon) -> bool:
    """Whether a runtime of gVisor's is registered there."""
    return any(runtime.isolation == "gvisor" for runtime in daemon.runtimes)


def _start(usual: str) -> str:
    """A daemon that lives as long as this process, with the base image of the ``usual`` one."""
    folder = Path(tempfile.mkdtemp(prefix="toolc-gvisor-"))
    socket = folder / "docker.sock"
    runsc = {"path": shutil.which("runsc", path=TOOLS), "runtimeArgs": ["--network=none", "--oci-seccomp"]}
    # Not by systemd: older gVisor cannot ask it for a group.
    settings = {"runtimes": {"runsc": runsc}, "exec-opts": ["native.cgroupdriver=cgroupfs"]}
    (folder / "daemon.json").write_text(json.dumps(settings), encoding="utf-8")
    places = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "pid", "--config-file": "daemon.json"}
    options = [word for option, name in places.items() for word in (option, str(folder / name))]
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(
            # Whatever these tests die of, the daemon ends with them.
            ["setpriv", "--pdeathsig", "TERM", "dockerd", "--host", f"unix://{socket}", *options, *APART],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | {"PATH": TOOLS},
            start_new_session=True,
        )
    atexit.register(_stop, os.getpid(), daemon, folder)
    _await(str(socket), daemon, folder / "log")
    _copy_image(usual, str(socket))
    return str(socket)


def _copy_image(source: str, target: str) -> None:
    with (
        contextlib.closing(APIClient(f"unix://{source}", version="auto")) as theirs,
        contextlib.closing(APIClient(f"unix://{target}", version="auto")) as ours,
    ):
        list(ours.load_image(theirs.get_image(base_tag())))  # type: ignore[no-untyped-call]


def _await(socket: str, daemon: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            connect(socket)
        except NoHostError:
            if daemon.poll() is not None or time.monotonic() > deadline:
                raise NoHostError("a Docker daemon with gVisor did not start", log.read_text()[-2000:]) from None
            time.sleep(0.1)
        else:
            return


def _stop(starter: int, daemon: subprocess.Popen[bytes], folder: Path) -> None:
    # A forked child runs these functions too, where it ends like any other process.
    if os.getpid() == starter:
        daemon.terminate()
        daemon.wait(timeout=SECONDS)
        shutil.rmtree(folder, ignore_errors=True)
