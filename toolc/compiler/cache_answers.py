"""An answer about specs, and all that it depends on: what the compiler read for it, and with which settings.

With an answer stands a digest of all specs, of every project file that was looked for, and of what the tools
asked of their folders. It counts only where all of that still says the same.
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
from typing import TYPE_CHECKING, Any, Final, Self

from toolc.compiler.cache_file import cache_folder, digest, digest_of_bytes, digest_of_files
from toolc.compiler.cache_json import findings_to_json, sources_to_json
from toolc.compiler.files import Folder, digest_of_answer
from toolc.compiler.find import PROJECT_FILES, walk
from toolc.compiler.settings import Settings

if TYPE_CHECKING:
    from toolc.compiler.compile import Compilation

_FORMAT: Final = 5
_PACKAGES: Final = frozenset({"jinja2", "jmespath", "jsonschema", "pyyaml", "referencing", "tomli", "toolc"})
"""Those whose version can change what is found."""

_RACY_NS: Final = 1_000_000_000
"""What changed so shortly before it was read may have been read in either state."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about the specs at ``paths`` as they are now.

    ``place`` is the file that may hold the answer, None where there can be none. ``contents`` are all files that
    may be specs, by name, and ``digests`` theirs; ``specs`` is one of all of them, None where they cannot be read.
    ``start`` is when it was asked.
    """

    paths: tuple[Path, ...]
    place: Path | None
    contents: Mapping[str, bytes]
    digests: Mapping[str, str]
    specs: str | None
    start: int

    @classmethod
    def ask(cls, about: Sequence[str | None], paths: Sequence[Path], settings: Settings) -> Self:
        """A question; ``about`` tells it from others about the same specs."""
        start, place = time.time_ns(), _place(about, paths, settings)
        contents = _contents(paths) if place else None
        digests = {name: digest_of_bytes(data) for name, data in (contents or {}).items()}
        specs = None if contents is None else digest_of_files(digests)
        return cls(tuple(paths), place, contents or {}, digests, specs, start)

    def is_answered(self, answer: Any) -> bool:
        """Whether an answer still holds; raises any error where it is none."""
        return (
            answer is not None
            and self.specs is not None
            and answer["specs"] == self.specs
            and is_elsewhere_unchanged(answer)
        )

    def facts(self, compilation: Compilation) -> dict[str, object] | None:
        """An answer about ``contents``, which holds until something changes; None where something else may have."""
        try:
            if self.specs is None or self.has_just_changed(compilation.looked_for):
                return None
            return {
                "specs": self.specs,
                "projects": [[str(folder), _digest_of_project(folder)] for folder in compilation.looked_for],
                "asked": [each for folder in compilation.folders for each in asked_of(folder)],
                "together": [[each.code.number, each.span.path] for each in compilation.of_several],
                "below": [[str(folder), said] for folder, said in compilation.below.items()],
                "listed": sorted(_listed(compilation)),
                "count": len(compilation.tools),
                "findings": findings_to_json(compilation.diagnostics),
                "sources": sources_to_json(compilation.diagnostics),
            }
        except OSError:
            return None

    def has_just_changed(self, folders: Iterable[Path]) -> bool:
        """Whether a project file in ``folders`` may have come, gone or changed since then. Raises ``OSError``."""
        # Where everybody may write, as in /tmp, no project file counts.
        places = [folder for folder in folders if not folder.stat().st_mode & stat.S_IWOTH]
        files = [folder / name for folder in places for name in PROJECT_FILES if (folder / name).exists()]
        return any(path.stat().st_ctime_ns > self.start - _RACY_NS for path in (*places, *files))


def _listed(compilation: Compilation) -> set[str]:
    """The names that project files list, and those of toolc's own tools that come of it."""
    members = [each for project in compilation.projects for each in (*project.toolsets.values(), project.builtin)]
    brought = (tool.spec for tool in compilation.located if tool.comes_with_toolc)
    names = {name for tool in brought for name in (tool.name, *tool.aliases)}
    return names | {member.name for each in members for member in each}


def asked_of(folder: Folder) -> list[list[str]]:
    """All that was asked of a folder, and a digest of what it said."""
    return [
        [str(folder.path), folder.shown, method, asked, answer]
        for (method, asked), answer in (folder.log or {}).items()
    ]


def is_elsewhere_unchanged(found: Any) -> bool:
    """Whether all but the specs is as an answer says; raises any error where it is no answer."""
    if any(_digest_of_project(Path(folder)) != known for folder, known in found["projects"]):
        return False
    if any(_digest_below(Path(folder)) != known for folder, known in found["below"]):
        return False
    return all(
        digest_of_answer(Folder(Path(path), shown), method, asked) == said
        for path, shown, method, asked, said in found["asked"]
    )


def _place(about: Sequence[str | None], paths: Sequence[Path], settings: Settings) -> Path | None:
    """The file of one question in one folder with one toolc; None where there can be none."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        chosen = [settings.select, settings.ignore, sorted(settings.severity.items()), repr(settings.policies)]
        asked = [_FORMAT, about, str(Path.cwd()), [str(path) for path in paths], chosen, [*versions()]]
    except OSError:
        return None
    return folder / f"check-{digest(json.dumps(asked))}.json"


def versions() -> Iterator[str]:
    """What the compiler is: its version and those of its libraries, and the state of its files."""
    yield sys.version
    # As importlib.metadata finds them, which takes as long to import as ten specs to check: by their folders'
    # names, "PyYAML-6.0.2.dist-info" (packaging.python.org, "Recording installed projects").
    for place in sys.path:
        with suppress(OSError):
            names = os.listdir(place or ".")  # noqa: PTH208  the names are all that is wanted
            yield from sorted(each for each in names if each.lower().partition("-")[0] in _PACKAGES)
    for folder, folders, names in os.walk(Path(__file__).parents[1]):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                found = os.stat(f"{folder}/{name}")  # noqa: PTH116  hundreds of files: a Path for each costs more
                yield f"{name} {found.st_size} {found.st_mtime_ns}"


def _contents(paths: Sequence[Path]) -> dict[str, bytes] | None:
    """Every file that may be a spec, by name; None where one cannot be read."""
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
    """The digest of ``Projects.below``; None where a file cannot be read."""
    contents = _contents([folder])
    specs = {name: data for name, data in (contents or {}).items() if Path(name).name not in PROJECT_FILES}
    listed = {name: digest_of_bytes(specs[name]) for name in sorted(specs)}
    return None if contents is None else digest_of_files(listed)


def _digest_of_project(folder: Path) -> str:
    """A digest of what ``Projects`` looks at in one folder. Raises ``OSError``."""
    found: list[object] = [bool(folder.stat().st_mode & stat.S_IWOTH), (folder / ".git").exists()]
    for name in PROJECT_FILES:
        path = folder / name
        is_there = path.is_file() and not path.is_symlink()
        found.append(digest_of_bytes(path.read_bytes()) if is_there else None)
    return digest(json.dumps(found))
