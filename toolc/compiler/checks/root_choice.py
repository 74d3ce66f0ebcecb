"""TC703: a choice at the root of the parameters (``anyOf``, ``oneOf``, ...), which providers refuse.

Lowering moves such a keyword into the description (see ``toolc.providers.lowering``): the model reads it as
words, and nothing holds it to them until the call is validated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

NEEDS: Final = frozenset({"parameters"})

REFUSED: Final = frozenset({"allOf", "anyOf", "const", "enum", "not", "oneOf"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each keyword at the root that some provider refuses there."""
    schema = tool.spec.parameters.value
    for key in sorted(REFUSED & schema.keys()) if not REFUSED.isdisjoint(schema) else ():
        yield Diagnostic(
            codes.ROOT_CHOICE, f"providers refuse '{key}' at the root of the parameters; a model reads it as words",
            tool.key_span("parameters", key),
            "make two tools, or one parameter with an enum that says which of the others count",
        )  # fmt: skip


_BAD: Final = """\
toolc: 1
name: find_user
label: Find a user
description: Find one user by name or by number. Use it before you answer questions about a person.
parameters:
  type: object
  properties:
    name: {type: string, maxLength: 100, description: "The user's full name"}
    number: {type: integer, minimum: 1, description: "The user's number"}
  anyOf:
    - required: [name]
    - required: [number]
annotations: {read_only: true, open_world: false}
backend:
  python:
    code: |
      def find_user(name=None, number=None):
          return name or f"user {number}"
tests:
  - args: {number: 7}
    expect: {text: "user 7"}
"""

_CHOICE: Final = """\
  anyOf:
    - required: [name]
    - required: [number]
"""

RULE: Final = Rule(
    codes=(codes.ROOT_CHOICE,),
    explanation="""\
The APIs of OpenAI and Anthropic answer `anyOf`, `oneOf` or `allOf` at the root of a tool's parameters with an
error, so toolc says these keywords in the description instead. The model then has no schema to keep to, and
calls that break the rule come back as `invalid_args`.

Make a tool for each way to call it, or one parameter with an enum that says which way it is. A choice below the
root, within a parameter, is fine.
""",
    bad=_BAD,
    good=_BAD.replace(_CHOICE, ""),
)
