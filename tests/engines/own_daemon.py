"""A Docker daemon of a test's own, to be stopped, held and started again."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gvisor_daemon import APART, SECONDS, TOOLS, _await, _copy_image

from toolc.engines.docker_host import find_socket


class OwnDaemon:
    """Has the base image. Its containers and images, in ``data``, outlive a restart, as anybody's do."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.data = folder / "data"
        self.socket = str(folder / "docker.sock")
        self.start()
        _copy_image(find_socket(os.environ), self.socket)

    def start(self) -> None:
        """Returns once it answers."""
        places = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "pid"}
        options = [word for option, name in places.items() for word in (option, str(self._folder / name))]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "setpriv",
                    "--pdeathsig",
                    "TERM",
                    "dockerd",
                    "--host",
                    f"unix://{self.socket}",
                    *options,
                    *APART,
                    "--shutdown-timeout=1",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"PATH": TOOLS},
                start_new_session=True,
            )
        _await(self.socket, self._process, self._folder / "log")

    def stop(self) -> None:
        """As ``systemctl stop`` does."""
        self._process.terminate()
        self._process.wait(SECONDS)

    def hold(self) -> None:
        """Let it hang."""
        self._process.send_signal(signal.SIGSTOP)

    def release(self) -> None:
        self._process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def own_daemon(megabytes: int = 0) -> Iterator[OwnDaemon]:
    """A daemon that lives as long as the block; its data on a disk of their own of this size, if one is given."""
    folder = Path(tempfile.mkdtemp(prefix="toolc-daemon-"))
    daemon = None
    (folder / "data").mkdir(mode=0o711)
    if megabytes:
        disk = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "tmpfs", str(folder / "data")]
        subprocess.run(disk, check=True)
    try:
        daemon = OwnDaemon(folder)
        yield daemon
    finally:
        if daemon is not None:
            daemon.release()
            daemon.stop()
        if megabytes:
            subprocess.run(["umount", "--lazy", str(folder / "data")], check=True)
        shutil.rmtree(folder, ignore_errors=True)


def missing() -> str:
    """Why none can be started here; empty if one can."""
    lacking = [program for program in ("dockerd", "setpriv") if not shutil.which(program, path=TOOLS)]
    if os.geteuid() != 0:
        return "needs root to start a daemon"
    return f"needs {' and '.join(lacking)}" if lacking else ""
