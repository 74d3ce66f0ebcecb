"""TC411: a function that does not take the parameters, or that runs text as code."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.SIGNATURE, codes.TEXT_AS_CODE),
    explanation="""\
The function is called with the arguments as keywords, so each parameter of the tool needs one of
the function, and each of the function's that has no default needs one of the tool. A parameter that
may be absent needs a default in the function too. One named `ctx` is the call's context and is
filled in by itself.

A function that hands text to `eval`, `exec` or a shell lets a model, or whoever wrote what the
model has read, choose the code (CWE-94, CWE-78). The sandbox bounds the harm, but what the tool may
reach is within that bound. Parse the value, or name a program and its arguments in a list.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, description: "Whom to greet, e.g. 'Ada'"}
backend:
  python:
    code: |
      def hello(name: str) -> str:
          return f"Hello, {name}!"
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, description: "Whom to greet, e.g. 'Ada'"}
backend:
  python:
    code: |
      def hello(who: str) -> str:
          return f"Hello, {who}!"
""",
)
