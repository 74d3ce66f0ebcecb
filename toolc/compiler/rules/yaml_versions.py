"""TC003: YAML 1.1 and YAML 1.2 read a value differently."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.YAML_DISAGREEMENT,),
    explanation="""\
toolc reads YAML 1.2, where `no`, `on`, `22:22` and `2026-11-21` are text and `012` is twelve.
Readers of YAML 1.1, which most editors' linters and scripts still are, take them for false, true,
1342, a date and ten. Put the value in quotes, or write a number as both versions do.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  wave: {type: string, enum: [on, off], description: Whether to wave a hand.}
backend:
  shell:
    argv: [echo, hello, "{{ wave }}"]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  wave: {type: string, enum: ["on", "off"], description: Whether to wave a hand.}
backend:
  shell:
    argv: [echo, hello, "{{ wave }}"]
""",
)
