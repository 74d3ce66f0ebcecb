"""TC316: a $ref that points outside the schema, or back to itself."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.REMOTE_REF,),
    explanation="""\
A build fetches nothing: what stands elsewhere could change after the review, and providers follow
no links. Copy the schema under `$defs` and refer to it there. A reference that leads back to itself
without a step into the value describes nothing either; a tree whose branches are trees is fine.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  type: object
  properties:
    who: {$ref: "https://example.com/person.json", description: Whom to greet.}
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
    who: {$ref: "#/$defs/person", description: Whom to greet.}
  required: [who]
  $defs:
    person: {type: string, maxLength: 100}
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
)
