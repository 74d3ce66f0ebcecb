"""Real Git repositories, made for a test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ENVIRONMENT: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a working tree at ``top``."""

    top: Path

    @classmethod
    def make(cls, top: Path) -> Repository:
        top.mkdir(parents=True)
        made = cls(top)
        made.git("init", "--quiet", "--initial-branch=main")
        return made

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        found = subprocess.run(
            command, cwd=self.top, env={**os.environ, **_ENVIRONMENT}, input=stdin, capture_output=True, check=False
        )
        assert found.returncode == 0, found.stderr.decode()
        return found.stdout.decode().strip()

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            (self.top / path).parent.mkdir(parents=True, exist_ok=True)
            (self.top / path).write_text(text, encoding="utf-8")

    def commit(self, files: Mapping[str, str]) -> str:
        """Write files, commit everything and return the hash of the commit."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a change")
        return self.git("rev-parse", "HEAD")
