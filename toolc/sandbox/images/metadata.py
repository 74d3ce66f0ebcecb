"""Names, volumes and base images of images, and the unpacked images in the store."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.sandbox.host import store

__all__ = ["chosen"]

MANIFEST: Final = "manifest:"
CONFIG: Final = "config:"


def names_of(answer: JsonObject) -> tuple[str, ...]:
    """Return the content names of an image from ``GET /images/NAME/json``.

    First ``manifest:sha256:...``, sorted, then ``config:sha256:...`` if known.
    """
    kept, told = answer.get("RepoDigests"), answer.get("Descriptor")
    digests = {str(each).rpartition("@")[2] for each in kept} if isinstance(kept, list) else set()
    if isinstance(told, dict) and isinstance(told.get("digest"), str):  # only with the containerd image store
        digests.add(str(told["digest"]))
    known = [f"{MANIFEST}{each}" for each in sorted(digests)]
    own = str(answer.get("Id"))
    return tuple(known) if own in digests else (*known, f"{CONFIG}{own}")


def chosen(names: tuple[str, ...], image: str) -> str:
    """Return the name to approve ``image`` by: the one that a spec pins, else the first."""
    pinned = f"{MANIFEST}{image.rpartition('@')[2]}"
    return pinned if pinned in names else names[0]


OWN: Final = frozenset({"/tmp", "/tool", "/dev/shm"})
"""The paths that are limited tmpfs mounts in every sandbox, whatever an image declares."""

_KERNELS: Final = frozenset({"proc", "sys", "dev"})


def volumes(declared: object) -> tuple[str, ...]:
    """Return the normalized paths in an image's ``Volumes``, without those that every sandbox has.

    Raises ``InfrastructureError`` for a path that cannot be a volume in a sandbox: the root, the kernel's own
    folders, or a path in the workspace, where the mount point would be created among the user's files.
    """
    named = map(str, declared) if isinstance(declared, dict) else ()
    return tuple(sorted({path for path in map(_checked, named) if path not in OWN}))


def _checked(path: str) -> str:
    parts = [part for part in path.split("/") if part not in {"", "."}]
    spelled = "/" + "/".join(parts)
    inside = len(parts) > 1 and parts[0] == "workspace"
    if not parts or ".." in parts or inside or (parts[0] in _KERNELS and spelled not in OWN):
        raise InfrastructureError(
            f"the image declares a volume at {path!r:.100}, which a sandbox cannot have; build it without it"
        )
    return spelled


_CONTINUED: Final = re.compile(rb"[\\`][ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*")
_ADD: Final = re.compile(rb"^[ \t]*(?:ONBUILD[ \t]+)?ADD[ \t]+([^\n]*)$", re.IGNORECASE | re.MULTILINE)
_ADDRESS: Final = re.compile(rb"://|git@|\$")
"""An address, or a variable, which may contain one."""

_STEP: Final = re.compile(
    rb"^[ \t]*(?:ARG[ \t]+(?P<name>\w+)=(?P<value>\S*)"
    rb"|FROM[ \t]+(?:--\S+[ \t]+)*(?P<image>\S+)(?:[ \t]+AS[ \t]+(?P<stage>\S+))?)",
    re.IGNORECASE | re.MULTILINE,
)
_VARIABLE: Final = re.compile(rb"\$(?:(\w+)|\{(\w+)\})")


def fetched(dockerfile: bytes) -> str | None:
    """Return the arguments of an ``ADD`` that the daemon fetches with the host's network; None if there is none."""
    for line in _ADD.findall(_CONTINUED.sub(b"", dockerfile)):
        if _ADDRESS.search(line):
            return bytes(line).decode("utf-8", "backslashreplace").strip()
    return None


def bases(dockerfile: bytes, base: str) -> tuple[str, ...]:
    """Return the images that a Dockerfile starts from, each once; ``base`` is the value of its ``ARG BASE``."""
    variables = {b"BASE": base.encode()}
    found: dict[bytes, None] = {}
    stages: set[bytes] = {b"scratch"}
    for step in _STEP.finditer(_CONTINUED.sub(b"", dockerfile)):
        if step["name"]:
            # Only arguments before the first image can name one.
            if not found:
                variables.setdefault(step["name"], step["value"].strip(b"\"'"))
            continue
        image = _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], b""), step["image"].strip(b"\"'"))
        if image.lower() not in stages:
            found[image] = None
        stages.add((step["stage"] or b"").lower())
    return tuple(image.decode("utf-8", "backslashreplace") for image in found)


KIND: Final = "rootfs"
NAMES: Final = "images"
"""The kinds in the store: of unpacked images, and of the names that refer to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One unpacked image: its digest, the names that refer to it, and its folder."""

    digest: str
    names: tuple[str, ...]
    folder: Path

    @property
    def is_stale(self) -> bool:
        """Whether no name refers to it: a newer image with another digest was unpacked."""
        return not self.names

    def size_bytes(self) -> int:
        """Return the size of its files in bytes, each counted once."""
        seen: dict[int, int] = {}
        for folder, _, files in os.walk(self.folder):
            for name in files:
                status = os.lstat(os.path.join(folder, name))  # noqa: PTH118  a tenth of the time, for many files
                seen[status.st_ino] = status.st_size
        return sum(seen.values())


def stored() -> tuple[Stored, ...]:
    """Return all unpacked images, those with a name first. Raises ``InfrastructureError``."""
    meanings: dict[str, list[str]] = {}
    for name, note in store.notes(NAMES):
        meanings.setdefault(str(note.get("digest")), []).append(name)
    found = [
        Stored(digest=digest, names=tuple(sorted(meanings.get(digest, ()))), folder=folder)
        for digest, folder in store.made(KIND)
    ]
    return tuple(sorted(found, key=lambda each: (each.is_stale, each.names, each.digest)))


def remove(image: Stored) -> None:
    """Remove a stale image. Raises ``InfrastructureError`` if a call uses it, or it cannot be removed."""
    store.remove(KIND, image.digest, image.folder)
