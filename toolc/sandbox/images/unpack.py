"""Unpack one layer of an image over the layers below it. The layer is untrusted input.

No path leaves the root. ``..`` is refused, and links are followed as a process inside the root would follow them, never
as the host would. Devices, fifos and set-id bits are dropped, all files belong to this user, and their size and number
are limited. No other process may write to the root while it is being unpacked.
"""

import hashlib
import os
import shutil
import stat
import tarfile
from pathlib import Path
from typing import IO, Final

from toolc.dataclass import dataclass, field
from toolc.model.errors import InfrastructureError
from toolc.model.text import render_size
from toolc.sandbox.images.tree import Tree

MAX_BYTES: Final = 16 * 1024**3
MAX_ENTRIES: Final = 1_000_000
MAX_DEPTH: Final = 128
MAX_LINKS: Final = 40
"""The maximum number of symbolic links in one path, as in path_resolution(7).

The other limits are for an image: bytes, files, and folders in a path. Real images reach a tenth of them.
"""

MAX_METADATA: Final = 1024 * 1024
"""The maximum size of a name or extended header, in bytes. Content is read in pieces of this size."""

WHITEOUT: Final = ".wh."
OPAQUE: Final = ".wh..wh..opq"
"""The marks of the OCI image specification for files that a layer deletes."""

_SPECIAL: Final = {tarfile.CHRTYPE: "c", tarfile.BLKTYPE: "b", tarfile.FIFOTYPE: "p"}
"""The types of devices and fifos, which are part of an image's tree but are not unpacked."""


@dataclass(slots=True)
class UnpackBudget:
    """The remaining size and number of files of an image, for all of its layers."""

    bytes_left: int = MAX_BYTES
    entries_left: int = MAX_ENTRIES

    def spend(self, size: int) -> None:
        """Subtract one entry of ``size`` bytes. Raises ``InfrastructureError`` if it exceeds the limits."""
        if size < 0:
            # Numbers in a header are signed; a negative size would increase the budget.
            raise InfrastructureError("the image is unsafe: a layer has a file of negative size")
        self.bytes_left -= size
        self.entries_left -= 1
        if self.bytes_left < 0 or self.entries_left < 0:
            raise InfrastructureError(
                f"the image is larger than {render_size(MAX_BYTES)} or has more than {MAX_ENTRIES} files; "
                "make it smaller"
            )


