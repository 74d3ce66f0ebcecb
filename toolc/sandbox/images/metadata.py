"""Names, volumes and base images of images, and the store's description of an unpacked image."""

import json
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.text import lazy_re
from toolc.sandbox.interface import ImageUsed

MANIFEST: Final = "manifest:"
CONFIG: Final = "config:"

TMPFS_PATHS: Final = frozenset({"/tmp", "/tool", "/dev/shm"})
"""The paths that are size-limited tmpfs mounts in every sandbox, whatever an image declares."""

_KERNELS: Final = frozenset({"proc", "sys", "dev"})

_CONTINUED: Final = lazy_re(rb"[\\`][ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*")
_ADD: Final = lazy_re(rb"(?im)^[ \t]*(?:ONBUILD[ \t]+)?ADD[ \t]+([^\n]*)$")
_ADDRESS: Final = lazy_re(rb"://|git@|\$")
"""An address, or a variable, which may contain one."""

_STEP: Final = lazy_re(
    rb"(?im)^[ \t]*(?:ARG[ \t]+(?P<name>\w+)=(?P<value>\S*)"
    rb"|FROM[ \t]+(?:--\S+[ \t]+)*(?P<image>\S+)(?:[ \t]+AS[ \t]+(?P<stage>\S+))?)"
)
_VARIABLE: Final = lazy_re(rb"\$(?:(\w+)|\{(\w+)\})")

KIND: Final = "rootfs"
NAMES: Final = "images"
"""The store's kinds of unpacked images and of the names that refer to them."""

DESCRIPTION: Final = "image.json"
"""The file next to an unpacked root with the description that its sandboxes need."""


def content_names(answer: JsonObject) -> tuple[str, ...]:
    """Return the content names in ``GET /images/NAME/json``: ``manifest:sha256:...``, sorted, then ``config:...``."""
    pulled, descriptor = answer.get("RepoDigests"), answer.get("Descriptor")
    digests = {str(each).rpartition("@")[2] for each in pulled} if isinstance(pulled, list) else set()
    if isinstance(descriptor, dict) and isinstance(descriptor.get("digest"), str):  # the containerd image store
        digests.add(str(descriptor["digest"]))
    known = [f"{MANIFEST}{each}" for each in sorted(digests)]
    own = str(answer.get("Id"))
    return tuple(known) if own in digests else (*known, f"{CONFIG}{own}")


def approval_name(names: tuple[str, ...], image: str) -> str:
    """Return the name that approves ``image``: the name that a spec pins, otherwise the first one."""
    pinned = f"{MANIFEST}{image.rpartition('@')[2]}"
    return pinned if pinned in names else names[0]


def volumes(declared: object) -> tuple[str, ...]:
    """Return the normalized paths in an image's ``Volumes``, without those that every sandbox has.

    Raises ``InfrastructureError`` for a path that cannot be a volume in a sandbox: the root, the kernel's own
    folders, or a path in the workspace, where the mount point would be created among the user's files.
    """
    named = map(str, declared) if isinstance(declared, dict) else ()
    return tuple(sorted({path for path in map(_volume, named) if path not in TMPFS_PATHS}))


def remote_source(dockerfile: bytes) -> str | None:
    """Return the arguments of an ``ADD`` that the daemon downloads with the host's network, or None."""
    for line in _ADD.findall(_CONTINUED.sub(b"", dockerfile)):
        if _ADDRESS.search(line):
            return bytes(line).decode("utf-8", "backslashreplace").strip()
    return None


def base_images(dockerfile: bytes, base: str) -> tuple[str, ...]:
    """Return the distinct images that a Dockerfile starts from. ``base`` is the value of its ``ARG BASE``."""
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


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The root folder of an image. ``search_path`` is its ``PATH``, and ``volumes`` are its ``VOLUME`` paths.

    ``tree`` is the digest of its files (``toolc.sandbox.images.tree``), or ``""`` if an older toolc unpacked it.
    """

    name: str
    digest: str
    root: Path
    search_path: str | None
    volumes: tuple[str, ...]
    names: tuple[str, ...] = ()
    tree: str = ""

    @property
    def used(self) -> ImageUsed:
        """The image as shown in ``details``."""
        return ImageUsed(self.name, self.digest, self.names, self.tree)


def load_unpacked(name: str, digest: str, folder: Path) -> Unpacked:
    """Return the image in a folder of the store. Raises ``InfrastructureError``."""
    try:
        described = json.loads((folder / DESCRIPTION).read_bytes())
        if not (folder / "root").is_dir():
            raise ValueError("its folder root was removed")
    except (OSError, ValueError) as error:
        raise InfrastructureError(f"{folder} is damaged ({error}); remove it, so that it is created again") from error
    names, paths = (f"{CONFIG}{digest}",), tuple(described["volumes"])
    tree = str(described.get("tree", ""))
    return Unpacked(name, digest, folder / "root", described["search_path"], paths, names, tree)


def _volume(path: str) -> str:
    parts = [part for part in path.split("/") if part not in {"", "."}]
    normal = "/" + "/".join(parts)
    inside = len(parts) > 1 and parts[0] == "workspace"
    if not parts or ".." in parts or inside or (parts[0] in _KERNELS and normal not in TMPFS_PATHS):
        raise InfrastructureError(
            f"the image declares a volume at {path!r:.100}, which a sandbox cannot have; build it without this volume"
        )
    return normal
