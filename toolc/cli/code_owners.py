"""``CODEOWNERS``: the owners of the files that decide what a review accepts.

Sources: https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
and https://docs.gitlab.com/user/project/codeowners/reference/.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.compiler.project.files import PROJECT_FILES
from toolc.model.errors import UsageError
from toolc.model.text import lazy_re

PLACEHOLDER: Final = "@OWNER"
"""Written where no owner is named. The user must replace it."""

_OWNER: Final = lazy_re(r"@[A-Za-z0-9][\w.-]*(/[\w.-]+)*|[^\s@#]+@[^\s@#]+\.[^\s@#]+")

_PATTERNS: Final = (".github/**", "CODEOWNERS", "toolc.lock", "toolc.accepted.yaml", *PROJECT_FILES)
"""A pattern without a slash matches at any depth, as in ``.gitignore``."""

_GITLAB_PATTERNS: Final = (".gitlab-ci.yml", ".gitlab/**")

_PLACES: Final = {
    "github": (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"),
    "gitlab": ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
    None: (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
}
"""The paths where a code host looks for the file, in this order; it uses the first one."""


@dataclass(frozen=True, slots=True)
class CodeOwners:
    """The file ``CODEOWNERS`` of a repository.

    ``path`` is relative to the new folder; in a repository around it, absolute. ``text`` is None if the file exists or
    belongs outside the new folder; then ``missing`` are the lines that it lacks.
    """

    path: str
    text: str | None
    missing: tuple[str, ...]


def owner(name: str) -> str:
    """Return the name of an owner in the syntax of ``CODEOWNERS``. Raises ``UsageError``."""
    if not _OWNER.fullmatch(name):
        raise UsageError(f"{name!r} is not an owner; write a user (@alice), a team (@org/tools) or an email address")
    return name


def code_owners(folder: Path, host: str | None, owners: Sequence[str]) -> CodeOwners:
    """Return the file for a folder of specs at the code host ``github``, ``gitlab`` or, with None, either.

    An existing file is not changed: the code host uses the last pattern that matches, so the missing lines belong at
    its end.
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
# A change of these files can change what toolc diff reports, so each needs the review of an owner. Configure the
# code host to require it. GitHub: "Require review from Code Owners". GitLab: "Code owner approval" of the branch.
"""


def repository_top(folder: Path) -> Path:
    """Return the top of the repository that contains the folder; the folder itself if there is none."""
    real = folder.resolve()
    return next((each for each in (real, *real.parents) if (each / ".git").exists()), real)


def _owned(path: Path) -> set[str]:
    """Return the patterns that have an owner at the end of the file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    found: dict[str, bool] = {}
    for line in text.splitlines():
        pattern, *owners = line.partition("#")[0].split() or [""]
        found[pattern.removeprefix("/") if "/" in pattern[1:] else pattern] = bool(owners)
    return {pattern for pattern, is_owned in found.items() if is_owned}
