"""TC005: a merge key, or aliases that are broken or expand without end."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.ALIAS,),
    explanation="""\
An alias (`*name`) may repeat a value of the same file, but not one that contains the alias, and all
the aliases of a file may add ten thousand values at most: a dozen lines can otherwise expand to
gigabytes. Merge keys (`<<`) are no part of YAML 1.2, and readers disagree about them. What several
tools share belongs under `defaults:`.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: &person {type: string, description: "A person, e.g. 'Ada'"}
  friend: {<<: *person, description: Another person.}
backend:
  shell:
    argv: [echo, hello, "{{ who }}", and, "{{ friend }}"]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: &person {type: string, description: "A person, e.g. 'Ada'"}
  friend: *person
backend:
  shell:
    argv: [echo, hello, "{{ who }}", and, "{{ friend }}"]
""",
)
