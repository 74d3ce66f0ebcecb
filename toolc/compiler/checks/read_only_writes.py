"""TC505: a tool that says it only reads, with a workspace that it can write to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

NEEDS: Final = frozenset({"annotations", "sandbox"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """``read_only: true`` beside a workspace that is neither ``none`` nor ``ro``, and whose changes may be kept."""
    mode, transaction = tool.spec.sandbox.workspace, tool.spec.sandbox.transaction
    thrown_away = transaction is not None and transaction.commit == "never"
    if tool.spec.annotations.read_only and mode not in {"none", "ro"} and not thrown_away:
        yield Diagnostic(
            codes.READ_ONLY_WRITES, f"this tool says it only reads, and it can write: its workspace is '{mode}'",
            tool.span("sandbox", "workspace"), "write workspace: ro, or read_only: false",
        )  # fmt: skip


_BAD: Final = """\
toolc: 1
name: list_todos
label: List TODOs
description: List the lines of the workspace that say TODO, with file and line. Use it to plan what to do next.
parameters: {}
annotations: {read_only: true, open_world: false}
backend:
  shell: {argv: [grep, -rn, TODO, .], success_exit_codes: [0, 1]}
sandbox: {workspace: rw}
tests:
  - args: {}
    files: {a.txt: "TODO: more\\n"}
    expect: {text: "./a.txt:1:TODO: more\\n"}
"""

RULE: Final = Rule(
    codes=(codes.READ_ONLY_WRITES,),
    explanation="""\
Clients let a tool with `read_only: true` run without asking anybody. One that can write to the workspace all
the same has more rights than it says, and a mistake in it, or in what a model passes to it, changes the user's
files.

Give it `workspace: ro`: the sandbox then keeps what the annotation promises. A program that needs a place to
write has `/tmp`.
""",
    bad=_BAD,
    good=_BAD.replace("workspace: rw", "workspace: ro"),
)
