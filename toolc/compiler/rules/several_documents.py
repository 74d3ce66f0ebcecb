"""TC008: several YAML documents in one file."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.SEVERAL_DOCUMENTS,),
    explanation="""\
A line `---` begins a new YAML document, and most readers of a spec would see the first one alone.
Several tools of one file stand in a list under `tools:`, and share what is under `defaults:`.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend: {shell: {argv: [echo, hello]}}
---
toolc: 1
name: goodbye
description: Take leave of the whole world.
backend: {shell: {argv: [echo, goodbye]}}
""",
    good="""\
toolc: 1
tools:
  - name: hello
    description: Say hello to the whole world.
    backend: {shell: {argv: [echo, hello]}}
  - name: goodbye
    description: Take leave of the whole world.
    backend: {shell: {argv: [echo, goodbye]}}
""",
)
