"""Kills owners, and measures how long it takes until nothing of theirs is left."""

from __future__ import annotations

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
from configurations import CONFIGURATIONS
from daemon_places import DaemonPlaces
from delegated_groups import delegated
from dying_owner import kill_janitor
from gvisor_daemon import gvisor_socket
from paths import SUPPORT
from remains import Before, Owned, adopting, seconds_until_clean

from toolc.sandbox.docker.api_client import find_socket
from toolc.sandbox.docker.daemon import connect

HERE: Final = Path(__file__).parent
PATIENCE_SECONDS: Final = 90.0
"""A janitor gives up after ten; a loaded machine is slow."""

REACH_SECONDS: Final = 90.0
"""How long six callers may take to reach a step a few times."""

Death = Literal["owner", "both, then a call", "both, then gc"]
"""Who is killed: the owner, or its janitor too, and what then has to make it good."""

DEATHS: Final[tuple[Death, ...]] = ("owner", "both, then a call", "both, then gc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One of ``CONFIGURATIONS``, and the folders, groups and daemon that it has for one owner."""

    name: str
    top: Path
    groups: tuple[Path, ...]
    socket: str

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a program of this folder, or with ``-m`` a module, as the configuration's user."""
        return subprocess.Popen(
            [*self._prefix(), sys.executable, *words], stdout=subprocess.PIPE, text=True, env=self._environment()
        )

    def engine_words(self) -> tuple[str, str]:
        """The engine, and the isolation to demand of it."""
        configuration = CONFIGURATIONS[self.name]
        return configuration.name.partition("+")[0].partition(" ")[0], configuration.min_isolation

    @property
    def workspace(self) -> Path:
        """What the calls work on."""
        return self.top / "workspace"

    def daemon(self) -> DaemonPlaces | None:
        """The daemon that is asked for sandboxes, if any is."""
        if self.engine_words()[0] != "docker":
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
    """Folders of its own, gone afterwards."""
    uid = CONFIGURATIONS[name].uid
    with contextlib.ExitStack() as held:
        given = tempfile.TemporaryDirectory(prefix="toolc-soak-", ignore_cleanup_errors=True)
        top = Path(held.enter_context(given))
        top.chmod(0o711)
        for folder in ("tmp", "state", "store", "cache", "workspace"):
            (top / folder).mkdir(mode=0o755)
            os.chown(top / folder, uid, uid)
        (top / "workspace" / "a").write_text("old\n", encoding="ascii")
        for path in (top / "workspace", top / "workspace" / "a"):
            os.chown(path, USER, USER)
        groups = held.enter_context(delegated(uid)) if uid else ()
        # The configurations of oci need none: then nobody listens there, and nobody is asked.
        socket = _socket(name) if name.startswith("docker") else str(top / "no-docker.sock")
        yield Setup(name=name, top=top, groups=groups, socket=socket)


def seconds_after_death(name: str, step: str, death: Death, *, kill_after: float | None = None) -> float:
    """Let an owner die at a step, or after some seconds; how long until nothing was left of it.

    With the janitor dead as well, it is counted from the start of what makes it good.
    Raises ``AssertionError`` that says what was left, or what else went wrong.
    """
    with setup(name) as place, adopting():
        daemon = place.daemon()
        before = Before.look(daemon)
        label, containers = _dead_owner(place, step, death, kill_after)
        owned = Owned(label=label, containers=containers, top=place.top, daemon=daemon, before=before)
        seconds = seconds_until_clean(owned, PATIENCE_SECONDS) if death == "owner" else _made_good(place, owned, death)
        found = sorted(str(path.relative_to(place.workspace)) for path in place.workspace.rglob("*"))
        assert found in (["a"], ["a", "deep"], ["a", "deep", "deep/b"]), found
        return seconds


def _dead_owner(place: Setup, step: str, death: Death, kill_after: float | None) -> tuple[str, tuple[str, ...]]:
    """Its label, and its containers as far as it told them."""
    victims = "owner" if death == "owner" else "both"
    words = (*place.engine_words(), step, victims, str(place.workspace))
    with place.start(str(HERE / "dying_owner.py"), *words) as process:
        assert process.stdout is not None

        def end() -> None:
            if victims == "both":
                kill_janitor(process.pid)
            process.kill()

        label = process.stdout.readline().strip()
        timer = threading.Timer(REACH_SECONDS if kill_after is None else kill_after, end)
        timer.start()
        # It ends with the process, and only then.
        containers = tuple(process.stdout.read().split())
        reached = timer.is_alive()
        timer.cancel()
        status = process.wait()
    assert status == -signal.SIGKILL, f"the owner ended by itself, with {status}"
    assert reached or kill_after is not None, f"{place.name}: {step} was not reached"
    return label, containers


def _made_good(place: Setup, owned: Owned, death: Death) -> float:
    if death == "both, then gc":
        words = ["-m", "toolc", "gc"]
    else:
        words = [str(HERE / "next_owner.py"), *place.engine_words(), str(place.workspace)]
    began = time.monotonic()
    with place.start(*words) as process:
        told, _ = process.communicate(timeout=REACH_SECONDS)
    assert process.returncode == 0, f"{death}: it ended with {process.returncode}\n{told}"
    seconds_until_clean(owned, PATIENCE_SECONDS)
    return time.monotonic() - began


def _socket(name: str) -> str:
    return gvisor_socket() if CONFIGURATIONS[name].min_isolation == "gvisor" else find_socket(os.environ)


def lacks(name: str) -> str:
    """Why these tests cannot be run with this configuration; empty if they can."""
    return CONFIGURATIONS[name].lacks() or ""
