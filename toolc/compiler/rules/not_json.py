"""TC010: a value that JSON does not have."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.NOT_JSON,),
    explanation="""\
A spec becomes JSON: the registry and every provider's definition. JSON has no dates and times,
which TOML has, and no infinity or not-a-number. Write a date as text in quotes; leave a limit out
where there is none.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  times: {type: integer, minimum: 1, maximum: .inf, description: How often to say it.}
backend:
  shell:
    argv: [echo, "{{ times }}"]
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
""",
)
