"""``CODEOWNERS``, which declares the owners of the files that control a review.

Sources: https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
and https://docs.gitlab.com/user/project/codeowners/reference/.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolc.compiler.project.files import PROJECT_FILES
from toolc.dataclass import dataclass
from toolc.model.errors import UsageError
from toolc.model.text import lazy_re

PLACEHOLDER: Final = "@OWNER"
"""Written in place of the owner if the user named none. The user must replace it."""

_OWNER: Final = lazy_re(r"@[A-Za-z0-9][\w.-]*(/[\w.-]+)*|[^\s@#]+@[^\s@#]+\.[^\s@#]+")

_PATTERNS: Final = (".github/**", "CODEOWNERS", "toolc.lock", "toolc.accepted.yaml", *PROJECT_FILES)
"""A pattern without a slash matches at any depth, as in ``.gitignore``."""

_GITLAB_PATTERNS: Final = (".gitlab-ci.yml", ".gitlab/**")

_PLACES: Final = {
    "github": (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"),
    "gitlab": ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
    None: (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
}
"""The paths where each code host looks for the file, in the order of the search. The host uses the first match."""


@dataclass(frozen=True, slots=True)
class CodeOwners:
    """The file ``CODEOWNERS`` of a repository.

    ``path`` is relative to the new folder, or absolute if that folder is inside a repository. If the file already
    exists or belongs outside the new folder, ``text`` is None and ``missing`` has the lines that the file lacks.
    """

    path: str
    text: str | None
    missing: tuple[str, ...]


def owner(name: str) -> str:
    """Return ``name`` if it is an owner in the syntax of ``CODEOWNERS``. Otherwise raises ``UsageError``."""
    if not _OWNER.fullmatch(name):
        raise UsageError(f"{name!r} is not an owner; write a user (@alice), a team (@org/tools) or an email address")
    return name


def code_owners(folder: Path, host: str | None, owners: Sequence[str]) -> CodeOwners:
    """Return the file for a folder of specs. ``host`` is ``github``, ``gitlab``, or None for either.

    An existing file is not changed. The missing lines belong at its end, because the code host uses the last pattern
    that matches.
    """
    patterns = _PATTERNS + (_GITLAB_PATTERNS if host == "gitlab" else ())
    lines = {pattern: f"{pattern} {' '.join(owners) or PLACEHOLDER}" for pattern in patterns}
    top = repository_top(folder)
    there = next((path for path in _PLACES[host] if (top / path).exists() or (top / path).is_symlink()), None)
    path = there or (".github/CODEOWNERS" if host == "github" else "CODEOWNERS")
    if there is None and top == folder.resolve():
        return CodeOwners(path, _HEADER + "".join(f"{line}\n" for line in lines.values()), ())
    owned = _owned(top / path)
    missing = tuple(line for pattern, line in lines.items() if pattern not in owned)
    return CodeOwners(path if top == folder.resolve() else str(top / path), None, missing)


_HEADER: Final = """\
# A change to these files can change what toolc diff reports, so an owner must review each change. Configure the
# code host to require it. GitHub: "Require review from Code Owners". GitLab: "Code owner approval" of the branch.
"""


def repository_top(folder: Path) -> Path:
    """Return the top of the repository that contains the folder, or the folder itself outside of a repository."""
    real = folder.resolve()
    return next((each for each in (real, *real.parents) if (each / ".git").exists()), real)


def _owned(path: Path) -> set[str]:
    """Return the patterns whose last line in the file names an owner."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    found: dict[str, bool] = {}
    for line in text.splitlines():
        pattern, *owners = line.partition("#")[0].split() or [""]
        found[pattern.removeprefix("/") if "/" in pattern[1:] else pattern] = bool(owners)
    return {pattern for pattern, is_owned in found.items() if is_owned}
