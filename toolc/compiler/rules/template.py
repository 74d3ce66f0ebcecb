"""TC114: a template that cannot be read."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.TEMPLATE,),
    explanation="""\
A placeholder holds a parameter's name, keys of its value, and filters: `{{ user.name | lower }}`.
Arithmetic and calls are refused, since a model that chooses their operands could make them use any
amount of time or memory. `{{` and `}}` come in pairs; text with braces of its own, such as a Go
template, is written `{{ '{{' }}`. Scripts and code are no templates at all.

Two places have a language of their own, which is checked at build too: `result.select` is JMESPath,
and `result.template` is Jinja2.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, description: "Whom to greet, e.g. 'Ada'"}
backend:
  shell:
    argv: [echo, hello, "{{ who.upper() }}"]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, description: "Whom to greet, e.g. 'Ada'"}
backend:
  shell:
    argv: [echo, hello, "{{ who | upper }}"]
""",
)
