"""TC306: a required parameter that is not declared."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.REQUIRED_UNKNOWN,),
    explanation="""\
`required` names a parameter that `properties` does not declare. No call could be right: the
argument must be given, and is then refused as unknown. It is mostly a typing error, or what a
renaming left behind.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  type: object
  properties:
    who: {type: string, description: "Whom to greet, e.g. 'Ada'"}
  required: [whom]
backend:
  shell:
    argv: [echo, hello, {when: who, argv: ["{{ who }}"]}]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  type: object
  properties:
    who: {type: string, description: "Whom to greet, e.g. 'Ada'"}
  required: [who]
backend:
  shell:
    argv: [echo, hello, {when: who, argv: ["{{ who }}"]}]
""",
)
