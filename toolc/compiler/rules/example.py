"""TC802: an example or test whose arguments the schema refuses."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.EXAMPLE,),
    explanation="""\
A model learns from examples how to call the tool, and one that the schema refuses teaches a call
that fails. A test with such arguments tests the refusal, not the tool: if that is meant, say so
with `expect: {error: invalid_args}`.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  times: {type: integer, minimum: 1, description: How often to say it.}
backend:
  shell:
    argv: [echo, "{{ times }}"]
examples:
  - {times: twice}
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  times: {type: integer, minimum: 1, description: How often to say it.}
backend:
  shell:
    argv: [echo, "{{ times }}"]
examples:
  - {times: 2}
""",
)
