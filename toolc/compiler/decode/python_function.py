"""Check that a Python file defines the tool's function and that it accepts the tool's parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from toolc.compiler.text_analysis.python_syntax import TooManyStepsError, may_be_newer_f_string, syntax_tree
from toolc.dataclass import dataclass
from toolc.document.map_reader import Findings
from toolc.document.suggestions import quote_names, suggestion
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.source import Position, SourceText, Span

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

CONTEXT: Final = "ctx"
"""The function's parameter that receives the call context; it is not a parameter of the tool."""


@dataclass(frozen=True, slots=True)
class PythonSource:
    """Python code and its position: in a separate file, or inside a spec.

    ``name`` is used in messages. The first line of the code is on line ``first_line`` of ``source``, possibly indented.
    ``whole`` is the span of lines whose text differs in the source (a string with escapes).
    """

    name: str
    text: str
    source: SourceText
    whole: Span
    first_line: int = 1

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the text."""
        return _lines(self.text)

    def span(self, line: int, column: int, length: int = 1) -> Span:
        """Return the span in ``source`` of a part of ``text``. ``line`` and ``column`` count characters from 1."""
        lines = self.lines
        written = lines[line - 1].rstrip("\r") if 1 <= line <= len(lines) else ""
        number = line + self.first_line - 1
        indent = self.source.line(number).find(written)
        if indent < 0:
            return self.whole
        start = max(column, 1) + indent
        return Span(self.source.path, Position(number, start), Position(number, start + max(length, 1)))

    def line(self, number: int | None) -> Span:
        """Return the span of a line without surrounding blanks, or of the nearest non-blank line above it."""
        lines = self.lines
        number = min(number or 1, len(lines))
        while number > 1 and not lines[number - 1].strip():  # a missing block is reported at the end of the text
            number -= 1
        text = lines[number - 1].rstrip()
        blanks = len(text) - len(text.lstrip())
        return self.span(number, blanks + 1, len(text) - blanks)

    def span_of(self, node: ast.arg | ast.expr | Function, length: int) -> Span:
        """Return the span of a node, whose own column counts bytes."""
        before = self.lines[node.lineno - 1].encode()[: node.col_offset]
        return self.span(node.lineno, len(before.decode("utf-8", "replace")) + 1, length)


@lru_cache(maxsize=4)
def _lines(text: str) -> tuple[str, ...]:
    """Return the lines of a text, which is split once for all findings about it."""
    return tuple(text.split("\n"))


def parse_python(source: PythonSource, findings: Findings) -> ast.Module | None:
    """Return the syntax tree, or None after reporting a syntax error."""
    try:
        return syntax_tree(source.text)
    except SyntaxError as error:
        if may_be_newer_f_string(source.text, error):
            return None
        # Before Python 3.12, columns inside f-strings are unreliable.
        if isinstance(error, IndentationError) or error.msg.startswith("f-string"):
            findings.add(codes.FUNCTION, f"{source.name} is not valid Python: {error.msg}", source.line(error.lineno))
            return None
        length = (error.end_offset or 0) - (error.offset or 0) if error.end_lineno == error.lineno else 1
        span = source.span(error.lineno or 1, error.offset or 1, length)
        findings.add(codes.FUNCTION, f"{source.name} is not valid Python: {error.msg}", span)
    except TooManyStepsError:
        return None
    except (ValueError, RecursionError, MemoryError) as error:
        findings.add(
            codes.FUNCTION,
            f"{source.name} is not valid Python: {str(error) or 'it is nested too deeply'}",
            source.whole,
        )
    return None


def _function_hint(name: str, defined: list[str], parameters: Schema | None) -> str:
    """Return a hint for a missing function ``name``. ``defined`` has the functions in the file."""
    if defined:
        return f"it defines {quote_names(sorted(defined))}; choose with 'function: NAME'"
    return f"a call runs a function: write def {name}({', '.join(parameters.properties if parameters else ())}): ..."


def check_function(
    tree: ast.Module, source: PythonSource, name: str, span: Span, parameters: Schema | None, findings: Findings
) -> None:
    """Report a function that is missing or cannot take the parameters. ``span`` is the place that names it.

    An imported, assigned or decorated function is not checked: that would require running the code.
    """
    functions = {node.name: node for node in _statements(tree.body) if isinstance(node, Function)}
    function = functions.get(name)
    if function is None:
        if {name, "*"}.isdisjoint(_bound_names(tree)):
            defined = [each for each in functions if not each.startswith("_")]
            hint = suggestion(name, functions) or _function_hint(name, defined, parameters)
            findings.add(codes.FUNCTION, f"{source.name} defines no function '{name}'", span, hint)
        return
    if parameters is not None and not function.decorator_list:
        _check_signature(function, source, parameters, findings)


_ALL_ARGUMENTS: Final = frozenset(
    {"args", "arguments", "data", "event", "input", "inputs", "kwargs", "params", "payload"}
)
"""Names of a single argument that is meant to be a map of all arguments."""


def _check_signature(function: Function, source: PythonSource, parameters: Schema, findings: Findings) -> None:
    arguments = function.args
    positional = arguments.posonlyargs + arguments.args
    with_default = {each.arg for each in positional[len(positional) - len(arguments.defaults) :]}
    with_default |= {
        each.arg for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value is not None
    }
    named = {each.arg: each for each in arguments.args + arguments.kwonlyargs}
    for each in arguments.posonlyargs:
        if each.arg not in with_default:
            message = f"'{each.arg}' is positional-only, but arguments are passed by name"
            findings.add(codes.SIGNATURE, message, source.span_of(each, len(each.arg)), "remove the '/'")
    required = [name for name in named if name not in with_default and name != CONTEXT]
    if len(required) == 1 and required[0] in _ALL_ARGUMENTS and required[0] not in parameters.properties:
        names = ", ".join(parameters.properties)
        argument = named[required[0]]
        message = f"the function receives each argument by its name, not all of them in '{argument.arg}'"
        place = source.span_of(argument, len(argument.arg))
        findings.add(
            codes.SIGNATURE,
            message,
            place,
            f"write def {function.name}({names}), or def {function.name}(**{argument.arg})",
        )
        return
    if _has_other_names(function, named, source, parameters, findings):
        return
    others = named.keys() - parameters.properties.keys()
    for name in sorted(parameters.properties):
        if name not in named and arguments.kwarg is None:
            hint = suggestion(name, others) or f"add '{name}', or '**kwargs'"
            place = source.span_of(function, len("def") if isinstance(function, ast.FunctionDef) else len("async def"))
            message = f"the function '{function.name}' does not accept the parameter '{name}'"
            findings.add(codes.SIGNATURE, message, place, hint)
    for name, argument in named.items():
        if name in with_default or name == CONTEXT:
            continue
        place = source.span_of(argument, len(name))
        if name not in parameters.properties:
            hint = suggestion(name, parameters.properties) or "declare it under 'parameters', or give it a default here"
            message = f"the function requires '{name}', but the tool has no such parameter"
            findings.add(codes.SIGNATURE, message, place, hint)
        elif parameters.may_be_absent(name):
            message = f"the parameter '{name}' may be absent, but the function has no default for it"
            findings.add(codes.SIGNATURE, message, place, f"write {name}=None")


def _has_other_names(
    function: Function, named: Mapping[str, ast.arg], source: PythonSource, parameters: Schema, findings: Findings
) -> bool:
    """Report, as one finding, a function of which no argument has the name of a parameter."""
    declared = [*parameters.properties]
    is_other = len(named) > 1 and function.args.kwarg is None and named.keys().isdisjoint({*declared, CONTEXT})
    if not declared or not is_other or any(suggestion(name, declared) for name in named):
        return False
    message = f"the function takes {quote_names(named)}, but the parameters are {quote_names(declared)}"
    hint = f"write def {function.name}({', '.join(declared)}), or rename the parameters"
    first = next(iter(named.values()))
    findings.add(codes.SIGNATURE, message, source.span_of(first, len(first.arg)), hint)
    return True


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when the module is imported, in order."""
    for statement in body:
        yield statement
        for block in ("body", "orelse", "finalbody"):
            if not isinstance(statement, Function | ast.ClassDef):
                yield from _statements(getattr(statement, block, []))
        for handler in getattr(statement, "handlers", []):
            yield from _statements(handler.body)


def _bound_names(tree: ast.Module) -> Iterator[str]:
    for statement in _statements(tree.body):
        match statement:
            case ast.Import() | ast.ImportFrom():
                yield from ((alias.asname or alias.name).split(".")[0] for alias in statement.names)
            case ast.Assign():
                yield from (
                    node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)
                )
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                yield name
            case _:
                pass
