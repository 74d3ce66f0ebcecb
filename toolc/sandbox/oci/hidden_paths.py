"""Hide the host's paths from proc_pid_mountinfo(5) in sandboxes.

The kernel shows the source of every bind mount as a path inside its file system, and the options of an overlay as they
were given. toolc's folders are named after its process. So the runtime has its own mount namespace, in which a tmpfs
covers the *base*, one of ``BASES``: what a sandbox needs is mounted below it, folders as overlays, whose source the
kernel does not show. Their options name only places below the base. Files that are bound one by one are a layer of the
root.

Root mounts all this in a thread with a mount namespace. An ordinary user may only mount in a user namespace, which a
process with threads cannot enter: there, unshare(1) and mount(8) do the same before the runtime. The workspace stays a
bind mount, which always shows its path.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple, TypeVar

from toolc.guest.launch_args import LOWER
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.host.mounts import in_own_mount_namespace, mount
from toolc.sandbox.oci.user_namespace import unshare_command

BASES: Final = ("/mnt", "/media", "/srv")
"""Folders that every system has and that no part of it needs."""

WORKSPACE: Final = "/workspace"
WORKSPACE_NAME: Final = "workspace"
"""The place of the workspace below an overlay, below the base."""

_TMPFS: Final = "mode=755,size=64k"

_READ_ONLY: Final = 0x1  # MS_RDONLY
_BIND: Final = 0x1000  # MS_BIND

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class HiddenPaths:
    """What is mounted below ``base`` before the runtime starts.

    ``overlays`` are the layers of each folder by its name, ``binds`` a folder by its name. ``has_workspace``: the
    lower directory of the workspace's overlay is mounted there too, at ``workspace``.
    """

    base: str = ""
    has_workspace: bool = False
    overlays: dict[str, tuple[str, ...]] = field(default_factory=dict)
    binds: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path | None:
        """The place of the workspace below its overlay, if it is below ``base``."""
        return Path(self.base) / WORKSPACE_NAME if self.has_workspace else None

    def run(self, launch: Callable[[], Result], trees: Sequence[tuple[int, Path]] = ()) -> Result:
        """Return the result of ``launch``, run by root in a namespace with all these mounts and ``trees``."""
        return in_own_mount_namespace(self._mount, trees, launch)

    def command_prefix(self) -> list[str]:
        """Return the arguments to put before the command of an ordinary user's runtime, which mount all this first."""
        if not self.base:
            return []
        script = [f"mount -t tmpfs -o {_TMPFS} tmpfs {self.base}", f"mkdir -m 755 {shlex.join(self._folders())}"]
        for source, place in self._bound():
            script.append(shlex.join(["mount", "--bind", source, place]))
        for each in self._overlaid():
            overlay = f"mount -t overlay -o ro,{each.options} overlay {each.place}"
            script.append(f"{overlay} 2>/dev/null || {shlex.join(['mount', '--bind', each.instead, each.place])}")
        return [*unshare_command(), "sh", "-ec", "\n".join([*script, 'exec "$@"']), "sh"]

    def _mount(self) -> None:
        if not self.base:
            return
        mount("tmpfs", self.base, "tmpfs", 0, _TMPFS)
        for folder in self._folders():
            Path(folder).mkdir(mode=0o755)
        for source, place in self._bound():
            mount(source, place, "", _BIND)
        for each in self._overlaid():
            try:
                mount("overlay", each.place, "overlay", _READ_ONLY, each.options)
            except OSError:
                mount(each.instead, each.place, "", _BIND)

    def _folders(self) -> list[str]:
        layers = [place for _, place in self._layers()]
        return [*(f"{self.base}/{name}" for name in (WORKSPACE_NAME, *self.overlays, *self.binds)), *layers]

    def _bound(self) -> Iterator[tuple[str, str]]:
        """Yield the source and the place of each bind mount, also of the layers: this shows that they are in use."""
        yield from ((source, f"{self.base}/{name}") for name, source in self.binds.items())
        yield from self._layers()

    def _layers(self) -> Iterator[tuple[str, str]]:
        for name, layers in self.overlays.items():
            yield from ((layer, f"{self.base}/{name}.{number}") for number, layer in enumerate(layers))

    def _overlaid(self) -> Iterator["_Overlay"]:
        for name, layers in self.overlays.items():
            below = ":".join(f"{self.base}/{name}.{number}" for number, _ in enumerate(layers))
            yield _Overlay(f"{self.base}/{name}", f"lowerdir={below},redirect_dir=nofollow", layers[-1])


class _Overlay(NamedTuple):
    """An overlay, and the folder to bind in its place if the kernel refuses it.

    The kernel refuses it if a file system cannot be a layer, or if too many overlays are stacked.
    """

    place: str
    options: str
    instead: str


