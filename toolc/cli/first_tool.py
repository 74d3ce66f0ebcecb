"""Ask what the first tool of ``toolc init`` calls, and import tools that the user already has."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from toolc.cli.common import note
from toolc.dataclass import dataclass
from toolc.model.errors import UsageError

KINDS: Final[Mapping[str, str]] = {
    "program": "a program of the machine, such as grep",
    "python": "Python code that you write",
    "http": "an HTTP API",
    "openapi": "operations of an OpenAPI document",
    "definition": "what you have: a Python file, a skill, or definitions for a provider in JSON",
}
"""What a tool can call."""

_IMPORTED: Final = ("openapi", "definition")


@dataclass(frozen=True, slots=True)
class FirstTool:
    """What the first tool calls. An imported tool also has the file, folder or URL that it comes from."""

    kind: str
    source: str | None = None


def first_tool(kind: str | None, source: str | None) -> FirstTool:
    """Return the user's choice from the options or, on a terminal, from questions. Raises ``UsageError``."""
    if kind is None and source is None and sys.stdin.isatty() and sys.stderr.isatty():
        print("What should the first tool call?", *(f"  {key:<12}{text}" for key, text in KINDS.items()), sep="\n")
        kind = click.prompt("Your choice", type=click.Choice([*KINDS]), default="python", show_choices=False)
        source = click.prompt("Its file, folder or URL") if kind in _IMPORTED else None
    if kind in _IMPORTED and source is None:
        raise UsageError(f"--call {kind} imports existing tools; name their file with --from FILE")
    if source is not None and kind not in _IMPORTED:
        raise UsageError("--from is only for --call openapi and --call definition")
    return FirstTool(kind or "python", source)


def import_arguments(tool: FirstTool, folder: Path) -> list[str]:
    """Return the arguments of ``toolc import`` for a tool that has a source. Raises ``UsageError``."""
    if tool.source is None:
        return []
    if tool.kind == "openapi":
        return ["openapi", tool.source, "--out", str(folder / "specs")]
    if tool.source.endswith(".json"):
        note("the definitions have no backend yet, so they are in drafts; add one to each, and move it to specs")
        return ["json", tool.source, "--out", str(folder / "drafts")]
    if Path(tool.source).is_dir():
        raise UsageError(f"copy the skill into {folder}/specs, then run: toolc import skill {folder}/specs/NAME")
    return ["python", tool.source, "--out", str(folder / "specs")]
