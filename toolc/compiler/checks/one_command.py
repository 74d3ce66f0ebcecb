"""TC402: a script that is one command with plain words, which ``argv`` runs without a shell.

It is worth saying because a script's arguments are not looked at: in ``wc -w "$ARG_path"`` a path that
starts with ``-`` is an option of ``wc``, and in ``argv`` it is refused. Silent where the shell does
something (operators, globs, variables of its own, builtins) or where the command is a shell itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from toolc.compiler import codes
from toolc.compiler.checks.shell_code import SHELLS
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Scalar
from toolc.compiler.edits import fix, is_toml, replace, written
from toolc.diagnostics import Diagnostic, Edit, Fix
from toolc.schema import Schema
from toolc.spec import Script, ShellBackend

NUMBER: Final = "TC402"

NEEDS: Final = frozenset({"backend", "parameters"})

_ARGUMENT: Final = r"\$(?:ARG_[A-Za-z_][A-Za-z0-9_]*|\{ARG_[A-Za-z_][A-Za-z0-9_]*\})"
_WORD: Final = re.compile(
    rf"""(?P<bare>[A-Za-z0-9_./:=@%+,-]+) | '(?P<single>[^'\n]*)' | "(?P<double>(?:[^"\\$`\n]|{_ARGUMENT})*)" """,
    re.VERBOSE,
)
_VARIABLE: Final = re.compile(r"\$\{?ARG_([A-Za-z_][A-Za-z0-9_]*)\}?")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PLAIN: Final = re.compile(r"[A-Za-z_./@+-][A-Za-z0-9_./@+-]*|[1-9][0-9]*")
_OF_THE_SHELL: Final = frozenset(
    {
        ".", ":", "alias", "break", "case", "cd", "command", "continue", "eval", "exit", "export", "for",
        "function", "getopts", "hash", "if", "local", "read", "readonly", "return", "set", "shift", "source",
        "test", "time", "times", "trap", "type", "ulimit", "umask", "unalias", "unset", "until", "wait",
        "while",
    }
)  # fmt: skip


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """A script of one line that holds one command."""
    backend = tool.spec.backend
    if not isinstance(backend, ShellBackend) or not isinstance(backend.command, Script):
        return
    script = backend.command
    if tool.node_at("backend", "shell", "script") is None or script.interpreter != Script(text="").interpreter:
        return
    argv = _as_argv(script.text, tool.spec.parameters)
    if argv is not None:
        span = tool.span("backend", "shell", "script")
        yield Diagnostic(
            codes.ONE_COMMAND, "this script is one command, which needs no shell",
            tool.source.locate(span, _lines(script.text)[0]),
            f"write argv: [{', '.join(argv)}] (an argument that may start with '-' wants '--' before it)",
            _fix(tool, argv),
        )  # fmt: skip


def _fix(tool: LocatedTool, argv: list[str]) -> Fix | None:
    """``argv`` in the place of the script, where nothing but the command goes with it."""
    node = tool.node_at("backend", "shell", "script")
    text = written(tool.source, node.span) if isinstance(node, Scalar) and not node.vars else ""
    if not isinstance(node, Scalar) or not text or "#" in text or text[0] == "*":
        return None
    items = [each if each.startswith('"') or not is_toml(tool.source) else f'"{each}"' for each in argv]
    key = replace(tool.source, tool.key_span("backend", "shell", "script"), "script", "argv")
    return fix("write it as argv", key, Edit(node.span, f"[{', '.join(items)}]"))


def _lines(text: str) -> list[str]:
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]


def _as_argv(text: str, parameters: Schema) -> list[str] | None:
    """The items of ``argv`` that do what the script does, as YAML; None where there are none."""
    lines = _lines(text)
    words = _words(lines[0].removeprefix("exec ")) if len(lines) == 1 else None
    if (
        not words
        or words[0] in _OF_THE_SHELL
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
    """The words of a command line in which the shell has nothing to do but to split it; None for any other."""
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
    written = _VARIABLE.sub(r"{{ \1 }}", word).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{written}"'
