"""TC103: a tool without a backend, or with several."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.ONE_BACKEND,),
    explanation="""\
A tool does one thing in one way, so under `backend:` stands exactly one kind. With two it would be
unclear which one a reviewer has approved. Two ways are two tools.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
  python:
    code: |
      def hello() -> str:
          return "hello"
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
""",
)
