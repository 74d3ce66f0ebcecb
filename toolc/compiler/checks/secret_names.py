"""TC603: a secret that is named and not declared, or declared and named nowhere.

A secret with ``expose: env`` or ``file`` reaches the tool by itself; one of the broker is used only where a
``{{ secrets.NAME }}`` says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Node, Scalar
from toolc.compiler.reader import listed, suggestion
from toolc.compiler.strings import strings
from toolc.compiler.written import may_hold
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC603"

NEEDS: Final = frozenset({"backend", "sandbox"})

_NAMED: Final = re.compile(r"""\{\{-?\s*secrets(?:\.(\w+)|\[\s*['"](\w+)['"]\s*\])[^}]{0,200}\}\}""")
_CODE: Final = frozenset({"script", "code"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each name without a declaration, and each declaration without a name."""
    declared = {secret.name: secret for secret in tool.spec.sandbox.secrets}
    if not declared and not may_hold(tool, ("secrets",)):
        return
    used: set[str] = set()
    for node in (tool.node.get("backend"), tool.node_at("sandbox", "env")):
        for scalar, match in _named(node):
            name = match[1] or match[2]
            used.add(name)
            if name not in declared:
                known = f"the secrets are {listed(sorted(declared))}" if declared else f"add secrets: {{{name}: …}}"
                yield Diagnostic(
                    codes.UNDECLARED_SECRET, f"the secret '{name}' is not declared under sandbox.secrets",
                    tool.source.locate(scalar.span, match[0]), suggestion(name, declared) or known,
                )  # fmt: skip
    for name, secret in sorted(declared.items()):
        if secret.expose == "broker" and name not in used:
            yield Diagnostic(
                codes.UNUSED_SECRET, f"the secret '{name}' is declared, and nothing names it",
                tool.key_span("sandbox", "secrets", name),
                f"write {{{{ secrets.{name} }}}} where it is needed, say expose: env, or remove it",
            )  # fmt: skip


def _named(node: Node | None) -> Iterator[tuple[Scalar, re.Match[str]]]:
    for scalar, text in strings(node, _CODE):
        yield from ((scalar, match) for match in _NAMED.finditer(text))