NOTHING: Final = HiddenPaths()
"""Nothing is hidden."""


def hide_paths(configuration: JsonObject, layers: Path, used: Sequence[str]) -> tuple[JsonObject, HiddenPaths]:
    """Return a runtime's configuration whose mounts show no path but the workspace's, and what to mount for it.

    ``layers`` is a folder for layers, ``used`` are further paths that the runtime needs. Return the configuration
    unchanged if no base is free.
    """
    mounts = [each for each in _list(configuration["mounts"]) if isinstance(each, dict)]
    kept = [str(each["source"]) for each in mounts if each["type"] == "bind" and not _is_hidden(each)]
    base = next((each for each in BASES if _is_free(each, [*used, *kept])), None)
    root = configuration["root"]
    if base is None or not isinstance(root, dict):
        return configuration, NOTHING
    empty = _layer({}, str(root["path"]), layers)
    overlays: dict[str, tuple[str, ...]] = {}
    binds: dict[str, str] = {}
    files: dict[str, str] = {}
    found: list[JsonValue] = []
    # An ordinary user's sandbox binds this folder itself.
    has_workspace = any(each["type"] == "overlay" for each in mounts) and not any(map(_is_lower, mounts))
    for each in mounts:
        if each["type"] == "overlay":
            found.append(each | {"options": _overlay_options(each, base, binds)})
        elif not _is_hidden(each):
            found.append(each)
        elif Path(str(each["source"])).is_dir():
            name = f"folder{len(overlays)}"
            overlays[name] = (empty, str(each["source"]))
            found.append(each | {"source": f"{base}/{name}"})
        else:
            files[str(each["destination"])] = Path(str(each["source"])).read_text(encoding="utf-8")
    overlays["root"] = (_layer(files, str(root["path"]), layers), str(root["path"]))
    hidden = {**configuration, "root": {**root, "path": f"{base}/root"}, "mounts": found}
    return hidden, HiddenPaths(base, has_workspace, overlays, binds)


def map_to_root(configuration: JsonObject) -> JsonObject:
    """Return the configuration of an ordinary user's runtime for the namespace in which this user is root."""
    linux = configuration["linux"]
    assert isinstance(linux, dict)
    mappings: JsonObject = {
        name: [each | {"hostID": 0} for each in _list(linux[name]) if isinstance(each, dict)]
        for name in ("uidMappings", "gidMappings")
    }
    return configuration | {"linux": linux | mappings}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _is_hidden(each: JsonObject) -> bool:
    """Return whether a mount is a bind whose source says more than its destination."""
    shows_workspace = each["destination"] == WORKSPACE or _is_lower(each)
    return each["type"] == "bind" and not shows_workspace and each["source"] != each["destination"]


def _is_lower(each: JsonObject) -> bool:
    return each["destination"] == LOWER


def _is_free(base: str, paths: Sequence[str]) -> bool:
    """Return whether ``base`` is a folder that contains none of ``paths``."""
    if not Path(base).is_dir() or os.path.realpath(base) != base:
        return False
    return not any(PurePosixPath(os.path.realpath(each)).is_relative_to(base) for each in paths)


def _overlay_options(each: JsonObject, base: str, binds: dict[str, str]) -> list[JsonValue]:
    """Return the options of the workspace's overlay, with its scratch folder below ``base``."""
    options: list[JsonValue] = []
    for option in _list(each["options"]):
        key, _, value = str(option).partition("=")
        if key == "lowerdir":
            options.append(f"lowerdir={base}/{f'root{LOWER}' if value.endswith(LOWER) else WORKSPACE_NAME}")
        elif key in {"upperdir", "workdir"}:
            scratch, _, name = value.rpartition("/")
            binds["scratch"] = re.sub(r"\\(.)", r"\1", scratch)
            options.append(f"{key}={base}/scratch/{name}")
        else:
            options.append(option)
    return options


def _layer(files: Mapping[str, str], root: str, layers: Path) -> str:
    """Return a folder of ``layers`` that contains these texts by path, in folders like those of ``root``."""
    digest = hashlib.sha256(json.dumps([root, sorted(files.items())]).encode()).hexdigest()[:16]
    layer = layers / digest
    layer.mkdir(exist_ok=True)
    for path, text in files.items():
        for folder in reversed(PurePosixPath(path).parents[:-1]):
            made = layer / str(folder).lstrip("/")
            made.mkdir(exist_ok=True)
            like = Path(f"{root}{folder}").stat()
            made.chmod(like.st_mode & 0o7777)
            if os.geteuid() == 0:
                os.chown(made, like.st_uid, like.st_gid)
        place = layer / path.lstrip("/")
        place.write_text(text, encoding="utf-8")
        place.chmod(0o644)
    return str(layer)