class LayerReader:
    """The bytes of a layer for ``tarfile``, read once from start to end, hashed and counted."""

    def __init__(self, source: IO[bytes], limit: int) -> None:
        """``limit`` is the maximum number of bytes after decompression. A longer layer is refused."""
        self._source = source
        self._limit = limit
        self._position = 0
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return the next ``size`` bytes, or fewer at the end."""
        if not 0 <= size <= MAX_METADATA:
            raise InfrastructureError("the image is unsafe: a layer has a header of more than a megabyte")
        data = self._source.read(size)
        self._position += len(data)
        if self._position > self._limit:
            raise InfrastructureError(f"a layer of the image has more than {self._limit} bytes; make it smaller")
        self._digest.update(data)
        return data

    def tell(self) -> int:
        """Return the number of bytes read."""
        return self._position

    def seek(self, position: int) -> int:
        """Read ahead to ``position``. Seeking back is not possible."""
        if position < self._position:
            raise InfrastructureError("a layer of the image is damaged: its entries are not in order")
        while self._position < position and self.read(min(position - self._position, MAX_METADATA)):
            pass
        return self._position

    def digest(self) -> str:
        """Read to the end and return the digest of all bytes."""
        while self.read(MAX_METADATA):
            pass
        return "sha256:" + self._digest.hexdigest()


@dataclass(slots=True)
class _Layer:
    """A layer being unpacked: the root, and the paths in it that this layer has created, with their parents.

    ``tree`` gets its entries as they are in the layer, before unpacking changes them (see above). ``special`` are the
    paths of the layer's devices and fifos.
    """

    root: str
    tar: tarfile.TarFile
    tree: Tree
    made: set[str] = field(default_factory=set)
    special: set[str] = field(default_factory=set)

    def unpack_member(self, member: tarfile.TarInfo) -> None:
        parts = split(member.name)
        if not parts:
            return
        name = parts[-1]
        parent = resolve(self.root, parts[:-1])
        if name.startswith(WHITEOUT):
            self._delete(parent, name)
            return
        path = f"{parent}/{name}"
        if member.isdir():
            _make_folder(path, member.mode)
            self._record(path, member, "d")
        elif member.isreg():
            content = self._write(path, member)
            self._record(path, member, "f", content=content)
        elif member.issym():
            _remove(path)
            Path(path).symlink_to(member.linkname)
            self._record(path, member, "l", target=member.linkname)
        elif member.islnk():
            self._link(path, member.linkname)
        elif kind := _SPECIAL.get(member.type):
            device = f"{member.devmajor}:{member.devminor}" if kind != "p" else ""
            self._record(path, member, kind, target=device)
            self.special.add(self._inside(path))
            return
        else:
            return
        self._remember(path)

    def _record(self, path: str, member: tarfile.TarInfo, kind: str, *, target: str = "", content: str = "") -> None:
        mode = 0o777 if kind == "l" else member.mode
        self.tree.add(
            self._inside(path), kind, mode=mode, uid=member.uid, gid=member.gid, target=target, content=content
        )

    def _inside(self, path: str) -> str:
        return path[len(self.root) + 1 :]

    def _write(self, path: str, member: tarfile.TarInfo) -> str:
        """Write a file, and return the digest of its content."""
        _remove(path)
        content = self.tar.extractfile(member)
        assert content is not None
        hasher = hashlib.sha256()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with content, os.fdopen(descriptor, "wb") as file:
            while piece := content.read(MAX_METADATA // 4):
                hasher.update(piece)
                file.write(piece)
            file.flush()
            # A file never has set-id bits. This user can always read it, in order to inspect and copy it.
            os.fchmod(file.fileno(), member.mode & 0o777 | 0o400)
            # Python uses compiled files only if they contain the exact modification time of their source.
            os.utime(file.fileno(), (_time(member), _time(member)))
        return hasher.hexdigest()

    def _link(self, path: str, target: str) -> None:
        parts = split(target)
        source = f"{resolve(self.root, parts[:-1])}/{parts[-1]}" if parts else self.root
        if not os.path.lexists(source) or stat.S_ISDIR(os.lstat(source).st_mode):
            raise InfrastructureError(f"the image has a hard link to {target!r:.200}, which is not one of its files")
        if source != path:
            _remove(path)
            os.link(source, path, follow_symlinks=False)
            self.tree.link(self._inside(path), self._inside(source))

    def _delete(self, parent: str, mark: str) -> None:
        if mark == OPAQUE:
            self._clear(parent)
            self.tree.remove_special(self._inside(parent), self.special)
        elif not mark.startswith(WHITEOUT * 2):
            name = mark.removeprefix(WHITEOUT)
            if name in {"", ".", ".."}:
                raise InfrastructureError(f"the image is unsafe: it deletes {name!r}, which is not a file name")
            if f"{parent}/{name}" not in self.made and self._inside(f"{parent}/{name}") not in self.special:
                self._forget(f"{parent}/{name}")

    def _clear(self, folder: str) -> None:
        for entry in list(os.scandir(folder)):
            if entry.path not in self.made:
                self._forget(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                self._clear(entry.path)

    def _forget(self, path: str) -> None:
        _remove(path)
        self.tree.remove(self._inside(path))

    def _remember(self, path: str) -> None:
        while path != self.root and path not in self.made:
            self.made.add(path)
            path = path.rpartition("/")[0]


def unpack(layer: LayerReader, root: str, budget: UnpackBudget, tree: Tree | None = None) -> None:
    """Unpack a layer (an uncompressed tar) into ``root``, an absolute path. Raises ``InfrastructureError``.

    ``tree`` has the entries of the layers below, and gets those of this layer.
    """
    try:
        with tarfile.open(fileobj=layer, mode="r:", errors="surrogateescape") as tar:  # type: ignore[call-overload]
            work = _Layer(root, tar, Tree() if tree is None else tree)
            while (member := tar.next()) is not None:
                # Otherwise all headers would stay in memory, each with the values of a global header.
                tar.members.clear()
                budget.spend(member.size)
                work.unpack_member(member)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise InfrastructureError(f"a layer of the image is damaged: {error}") from error


def split(name: str) -> list[str]:
    """Return the parts of a path in a layer. Raises ``InfrastructureError`` if it could leave the root."""
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if ".." in parts or "\0" in name:
        raise InfrastructureError(f"the image is unsafe: the path {name!r:.200} leads out of its root")
    if len(parts) > MAX_DEPTH:
        raise InfrastructureError(f"the image is unsafe: it has a path of more than {MAX_DEPTH} folders")
    return parts


def resolve(root: str, parts: list[str]) -> str:
    """Return the folder that ``parts`` lead to for a process with the root ``root``. Missing folders are created.

    Raises ``InfrastructureError`` if there is a file in place of a folder, or the links form a cycle.
    """
    at: list[str] = []
    todo = parts[::-1]
    links = 0
    while todo:
        part = todo.pop()
        path = "/".join((root, *at, part))
        if part in {"", "."}:
            continue
        if part == "..":
            at = at[:-1]
            continue
        mode = _mode(path)
        if mode is None:
            Path(path).mkdir(mode=0o755)
        elif stat.S_ISLNK(mode):
            links += 1
            target = str(Path(path).readlink())
            at = [] if target.startswith("/") else at
            todo += target.split("/")[::-1]
            if links > MAX_LINKS or len(todo) > 2 * MAX_DEPTH:
                raise InfrastructureError(f"the image is unsafe: its links form a cycle at {path.removeprefix(root)!r}")
            continue
        elif not stat.S_ISDIR(mode):
            raise InfrastructureError(f"the image has a file at {path.removeprefix(root)!r}, where a folder is needed")
        at.append(part)
        if len(at) > MAX_DEPTH:
            raise InfrastructureError(f"the image is unsafe: it has a path of more than {MAX_DEPTH} folders")
    return "/".join((root, *at))


def _make_folder(path: str, mode: int) -> None:
    found = _mode(path)
    if found is None or not stat.S_ISDIR(found):
        _remove(path)
        Path(path).mkdir()
    Path(path).chmod(mode & 0o1777 | 0o700)


def _remove(path: str) -> None:
    mode = _mode(path)
    if mode is None:
        return
    if stat.S_ISDIR(mode):
        shutil.rmtree(path)
    else:
        Path(path).unlink()


def _mode(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None


def _time(member: tarfile.TarInfo) -> float:
    return min(max(float(member.mtime), 0.0), 2.0**32)
