"""TC406: a parameter that no placeholder, group or ``ARG_`` variable uses.

For a Python function the signature says it, with TC411; a plugin gets them all, and so does an agent's model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.uses import names
from toolc.diagnostics import Diagnostic
from toolc.spec import Argv, PluginBackend, PythonBackend, Script, ShellBackend, WhenGroup
from toolc.template import Placeholder

NUMBER: Final = "TC406"

NEEDS: Final = frozenset({"backend", "parameters", "result"})

_ARGUMENT: Final = re.compile(r"args(?:\.|\[['\"])([A-Za-z_][A-Za-z0-9_]*)")


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each declared parameter that has no effect."""
    backend = tool.spec.backend
    if isinstance(backend, PythonBackend | PluginBackend) or backend.tag == "agent":
        return
    used = _used(backend) if isinstance(backend, ShellBackend) else names(backend)
    if used.issuperset(tool.spec.parameters.properties):
        return
    used |= names(tool.spec.result) | frozenset(_ARGUMENT.findall(tool.spec.result.template or ""))
    if backend.tag == "composite":
        used |= frozenset(name for step in backend.steps for name in _ARGUMENT.findall(step.condition or ""))
    for name in sorted(tool.spec.parameters.properties):
        if name not in used:
            span = tool.key_span("parameters", name)
            if tool.node.get("parameters") is not None and _is_full(tool):
                span = tool.key_span("parameters", "properties", name)
            is_script = isinstance(backend, ShellBackend) and isinstance(backend.command, Script)
            hint = f'use it as "$ARG_{name}"' if is_script else f"use it as {{{{ {name} }}}}"
            yield Diagnostic(
                codes.UNUSED_PARAMETER, f"nothing uses the parameter '{name}'", span, f"{hint}, or remove it"
            )


def _is_full(tool: LocatedTool) -> bool:
    return tool.key_span("parameters", "properties") != tool.span("parameters")


def _used(backend: ShellBackend) -> frozenset[str]:
    used = set(backend.stdin.names if backend.stdin else ())
    match backend.command:
        case Argv(elements=elements):
            for element in elements:
                if isinstance(element, WhenGroup):
                    used.add(element.when)
                for template in element.argv if isinstance(element, WhenGroup) else (element,):
                    for part in template.parts:
                        if isinstance(part, Placeholder):
                            used.add(part.name)
        case Script(text=text):
            used.update(re.findall(r"ARG_([A-Za-z_][A-Za-z0-9_]*)", text))
    return frozenset(used)
