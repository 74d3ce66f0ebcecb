"""Checks of arguments in shell commands: TC401 (code from an argument) and TC416 (arguments without quotes)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.checks.helpers import is_harmless, text_may_contain
from toolc.compiler.checks.scripts import MAX_FINDINGS, ScriptText, shell_script
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.text_analysis.code_arguments import COMMAND_NAME, Code, code_of, inputs_of
from toolc.compiler.text_analysis.shell_script import Command, Expansion, Part, ShellScript, Word, read_script
from toolc.dataclass import dataclass, field
from toolc.document.edits import fix
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.source import Span
from toolc.model.spec.code_backends import Argv, ShellBackend, WhenGroup
from toolc.model.template import Placeholder, Template

_MAX_NESTED: Final = 5
"""The maximum nesting of constant shell code in shell code, such as ``sh -c 'sh -c "..."'``.

Real scripts have two or three levels. Each level is parsed again.
"""

_INPUT_HINT: Final = "pass it as an argument, as in sh -c '... \"$1\" ...' sh {}"
_LOOP_HINT: Final = "read lines instead, as in printf '%s\\n' \"$ARG_{}\" | while IFS= read -r line; do ..."
_DECLARE: Final = "if callers are meant to run code, write runs_caller_code: true"


@dataclass(frozen=True, slots=True)
class _Use:
    """An inserted value that runs as code, with its parameter and the word that inserts it (None if the input does)."""

    code: Code
    parameter: str
    word: Word | None
    reads_input: bool = False
    """Whether input is inserted into the same code."""


@dataclass(slots=True)
class _Values:
    """The variables whose value a caller chooses, each with the parameter from which the value comes."""

    parameters: dict[str, str] = field(default_factory=dict)

    def source(self, word: Word) -> str | None:
        """Return the first parameter whose value is part of a word, or None."""
        return next((found for part in word.parts if (found := self._source_of_part(part))), None)

    def _source_of_part(self, part: Part) -> str | None:
        if isinstance(part, Expansion):
            return self.parameters.get(part.name) if part.is_inserted else None
        return self._output(part) if isinstance(part, Command) else None

    def _output(self, command: Command) -> str | None:
        """Return the parameter whose value a command prints, if that is certain."""
        words = list(inputs_of(command))
        if command.words and command.words[0].constant in {"echo", "printf"}:
            words += command.words[1:]
        if any(isinstance(part, str) and "%q" in part for word in words for part in word.parts):
            return None
        # Output within output is not followed, so that the work is proportional to the length of the script.
        parts = (part for word in words for part in word.parts if isinstance(part, Expansion) and part.is_inserted)
        return next((self.parameters[part.name] for part in parts if part.name in self.parameters), None)

    def add_variables(self, script: ShellScript) -> None:
        """Add the variables of a script that are only ever assigned a value from an argument."""
        assigned: dict[str, str | None] = {}
        for command in script.commands:
            given = [*command.assignments, *((command.variable, word) for word in command.words if command.variable)]
            for name, word in given:
                source = self.source(word)
                assigned[name] = source if assigned.get(name, source) else None
        self.parameters |= {name: source for name, source in assigned.items() if source}


@tool_check("TC401", needs={"backend", "parameters"})
def check_caller_code(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each argument that a command runs as code (CWE-78), unless the tool declares ``runs_caller_code``.

    Quotes inside the code do not make it safe. The rule's page lists the recognized forms. Numbers, booleans and the
    values of an enum are harmless and are not reported.
    """
    backend = tool.spec.backend
    if not isinstance(backend, ShellBackend) or backend.runs_caller_code:
        return
    values = _Values(
        {f"ARG_{name}": name for name in tool.spec.all_parameters.properties if not is_harmless(name, tool)}
    )
    if not values.parameters:
        return
    if isinstance(backend.command, Argv):
        yield from islice(_argv_code(tool, backend, backend.command, values), MAX_FINDINGS)
        return
    script = shell_script(tool)
    if script is not None and "ARG_" in script.text:
        for use in islice(_script_code(script.script, values), MAX_FINDINGS):
            word = use.word
            written = next((part for part in word.parts if isinstance(part, Expansion)), word) if word else None
            span = script.span(written.start, written.end) if written else script.node_span
            yield _diagnostic(use, span=span, in_script=True)


def _script_code(script: ShellScript, values: _Values, depth: int = 0) -> Iterator[_Use]:
    """Yield each value that runs as code in the script, or in constant code within the script."""
    for _ in range(2):  # a variable may be assigned from another one
        values.add_variables(script)
    used = {values.parameters[each.name] for each in script.expansions if each.name in values.parameters}
    for command in script.commands:
        found = list(code_of(command))
        reads_input, is_reported = any(each.word is None for each in found), False
        for code in found:
            if code.word is None:
                yield from (_Use(code, name, command.words[0]) for name in sorted(used)[: 0 if is_reported else 1])
            elif source := values.source(code.word):
                is_reported = True
                yield _Use(code, source, code.word, reads_input)
            elif code.is_shell and code.word.constant and depth < _MAX_NESTED:
                yield from _nested_code(code, values, depth)


