"""The files of a project: find spec files in a folder, and read the files next to a spec that become part of a tool.

No file outside the folder of a spec becomes part of its tools.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import os
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, TypeVar

from toolc.dataclass import dataclass, field
from toolc.model import codes
from toolc.model.text import render_size

if TYPE_CHECKING:
    from toolc.document.map_reader import Findings
    from toolc.document.nodes import Node
    from toolc.model.source import Span
    from toolc.model.spec.code_backends import File

T = TypeVar("T")

SUFFIXES: Final = (".yaml", ".yml", ".toml")
"""The suffixes of spec files in a folder, in lower case."""

PROJECT_FILES: Final = ("toolc.yaml", "toolc.toml")
"""The names of a project file, which holds settings but no tools."""

ACCEPTED: Final = "toolc.accepted.yaml"
"""The default file of accepted changes, in the current folder. It is not a spec."""

_MIB: Final = 1024 * 1024

MAX_FILE_BYTES: Final = 4 * _MIB
"""The maximum size of one file of a tool, in bytes. Files are stored in the registry, which is held in memory."""

MAX_FILES: Final = 1000
"""The maximum number of files of a tool.

With more, a pattern such as ``**`` has probably matched a folder of dependencies.
"""

MAX_TOTAL_BYTES: Final = 16 * _MIB
"""The maximum total size of the files of a tool, in bytes. ``/tool`` in a sandbox has this size."""


def walk(folder: str) -> Iterator[str]:
    """Yield the paths in ``folder`` that ``find`` accepts, and project files. Raises ``OSError`` on failure."""
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from walk(entry.path)
        elif entry.is_file() and entry.name.lower().endswith(SUFFIXES):
            yield entry.path


class FileError(Exception):
    """A file cannot be part of a tool. ``str(error)`` names the file, and ``hint`` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class SpecFolder:
    """The folder of a spec file. ``display_path`` is its path in findings (empty for the current folder).

    ``log``, if given, maps each request (method and argument) to a digest of its result.
    """

    path: Path
    display_path: str
    log: dict[tuple[str, str], str] | None = field(default=None, compare=False, repr=False)

    def display_path_of(self, name: str) -> str:
        """Return the path of the file ``name`` in findings."""
        return str(PurePosixPath(self.display_path) / name)

    def read(self, name: str) -> File:
        """Read one regular file of this folder, as text or as base64 if it is not UTF-8.

        ``name`` is a relative path with ``/`` as the separator. ``path`` of the result is the normalized name. Raises
        ``FileError`` if it cannot be read.
        """
        return self._log_request("read", name, self._read)

    def _read(self, name: str) -> File:
        from toolc.model.spec.code_backends import File  # lazy: +9 ms; a cached result does not need it

        path = relative_path(name)
        data = self._bytes(path)
        try:
            return File(path=path, text=data.decode("utf-8"))
        except UnicodeDecodeError:
            return File(path=path, base64=base64.b64encode(data).decode("ascii"))

    def match(self, pattern: str) -> tuple[str, ...]:
        """Return the files that match ``pattern`` (``*``, ``?``, ``[...]``, ``**`` for any folders), sorted.

        Names that start with a dot and ``__pycache__`` match only if written out, because such files usually exist
        on one machine only. Raises ``FileError`` if no file or too many files match.
        """
        return self._log_request("match", pattern, self._match)

    def case_twins(self, folder: str) -> tuple[tuple[str, str], ...]:
        """Return the pairs of names in ``folder`` that are one file on macOS or Windows, without the folder."""
        return self._log_request("case_twins", folder, lambda inside: tuple(case_conflicts(self._names(inside))))

    def has(self, name: str) -> bool:
        """Return whether the file ``name`` exists. False if ``name`` is not a valid relative path."""
        try:
            return bool(self.match(name)) and not _is_pattern(name)
        except FileError:
            return False

    def _log_request(self, method: str, argument: str, request: Callable[[str], T]) -> T:
        outcome: object = None
        try:
            result = request(argument)
            outcome = result
        except FileError as error:
            outcome = (str(error), error.hint)
            raise
        finally:
            if self.log is not None:
                digest = hashlib.sha256(repr(outcome).encode()).hexdigest()
                same = self.log.get((method, argument), digest) == digest
                self.log[method, argument] = digest if same else "it changed meanwhile"
        return result

    def _match(self, pattern: str) -> tuple[str, ...]:
        parts = PurePosixPath(relative_path(pattern)).parts
        try:
            paths = sorted({path for path in self._walk("", parts) if (self.path / path).is_file()})
        except OSError as error:
            raise FileError(f"{pattern!r} cannot be searched for: {error.strerror}") from error
        if not paths:
            raise FileError(f"no file matches {pattern!r} in {self.display_path or 'the current folder'}")
        if len(paths) > MAX_FILES:
            raise FileError(f"{pattern!r} matches {len(paths)} files; the maximum is {MAX_FILES}")
        return tuple(paths)

    def _walk(self, folder: str, parts: tuple[str, ...]) -> Iterator[str]:
        if not parts:
            yield folder.removesuffix("/")
            return
        first, rest = parts[0], parts[1:]
        if first == "**":
            yield from self._walk(folder, rest)
        elif not _is_pattern(first):
            if (self.path / folder / first).exists():
                yield from self._walk(f"{folder}{first}/", rest)
            return
        for name in self._names(folder):
            if first == "**" and (self.path / folder / name).is_dir() and not (self.path / folder / name).is_symlink():
                yield from self._walk(f"{folder}{name}/", parts)
            if first != "**" and fnmatch.fnmatchcase(name, first):
                yield from self._walk(f"{folder}{name}/", rest)

    def _names(self, folder: str) -> list[str]:
        try:
            names = os.listdir(self.path / folder)  # noqa: PTH208  names, not paths, are what is matched
        except OSError:
            return []
        return sorted(name for name in names if not name.startswith(".") and name != "__pycache__")

    def _bytes(self, path: str) -> bytes:
        name = self.display_path_of(path)
        try:
            real = (self.path / path).resolve(strict=True)
            if not real.is_relative_to(self.path.resolve()):
                raise FileError(f"{name} leads outside the spec's folder", "put a copy next to the spec")
            # Without O_NONBLOCK, opening a FIFO would wait for a writer.
            descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise FileError(f"{name} is not a regular file")
                data = file.read(MAX_FILE_BYTES + 1)
        except FileNotFoundError as error:
            raise FileError(f"{name} does not exist", "paths are relative to the spec's folder") from error
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "its symbolic links form a cycle"
            raise FileError(f"{name} cannot be read: {reason}") from error
        if len(data) > MAX_FILE_BYTES:
            raise FileError(f"{name} is larger than {render_size(MAX_FILE_BYTES)}")
        return data


