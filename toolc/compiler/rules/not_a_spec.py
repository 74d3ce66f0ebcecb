"""TC113: a file that is no spec."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.NOT_A_SPEC,),
    explanation="""\
A file is a spec because it has the key `toolc`. Another YAML or TOML file among specs has no
effect, which is a surprise if it was meant to be one. Add `toolc: 1`, move it
elsewhere, or name it under `exclude:` in the project file.
""",
    bad="""\
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
""",
    beside={
        "other.yaml": """\
toolc: 1
name: goodbye
description: Take leave of the whole world.
backend: {shell: {argv: [echo, goodbye]}}
"""
    },
)
