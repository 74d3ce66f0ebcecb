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
from toolc.diagnostics import Diagnostic
from toolc.spec import PluginBackend

NUMBER: Final = "TC604"

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
