"""Answers about specs: the findings of a check or a build, with digests of everything that the compiler read for them.

There is one answer per command line, folder and version of toolc. It is valid while the specs, the project files, the
folders where toolc looked for project files, and the files to which tools refer are unchanged.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolc.compiler.cache.file import INVALID_CACHE, cache_folder, load, save
from toolc.compiler.project.files import SpecFolder, digest_of_bytes, digest_of_request, project_state, walk
from toolc.data.paths import packaged_path
from toolc.dataclass import dataclass
from toolc.model.diagnostics import Code, Diagnostic, Diagnostics, Edit, Fix, Severity
from toolc.model.errors import UsageError
from toolc.model.source import Position, SourceText, Span

if TYPE_CHECKING:
    from toolc.compiler.pipeline.compile import Compilation
    from toolc.compiler.project.settings import Settings


_FORMAT: Final = 9
"""The version of the format. A cache file of another version is not read."""

_PACKAGES: Final = frozenset({"jinja2", "jmespath", "jsonschema", "pyyaml", "referencing", "tomli", "toolc"})
"""The packages whose versions can change the findings."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The number of readable tools, and every finding. ``more`` has the command's own data, as JSON."""

    count: int
    diagnostics: Diagnostics
    more: Any = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """The current specs of one command, and the file in which its answer is stored.

    ``contents`` are all files that may be specs, by name. If ``file`` or ``contents`` is None, nothing is stored.
    """

    file: Path | None
    contents: Mapping[str, bytes] | None

    @classmethod
    def read(cls, command: Sequence[str | None], paths: Sequence[Path], settings: Settings) -> Inputs:
        """Read the specs at ``paths``. ``command`` is the name of the command and its other arguments."""
        file = _cache_file(command, paths, settings)
        return cls(file, _contents(paths) if file else None)

    def answer(self) -> Answer | None:
        """Return the stored answer, or None if there is none or it is no longer valid."""
        stored = load(self.file) if self.file and self.contents is not None else None
        if stored is None:
            return None
        try:
            if not self._is_valid(stored):
                return None
            return Answer(stored["count"], _findings(stored["findings"], stored["sources"]), stored["more"])
        except INVALID_CACHE:
            return None

    def store(self, compilation: Compilation, more: object = None) -> None:
        """Store the answer of a compilation of ``contents``.

        It is not stored if it depends on other specs, or if a file changed meanwhile. It is also not stored if a spec
        contains a literal credential, because the credential could be a word that was looked up as the name of a file.
        """
        if self.file is None or self.contents is None or compilation.reads_other_specs:
            return
        from toolc.model import codes  # lazy: +5 ms; a stored answer needs no codes

        findings = compilation.diagnostics.sorted()
        if any(each.code.number == codes.CREDENTIAL.number for each in findings):
            return
        paths = dict.fromkeys(each.span.path for each in findings)
        sources = {path: source.text for path in paths if (source := compilation.diagnostics.source(path))}
        answer = {
            "specs": self._digest(),
            "projects": [[str(folder), state] for folder, state in compilation.project_folders.items()],
            "requests": [
                [str(folder.path), folder.display_path, method, argument, digest]
                for folder in compilation.folders
                for (method, argument), digest in (folder.log or {}).items()
            ],
            "count": len(compilation.tools),
            "findings": [_finding_to_json(each) for each in findings],
            "sources": sources,
            "more": more,
        }
        with suppress(OSError):
            if self.contents.keys() >= {*compilation.files} and _are_unchanged(answer["projects"]):
                save(self.file, answer)

    def _is_valid(self, answer: Any) -> bool:
        """Return whether an answer is still valid. Raises one of ``INVALID_CACHE`` if it is damaged."""
        return (
            answer["specs"] == self._digest()
            and _are_unchanged(answer["projects"])
            and all(
                digest_of_request(SpecFolder(Path(path), display_path), method, argument) == digest
                for path, display_path, method, argument, digest in answer["requests"]
            )
        )

    def _digest(self) -> str:
        listed = [f"{name}\0{digest_of_bytes(data)}" for name, data in (self.contents or {}).items()]
        return digest_of_bytes("".join(listed).encode("utf-8", "surrogateescape"))