def digest_of_request(folder: SpecFolder, method: str, argument: str) -> str:
    """Return the digest that the ``log`` of ``folder`` would contain for this request now."""
    log: dict[tuple[str, str], str] = {}
    again = SpecFolder(folder.path, folder.display_path, log)
    with suppress(FileError):
        getattr(again, method)(argument)
    return log[method, argument]


def relative_path(name: str) -> str:
    """Return ``name`` as a normalised relative path. Raises ``FileError`` if it is absolute or contains ``..``."""
    path = PurePosixPath(name)
    if path.is_absolute() or "\\" in name or (len(name) > 1 and name[1] == ":"):
        raise FileError(f"{name!r} is not a relative path", "name a file relative to the spec, with '/' in between")
    if ".." in path.parts:
        raise FileError(f"{name!r} leads outside the spec's folder", "put the file next to the spec")
    if not path.parts or "\0" in name or not name.isprintable():
        raise FileError(f"{name!r} is not a valid file name", "rename it")
    return str(path)


def read_or_report(folder: SpecFolder, name: str, span: Span, findings: Findings) -> File | None:
    """Return the file ``name``, which the spec names at ``span``. If it cannot be read, report this and return None."""
    try:
        return folder.read(name)
    except FileError as problem:
        findings.add(codes.FILE, str(problem), span, problem.hint)
        return None


def match_files(node: Node, what: str, findings: Findings, *, folder: SpecFolder) -> tuple[File, ...] | None:
    """Decode a pattern of files: return those that match it and can be read."""
    from toolc.document.map_reader import text  # lazy: +9 ms; a check whose answer is cached reads no map

    pattern = text(node, what, findings)
    if pattern is None:
        return None
    try:
        names = folder.match(pattern)
    except FileError as problem:
        findings.add(codes.FILE, str(problem), node.span, problem.hint)
        return None
    files = [read_or_report(folder, name, node.span, findings) for name in names]
    return tuple(file for file in files if file is not None)


def is_shared(folder: Path) -> bool:
    """Return whether every user may create files in ``folder``, as in /tmp. Project files there are ignored.

    This requires the sticky bit. A folder that all users may write to without it protects neither the specs nor the
    project file, and on some file systems (Windows drives in WSL) every folder has this mode.
    """
    shared = stat.S_IWOTH | stat.S_ISVTX
    return folder.stat().st_mode & shared == shared


def project_state(folder: Path) -> str:
    """Return a digest of everything in ``folder`` that decides about its project file. Raises ``OSError``."""
    state: list[object] = [is_shared(folder), (folder / ".git").exists()]
    for name in PROJECT_FILES:
        path = folder / name
        state += [path.exists(), path.is_symlink(), _start_of(path) if path.is_file() else None]
    return digest_of_bytes(repr(state).encode())


def _start_of(path: Path) -> bytes | None:
    """Return a file up to the size at which it is refused, or None if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None


def _is_pattern(part: str) -> bool:
    return any(character in part for character in "*?[")


def case_conflicts(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of paths that are one file on macOS or Windows, which ignore case (macOS also Unicode forms)."""
    seen: dict[str, str] = {}
    for path in paths:
        first = seen.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
        if first != path:
            yield first, path


def report_carriage_returns(text: str, path: str, span: Span, findings: Findings) -> None:
    """Report Windows line endings in ``text``, the file ``path`` (as in findings) that the spec names at ``span``."""
    if "\r\n" in text:
        message = f"{path} has Windows line endings, which are part of the code that runs"
        hint = "save it with line feeds, and write '* text eol=lf' in .gitattributes"
        findings.add(codes.CARRIAGE_RETURN, message, span, hint)


def digest_of_bytes(data: bytes) -> str:
    """Return the SHA-256 of ``data`` as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
