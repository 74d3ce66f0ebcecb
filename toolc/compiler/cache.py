"""What ``toolc check`` found, kept in the user's cache folder until anything changes that it depends on.

One file holds one answer, for one command line in one folder with one toolc. With the answer stands what the
compiler read for it: a digest of all specs, of every project file that it looked for, and of what the tools
asked of their folders. An answer counts only where all of that still says the same, so that it is what the
compiler would find; whatever is wrong with the file or its folder means that there is no answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from sys import version as python_version
from typing import TYPE_CHECKING, Any, Final

from toolc.compiler.files import Folder, digest_of_answer
from toolc.compiler.find import PROJECT_FILES, walk
from toolc.compiler.settings import Settings
from toolc.diagnostics import Code, Diagnostics, Edit, Fix, Severity
from toolc.source import Position, SourceText, Span

if TYPE_CHECKING:
    from toolc.compiler.compile import Compilation

_FORMAT: Final = 1
_MAX_BYTES: Final = 32 * 1024 * 1024
_KEEP_DAYS: Final = 30
_PACKAGES: Final = ("toolc", "jinja2", "jmespath", "jsonschema", "pyyaml", "tomli")
"""Those whose version can change what is found."""

_RACY_NS: Final = 1_000_000_000
"""What changed so shortly before it was read may have been read in either state."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What checking specs came to: how many tools could be read, and every finding."""

    count: int
    diagnostics: Diagnostics


def check_specs(paths: Sequence[Path], settings: Settings) -> Checked:
    """What ``compile_specs`` finds, from the cache where nothing has changed. Raises ``UsageError`` as it does."""
    place = _place(paths, settings)
    specs = _digest_of_specs(paths) if place else None
    if place and specs and (known := _recall(place, specs)):
        return known
    from toolc.compiler.compile import compile_specs  # an answer that is known needs no compiler

    start = time.time_ns()
    compilation = compile_specs(paths, settings)
    if place and specs and specs == _digest_of_specs(paths):
        _remember(place, specs, compilation, start)
    return Checked(len(compilation.tools), compilation.diagnostics)


def _place(paths: Sequence[Path], settings: Settings) -> Path | None:
    """The file of one command line, folder and toolc; None where this system has no owners of files."""
    if not hasattr(os, "geteuid"):
        return None
    try:
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        folder = (named if named.is_absolute() else Path.home() / ".cache") / "toolc"
        chosen = [settings.select, settings.ignore, sorted(settings.severity.items())]
        asked = [_FORMAT, str(Path.cwd()), [str(path) for path in paths], chosen, [*_versions()]]
    except (OSError, RuntimeError, metadata.PackageNotFoundError):
        return None
    return folder / f"check-{_digest(json.dumps(asked))}.json"


def _versions() -> Iterator[str]:
    """What the compiler is: its version and those of its libraries, and the state of its files."""
    yield python_version
    for name in _PACKAGES:
        yield metadata.version(name)
    for folder, folders, names in os.walk(Path(__file__).parents[1]):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                found = os.stat(f"{folder}/{name}")  # noqa: PTH116  hundreds of files: a Path for each costs more
                yield f"{name} {found.st_size} {found.st_mtime_ns}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _digest_of_specs(paths: Sequence[Path]) -> str | None:
    """One digest of every file that may be a spec, with its name; None where one cannot be read."""
    whole = hashlib.sha256()
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
                whole.update(f"{size} {name}\0".encode("utf-8", "surrogateescape"))
                whole.update(data)
    except (OSError, ValueError):
        return None
    return whole.hexdigest()


def _digest_of_project(folder: Path) -> str:
    """A digest of what ``Projects`` looks at in one folder. Raises ``OSError``."""
    found: list[object] = [bool(folder.stat().st_mode & stat.S_IWOTH), (folder / ".git").exists()]
    for name in PROJECT_FILES:
        path = folder / name
        is_there = path.is_file() and not path.is_symlink()
        found.append(hashlib.sha256(path.read_bytes()).hexdigest() if is_there else None)
    return _digest(json.dumps(found))


