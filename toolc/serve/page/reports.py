"""Run ``toolc lock --check`` and ``toolc diff`` on the current specs, in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from toolc.client.executor import CallableTools
from toolc.dataclass import dataclass
from toolc.model.errors import ToolcError, UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.lock_file import Lock
from toolc.review.sources.repository import Repository
from toolc.runtime.execution.admission import ReviewedTools
from toolc.serve.page.catalog import Catalog
from toolc.testing.recorded_results import read_results

_NO_SPECS: Final = "these tools do not come from specs, so nothing can be compared or tested; serve a folder of specs"

SECONDS: Final = 300.0
"""How long a report may take."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The files behind the tools: the served files (None for built-in tools), the lock file and the test results.

    ``lock`` is None without a lock file, and ``results`` without ``--tests``. ``restrictions`` are the options that
    make ``toolc test`` refuse the same tools as the server.
    """

    target: Path | None = None
    lock: Path | None = None
    results: Path | None = None
    restrictions: Sequence[str] = ()

    @property
    def specs(self) -> Path | None:
        """The specs, or None if the tools are built in or in a registry."""
        return None if self.target is None or self.target.suffix == ".json" else self.target

    def catalog(self, tools: CallableTools, toolsets: Mapping[str, Sequence[str]], denied: frozenset[str]) -> Catalog:
        """Return the catalog of these tools for a client. Raises ``UsageError`` if a file cannot be read."""
        return Catalog(
            tools=[tools.registered(name) for name in sorted({each.name for each in tools})],
            others=ReviewedTools(tools.called),
            toolsets=toolsets,
            denied=denied,
            lock=Lock.read(self.lock) if self.lock else None,
            results=read_results(self.results) if self.results else None,
        )

    def lock_changes(self) -> Sequence[JsonValue]:
        """Return the differences from the lock file with the changed fields. Raises ``UsageError``."""
        if self.specs is None or self.lock is None:
            return ()
        found = _run("lock", "--check", "--json", "--lock", str(self.lock), "--", str(self.specs))["changes"]
        assert isinstance(found, list)
        return found

    def run_tests(self, tool: str) -> JsonObject:
        """Run the tests of a tool in the current specs. Raises ``UsageError``."""
        if self.specs is None:
            raise UsageError(_NO_SPECS)
        return _run("test", "--json", *self.restrictions, "--", f"{self.specs}#{tool}")

    def review(self, base: str) -> JsonObject:
        """Return the differences of the specs from the lock file and from a commit. Raises ``UsageError``.

        A part that does not apply is null. Without ``base``, the commit is ``HEAD`` if the specs are in a repository.
        """
        if self.specs is None:
            raise UsageError(_NO_SPECS)
        commit = _commit(base or "HEAD")
        if commit is None and base:
            raise UsageError(f"{base!r:.80} is not a commit of the repository in which the server runs")
        difference = None if commit is None else _run("diff", "--json", "--path", str(self.specs), "--", commit)
        changes: list[JsonValue] | None = None if self.lock is None else [*self.lock_changes()]
        return {
            "specs": str(self.specs),
            "lock": None if self.lock is None else str(self.lock),
            "lock_changes": changes,
            "base": None if commit is None else base or "HEAD",
            "commit": commit,
            "difference": difference,
        }


def _commit(name: str) -> str | None:
    """Return the hash of a commit. Names that Git could read as an option or a path are refused."""
    try:
        repository = Repository.of(Path())
        commit = repository.commit(name) if repository and not name.startswith(("-", ".", "/")) else None
    except ToolcError:
        return None
    return commit.identity if commit else None


def _run(*arguments: str) -> JsonObject:
    """Return the JSON object that a command prints. If it prints none, raise ``UsageError`` with its message."""
    command = [sys.executable, "-P", "-m", "toolc", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UsageError(f"toolc {arguments[0]} took longer than {SECONDS:g} seconds") from None
    try:
        value: JsonValue = json.loads(done.stdout)
    except ValueError:
        value = None
    if not isinstance(value, dict):  # errors in specs are a list of findings
        reason = done.stderr.decode(errors="replace").strip()
        raise UsageError(reason or f"the specs have errors, which this command lists: toolc {arguments[0]}")
    return value
