"""Decode ``backend.shell``: a command line, or a script that receives parameters as variables."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Final, Literal, get_args

from toolc.compiler.project.files import SpecFolder, read_or_report, report_carriage_returns
from toolc.compiler.templates.parse import Scope, check_name, read_template
from toolc.document import map_reader as read
from toolc.document.declared import alternative, read_keys
from toolc.document.map_reader import Findings, Reader
from toolc.document.nodes import Mapping, Node, Scalar, Sequence
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.spec.code_backends import Argv, ErrorKind, ExitError, Script, ShellBackend, WhenGroup
from toolc.model.template import Template
from toolc.model.text import lazy_re

_STATUS: Final = lazy_re(r"[1-9][0-9]{0,2}")
_CODES: Final = read.list_of(read.integer(0, 255))

error_kind: Final = read.choice(get_args(ErrorKind))
"""Decodes one of the error kinds."""

NO_COMMAND: Final = ShellBackend(command=Argv(elements=()))
"""A placeholder for a backend that could not be read."""


_COMMAND_LINE: Final = lazy_re(r"[\w.-]+[ \t]+\S")
"""A program's name without a folder, and its arguments."""
_OPERATOR: Final = lazy_re(r"&&|\|\||2>&1|[12&]?>{1,2}/dev/null")
_STATEMENT: Final = lazy_re(r"\{%-?[ \t]{0,8}(?:if|elif|else|endif|for|endfor|set|with)\b[^%\n]{0,80}%\}")
_AFTER_PIPE: Final = frozenset(
    {"awk", "cat", "cut", "grep", "head", "jq", "less", "sed", "sh", "sort", "tail", "tee", "tr", "uniq", "wc", "xargs"}
)


@read.map_parser("backend.shell")
def decode_shell(
    reader: Reader, /, *, folder: SpecFolder, parameters: Schema | None, **_: object
) -> ShellBackend | None:
    """Decode ``backend.shell``. ``parameters`` is None if they could not be read."""
    scope = Scope(parameters=parameters)
    kind = alternative(reader, ShellBackend)
    found = read_keys(
        reader, ShellBackend, argv=partial(_argv, scope=scope), file=partial(_script_file, folder=folder),
        interpreter=program, stdin=partial(_template, scope=scope), success_exit_codes=_success_exit_codes,
        errors=_exit_errors, allow_dash=read.list_of(_parameter(parameters)),
    )  # fmt: skip
    command, *sources, interpreter = (found.pop(key, None) for key in (*ShellBackend.one_of, "interpreter"))
    source = next((each for each in sources if each is not None), None)
    if kind and source is not None:
        command = Script(text=source, interpreter=interpreter) if interpreter else Script(text=source)
    if found.get("success_exit_codes") == "any":
        found["success_exit_codes"] = None
    found["command"] = NO_COMMAND.command if command is None else command
    backend = ShellBackend(**found)
    _check_errors(backend, reader)
    return backend if command is not None else None


def program(node: Node, what: str, findings: Findings) -> tuple[str, ...] | None:
    """Decode a list of constants: a program and its arguments."""
    if isinstance(node, Sequence) and not node.items:
        read.mismatch(node, what, "a list that names a program", findings)
        return None
    return read.list_of(constant)(node, what, findings)


def _argv(node: Node, what: str, findings: Findings, scope: Scope) -> Argv | None:
    list_node = read.sequence(node, what, findings)
    if list_node is None:
        return None
    if not list_node.items:
        findings.add(codes.BAD_VALUE, f"{what} must name a program", node.span)
        return None
    if isinstance(list_node.items[0], Mapping):
        message = "the first item is the program and cannot be conditional"
        findings.add(codes.BAD_VALUE, message, read.first_line(list_node.items[0].span))
    _report_shell_syntax(list_node, what, findings)
    elements = [
        _group(item, f"{what}[{index}]", findings, scope)
        if isinstance(item, Mapping)
        else _template(item, f"{what}[{index}]", findings, scope)
        for index, item in enumerate(list_node.items)
    ]
    return Argv(elements=tuple([element for element in elements if element is not None]))


