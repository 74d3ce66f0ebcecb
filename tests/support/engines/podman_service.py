"""A Podman API service that a test starts, run by root with runc. All its files are in one folder.

Its containers have no network, and it creates none. crun, Debian's default, does not work on every kernel.
"""

import atexit
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from engines.own_daemon import SECONDS, TOOLS, copy_image
from toolc.sandbox.docker.api_client import NoDaemonError, find_socket
from toolc.sandbox.docker.daemon import connect
from toolc.sandbox.host import cgroups
from toolc.sandbox.images.stored import base_tag

_ENGINE = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{folder}/tmp"
"""

_STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""


@functools.cache
def podman_socket() -> str:
    """Return the path of the socket of a service that runs as long as this process.

    Raises ``NoDaemonError`` where none can be started.
    """
    lacking = [program for program in ("podman", "conmon", "runc") if not shutil.which(program, path=TOOLS)]
    if os.geteuid() != 0 or lacking:
        missing = " and ".join(lacking) or "root"
        raise NoDaemonError(f"no Podman can be started: this needs {missing}", "Run the tests with .ci/with-podman.")
    running = contextlib.ExitStack()
    path = running.enter_context(_service())
    atexit.register(_stop, os.getpid(), running)
    return path


@contextlib.contextmanager
def _service() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="toolc-podman-"))
    environment = os.environ | {"PATH": TOOLS, "XDG_RUNTIME_DIR": str(folder)}
    for variable, name, text in (
        ("CONTAINERS_CONF", "containers.conf", _ENGINE),
        ("CONTAINERS_STORAGE_CONF", "storage.conf", _STORAGE),
    ):
        (folder / name).write_text(text.format(folder=folder), encoding="utf-8")
        environment[variable] = str(folder / name)
    path = folder / "podman.sock"
    # The service ends with the process that started it, however that one ends. Its conmon creates files in its folder.
    command = ["setpriv", "--pdeathsig", "TERM", "podman", "system", "service", "--time=0", f"unix://{path}"]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
    try:
        _wait(process, path, folder / "log")
        copy_image(base_tag(), find_socket(os.environ), str(path))
        yield str(path)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)
        subprocess.run(
            ["podman", "rm", "--all", "--force", "--time=0"], env=environment, capture_output=True, check=False
        )
        # The storage stays mounted: a mount of the folder to itself.
        for point in (folder / "graph" / "overlay", folder / "graph"):
            subprocess.run(["umount", "--lazy", str(point)], capture_output=True, check=False)
        _remove_groups()
        shutil.rmtree(folder, ignore_errors=True)


def _remove_groups() -> None:
    """Remove the control groups that Podman leaves, unless another Podman uses them."""
    for tree in cgroups.trees(Path("/proc/self/mountinfo").read_text(encoding="utf-8")):
        for group, _, _ in os.walk(tree.mount_point / "libpod_parent", topdown=False):
            with contextlib.suppress(OSError):
                Path(group).rmdir()


def _wait(process: subprocess.Popen[bytes], path: Path, log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            connect(str(path))
        except NoDaemonError:
            if process.poll() is not None or time.monotonic() > deadline:
                text = log.read_text(encoding="utf-8", errors="replace")
                raise NoDaemonError("the Podman service of the tests did not start", text[-2000:]) from None
            time.sleep(0.05)
        else:
            return


def _stop(starter: int, running: contextlib.ExitStack) -> None:
    # A forked child runs these functions too, and must not end its parent's service.
    if os.getpid() == starter:
        running.close()
