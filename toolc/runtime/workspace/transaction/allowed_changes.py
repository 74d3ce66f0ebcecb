"""Which paths a transaction may change: the spec's ``writes``, less what is protected whatever it says.

Protected is what a program outside of the sandbox runs, or takes its orders from, without being asked: to
write there would be a way out. It makes no difference whether it exists yet.
"""

from __future__ import annotations

import fnmatch
import functools
import re
import stat
import unicodedata
from typing import Final

from toolc.model.call import FileChange, Kind

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
    # what runs when somebody enters a folder, commits, or starts a shell or an interpreter
    ".envrc .direnv .mise.toml mise.toml .tool-versions .husky .pre-commit-config.yaml .pre-commit-config.yml "
    "lefthook.yml .lefthook.yml .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zprofile "
    ".zshenv .zlogin .ripgreprc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pypirc .gdbinit .lldbinit .inputrc "
    ".cargo .mvn .bundle .pdbrc .irbrc .pryrc .rprofile .renviron .ghci .iex.exs .ocamlinit .octaverc "
    ".ssh .gnupg .netrc "
    # toolc's own
    "toolc.yaml toolc.toml toolc.lock".split()
)
"""Names, in lower case, of what no transaction changes, at any depth, with everything in it."""

_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point, which file systems that know no case (ext4, APFS) do not compare."""

_SHORT: Final = re.compile(r"([^~]{1,6})~[0-9]+(?:\.(.{0,3}))?")


def refusal(change: FileChange, writes: tuple[str, ...], target: bytes | None) -> str:
    """Why this change may not reach the real files; empty if it may. ``target`` is a symbolic link's."""
    if part := _protected(change.path):
        return f"{part} is protected: programs outside of the sandbox act on it"
    if change.action != "deleted" and change.kind == "special":
        return "it is a fifo, a socket or a device"
    if target is not None and leads_outside(change.raw_path, target):
        return "it is a symbolic link that may lead out of the workspace"
    if target is not None and _protected(target.decode("utf-8", "surrogateescape")):
        return "it is a symbolic link to what is protected"
    if writes and not any(matches(pattern, change.path) for pattern in writes):
        # A folder that is new comes with what is in it, and that is judged by itself.
        if change.kind == "directory" and any(_may_hold(pattern, change.path) for pattern in writes):
            return ""
        return "the spec's writes do not list it"
    return ""


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern of ``writes`` (``*``, ``?``, ``[...]``; ``**`` is any folders, or none) fits ``path``."""
    return _fits(tuple(pattern.split("/")), tuple(path.split("/")))


def leads_outside(link: bytes, target: bytes) -> bool:
    """Whether a link could lead out of the workspace: absolute, or up by more than its own folder is deep.

    Up only at the beginning: what follows a name goes up from wherever a link of that name leads.
    """
    parts = target.split(b"/")
    up = 0
    while up < len(parts) and parts[up] in {b"..", b"."}:
        up += 1
    ups = parts[:up].count(b"..")
    return target.startswith(b"/") or b".." in parts[up:] or ups > link.count(b"/")


def kind_of(mode: int) -> Kind:
    """What a file's mode says it is, in the words of ``toolc.model.call.Kind``."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "special"


def _protected(path: str) -> str:
    """The part of a path that is protected, with everything in it; empty if none is."""
    return next((part for part in path.split("/") if _folded(part) in PROTECTED), "")


def _may_hold(pattern: str, folder: str) -> bool:
    """Whether anything below ``folder`` could fit ``pattern``."""
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
def _fits(patterns: tuple[str, ...], names: tuple[str, ...]) -> bool:
    if not patterns:
        return not names
    if patterns[0] == "**":
        return _fits(patterns[1:], names) or (bool(names) and _fits(patterns, names[1:]))
    return bool(names) and fnmatch.fnmatchcase(names[0], patterns[0]) and _fits(patterns[1:], names[1:])


def _folded(name: str) -> str:
    """A name as a file system might read it that knows no case, and drops what cannot be seen or is at the end."""
    visible = _UNSEEN.sub("", name)
    # NTFS has more than one stream of a file, and calls a folder's own by a name of its own.
    folded = unicodedata.normalize("NFKC", visible).casefold().partition(":")[0].rstrip(" .")
    short = _SHORT.fullmatch(folded)
    if short is None:
        return folded
    return next((each for each in sorted(PROTECTED) if _short(each) == (short[1], short[2] or "")), folded)


def _short(name: str) -> tuple[str, str]:
    """The beginning of a name of eight letters and three that VFAT and NTFS give to a longer one, and its end."""
    stem, _, end = name.lstrip(".").rpartition(".")
    return ((stem or end).replace(".", "")[:6], end[:3] if stem else "")
