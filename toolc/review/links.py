"""Where the paths that a user names are in a commit, by the commit's own links and by no link of the working tree.

Else a change that turns a folder into a link would hide what was in the folder before.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from toolc.model.errors import UsageError
from toolc.review.git import LINK, Commit, Repository, resolved

_MOST: Final = 40
"""How many links are followed for one path, as Linux does."""


def in_commit(commit: Commit, paths: Sequence[Path]) -> list[str]:
    """``paths`` from the repository's top, as the commit has them; empty for the top.

    Raises ``UsageError`` where one is outside of the repository, or a link of the commit leads out of it.
    """
    return [_followed(commit, named(commit.repository, path)) for path in paths]


def named(repository: Repository, path: Path) -> str:
    """``path`` from the top, links below the top left as they are. Raises ``UsageError`` outside."""
    top = repository.top.resolve()
    absolute = Path(os.path.abspath(path))  # noqa: PTH100  links stay links
    holders = reversed([absolute, *absolute.parents])
    holder = next((each for each in holders if resolved(each) == top), None)
    if holder is None:
        return repository.inside(path)
    return _relative(absolute.relative_to(holder).as_posix())


def _followed(commit: Commit, path: str) -> str:
    followed = path
    for _ in range(_MOST):
        ways = [str(each) for each in (PurePosixPath(followed), *PurePosixPath(followed).parents)][:-1]
        link = next((each for each in commit.entries(ways) if each.mode == LINK), None) if ways else None
        if link is None:
            return followed
        target = os.fsdecode(b"".join(commit.read([link])))
        rest = followed[len(link.path) :].lstrip("/")
        followed = _relative(posixpath.normpath(posixpath.join(posixpath.dirname(link.path), target, rest)))
        if followed.startswith(("/", "../")) or followed == "..":
            raise UsageError(f"{commit.name}: {link.path} is a link that leads out of the repository")
    raise UsageError(f"{commit.name}: {path} is a link that leads to itself")


def _relative(path: str) -> str:
    return "" if path == "." else path