def _report_shell_syntax(node: Sequence, what: str, findings: Findings) -> None:
    """Report a whole command in one item, and operators of a shell: no shell reads ``argv``."""
    texts = [item.value if isinstance(item, Scalar) and isinstance(item.value, str) else "" for item in node.items]
    if len(texts) == 1 and _COMMAND_LINE.match(texts[0]):
        words = ", ".join(re.findall(r"\{\{.*?\}\}|\S+", texts[0])[:8])
        message = f"{what}[0] is a whole command, but each item is one argument"
        quoted = re.sub(r"(\{\{.*?\}\})", r'"\1"', words)
        findings.add(codes.BAD_VALUE, message, node.items[0].span, f"write argv: [{quoted}], or script: ...")
        return
    for index, each in enumerate(texts):
        if statement := _STATEMENT.search(each):
            message = f"{what}[{index}]: '{statement[0]}' is not replaced: a template has no statements"
            hint = "write {when: NAME, argv: [...]} for arguments that depend on a parameter"
            findings.add(codes.TEMPLATE, message, node.items[index].span, hint)
            return
    for index, (each, after) in enumerate(pairwise([*texts, ""])):
        if index and (_OPERATOR.fullmatch(each) or (each == "|" and after in _AFTER_PIPE)):
            message = f"{what}[{index}]: '{each}' is passed as text: no shell reads argv"
            findings.add(codes.BAD_VALUE, message, node.items[index].span, "write script: ..., which a shell runs")
            return


def _group(node: Mapping, what: str, findings: Findings, scope: Scope) -> WhenGroup | None:
    reader = Reader(node, f"{what}, a group,", findings)
    when = reader.required("when", _parameter(scope.parameters))
    everything = frozenset(scope.parameters.properties if scope.parameters else ())
    present = Scope(parameters=scope.parameters, present=frozenset({when}) if when else everything)
    argv = reader.required("argv", read.list_of(partial(_template, scope=present)))
    reader.close()
    return WhenGroup(when=when, argv=argv) if when is not None and argv is not None else None


def _template(node: Node, what: str, findings: Findings, scope: Scope) -> Template | None:
    if isinstance(node, Scalar) and isinstance(node.value, str) and "\0" in node.value:
        findings.add(codes.BAD_VALUE, f"{what} must not contain a NUL character", node.span)
        return None
    return read_template(node, what, findings, scope)


def constant(node: Node, what: str, findings: Findings) -> str | None:
    """Decode a string that is not a template."""
    value = read.text(node, what, findings)
    if value is not None and "{{" in value:
        message = f"{what} is a constant and cannot contain a placeholder"
        findings.add(codes.TEMPLATE, message, findings.locate(node.span, "{{"))
        return None
    return value


def _parameter(parameters: Schema | None) -> Callable[[Node, str, Findings], str | None]:
    """Return a parser for the name of a declared parameter."""

    def parse(node: Node, what: str, findings: Findings) -> str | None:
        name = read.text(node, what, findings)
        return name if name and check_name(name, node.span, findings, parameters) else None

    return parse


def _script_file(node: Node, what: str, findings: Findings, folder: SpecFolder) -> str | None:
    name = read.text(node, what, findings)
    file = read_or_report(folder, name, node.span, findings) if name is not None else None
    if file is None:
        return None
    if file.text is None:
        findings.add(codes.NOT_UTF8, f"{folder.display_path_of(file.path)} is not UTF-8", node.span, "save it as UTF-8")
    else:
        report_carriage_returns(file.text, folder.display_path_of(file.path), node.span, findings)
    return file.text


def _success_exit_codes(node: Node, what: str, findings: Findings) -> tuple[int, ...] | Literal["any"] | None:
    if isinstance(node, Scalar) and node.value == "any":
        return "any"
    if not isinstance(node, Sequence) or not node.items:
        read.mismatch(node, what, "'any' or a list of exit codes", findings, "write [0] or any")
        return None
    accepted = _CODES(node, what, findings)
    return tuple(sorted(set(accepted))) if accepted else None


def _exit_errors(node: Node, what: str, findings: Findings) -> tuple[ExitError, ...] | None:
    map_node = read.mapping(node, what, findings)
    if map_node is None:
        return None
    errors: list[ExitError] = []
    for entry in map_node.entries:
        kind = error_kind(entry.value, f"errors.{entry.key}", findings)
        if not _STATUS.fullmatch(entry.key) or int(entry.key) > 255:
            message = f"'{entry.key[:20]}' is not an exit status of a failure"
            findings.add(codes.BAD_VALUE, message, entry.key_span, 'write one from "1" to "255"')
        elif kind is not None:
            errors.append(ExitError(status=int(entry.key), kind=kind))
    return tuple(sorted(errors, key=lambda error: error.status))


def _check_errors(backend: ShellBackend, reader: Reader) -> None:
    node = reader.node.get("errors")
    for error in backend.errors:
        if backend.success_exit_codes is None or error.status in backend.success_exit_codes:
            entry = node.entry(str(error.status)) if isinstance(node, Mapping) else None
            assert entry is not None
            message = f"exit status {error.status} is both a success and an error"
            reader.findings.add(codes.BAD_VALUE, message, entry.key_span, "see 'success_exit_codes'")
