"""TC105: a reference to something that does not exist."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.DANGLING,),
    explanation="""\
Something is named that nothing declares: a place in a schema by `$ref`, a tool by a toolset, a
composite or an agent, a step by `{{ steps.ID.outputs }}`, a constant of the project file by
`{{ vars.NAME }}`. What stands there could not be filled in, at build or at a call. Declare what it names, or mend
the name.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  type: object
  properties:
    who: {$ref: "#/$defs/persn"}
  required: [who]
  $defs:
    person: {type: string, description: "A person, e.g. 'Ada'"}
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
    person: {type: string, description: "A person, e.g. 'Ada'"}
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
)