def check_specs(paths: Sequence[Path], settings: Settings) -> Answer:
    """Return the stored findings if they are still valid, or those of ``compile_specs``. Raises ``UsageError``."""
    inputs = Inputs.read(["check"], paths, settings)
    if answer := inputs.answer():
        return answer
    from toolc.compiler.pipeline.processes import compile_many  # lazy: +93 ms; a stored answer needs no compiler

    compilation = compile_many(paths, settings, contents=inputs.contents)
    inputs.store(compilation)
    return Answer(len(compilation.tools), compilation.diagnostics)


def _are_unchanged(projects: Any) -> bool:
    return all(project_state(Path(folder)) == state for folder, state in projects)


def _cache_file(command: Sequence[str | None], paths: Sequence[Path], settings: Settings) -> Path | None:
    """Return the cache file for a command line in a folder with a version of toolc, or None without a cache folder."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        chosen = [settings.select, settings.ignore, sorted(settings.severity.items()), repr(settings.policies)]
        places = [[str(path), os.path.realpath(path)] for path in paths]
        inputs = [_FORMAT, command, str(Path.cwd()), places, chosen, [*_versions()]]
    except (OSError, UsageError):
        return None
    return folder / f"check-{digest_of_bytes(json.dumps(inputs).encode())}.json"


def _versions() -> Iterator[str]:
    """Yield the identity of the compiler: the versions of Python and packages, and when each package was installed.

    In a checkout, toolc's files change without an installation, so the state of each one is added.
    """
    yield sys.version
    # importlib.metadata takes as long to import as ten specs take to check. It also searches for folders such as
    # "PyYAML-6.0.2.dist-info" (packaging.python.org, "Recording installed projects").
    for entry in sys.path:
        with suppress(OSError):
            names = os.listdir(entry or ".")  # noqa: PTH208  only the names are needed
            for name in sorted(each for each in names if each.lower().partition("-")[0] in _PACKAGES):
                yield f"{name} {os.stat(os.path.join(entry, name)).st_mtime_ns}"  # noqa: PTH116, PTH118  a Path is slow
    package = sys.modules["toolc"].__path__[0]
    if os.path.exists(f"{package}/../pyproject.toml"):  # noqa: PTH110  a Path is slow
        yield _state_of_files(package)
        yield _state_of_files(packaged_path("specs"))


def _state_of_files(top: str | Path) -> str:
    states = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted({*folders} - {"__pycache__"})
        for name in sorted(names):
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116  a Path for each of hundreds of files is slow
            states.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(states)


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


def _finding_to_json(finding: Diagnostic) -> dict[str, object]:
    code, fix = finding.code, finding.fix
    return {
        "code": [code.number, code.severity, code.name, code.enabled, code.slug],
        "message": finding.message,
        "span": finding.span,
        "hint": finding.hint,
        "times": finding.times,
        "fix": fix and [fix.description, [[edit.span, edit.text] for edit in fix.edits], fix.safe],
    }


def _findings(findings: Any, sources: Any) -> Diagnostics:
    """Return stored findings, with the texts of their files, because reporters show lines of them.

    Raises one of ``INVALID_CACHE`` for values in another form.
    """
    diagnostics = Diagnostics()
    for path, text in sources.items():
        diagnostics.add_source(SourceText(path, text))
    for each in findings:
        number, severity, name, enabled, slug = each["code"]
        code = Code(number, Severity(severity), name, enabled, slug)
        finding = Diagnostic(code, each["message"], _span(each["span"]), each["hint"], _fix(each["fix"]), each["times"])
        diagnostics.append(finding)
    return diagnostics


def _span(value: Any) -> Span:
    path, start, end = value
    return Span(path, Position(*start), Position(*end))


def _fix(value: Any) -> Fix | None:
    if value is None:
        return None
    description, edits, safe = value
    return Fix(description, tuple(Edit(_span(span), text) for span, text in edits), safe)
