"""Decide which paths a transaction may change: the paths in the spec's ``writes``, except protected paths.

A path is protected if programs outside the sandbox execute it, or read it as configuration, without asking the user.
Writing it would be a way out of the sandbox. A path is protected even if it does not exist yet.
"""

import fnmatch
import functools
import stat
import unicodedata
from typing import Final

from toolc.model.call import FileChange, Kind
from toolc.model.text import lazy_re

PROTECTED: Final = frozenset(
    # version control
    ".git .gitmodules .gitconfig .gitattributes .hg .svn .jj .bzr "  # noqa: SIM905  a list to be read
    # builds on servers
    ".github .gitlab .gitlab-ci.yml .circleci .travis.yml .buildkite .drone.yml .woodpecker .woodpecker.yml "
    ".forgejo .gitea .semaphore .cirrus.yml .appveyor.yml appveyor.yml azure-pipelines.yml "
    "bitbucket-pipelines.yml jenkinsfile cloudbuild.yaml cloudbuild.yml .gitlab-ci.yaml .woodpecker.yaml "
    # editors and agents
    ".vscode .idea .zed .fleet .nvim.lua .nvimrc .exrc .vim .vimrc .dir-locals.el .devcontainer "
    ".devcontainer.json .mcp.json .claude .cursor .cursorrules .codex .gemini .windsurf .continue .aider.conf.yml "
    ".kiro .roo .opencode opencode.json .amazonq .clinerules "
    # run when a user enters a folder, commits, or starts a shell or an interpreter
    ".envrc .direnv .mise.toml mise.toml .tool-versions .husky .pre-commit-config.yaml .pre-commit-config.yml "
    "lefthook.yml .lefthook.yml .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zprofile "
    ".zshenv .zlogin .ripgreprc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pypirc .gdbinit .lldbinit .inputrc "
    ".cargo .mvn .bundle .pdbrc .irbrc .pryrc .rprofile .renviron .ghci .iex.exs .ocamlinit .octaverc "
    ".ssh .gnupg .netrc "
    # toolc's own files
    "toolc.yaml toolc.toml toolc.lock".split()
)
"""Names in lower case that no transaction may change, at any depth, with everything below them."""

_UNSEEN: Final = lazy_re(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point, which ext4 and APFS ignore when they compare names without case."""

_SHORT: Final = lazy_re(r"([^~]{1,6})~[0-9]+(?:\.(.{0,3}))?")


def refusal_reason(change: FileChange, writes: tuple[str, ...], link_target: bytes | None) -> str:
    """Return why a change may not be committed, or an empty string if it may."""
    if part := _protected_part(change.path):
        return f"{part} is protected, because programs outside of the sandbox act on it"
    if change.action != "deleted" and change.kind == "special":
        return "it is a fifo, a socket or a device"
    if link_target is not None and leads_outside(change.raw_path, link_target):
        return "it is a symbolic link that may lead out of the workspace"
    if link_target is not None and _protected_part(link_target.decode("utf-8", "surrogateescape")):
        return "it is a symbolic link to a protected path"
    if writes and not any(matches(pattern, change.path) for pattern in writes):
        # A new folder is created with its contents, and the contents are checked separately.
        if change.kind == "directory" and any(_may_contain_match(pattern, change.path) for pattern in writes):
            return ""
        return "no pattern of 'writes' in the spec matches it"
    return ""


def matches(pattern: str, path: str) -> bool:
    """Return whether a pattern of ``writes`` matches ``path``.

    ``*``, ``?`` and ``[...]`` match within a name. ``**`` matches any number of folders, including none.
    """
    return _matches(tuple(pattern.split("/")), tuple(path.split("/")))


def leads_outside(link: bytes, target: bytes) -> bool:
    """Return whether a link could point outside the workspace.

    It could if it is absolute, or if it goes up more levels than its folder is deep. It may go up only at the
    beginning, because a ``..`` after a name starts from wherever a link of that name points.
    """
    parts = target.split(b"/")
    up = 0
    while up < len(parts) and parts[up] in {b"..", b"."}:
        up += 1
    ups = parts[:up].count(b"..")
    return target.startswith(b"/") or b".." in parts[up:] or ups > link.count(b"/")


def kind_of(mode: int) -> Kind:
    """Return the file kind of a mode, as in ``toolc.model.call.Kind``."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "special"


def _protected_part(path: str) -> str:
    """Return the part of a path that is protected with everything below it, or an empty string."""
    return next((part for part in path.split("/") if _folded(part) in PROTECTED), "")


def _may_contain_match(pattern: str, folder: str) -> bool:
    """Return whether any path below ``folder`` could match ``pattern``."""
    patterns, names = pattern.split("/"), folder.split("/")
    for index, name in enumerate(names):
        if index == len(patterns) - 1:
            return patterns[index] == "**"
        if patterns[index] == "**":
            return True
        if not fnmatch.fnmatchcase(name, patterns[index]):
            return False
    return True


@functools.lru_cache(maxsize=4096)
def _matches(patterns: tuple[str, ...], names: tuple[str, ...]) -> bool:
    if not patterns:
        return not names
    if patterns[0] == "**":
        return _matches(patterns[1:], names) or (bool(names) and _matches(patterns, names[1:]))
    return bool(names) and fnmatch.fnmatchcase(names[0], patterns[0]) and _matches(patterns[1:], names[1:])


def _folded(name: str) -> str:
    """Return a name as a file system may read it that ignores case, and invisible and trailing characters."""
    visible = _UNSEEN.sub("", name)
    # On NTFS a file has several streams, and ``name:stream`` also refers to a folder itself.
    folded = unicodedata.normalize("NFKC", visible).casefold().partition(":")[0].rstrip(" .")
    short = _SHORT.fullmatch(folded)
    if short is None:
        return folded
    return next((each for each in sorted(PROTECTED) if _short(each) == (short[1], short[2] or "")), folded)


def _short(name: str) -> tuple[str, str]:
    """Return the beginning and the extension of the 8.3 name that VFAT and NTFS generate for a longer name."""
    stem, _, end = name.lstrip(".").rpartition(".")
    return ((stem or end).replace(".", "")[:6], end[:3] if stem else "")
