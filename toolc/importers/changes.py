"""Compute the changes of an import to a folder, from the last import, this import and the present files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from toolc.dataclass import dataclass
from toolc.document.line_diff import unified_diff
from toolc.importers.merge import Conflict, UnreadableError, merge
from toolc.importers.record import FOLDER, Record
from toolc.model.atomic_files import replace_file
from toolc.model.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file before and after the import. A text of None means that the file does not exist."""

    path: Path
    before: str | None
    after: str | None
    conflicts: tuple[Conflict, ...] = ()

    def diff(self) -> str:
        """Return the change as a unified diff."""
        old, new = ((each or "").splitlines(keepends=True) for each in (self.before, self.after))
        start = "" if self.before is None else f"a/{self.path}"
        end = "" if self.after is None else f"b/{self.path}"
        return "".join([f"--- {start or '/dev/null'}\n", f"+++ {end or '/dev/null'}\n", *unified_diff(old, new)])


def changes(
    folder: Path, base: Mapping[str, str], generated: Mapping[str, str], *, is_forced: bool
) -> list[FileChange]:
    """Return the changes to the files of an import.

    ``base`` is the result of the last import. Raises ``UsageError``.
    """
    found = []
    for name in sorted({*base, *generated}):
        before = _read(folder / name)
        change = _change(folder / name, before, base.get(name), generated.get(name), is_forced=is_forced)
        if change.before != change.after or change.conflicts:
            found.append(change)
    return found


def _change(path: Path, before: str | None, base: str | None, new: str | None, *, is_forced: bool) -> FileChange:
    kept = FileChange(path=path, before=before, after=before)
    if new is None:  # the operation is gone, or no longer chosen
        if before is None or before == base or is_forced:
            return FileChange(path=path, before=before, after=None)
        conflict = Conflict((path.name,), "changes", "no such operation")
        return FileChange(path=path, before=before, after=before, conflicts=(conflict,))
    if before is None:  # a person deleted it, unless it is new
        if base is None or is_forced:
            return FileChange(path=path, before=None, after=new)
        conflict = Conflict((path.name,), "been deleted", "changes")
        return kept if base == new else FileChange(path=path, before=None, after=None, conflicts=(conflict,))
    if base is None and before != new and not is_forced:
        raise UsageError(f"{path} already exists and was not written by this import; use --out or --prefix, or --force")
    if base is None:
        return FileChange(path=path, before=before, after=new)
    if path.suffix != ".yaml":
        return _code_change(path, before, base, new, is_forced=is_forced)
    try:
        result = merge(base, before, new, is_forced=is_forced)
    except UnreadableError as error:
        if is_forced:
            return FileChange(path=path, before=before, after=new)
        raise UsageError(f"{path}: {error}") from None
    return FileChange(path=path, before=before, after=result.text, conflicts=result.conflicts)


def _code_change(path: Path, before: str, base: str, new: str, *, is_forced: bool) -> FileChange:
    """Return the change of a code file, which is merged as a whole."""
    if before == base or is_forced:
        return FileChange(path=path, before=before, after=new)
    is_conflict = new not in {base, before}
    conflict = Conflict((path.name,), "changes", "other changes")
    return FileChange(path=path, before=before, after=before, conflicts=(conflict,) if is_conflict else ())


def write(folder: Path, found: list[FileChange], name: str, record: Record) -> None:
    """Write the changes and the record. Raises ``UsageError``."""
    try:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        for each in found:
            if each.after is None:
                each.path.unlink(missing_ok=True)
            elif each.after != each.before:
                each.path.parent.mkdir(parents=True, exist_ok=True)
                _replace(each.path, each.after)
        _replace(folder / FOLDER / f"{name}.json", record.to_text())
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}") from None


def _replace(path: Path, text: str) -> None:
    """Write the file atomically, so that a killed import leaves nothing that the next import refuses."""
    with replace_file(path) as file:
        file.write(text.encode("utf-8"))


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{path} cannot be read as UTF-8") from None
