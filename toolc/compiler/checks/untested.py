"""TC801: a tool without a test and without an example. Off: a small tool may need neither."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

NEEDS: Final = frozenset({"examples", "tests"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Neither ``tests`` nor ``examples``."""
    if not tool.spec.tests and not tool.spec.examples:
        yield Diagnostic(
            codes.NO_TEST, "this tool has no test and no example", tool.span("name"),
            "add 'tests', calls with what must come of them; 'toolc test' runs them in the sandbox",
        )  # fmt: skip


_BAD: Final = """\
toolc: 1
name: upper_case
label: Upper case
description: Write a text in capital letters. Use it for headings; not for names of files.
parameters:
  text: {type: string, maxLength: 10000, description: "The text"}
annotations: {read_only: true, open_world: false}
backend:
  shell: {argv: [tr, a-z, A-Z], stdin: "{{ text }}"}
"""

RULE: Final = Rule(
    codes=(codes.NO_TEST,),
    explanation="""\
A test says what a tool is for more exactly than its description, and `toolc test` shows on every change that it
still does that, in the sandbox it will have. An example shows a model how a call looks, which helps most where
parameters are nested.

Add at least one of them. The check is off unless it is selected.
""",
    bad=_BAD,
    good=_BAD
    + """\
tests:
  - args: {text: "hello\\n"}
    expect: {text: "HELLO\\n"}
""",
)
