"""TC602: a secret where a model, a process list or a log can see it.

Named (``{{ secrets.TOKEN }}``) in words for a model or in a test, where nothing replaces it; asked of the model as
a parameter; or written out in a command line, a URL or a variable whose name says that it is one. What else may
name a secret, decoding decides (with the same number).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Mapping, Scalar
from toolc.compiler.properties import parameters
from toolc.compiler.strings import strings
from toolc.compiler.written import may_hold
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC602"

NEEDS: Final = frozenset({"parameters"})

_READ_BY_OTHERS: Final = ("label", "description", "deprecated", "parameters", "examples", "tests")
_NAMED: Final = re.compile(r"\{\{-?\s*secrets\b[^}]{0,200}\}\}")

_ASKS: Final = frozenset(
    {
        "access_key", "access_token", "api_key", "api_token", "apikey", "auth_token", "bearer_token",
        "client_secret", "passphrase", "passwd", "password", "private_key", "secret", "secret_key", "ssh_key",
    }
)  # fmt: skip
_LITERAL: Final = r"(?!\{\{|\$|/|\*+$|<|true$|false$|none$)[^\s{}]+"
# Both compiled where there is something like it: start-up time.
_OPTION: Final = rf"--(?:api-?key|access-?token|auth-?token|pass(?:word)?|secret|token)=(?P<value>{_LITERAL})"
_URL: Final = r"(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@{}]{1,100}:(?P<value>[^\s/@{}$<*]{1,200})@"
_VARIABLE: Final = re.compile(r"(?:.*_)?(?:API_?KEY|PASSWD|PASSWORD|PRIVATE_KEY|SECRET|SECRET_KEY|TOKEN)")
_VALUE: Final = re.compile(_LITERAL, re.IGNORECASE)

_DECLARE: Final = "declare it under sandbox.secrets: its value comes from whoever runs the tool"


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each secret that is named, asked for or written out where it can be seen."""
    for key in _READ_BY_OTHERS if may_hold(tool, ("secrets",)) else ():
        for node, text in strings(tool.node.get(key)):
            for match in _NAMED.finditer(text) if "secrets" in text else ():
                yield Diagnostic(
                    codes.MISPLACED_SECRET, f"nothing replaces a secret under '{key}': this stays as it stands",
                    tool.source.locate(node.span, match[0]), "name secrets where they are used, in the backend",
                )  # fmt: skip
    asks = not _ASKS.isdisjoint(map(str.lower, tool.spec.parameters.properties))
    for entry, _ in parameters(tool) if asks else ():
        if entry.key.lower() in _ASKS:
            message = f"'{entry.key}' asks the model for a secret: it then stands in the conversation and in logs"
            yield Diagnostic(codes.MISPLACED_SECRET, message, entry.key_span, _DECLARE)
    yield from _written_out(tool)


def _written_out(tool: LocatedTool) -> Iterator[Diagnostic]:
    for node, text in strings(tool.node.get("backend")) if may_hold(tool, ("=", "@")) else ():
        for mark, pattern, where in (("--", _OPTION, "a command line"), ("://", _URL, "a URL")):
            for match in re.finditer(pattern, text) if mark in text else ():
                span = tool.source.locate(node.span, match["value"])
                yield Diagnostic(codes.MISPLACED_SECRET, f"a secret is written out in {where}", span, _DECLARE)
    env = tool.node_at("sandbox", "env")
    for entry in env.entries if isinstance(env, Mapping) else ():
        value = entry.value.value if isinstance(entry.value, Scalar) else None
        if isinstance(value, str) and _VARIABLE.fullmatch(entry.key.upper()) and _VALUE.fullmatch(value):
            message = f"the value of '{entry.key}' is written out, and its name says that it is a secret"
            yield Diagnostic(codes.MISPLACED_SECRET, message, entry.value.span, _DECLARE)
