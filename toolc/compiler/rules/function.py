"""TC112: a Python file that lacks the function, or does not parse."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.FUNCTION,),
    explanation="""\
A Python backend calls one function: the one that `function:` names, or the one with the tool's
name. It must be defined at the top level of the file. toolc reads the code without running it, so a
check is safe on a stranger's code.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  python:
    code: |
      def greet() -> str:
          return "hello"
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  python:
    function: greet
    code: |
      def greet() -> str:
          return "hello"
""",
)
