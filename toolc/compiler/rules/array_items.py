"""TC307: an array that does not say what its items are."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.ARRAY_ITEMS,),
    explanation="""\
Without `items` a model has to guess what the list holds, and some providers (Gemini) refuse the
whole request. Say what an item is; `items: {}` says that it may be anything.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  names: {type: array, description: Whom to greet.}
backend:
  shell:
    argv: [echo, hello, "{{ names }}"]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  names: {type: array, items: {type: string}, description: Whom to greet.}
backend:
  shell:
    argv: [echo, hello, "{{ names }}"]
""",
)
