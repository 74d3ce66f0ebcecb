"""TC305: a parameter that is required and has a default."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.REQUIRED_DEFAULT,),
    explanation="""\
A required argument is always given, so its default is never used. One of the two is a mistake, and
a model cannot tell which. In the shorthand form a parameter with a default is optional of itself.
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
