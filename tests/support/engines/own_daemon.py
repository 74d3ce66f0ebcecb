"""A Docker daemon that a test starts, stops and restarts. All its files are in one folder.

The daemon has a separate network namespace: with ``--bridge=none``, dockerd deletes the bridge ``docker0`` of the
namespace that it runs in, which must not be the one of the machine's own daemon. Its API is a Unix socket, which
does not belong to a network namespace, and no container of the tests needs a network.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from docker.api.client import APIClient

from toolc.model.json_schema import JsonValue
from toolc.sandbox.docker.api_client import NoDaemonError, find_socket
from toolc.sandbox.docker.daemon import connect
from toolc.sandbox.host import cgroups
from toolc.sandbox.images.stored import base_tag

SECONDS = 60.0
"""How long a daemon may take to start or to stop."""

_STARTS = 3
_CONTAINERD_IS_LATE = "timeout waiting for containerd to start"

TOOLS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_OPTIONS = (
    "--bridge=none", "--iptables=false", "--ip6tables=false",
    "--containerd-namespace=toolc-tests", "--containerd-plugins-namespace=toolc-tests-plugins",
    "--shutdown-timeout=1",
)  # fmt: skip
"""No network, and separate namespaces in a containerd that it may share with the daemon of the host."""


_ENTER = """\
mount --bind "$0" "$0"
cd "$0"
for folder in proc sys dev tmp var/tmp run/toolc var/lib/toolc; do
  mkdir -p "$folder" "/$folder"
  mount --rbind "/$folder" "$folder"
done
exec chroot . "$@"
"""
"""A program of sh that runs a command in a folder with another system, with the host's kernel and toolc's folders."""


class OwnDaemon:
    """A running dockerd. Its containers and images are in ``data`` and survive a restart."""

    def __init__(self, folder: Path, configuration: Mapping[str, JsonValue] | None = None, root: str = "") -> None:
        """Start it with the contents of ``daemon.json``, and load the base image of the usual daemon into it.

        ``root`` is a folder with another system, whose dockerd is started; the workspaces are in it too.
        Raises ``NoDaemonError`` with the end of its log if it does not answer within ``SECONDS``.
        """
        self._folder = folder
        self._root = root
        self.data = folder / "data"
        self.socket = str(folder / "docker.sock")
        (folder / "daemon.json").write_text(json.dumps(configuration or {}), encoding="utf-8")
        self.start()
        copy_image(base_tag(), find_socket(os.environ), self.socket)

    def start(self) -> None:
        """Start the daemon. On a busy machine, containerd can miss the 15 seconds that dockerd waits for it."""
        for _ in range(_STARTS - 1):
            try:
                return self._start()
            except NoDaemonError as error:
                if _CONTAINERD_IS_LATE not in str(error):
                    raise
        return self._start()

    def _start(self) -> None:
        places = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "pid", "--config-file": "daemon.json"}
        options = [word for option, name in places.items() for word in (option, str(self._folder / name))]
        options += [f"--host=unix://{self.socket}", f"--cgroup-parent=/{self._folder.name}", *_OPTIONS]
        # The daemon ends with the process that started it, however that one ends.
        enter = ["--mount", "--propagation", "private", "sh", "-euc", _ENTER, self._root] if self._root else []
        command = ["setpriv", "--pdeathsig", "TERM", "unshare", "--net", *enter, "dockerd"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"PATH": TOOLS},
                start_new_session=True,
            )
        self._wait()

    @property
    def pid(self) -> int:
        """The id of its process, if it has no ``root``."""
        return self._process.pid

    def stop(self) -> None:
        """End the process as ``systemctl stop`` does."""
        self._process.terminate()
        self._process.wait(SECONDS)

    def kill(self) -> None:
        """End the process at once, as the kernel does if memory runs out."""
        self._process.kill()
        self._process.wait(SECONDS)

    def hold(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def release(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _wait(self) -> None:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                connect(self.socket)
            except NoDaemonError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self._process.kill()
                    self._process.wait(SECONDS)
                    log = (self._folder / "log").read_text(encoding="utf-8", errors="replace")
                    raise NoDaemonError("the Docker daemon of the tests did not start", log[-2000:]) from None
                time.sleep(0.05)
            else:
                return


@contextlib.contextmanager
def own_daemon(
    megabytes: int = 0, configuration: Mapping[str, JsonValue] | None = None, root: str = ""
) -> Iterator[OwnDaemon]:
    """Yield a daemon that runs as long as the block; with ``megabytes``, its data is on a tmpfs of that size."""
    folder = Path(tempfile.mkdtemp(prefix="toolc-daemon-"))
    daemon = None
    (folder / "data").mkdir(mode=0o711)
    if megabytes:
        disk = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "tmpfs", str(folder / "data")]
        subprocess.run(disk, check=True)
    try:
        daemon = OwnDaemon(folder, configuration, root)
        yield daemon
    finally:
        if daemon is not None:
            daemon.release()
            daemon.stop()
        _remove(folder)


def missing() -> str:
    """Return why no daemon can be started here; empty if one can."""
    lacking = [program for program in ("dockerd", "setpriv", "unshare") if not shutil.which(program, path=TOOLS)]
    if os.geteuid() != 0:
        return "needs root to start a daemon"
    if lacking:
        return f"needs {' and '.join(lacking)}"
    try:
        connect(find_socket(os.environ))
    except NoDaemonError as error:
        return f"needs the base image of the usual daemon: {error}"
    return ""


def _remove(folder: Path) -> None:
    """Remove what a stopped daemon leaves: the mount of its network namespace, control groups and its folder."""
    mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    points = [line.split(" ")[4] for line in mountinfo.splitlines()]
    for point in reversed([each for each in points if Path(each).is_relative_to(folder)]):
        subprocess.run(["umount", "--lazy", point], check=True)
    for tree in cgroups.trees(mountinfo):
        for group, _, _ in os.walk(tree.mount_point / folder.name, topdown=False):
            with contextlib.suppress(OSError):  # a process in it still has to end
                Path(group).rmdir()
    shutil.rmtree(folder, ignore_errors=True)


def copy_image(tag: str, source: str, target: str) -> None:
    """Copy an image from the daemon at the socket ``source`` to the one at ``target``."""
    with (
        contextlib.closing(APIClient(f"unix://{source}", version="auto")) as theirs,
        contextlib.closing(APIClient(f"unix://{target}", version="auto")) as ours,
    ):
        list(ours.load_image(theirs.get_image(tag)))  # type: ignore[no-untyped-call]
