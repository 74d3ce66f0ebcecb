"""TC410: an HTTP tool that does not say what its service's errors mean. Off: the standard kinds often do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

NEEDS: Final = frozenset({"backend"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """``backend.http`` without ``errors``."""
    backend = tool.spec.backend
    if backend.tag == "http" and not backend.errors:
        yield Diagnostic(
            codes.UNMAPPED_STATUS, "this tool does not say what its service's error statuses mean",
            tool.key_span("backend", "http"), 'add errors: [{status: "404", kind: not_found}]',
        )  # fmt: skip


_BAD: Final = """\
toolc: 1
name: get_ticket
label: Ticket
description: Read one support ticket by its number. Use it before you answer questions about a customer's case.
parameters:
  number: {type: integer, minimum: 1, description: "The ticket's number"}
annotations: {read_only: true}
backend:
  http:
    url: https://api.example.com/v1/tickets/{{ number }}
examples:
  - {number: 7}
"""

RULE: Final = Rule(
    codes=(codes.UNMAPPED_STATUS,),
    explanation="""\
A response that is no success becomes an error of a general kind. A model does better with the particular one:
after `not_found` it looks for another number, after `rate_limit` it waits, after `invalid_args` it corrects its
call.

Say under `errors` which status is which kind, and where a service answers 200 and fails, `when` it does so. The
check is off unless it is selected.
""",
    bad=_BAD,
    good=_BAD.replace("examples:", '    errors: [{status: "404", kind: not_found}]\nexamples:'),
)
