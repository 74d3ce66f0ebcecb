"""Checks of shell commands: TC402 (scripts with one command) and TC403 (arguments read as options)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.text_analysis.code_arguments import SHELLS
from toolc.document.edits import fix, insert_item, is_toml, replace, text_at
from toolc.document.nodes import Scalar
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Edit, Fix
from toolc.model.json_schema import JsonObject, JsonValue, Schema, list_under, map_under, types_of
from toolc.model.source import Span
from toolc.model.spec.code_backends import Argv, Script, ShellBackend, WhenGroup
from toolc.model.template import Placeholder, Template, as_text
from toolc.model.text import lazy_re

_ARGUMENT: Final = r"\$(?:ARG_[A-Za-z_][A-Za-z0-9_]*|\{ARG_[A-Za-z_][A-Za-z0-9_]*\})"
_WORD: Final = lazy_re(
    rf"""(?x)(?P<bare>[A-Za-z0-9_./:=@%+,-]+) | '(?P<single>[^'\n]*)' | "(?P<double>(?:[^"\\$`\n]|{_ARGUMENT})*)" """
)
_VARIABLE: Final = lazy_re(r"\$\{?ARG_([A-Za-z_][A-Za-z0-9_]*)\}?")
_ASSIGNMENT: Final = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*=")
_PLAIN: Final = lazy_re(
    r"(?i)(?![-+]?\.?[0-9]|(?:true|false|null|[+-]?\.(?:inf|nan))\Z|-\Z)[A-Za-z_./@+-][A-Za-z0-9_./@+-]*"
)
_SHELL_BUILTINS: Final = frozenset(
    {
        ".", ":", "alias", "break", "case", "cd", "command", "continue", "eval", "exit", "export", "for",
        "function", "getopts", "hash", "if", "local", "read", "readonly", "return", "set", "shift", "source",
        "test", "time", "times", "trap", "type", "ulimit", "umask", "unalias", "unset", "until", "wait",
        "while",
    }
)  # fmt: skip

_END_OF_OPTIONS: Final = Template(("--",))


