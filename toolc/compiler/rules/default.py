"""TC304: a default that its own schema refuses."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.DEFAULT,),
    explanation="""\
The default is what a call without the argument gets, so it must be a value that the argument could
have. A model that sees the two contradict each other trusts neither.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, enum: [Ada, Grace], default: Alan, description: Whom to greet.}
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, enum: [Ada, Grace], default: Ada, description: Whom to greet.}
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
)
