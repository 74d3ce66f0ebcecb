"""TC506: a tool that does not refuse to run as root. Off: where no root is near, it never does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

NEEDS: Final = frozenset({"sandbox"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """A workspace, whose owner may be root, without ``run_as: nonroot``."""
    if tool.spec.sandbox.workspace != "none" and tool.spec.sandbox.run_as is None:
        yield Diagnostic(
            codes.MAY_BE_ROOT, "this tool runs as root where root owns the workspace",
            tool.span("sandbox", "workspace"), "add run_as: nonroot under 'sandbox'",
        )  # fmt: skip


_BAD: Final = """\
toolc: 1
name: count_files
label: Count files
description: Count the files of the workspace, those in folders too. Use it to find out how large a project is.
parameters: {}
annotations: {read_only: true, open_world: false}
backend:
  shell: {script: "find . -type f | wc -l"}
sandbox:
  workspace: ro
tests:
  - args: {}
    files: {a.txt: "", b.txt: ""}
    expect: {text: "2\\n"}
"""

RULE: Final = Rule(
    codes=(codes.MAY_BE_ROOT,),
    explanation="""\
A sandbox runs as the owner of the workspace, so that files it makes are the user's. Where root owns the
workspace, that can be root: without any capability, but with the rights of files that root owns.

`run_as: nonroot` refuses such a call instead. The check is off unless it is selected, because most workspaces
belong to ordinary users.
""",
    bad=_BAD,
    good=_BAD.replace("  workspace: ro", "  workspace: ro\n  run_as: nonroot"),
)