def _nested_code(code: Code, values: _Values, depth: int) -> Iterator[_Use]:
    """Yield the values that constant shell code runs as code, at the position of that code."""
    assert code.word is not None
    arguments = {str(index): source for index, each in enumerate(code.arguments) if (source := values.source(each))}
    if rest := [source for index, source in arguments.items() if index != "0"]:
        arguments |= {"@": rest[0], "*": rest[0]}
    inner = _Values(values.parameters | arguments)
    for use in _script_code(read_script(code.word.constant or ""), inner, depth + 1):
        yield _Use(use.code, use.parameter, Word((), code.word.start, code.word.end))


def _argv_code(tool: LocatedTool, backend: ShellBackend, argv: Argv, values: _Values) -> Iterator[Diagnostic]:
    words = tuple(_arguments(argv))
    stdin = [_as_word(backend.stdin, len(words))] if backend.stdin else []
    routes = [*(route for _, route in words), ("backend", "shell", "stdin")]
    command = Command([_as_word(template, index) for index, (template, _) in enumerate(words)], inputs=stdin)
    # The variables of a script are not set here.
    script = ShellScript((command,), tuple(_expansions(command)))
    for use in _script_code(script, values):
        index = use.word.start if use.word else 0
        yield _diagnostic(use, span=tool.span(*routes[min(index, len(routes) - 1)]), in_script=False)


def _expansions(command: Command) -> Iterator[Expansion]:
    for word in (*command.words, *command.inputs):
        yield from (part for part in word.parts if isinstance(part, Expansion))


def _arguments(argv: Argv) -> Iterator[tuple[Template, tuple[str | int, ...]]]:
    """Yield each argument and its route."""
    for index, element in enumerate(argv.elements):
        route = ("backend", "shell", "argv", index)
        if isinstance(element, WhenGroup):
            yield from ((each, (*route, "argv", inner)) for inner, each in enumerate(element.argv))
        else:
            yield element, route


def _as_word(template: Template, index: int) -> Word:
    """Return a template as the word at position ``index`` of a command."""
    parts = (
        Expansion(f"ARG_{part.name}", index, index, False) if isinstance(part, Placeholder) else part
        for part in template.parts
    )
    return Word(tuple(parts), index, index + 1)


def _diagnostic(use: _Use, span: Span, *, in_script: bool) -> Diagnostic:
    code, name, form = use.code, use.parameter, use.code.form
    if code.word is None:
        message = f"'{form}' runs text from its input as code"
        return Diagnostic(codes.SHELL_TEMPLATE, message, span, f"{_INPUT_HINT}; {_DECLARE}")
    if len(code.word.parts) == 1:
        subject = form if form == COMMAND_NAME else f"'{form}'"
        message = f"{subject} runs the value of '{name}' as code"
        return Diagnostic(codes.CALLER_CODE, message, span, f"{_DECLARE}; if not, run a fixed program with the value")
    message = f"'{form}' runs this text, which contains the value of '{name}', as code"
    hint = f"use 'script' and \"$ARG_{name}\", or name the program itself in 'argv'"
    if in_script:
        hint = "run the program without building code from the value"
        if code.variable:
            read = code.variable.format(f"ARG_{name}")
            hint = f"write constant code in single quotes that reads the value as {read}"
        hint += f"; for input, {_INPUT_HINT}" if use.reads_input else ""
    return Diagnostic(codes.SHELL_TEMPLATE, message, span, f"{hint}; {_DECLARE}")


@tool_check("TC416", needs={"backend", "parameters"})
def check_unquoted_arguments(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each unquoted ``$ARG_name`` whose value the shell splits and expands patterns in.

    Assignments, ``case``, ``[[ ]]``, arithmetic, here-documents, and a value that is the whole name of the command are
    not reported.
    """
    script = shell_script(tool) if text_may_contain(tool, ("ARG_",)) else None
    if script is None or "ARG_" not in script.text:
        return
    yield from islice(_unquoted(tool, script, script.script, 0), MAX_FINDINGS)


def _unquoted(tool: LocatedTool, script: ScriptText, read: ShellScript, offset: int) -> Iterator[Diagnostic]:
    """Yield a finding per unquoted argument of a script that starts at ``offset``, and of the constant code in it."""
    names = {
        word.start for each in read.commands if not each.variable for word in each.words[:1] if len(word.parts) == 1
    }
    values = {word.start for each in read.commands if each.variable for word in each.words}
    for each in read.expansions:
        name = each.name.removeprefix("ARG_")
        is_argument = each.name != name and name in tool.spec.all_parameters.properties
        if not (is_argument and each.is_split and each.is_inserted) or each.start in names:
            continue
        start, end = each.start + offset, each.end + offset
        written = script.text[start:end]
        correct = None if each.start in values else script.replace(start, end, f'"{written}"')
        hint = f'write "{written}"' if each.start not in values else _LOOP_HINT.format(name)
        message = f"the value of '{name}' is split at spaces, and patterns such as * in it are expanded"
        span = script.span(start, end)
        yield Diagnostic(codes.UNQUOTED_ARGUMENT, message, span, hint, fix(f'write "{written}"', correct))
    if offset:
        return
    for command in read.commands:
        for code in code_of(command):
            word = code.word
            if word is None or not code.is_shell or script.text[word.start : word.end] != f"'{word.constant}'":
                continue
            yield from _unquoted(tool, script, read_script(word.constant or ""), word.start + 1)
