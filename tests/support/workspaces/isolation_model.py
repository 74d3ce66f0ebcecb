"""What a transaction may do: the three states of every path, the commits that are refused, and what a commit leaves."""

import contextlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = "folder"


@dataclass(frozen=True)
class Node:
    kind: str
    mode: int
    owner: tuple[int, int]
    content: str = ""

    def was_left_by_tool(self, other: "Node | None") -> bool:
        if other is None or self.kind != other.kind:
            return False
        if self.kind != "link" and (self.mode ^ other.mode) & 0o777:
            return False
        return self.content == other.content


Tree = dict[str, Node]


def snapshot(top: Path) -> Tree:
    """Return what is in a folder. In an overlay, the kernel may still list what others have removed."""
    found = {}
    for folder, folders, files in os.walk(top):
        for path in (Path(folder, name) for name in (*folders, *files)):
            with contextlib.suppress(OSError):
                found[str(path.relative_to(top))] = _node(path)
    return found


def _node(path: Path) -> Node:
    status = path.lstat()
    mode, owner = stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)
    if stat.S_ISLNK(status.st_mode):
        return Node("link", mode, owner, str(path.readlink()))
    if stat.S_ISDIR(status.st_mode):
        return Node(FOLDER, mode, owner)
    return Node("file", mode, owner, path.read_text())


def parents(path: str) -> list[str]:
    """Return the folders above a path, innermost first."""
    return [str(each) for each in Path(path).parents][:-1]


def below(tree: Tree, path: str) -> set[str]:
    """Return ``path`` and every path below it."""
    return {path} | {each for each in tree if each.startswith(f"{path}/")}


@dataclass
class History:
    """``mine``: what the tool left at the paths that it acted on. ``renewed``: folders that others removed or replaced.

    It is noted after each act of the tool: what an overlay shows after others have acted is not defined.
    """

    base: Tree
    mine: dict[str, "Node | None"] = field(default_factory=dict)
    renewed: set[str] = field(default_factory=set)

    def changes(self, theirs: Tree) -> dict[str, Node | None]:
        """Return what the tool changed: neither the base nor what is there now."""
        return {
            path: node
            for path, node in self.mine.items()
            if not _is_left(node, self.base.get(path)) and not _is_left(node, theirs.get(path))
        }

    def conflicts(self, theirs: Tree) -> set[str]:
        """Return the changes for which the commit must be refused; if there are none, it must not be."""
        changes = self.changes(theirs)
        return {
            path
            for path in changes
            if not self._is_unchanged(path, theirs)
            or self._has_others(path, changes, theirs)
            or self._lost_folder(path, changes, theirs)
        }

    def _is_unchanged(self, path: str, theirs: Tree) -> bool:
        node = theirs.get(path)
        is_renewed = node is not None and node.kind == FOLDER and path in self.renewed
        return node == self.base.get(path) and not is_renewed

    def _has_others(self, path: str, changes: dict[str, Node | None], theirs: Tree) -> bool:
        """Return whether the tool removed a folder in which others have something."""
        node, now = changes[path], theirs.get(path)
        if now is None or now.kind != FOLDER or (node is not None and node.kind == FOLDER):
            return False
        inner = [each for each in theirs if each.rpartition("/")[0] == path]
        return any(each not in changes or changes[each] is not None for each in inner)

    def _lost_folder(self, path: str, changes: dict[str, Node | None], theirs: Tree) -> bool:
        for folder in parents(path):
            node, now, before = changes.get(folder), theirs.get(folder), self.base.get(folder)
            is_there = now is not None and now.kind == FOLDER
            if node is not None and node.kind == FOLDER and not is_there:
                return False  # the tool adds it
            if not is_there or (before is not None and before.kind == FOLDER and folder in self.renewed):
                return True
        return False


def _is_left(mine: Node | None, other: Node | None) -> bool:
    return other is None if mine is None else mine.was_left_by_tool(other)


def committed(theirs: Tree, changes: dict[str, Node | None]) -> dict[str, tuple[str, int, str]]:
    """Return the kind, the permissions and the content of every path after a commit."""
    after = {path: node for path, node in theirs.items() if changes.get(path, node) is not None}
    after |= {path: node for path, node in changes.items() if node is not None}
    return described(after)


def described(tree: Tree) -> dict[str, tuple[str, int, str]]:
    return {path: (node.kind, node.mode & 0o777, node.content) for path, node in tree.items()}