def _has_just_changed(folders: Iterable[Path], start: int) -> bool:
    """Whether a project file may have come, gone or changed while it was read. Raises ``OSError``."""
    # Where everybody may write, as in /tmp, no project file counts.
    places = [folder for folder in folders if not folder.stat().st_mode & stat.S_IWOTH]
    files = [folder / name for folder in places for name in PROJECT_FILES if (folder / name).exists()]
    return any(path.stat().st_ctime_ns > start - _RACY_NS for path in (*places, *files))


def _remember(place: Path, specs: str, compilation: Compilation, start: int) -> None:
    try:
        if _has_just_changed(compilation.looked_for, start):
            return
        body = json.dumps(
            {
                "specs": specs,
                "projects": [[str(folder), _digest_of_project(folder)] for folder in compilation.looked_for],
                "asked": [
                    [str(folder.path), folder.shown, method, asked, answer]
                    for folder in compilation.folders
                    for (method, asked), answer in (folder.log or {}).items()
                ],
                "count": len(compilation.tools),
                **_to_json(compilation.diagnostics),
            }
        )
        _write(place, f"{_digest(body)}\n{body}".encode())
    except (OSError, UnicodeError):
        pass  # a cache that cannot be written is one that stays empty


def _recall(place: Path, specs: str) -> Checked | None:
    try:
        found = _read(place)
        if found is None or found["specs"] != specs:
            return None
        if any(_digest_of_project(Path(folder)) != digest for folder, digest in found["projects"]):
            return None
        for path, shown, method, asked, answer in found["asked"]:
            if digest_of_answer(Folder(Path(path), shown), method, asked) != answer:
                return None
        return Checked(found["count"], _from_json(found))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _to_json(diagnostics: Diagnostics) -> dict[str, object]:
    found = diagnostics.sorted()
    sources = {path: source.text for each in found if (source := diagnostics.source(path := each.span.path))}
    findings = [
        {
            "code": [each.code.number, each.code.severity, each.code.summary, each.code.on],
            "message": each.message,
            "span": each.span,
            "hint": each.hint,
            "fix": each.fix
            and [each.fix.description, [[edit.span, edit.text] for edit in each.fix.edits], each.fix.safe],
        }
        for each in found
    ]
    return {"findings": findings, "sources": sources}


def _from_json(found: Any) -> Diagnostics:
    diagnostics = Diagnostics()
    for path, text in found["sources"].items():
        diagnostics.add_source(SourceText(path, text))
    for each in found["findings"]:
        number, severity, summary, on = each["code"]
        code = Code(number, Severity(severity), summary, on)
        diagnostics.add(code, each["message"], _span(each["span"]), each["hint"], _fix(each["fix"]))
    return diagnostics


def _fix(found: Any) -> Fix | None:
    if found is None:
        return None
    description, edits, safe = found
    return Fix(description, tuple(Edit(_span(span), text) for span, text in edits), safe)


def _span(found: Any) -> Span:
    path, start, end = found
    return Span(path, Position(*start), Position(*end))


def _read(place: Path) -> Any:
    """What the file holds; None where it is not whole, or somebody else could have written it."""
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
            return None
        data = file.read(_MAX_BYTES + 1)
    digest, _, body = data.decode().partition("\n")
    return json.loads(body) if digest == _digest(body) else None


def _write(place: Path, data: bytes) -> None:
    """Put the file in its place in one step, readable to its owner alone, and sweep out what is long unused."""
    if len(data) > _MAX_BYTES:
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, aside = tempfile.mkstemp(prefix="check-", suffix=".new", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(aside).replace(place)
    except OSError:
        Path(aside).unlink(missing_ok=True)
        raise
    oldest = time.time() - _KEEP_DAYS * 86400
    for each in place.parent.glob("check-*"):
        if each.lstat().st_mtime < oldest:
            each.unlink(missing_ok=True)
