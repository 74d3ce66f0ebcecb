"""Kill owners of sandboxes, and measure the time until everything they created is removed."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from as_user import USER
from daemon_places import DaemonPlaces
from dying_owner import kill_janitor
from engines.configurations import CONFIGURATIONS
from engines.delegated_groups import delegated
from engines.gvisor_daemon import gvisor_socket
from engines.shared_base import share_base
from leftovers import Before, Owned, adopting, seconds_until_clean
from project.paths import SUPPORT

from toolc.sandbox.docker.api_client import find_socket
from toolc.sandbox.docker.daemon import connect

HERE: Final = Path(__file__).parent
CLEANUP_SECONDS: Final = 90.0
"""The maximum time until everything is removed. A janitor stops after ten seconds; a loaded machine is slow."""

REACH_SECONDS: Final = 90.0
"""The maximum time until six callers have reached a step a few times."""

Death = Literal["owner", "both, then a call", "both, then gc"]
"""The killed processes: the owner, or also its janitor; and what cleans up afterwards."""

DEATHS: Final[tuple[Death, ...]] = ("owner", "both, then a call", "both, then gc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One of ``CONFIGURATIONS``, and the folders, control groups and daemon of one owner."""

    name: str
    top: Path
    groups: tuple[Path, ...]
    socket: str

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a program of this folder, or a module with ``-m``, as the user of the configuration."""
        return subprocess.Popen(
            [*self._prefix(), sys.executable, *words], stdout=subprocess.PIPE, text=True, env=self._environment()
        )

    def engine_arguments(self) -> tuple[str, str]:
        """Return the engine and the required isolation."""
        configuration = CONFIGURATIONS[self.name]
        return configuration.name.partition("+")[0].partition(" ")[0], configuration.min_isolation

    @property
    def workspace(self) -> Path:
        """The workspace of the calls."""
        return self.top / "workspace"

    def daemon(self) -> DaemonPlaces | None:
        """Return the Docker daemon, or None for other engines."""
        if self.engine_arguments()[0] != "docker":
            return None
        return DaemonPlaces.of(connect(self.socket).client)

    def _prefix(self) -> list[str]:
        if not CONFIGURATIONS[self.name].uid:
            return []
        return [sys.executable, str(HERE / "as_user.py"), *map(str, self.groups), "--"]

    def _environment(self) -> dict[str, str]:
        places = {"TMPDIR": "tmp", "XDG_STATE_HOME": "state", "TOOLC_STORE": "store", "XDG_CACHE_HOME": "cache"}
        shared = os.pathsep.join(map(str, (HERE, SUPPORT)))
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        given = {variable: str(self.top / folder) for variable, folder in places.items()}
        return inherited | given | {"HOME": str(self.top), "DOCKER_HOST": f"unix://{self.socket}", "PYTHONPATH": shared}


@contextmanager
def setup(name: str) -> Iterator[Setup]:
    """Create temporary folders and control groups for one owner."""
    uid = CONFIGURATIONS[name].uid
    with contextlib.ExitStack() as held:
        given = tempfile.TemporaryDirectory(prefix="toolc-soak-", ignore_cleanup_errors=True)
        top = Path(held.enter_context(given))
        top.chmod(0o711)
        for folder in ("tmp", "state", "store", "cache", "workspace"):
            (top / folder).mkdir(mode=0o755)
            os.chown(top / folder, uid, uid)
        share_base(top / "store")
        for path in (top / "store").rglob("*"):
            os.chown(path, uid, uid, follow_symlinks=False)
        (top / "workspace" / "a").write_text("old\n", encoding="ascii")
        for path in (top / "workspace", top / "workspace" / "a"):
            os.chown(path, USER, USER)
        groups = held.enter_context(delegated(uid)) if uid else ()
        # The oci configurations need no daemon: nothing listens on their socket.
        socket = _socket(name) if name.startswith("docker") else str(top / "no-docker.sock")
        yield Setup(name=name, top=top, groups=groups, socket=socket)


def seconds_after_death(name: str, step: str, death: Death, *, kill_after: float | None = None) -> float:
    """Kill an owner at a step or after some seconds; return the seconds until everything it created was removed.

    If the janitor is killed too, the time starts with the process that cleans up. Raise ``AssertionError`` if
    anything remains or fails.
    """
    with setup(name) as owner, adopting():
        daemon = owner.daemon()
        before = Before.look(daemon, owner.top)
        label, containers = _dead_owner(owner, step, death, kill_after)
        owned = Owned(label=label, containers=containers, top=owner.top, daemon=daemon, before=before)
        seconds = seconds_until_clean(owned, CLEANUP_SECONDS) if death == "owner" else _cleaned_up(owner, owned, death)
        found = sorted(str(path.relative_to(owner.workspace)) for path in owner.workspace.rglob("*"))
        assert found in (["a"], ["a", "deep"], ["a", "deep", "deep/b"]), found
        return seconds


def _dead_owner(owner: Setup, step: str, death: Death, kill_after: float | None) -> tuple[str, tuple[str, ...]]:
    """Run an owner until it is killed; return its label and the containers that it printed."""
    victims = "owner" if death == "owner" else "both"
    arguments = (*owner.engine_arguments(), step, victims, str(owner.workspace))
    with owner.start(str(HERE / "dying_owner.py"), *arguments) as process:
        assert process.stdout is not None

        def end() -> None:
            if victims == "both":
                kill_janitor(process.pid)
            process.kill()

        label = process.stdout.readline().strip()
        timer = threading.Timer(REACH_SECONDS if kill_after is None else kill_after, end)
        timer.start()
        # The output ends when the process does.
        containers = tuple(process.stdout.read().split())
        reached = timer.is_alive()
        timer.cancel()
        status = process.wait()
    assert status == -signal.SIGKILL, f"the owner exited without being killed, with status {status}"
    assert reached or kill_after is not None, f"{owner.name}: the step {step!r} was not reached"
    return label, containers


def _cleaned_up(owner: Setup, owned: Owned, death: Death) -> float:
    arguments = ["-m", "toolc", "gc"]
    if death != "both, then gc":
        arguments = [str(HERE / "next_owner.py"), *owner.engine_arguments(), str(owner.workspace)]
    began = time.monotonic()
    with owner.start(*arguments) as process:
        output, _ = process.communicate(timeout=REACH_SECONDS)
    assert process.returncode == 0, f"{death}: exit status {process.returncode}\n{output}"
    seconds_until_clean(owned, CLEANUP_SECONDS)
    return time.monotonic() - began


def _socket(name: str) -> str:
    return gvisor_socket() if CONFIGURATIONS[name].min_isolation == "gvisor" else find_socket(os.environ)


def lacks(name: str) -> str:
    """Return why the configuration is not available; empty if it is."""
    return CONFIGURATIONS[name].lacks() or ""
