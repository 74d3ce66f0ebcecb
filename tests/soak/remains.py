"""What may be left of an owner after its death: all that bears its label, or the id of one of its containers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from toolc.engines.docker_body import OWNER_LABEL
from toolc.engines.docker_http import Client

TOPS = ("/run/toolc", "/sys/fs/cgroup", "/run/docker", "/var/run/docker")
"""Where runtime folders, control groups and the daemon's own state of containers are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """One process that made sandboxes. ``folders`` were given to it alone (scratch, temporary files, store)."""

    label: str
    containers: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    client: Client | None = None

    def remains(self) -> list[str]:
        """A line for each thing that is still there."""
        return [*self._processes(), *self._folders(), *self._mounts(), *self._daemons()]

    def _words(self) -> tuple[str, ...]:
        return (self.label, *self.containers)

    def _processes(self) -> Iterator[str]:
        words = [word.encode() for word in self._words()]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
                groups = (process / "cgroup").read_bytes()
            except OSError:
                continue
            if any(word in command or word in groups for word in words):
                yield f"process {process.name}: {command.decode(errors='replace')[:100]}"

    def _folders(self) -> Iterator[str]:
        for top in TOPS:
            for folder, names, files in os.walk(top):
                for name in (*names, *files):
                    if any(word in name for word in self._words()):
                        yield f"folder {folder}/{name}"
        for own in self.folders:
            for folder, names, files in os.walk(own):
                yield from (f"file {folder}/{name}" for name in files)
                yield from (f"folder {folder}/{name}" for name in names if self.label in name)

    def _mounts(self) -> Iterator[str]:
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
            if any(word in line for word in self._words()):
                yield f"mount {line}"

    def _daemons(self) -> Iterator[str]:
        if self.client is None:
            return
        filters = quote(json.dumps({"label": [f"{OWNER_LABEL}={self.label}"]}))
        listed = self.client.call("GET", f"/containers/json?all=1&filters={filters}", timeout=20)
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict):
                yield f"container {entry.get('State')} {str(entry.get('Id'))[:12]}"
        volumes = self.client.call("GET", "/volumes", timeout=20)
        for entry in (volumes.get("Volumes") or []) if isinstance(volumes, dict) else []:  # type: ignore[union-attr]
            if self.label in json.dumps(entry):
                yield f"volume {entry}"


def seconds_until_clean(owned: Owned, patience: float) -> float:
    """How long it took until nothing was left. Raises ``AssertionError`` that says what still is."""
    began = time.monotonic()
    while found := owned.remains():
        assert time.monotonic() - began < patience, "\n".join(found)
        time.sleep(0.02)
    return time.monotonic() - began
