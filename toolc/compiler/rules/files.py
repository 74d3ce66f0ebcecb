"""TC111: a file that is missing, outside the spec's folder, or unreadable."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.FILE,),
    explanation="""\
What a tool needs travels with it, so that what was reviewed is what runs. Its files stand in the
spec's folder or below, are named relative to it, and are read at build; links and `..` must not
lead out of it. They are at most 4 MiB each.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    file: helo.sh
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    file: hello.sh
""",
    beside={"hello.sh": "echo hello\n"},
)
