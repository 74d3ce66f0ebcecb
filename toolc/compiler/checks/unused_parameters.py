"""TC406: a parameter that no placeholder, group or ``ARG_`` variable uses.

For a Python function the signature says it, with TC411.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic
from toolc.spec import Argv, Script, ShellBackend, WhenGroup

NEEDS: Final = frozenset({"backend", "parameters"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each declared parameter that has no effect."""
    backend = tool.spec.backend
    if not isinstance(backend, ShellBackend):
        return
    used = _used(backend)
    for name in sorted(tool.spec.parameters.properties):
        if name not in used:
            span = tool.key_span("parameters", name)
            if tool.node.get("parameters") is not None and _is_full(tool):
                span = tool.key_span("parameters", "properties", name)
            hint = (
                f'use it as "$ARG_{name}"' if isinstance(backend.command, Script) else f"use it as {{{{ {name} }}}}"
            )
            yield Diagnostic(
                codes.UNUSED_PARAMETER, f"nothing uses the parameter '{name}'", span, f"{hint}, or remove it"
            )


def _is_full(tool: LocatedTool) -> bool:
    return tool.key_span("parameters", "properties") != tool.span("parameters")


def _used(backend: ShellBackend) -> frozenset[str]:
    used = backend.stdin.names if backend.stdin else frozenset[str]()
    match backend.command:
        case Argv(elements=elements):
            for element in elements:
                templates = element.argv if isinstance(element, WhenGroup) else (element,)
                used |= frozenset(name for template in templates for name in template.names)
                used |= frozenset({element.when} if isinstance(element, WhenGroup) else ())
        case Script(text=text):
            used |= frozenset(re.findall(r"ARG_([A-Za-z_][A-Za-z0-9_]*)", text))
    return used
