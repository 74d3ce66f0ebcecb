"""TC604: a variable of the environment that is meant to be filled in from outside, and never will be.

What stands under ``env`` or in a plugin's ``command`` is a constant: nothing is expanded in it, and a build never
reads its own environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic
from toolc.spec import PluginBackend

NEEDS: Final = frozenset({"backend", "sandbox"})

# $NAME, ${NAME}, ${NAME:-default}, %NAME% and ${env:NAME}; names of environments are in capitals.
_EXPANSION: Final = re.compile(
    r"\$\{?[A-Z_][A-Z0-9_]+\b(?:[:?+-][^}]{0,200})?\}?|%[A-Z_][A-Z0-9_]+%|\$\{env[:.][^}]{0,200}\}"
)


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each value under ``env``, and word of a plugin's command, that reads like another environment's variable."""
    for variable in tool.spec.sandbox.env:
        span = tool.span("sandbox", "env", variable.name)
        if variable.value == "*" or variable.name == "*":
            found = variable.value
        elif match := _EXPANSION.search(variable.value):
            found = match[0]
        else:
            continue
        yield Diagnostic(
            codes.ENV_EXPANSION, f"'{found}' stays as it stands: a variable under 'env' is a constant",
            tool.source.locate(span, found),
            "write the value itself; what is secret or differs from user to user belongs under sandbox.secrets",
        )  # fmt: skip
    if isinstance(tool.spec.backend, PluginBackend):
        yield from _in_command(tool, tool.spec.backend.command)


def _in_command(tool: LocatedTool, command: tuple[str, ...]) -> Iterator[Diagnostic]:
    for index, word in enumerate(command):
        match = _EXPANSION.search(word)
        # A word with spaces is code, as after 'sh -c', whose own variables those are.
        if match and not re.search(r"\s", word):
            yield Diagnostic(
                codes.ENV_EXPANSION,
                f"'{match[0]}' stays as it stands: nothing is filled into a word of 'command'",
                tool.source.locate(tool.span("backend", "plugin", "command", index), match[0]),
                "let the plugin read a variable of sandbox.env; what is secret or differs from user to user "
                "belongs under sandbox.secrets, with expose: env",
            )


_BAD: Final = """\
toolc: 1
name: today
label: Today
description: Tell today's date in the office's time zone. Use it for questions about deadlines.
parameters: {}
annotations: {read_only: true, open_world: false}
backend:
  shell: {argv: [date, -I]}
sandbox:
  env: {TZ: "${OFFICE_TZ}"}
tests:
  - expect: {matches: "^[0-9]{4}-"}
"""

RULE: Final = Rule(
    codes=(codes.ENV_EXPANSION,),
    explanation="""\
Compose files and CI systems replace `${NAME}` by a variable of their own environment. toolc does not: a build
would give other bytes on every machine, and a pull request could put a CI variable into a tool. The tool gets
the text `${NAME}` itself, which is hardly what was meant. The same holds for the words of a plugin's `command`.

Write the value. Where it is a secret or differs from user to user, declare it under `sandbox.secrets`, and it
comes from the configuration of whoever runs the tool. In a `script`, the shell does expand its own variables.
""",
    bad=_BAD,
    good=_BAD.replace("${OFFICE_TZ}", "Europe/Zurich"),
)
