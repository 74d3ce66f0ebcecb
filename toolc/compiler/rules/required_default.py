"""TC305: a parameter that is required and has a default. Off: generators write it, and it does no harm."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.REQUIRED_DEFAULT,),
    explanation="""\
A model that is told "required" writes the argument on every call, so it never leaves the choice to the tool; a
program that leaves it out gets the default. If the default is a good value for most calls, the parameter need
not be required; if every call has to decide, the default says nothing. In the shorthand form a parameter
with a default is optional of itself.

The finding is off unless it is selected: schemas that are generated from code often have both.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  type: object
  properties:
    who: {type: string, default: Ada, description: Whom to greet.}
  required: [who]
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  type: object
  properties:
    who: {type: string, default: Ada, description: Whom to greet.}
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
)