@tool_check("TC402", needs={"backend", "parameters"})
def check_single_command(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report a script of one line that contains one command.

    toolc does not analyze the arguments of a script. In ``wc -w "$ARG_path"``, a path that starts with ``-`` is an
    option of ``wc``, while ``argv`` rejects it. Scripts that need the shell (operators, globs, variables, builtins)
    and commands that are shells are not reported.
    """
    backend = tool.spec.backend
    if not isinstance(backend, ShellBackend) or not isinstance(backend.command, Script):
        return
    script = backend.command
    if tool.node_at("backend", "shell", "script") is None or script.interpreter != Script(text="").interpreter:
        return
    argv = _as_argv(script.text, tool.spec.all_parameters)
    if argv is not None:
        span = tool.span("backend", "shell", "script")
        yield Diagnostic(
            codes.ONE_COMMAND, "this script is one command, which needs no shell",
            tool.source.locate(span, _lines(script.text)[0]),
            f"write argv: [{', '.join(argv)}] (an argument that may start with '-' needs '--' before it)",
            _argv_fix(tool, argv),
        )  # fmt: skip


def _argv_fix(tool: LocatedTool, argv: list[str]) -> Fix | None:
    """Return a fix that replaces the script with ``argv``, if the backend has no other keys."""
    node = tool.node_at("backend", "shell", "script")
    text = text_at(tool.source, node.span) if isinstance(node, Scalar) and not node.vars else ""
    if not isinstance(node, Scalar) or not text or "#" in text or text[0] == "*":
        return None
    items = [each if each.startswith('"') or not is_toml(tool.source) else f'"{each}"' for each in argv]
    key = replace(tool.source, tool.key_span("backend", "shell", "script"), "script", "argv")
    return fix("write it as argv", key, Edit(node.span, f"[{', '.join(items)}]"))


def _lines(text: str) -> list[str]:
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]


def _as_argv(text: str, parameters: Schema) -> list[str] | None:
    """Return the items of an equivalent ``argv`` as YAML, or None if there is no equivalent."""
    lines = _lines(text)
    words = _words(lines[0].removeprefix("exec ")) if len(lines) == 1 else None
    if (
        not words
        or words[0] in _SHELL_BUILTINS
        or PurePosixPath(words[0]).name in SHELLS
        or _ASSIGNMENT.match(words[0])
    ):
        return None
    if any("{{" in word for word in words):
        return None
    names = {name for word in words for name in _VARIABLE.findall(word)}
    if any(name not in parameters.properties or parameters.may_be_absent(name) for name in names):
        return None
    return [_quoted(word) for word in words]


def _words(line: str) -> list[str] | None:
    """Return the words of a command line if the shell would only split it. Otherwise return None."""
    words: list[str] = []
    at = 0
    while at < len(line):
        match = _WORD.match(line, at)
        at = match.end() if match else at
        if match is None or not (at == len(line) or line[at] == " "):
            return None
        if match["single"] is not None and "$" in match["single"]:
            return None
        words.append(next(group for group in match.groups() if group is not None))
        while at < len(line) and line[at] == " ":
            at += 1
    return words


def _quoted(word: str) -> str:
    if _PLAIN.fullmatch(word):
        return word
    quoted = _VARIABLE.sub(r"{{ \1 }}", word).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'


@tool_check("TC403", needs={"backend", "parameters"})
def check_leading_dash(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each separate argument with a declared value that starts with ``-``.

    A call with such an argument is rejected, because a program could interpret it as an option, unless ``--`` precedes
    it or ``allow_dash`` names the parameter. Only certain cases are reported: a default, an enum, a constant, or a
    number without a minimum of 0.
    """
    backend = tool.spec.backend
    if not isinstance(backend, ShellBackend) or not isinstance(backend.command, Argv):
        return
    properties = tool.spec.all_parameters.properties
    is_fixed = False  # one '--' is sufficient for all later arguments
    for template, route in _before_end_of_options(backend.command):
        first = template.parts[0] if template.parts else ""
        if isinstance(first, str) or first.filters or first.name in backend.allow_dash:
            continue
        name, schema = first.name, _schema_of(first, properties.get(first.name, {}))
        dashed = _dashed_value(schema)
        if dashed is None and not _may_be_negative(schema):
            continue
        message = f"'{name}' may be {dashed}, which looks like an option, so a call with it is rejected"
        hint = f"put '--' before it, or, if the program does not need '--', write allow_dash: [{name}]"
        if dashed is None:
            message = (
                f"'{name}' may be negative, which looks like an option, so a call with a negative number is rejected"
            )
            hint = f"if it is never negative, write minimum: 0; otherwise, join it to its option (--OPTION=...), {hint}"
        span = tool.span(*route)
        fix_of_dash = None if is_fixed or dashed is None else _dash_fix(tool, backend.command, template, span)
        yield Diagnostic(
            codes.NEGATIVE_NUMBER if dashed is None else codes.LEADING_DASH, message, span, hint, fix_of_dash
        )
        is_fixed = is_fixed or dashed is not None


def _dash_fix(tool: LocatedTool, argv: Argv, template: Template, span: Span) -> Fix | None:
    """Return a fix that inserts ``--`` before the argument, unless options follow it."""
    elements = [each for group in argv.elements for each in (group.argv if isinstance(group, WhenGroup) else (group,))]
    later = elements[elements.index(template) + 1 :]
    if any(isinstance(part, str) and part.startswith("-") for each in later for part in each.parts[:1]):
        return None
    return fix("put '--' before it", insert_item(tool.source, span, "--"))


def _before_end_of_options(argv: Argv) -> Iterator[tuple[Template, tuple[str | int, ...]]]:
    """Yield each argument that a program may interpret as an option, and its route."""
    for index, element in enumerate(argv.elements):
        route = ("backend", "shell", "argv", index)
        if element == _END_OF_OPTIONS:
            return
        if isinstance(element, Template):
            yield element, route
        elif _END_OF_OPTIONS not in element.argv:
            yield from ((each, (*route, "argv", inner)) for inner, each in enumerate(element.argv))


def _schema_of(placeholder: Placeholder, schema: JsonObject) -> JsonObject:
    """Return the schema of the value of a placeholder, or of its items. Empty if it is not known."""
    for key in placeholder.keys:
        inner = map_under(schema, "properties").get(key)
        schema = inner if isinstance(inner, dict) else {}
    return map_under(schema, "items") if schema.get("type") == "array" else schema


def _may_be_negative(schema: JsonObject) -> bool:
    """Return whether a schema is for numbers and has neither a lower bound nor a list of values."""
    if not {"minimum", "exclusiveMinimum", "enum", "const"}.isdisjoint(schema):
        return False
    choices = (each for keyword in ("anyOf", "oneOf") for each in list_under(schema, keyword))
    return not {"integer", "number"}.isdisjoint(types_of(schema)) or any(
        isinstance(each, dict) and _may_be_negative(each) for each in choices
    )


def _dashed_value(schema: JsonObject) -> str | None:
    enum = schema.get("enum")
    values: list[JsonValue] = [*(enum if isinstance(enum, list) else ()), schema.get("const"), schema.get("default")]
    for value in values:
        if isinstance(value, str | int | float) and str(value).startswith("-"):
            return repr(as_text(value))
    for bound in (schema.get("minimum"), schema.get("exclusiveMinimum")):
        if isinstance(bound, int | float) and bound < 0:
            return "a negative number"
    return None
