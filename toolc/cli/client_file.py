"""The configuration file of an MCP client: read, edited, and written with a backup beside it."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from toolc.compiler.fixes.apply import rewrite
from toolc.compiler.text_analysis.credentials import conceal_text
from toolc.dataclass import dataclass
from toolc.document.line_diff import unified_diff
from toolc.model.atomic_files import replace_file
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.serve.mcp_clients import McpClient


@dataclass(frozen=True, slots=True)
class ClientFile:
    """The file of a client before a change of the server ``name``. The text is None if there is no file."""

    client: McpClient
    name: str
    path: Path
    text: str | None

    @property
    def backup(self) -> Path:
        """The path of the file with the previous text."""
        return self.path.with_name(f"{self.path.name}.toolc-backup")

    @classmethod
    def read(cls, client: McpClient, name: str, path: Path) -> ClientFile:
        """Read the file. A link is followed only to a regular file of this user. Raises ``UsageError``."""
        real = Path(os.path.realpath(path))
        if not os.path.lexists(path):
            return cls(client, name, real, None)
        try:
            known = real.stat()
            if not stat.S_ISREG(known.st_mode) or known.st_uid != os.geteuid():
                raise UsageError(f"cannot edit {path}: it is not a regular file of this user")
            return cls(client, name, real, real.read_bytes().decode("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(f"cannot read {path}: {reason}") from None

    def edited(self, entry: JsonObject | None) -> str | None:
        """Return the text with the entry, or without it if ``entry`` is None. A result of None means no file.

        Raises ``UsageError`` if the file cannot be edited.
        """
        place, text = self.client.place(self.name), self.text or ""
        try:
            known = place.entries(text).get(self.name)
            if entry is not None:
                return place.edited(text, self.client.merged(known, entry))
            # If nothing else has changed since the entry was added, the file becomes what it was.
            backup = self._backup_text()
            with suppress(UsageError):
                is_new = self.name not in place.entries(backup or "")
                if is_new and isinstance(known, dict) and place.edited(backup or "", known) == text:
                    return backup
            return self.text and place.edited(text, None)
        except UsageError as error:
            raise UsageError(f"cannot edit {self.path}: {error}; it was not changed") from None

    def diff(self, after: str | None) -> str:
        """Return the change as a unified diff, without credentials."""
        old, new = (re.findall(r"[^\n]*\n|[^\n]+", conceal_text(text or "")) for text in (self.text, after))
        lines = [f"--- {self.path}\n", f"+++ {self.path}\n", *unified_diff(old, new)]
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def write(self, after: str | None) -> None:
        """Write the file, and its previous text to a backup. If the new text equals the backup, remove the backup.

        Raises ``UsageError``.
        """
        try:
            if self.text is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with replace_file(self.path, mode=0o600) as file:
                    file.write((after or "").encode())
            elif after is None:
                self.path.unlink()
            elif after == self._backup_text():
                rewrite(self.path, self.text.encode(), after.encode())
                self.backup.unlink()
            else:
                with replace_file(self.backup, mode=0o600) as file:
                    os.fchmod(file.fileno(), stat.S_IMODE(self.path.stat().st_mode))
                    file.write(self.text.encode())
                rewrite(self.path, self.text.encode(), after.encode())
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {(error.strerror or str(error)).lower()}") from None

    def _backup_text(self) -> str | None:
        try:
            return self.backup.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
