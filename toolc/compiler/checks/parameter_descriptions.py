"""TC301: a parameter without a description.

Off by default: of 939 parameters of a public catalogue 45 have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.properties import parameters, says, text_of
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

NEEDS: Final = frozenset({"parameters"})

RULE: Final = Rule(
    codes=(codes.PARAMETER_DESCRIPTION,),
    explanation="""\
A model fills a parameter in from its name, its type and its description. Where there is no description it
guesses: whether `path` is absolute, what unit `size` has, what a `query` may hold. One line with an example is
worth more than a long description of the tool.

This finding is off by default; select it to hold a set of tools to it.
""",
    bad="""\
toolc: 1
name: read_log
description: Read the last lines of one log file in the workspace.
parameters:
  path: {type: string}
backend:
  shell: {argv: [tail, -n100, --, "{{ path }}"]}
sandbox: {workspace: ro}
""",
    good="""\
toolc: 1
name: read_log
description: Read the last lines of one log file in the workspace.
parameters:
  path: {type: string, description: "File, relative to the workspace, e.g. 'logs/app.log'"}
backend:
  shell: {argv: [tail, -n100, --, "{{ path }}"]}
sandbox: {workspace: ro}
""",
)


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each parameter of which nothing is said in words."""
    for entry, schema in parameters(tool):
        if not text_of(schema, "description").strip() and not says(schema, "$ref"):
            message = f"the parameter '{entry.key}' has no description"
            hint = "say what it is, in which form or unit, with an example"
            yield Diagnostic(codes.PARAMETER_DESCRIPTION, message, entry.key_span, hint)
