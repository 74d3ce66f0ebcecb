"""TC208: a tool without a label. Off by default: a model does not need it, people who are asked to confirm do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

NEEDS: Final = frozenset({"name", "label"})

RULE: Final = Rule(
    codes=(codes.LABEL,),
    explanation="""\
A client shows the label where a person picks a tool or is asked whether it may run; without one it shows the
name, which is written for models. Add a few words, like the text of a menu.

This finding is off by default: a tool works without a label.
""",
    bad="""\
toolc: 1
name: git_log
description: Show the latest commits of the workspace's Git repository, newest first.
backend:
  shell: {argv: [git, log, --oneline, -n20]}
sandbox: {workspace: ro}
""",
    good="""\
toolc: 1
name: git_log
label: Latest commits
description: Show the latest commits of the workspace's Git repository, newest first.
backend:
  shell: {argv: [git, log, --oneline, -n20]}
sandbox: {workspace: ro}
""",
)


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """A tool without ``label``."""
    if tool.spec.label is None:
        message = f"'{tool.spec.name}' has no label"
        yield Diagnostic(codes.LABEL, message, tool.span("name"), "add label: with a few words for people")
