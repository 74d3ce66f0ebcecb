"""TC110: a placeholder, or text that YAML takes for an alias, without quotes."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.UNQUOTED_PLACEHOLDER,),
    explanation="""\
To YAML and TOML an opening brace begins a map, and to YAML a `*` begins an alias. So `{{ name }}`
and `*.txt` without quotes are not the text they seem to be. Put the whole value in quotes.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, description: "Whom to greet, e.g. 'Ada'"}
backend:
  shell:
    argv: [echo, hello, {{ who }}]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, description: "Whom to greet, e.g. 'Ada'"}
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
)
