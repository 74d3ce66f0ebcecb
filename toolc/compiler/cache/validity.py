"""Cached answers about specs, and the check whether they are still valid.

An answer is stored with digests of everything the compiler read for it: all specs, the project files it searched
for, and the files that tools refer to. It is valid as long as all of these are unchanged.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolc.compiler.cache.file import cache_folder, digest, findings_to_json, sources_to_json
from toolc.compiler.project.files import (
    PROJECT_FILES,
    SpecFolder,
    digest_of_bytes,
    digest_of_files,
    digest_of_request,
    walk,
)  # fmt: skip
from toolc.compiler.project.settings import Settings
from toolc.model import codes

if TYPE_CHECKING:
    from toolc.compiler.pipeline.compile import Compilation

_FORMAT: Final = 7
_PACKAGES: Final = frozenset({"jinja2", "jmespath", "jsonschema", "pyyaml", "referencing", "tomli", "toolc"})
"""The packages whose version can change the findings."""

_RACY_NS: Final = 1_000_000_000
"""A file that changed fewer nanoseconds than this before it was read may have been read in either state."""


@dataclass(frozen=True, slots=True)
class CacheKey:
    """The inputs of one command: the specs at ``paths`` as they are now, and where the answer is cached.

    ``file`` is the cache file of this command line, folder and toolc version; None if nothing can be cached.
    ``contents`` are all files that may be specs, by name, and ``digests`` are their digests; ``specs`` is one
    digest of all of them, None if they cannot be read. ``start`` is when they were read, in nanoseconds.
    """

    paths: tuple[Path, ...]
    file: Path | None
    contents: Mapping[str, bytes]
    digests: Mapping[str, str]
    specs: str | None
    start: int

    def is_fresh(self, answer: Any) -> bool:
        """Return whether ``answer`` is still valid. Raises one of ``INVALID_CACHE`` if it is damaged."""
        return (
            answer is not None
            and self.specs is not None
            and answer["specs"] == self.specs
            and all(_digest_of_project(Path(folder)) == known for folder, known in answer["projects"])
            and all(_digest_below(Path(folder)) == known for folder, known in answer["below"])
            and all(
                digest_of_request(SpecFolder(Path(path), display_path), method, argument) == known
                for path, display_path, method, argument, known in answer["asked"]
            )
        )

    def answer(self, compilation: Compilation) -> dict[str, object] | None:
        """Return the result of a compilation with digests of its inputs.

        Return None if an input may have just changed, or if a spec contains a literal credential: it could be a word
        that was looked up as the name of a file.
        """
        if any(each.code.number == codes.CREDENTIAL.number for each in compilation.diagnostics.sorted()):
            return None
        try:
            if self.specs is None or self._has_just_changed(compilation.searched):
                return None
            return {
                "specs": self.specs,
                "projects": [[str(folder), _digest_of_project(folder)] for folder in compilation.searched],
                "below": [[str(folder), known] for folder, known in compilation.below.items()],
                "asked": [
                    [str(folder.path), folder.display_path, method, argument, known]
                    for folder in compilation.folders
                    for (method, argument), known in (folder.log or {}).items()
                ],
                "count": len(compilation.tools),
                "findings": findings_to_json(compilation.diagnostics),
                "sources": sources_to_json(compilation.diagnostics),
            }
        except OSError:
            return None

    def _has_just_changed(self, folders: Iterable[Path]) -> bool:
        """Return whether a project file in ``folders`` may have changed since ``start``. Raises ``OSError``."""
        # Project files in a folder that every user can write to, such as /tmp, are ignored.
        folders = [folder for folder in folders if not folder.stat().st_mode & stat.S_IWOTH]
        files = [folder / name for folder in folders for name in PROJECT_FILES if (folder / name).exists()]
        return any(path.stat().st_ctime_ns > self.start - _RACY_NS for path in (*folders, *files))


def cache_key_for(command: Sequence[str | None], paths: Sequence[Path], settings: Settings) -> CacheKey:
    """Read the specs at ``paths`` and return the key of ``command`` (its name and its other arguments)."""
    start, file = time.time_ns(), _cache_file(command, paths, settings)
    contents = _contents(paths) if file else None
    digests = {name: digest_of_bytes(data) for name, data in (contents or {}).items()}
    specs = None if contents is None else digest_of_files(digests)
    return CacheKey(tuple(paths), file, contents or {}, digests, specs, start)


def _cache_file(command: Sequence[str | None], paths: Sequence[Path], settings: Settings) -> Path | None:
    """Return the cache file of a command line in one folder with one toolc version, or None if there is none."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        chosen = [settings.select, settings.ignore, sorted(settings.severity.items()), repr(settings.policies)]
        inputs = [_FORMAT, command, str(Path.cwd()), [str(path) for path in paths], chosen, [*versions()]]
    except OSError:
        return None
    return folder / f"check-{digest(json.dumps(inputs))}.json"


def versions() -> Iterator[str]:
    """Yield the identity of the compiler: versions of Python and libraries, and the state of its modules and data."""
    yield sys.version
    # importlib.metadata takes as long to import as ten specs take to check. It also searches for folders such as
    # "PyYAML-6.0.2.dist-info" (packaging.python.org, "Recording installed projects").
    for entry in sys.path:
        with suppress(OSError):
            names = os.listdir(entry or ".")  # noqa: PTH208  only the names are needed
            yield from sorted(each for each in names if each.lower().partition("-")[0] in _PACKAGES)
    for folder, folders, names in os.walk(sys.modules["toolc"].__path__[0]):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".json", ".py", ".toml")):
                status = os.stat(f"{folder}/{name}")  # noqa: PTH116  a Path for each of hundreds of files is slow
                yield f"{name} {status.st_size} {status.st_mtime_ns}"


def _contents(paths: Sequence[Path]) -> dict[str, bytes] | None:
    """Return every file that may be a spec, by name, or None if one cannot be read."""
    contents: dict[str, bytes] = {}
    try:
        for path in paths:
            for name in walk(str(path)) if path.is_dir() else (str(path),):
                descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    size = os.fstat(descriptor).st_size
                    data = os.read(descriptor, size + 1)
                finally:
                    os.close(descriptor)
                if len(data) != size:
                    return None
                contents[name] = data
    except (OSError, ValueError):
        return None
    return contents


def _digest_below(folder: Path) -> str | None:
    """Return the digest that ``Projects.below`` stores for ``folder``, or None if a file cannot be read."""
    contents = _contents([folder])
    if contents is None:
        return None
    specs = sorted(name for name in contents if Path(name).name not in PROJECT_FILES)
    return digest_of_files({name: digest_of_bytes(contents[name]) for name in specs})


def _digest_of_project(folder: Path) -> str:
    """Return a digest of everything that ``Projects`` reads in one folder. Raises ``OSError`` on failure."""
    state: list[object] = [bool(folder.stat().st_mode & stat.S_IWOTH), (folder / ".git").exists()]
    for name in PROJECT_FILES:
        path = folder / name
        is_there = path.is_file() and not path.is_symlink()
        state.append(digest_of_bytes(path.read_bytes()) if is_there else None)
    return digest(json.dumps(state))
