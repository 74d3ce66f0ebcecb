"""Check TC406 in shell scripts: variables for arguments that are unknown or may be absent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.checks.scripts import MAX_FINDINGS, ScriptText, shell_script
from toolc.compiler.located_tool import LocatedTool
from toolc.document.edits import fix
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.names import close_match
from toolc.model.spec.code_backends import Script, ShellBackend
from toolc.model.text import lazy_re

_HANDLED: Final = lazy_re(r"\$\{ARG_(\w++)[:?+=-]|(?<![$\w{])ARG_(\w++)=")
_CONDITION: Final = lazy_re(r"&&|\|\||(?<![\w-])(?:if|case|for|while|until|trap|function)\b|\(\)")
_ASSIGNED: Final = lazy_re(r"(?<![$\w{])([A-Za-z_]\w*+)(?:\+?=|\[|\+\+|--)|\$\{([A-Za-z_]\w*+):?=")
_READERS: Final = frozenset(
    {"declare", "export", "getopts", "let", "local", "mapfile", "printf", "read", "readarray", "readonly", "typeset"}
)
_LOADERS: Final = frozenset({".", "eval", "source"})


@tool_check("TC406", needs={"backend", "parameters", "sandbox"})
def check_unknown_arguments(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each ``$ARG_name`` in a shell script that has no parameter and is therefore always empty."""
    script = shell_script(tool)
    if script is None or "ARG_" not in script.text:
        return
    yield from _absent_arguments(tool, script)
    known, sandbox = tool.spec.all_parameters.properties, tool.spec.sandbox
    folded = {each.casefold(): each for each in known}
    assigned = assigned_variables(script)
    other = {*assigned, *(each.name for each in sandbox.env), *(each.name for each in sandbox.secrets)}
    for each in islice(script.script.expansions, MAX_FINDINGS):
        name = each.name.removeprefix("ARG_")
        is_set = each.name in other or "*" in assigned
        if name == each.name or name in known or is_set:
            continue
        start = script.text.find(name, each.start)
        span = script.span(start, start + len(name))
        near = folded.get(name.casefold()) or close_match(name, known)
        hint = f"did you mean $ARG_{near}?" if near else f"declare '{name}' under 'parameters'"
        correction = fix(f"write ARG_{near}", script.replace(start, start + len(name), near)) if near else None
        yield Diagnostic(codes.UNKNOWN_PARAMETER, f"there is no parameter '{name}'", span, hint, correction)


def _absent_arguments(tool: LocatedTool, script: ScriptText) -> Iterator[Diagnostic]:
    """Yield each optional argument that stops the script with ``sh -u`` if it is absent.

    This is certain only for an argument before any condition whose absence the script handles nowhere.
    """
    backend, parameters = tool.spec.backend, tool.spec.all_parameters
    assert isinstance(backend, ShellBackend)
    assert isinstance(backend.command, Script)
    condition = _CONDITION.search(script.text)
    if backend.command.interpreter != Script(text="").interpreter or "set +" in script.text:
        return
    end = condition.start() if condition else len(script.text)
    handled = {name for pair in _HANDLED.findall(script.text) for name in pair}
    for each in islice(script.script.expansions, MAX_FINDINGS):
        name = each.name.removeprefix("ARG_")
        is_argument = name != each.name and name in parameters.properties and name not in handled
        is_plain = script.text[each.start : each.end] in {f"${each.name}", f"${{{each.name}}}"}
        if each.start >= end or not is_argument or not is_plain or not parameters.may_be_absent(name):
            continue
        right = f"${{{each.name}:-}}"
        correction = fix(f"write {right}", script.replace(each.start, each.end, right))
        message = f"the parameter '{name}' may be absent, and the script would stop here"
        hint = f"write {right}, which is then empty, or make the parameter required or give it a default"
        yield Diagnostic(codes.ABSENT_PARAMETER, message, script.span(each.start, each.end), hint, correction)


def assigned_variables(script: ScriptText) -> frozenset[str]:
    """Return the variables that a script sets, or ``*`` if it may set any variable."""
    assigned = {name for pair in _ASSIGNED.findall(script.text) for name in pair if name}
    for command in script.script.commands:
        assigned.add(command.variable)
        first = (command.words[0].constant or "") if command.words else ""
        if first in _LOADERS:
            assigned.add("*")
        if first in _READERS:
            assigned.update(word.constant or "" for word in command.words[1:])
    return frozenset(assigned)
