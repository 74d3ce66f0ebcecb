"""Parse templates of backend fields into ``toolc.model.template.Template`` with Jinja2's parser.

Only ``{{ }}`` has a meaning, so Jinja2 parses only the expressions. In the text between them, it would interpret ``{%``
and ``{#``, which kubectl, git and bash use, and change line endings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from toolc.dataclass import dataclass, replace
from toolc.document.edits import fix
from toolc.document.edits import replace as replace_text
from toolc.document.map_reader import Findings, string, unsupported
from toolc.document.nodes import Node, Scalar
from toolc.document.suggestions import quote_names, suggestion
from toolc.model import codes
from toolc.model.diagnostics import spend
from toolc.model.json_schema import JsonValue, Schema
from toolc.model.source import Position, Span
from toolc.model.template import SECRETS, STEPS, Placeholder, Template
from toolc.model.text import lazy_re

_PLACEHOLDER: Final = lazy_re(
    r"""(?sx)\{\{ ( (?: '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | [^'"}] | \}(?!\}) )* ) \}\}"""
)
_NAME: Final = lazy_re(r"[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*")
WORDS: Final = frozenset({"true", "false", "none", "True", "False", "None", "not"})
"""Names that a placeholder cannot have, because they are reserved words in Jinja2."""

_FOREIGN: Final = lazy_re(r"\{\{\s*[.$@](?:json\.|Values\.)?([A-Za-z_]\w*)\s*\}\}")
"""Matches a placeholder of Go templates and similar languages, as in ``{{ .name }}``."""

_LOOP: Final = lazy_re(r"\{%-?[ \t]{0,8}for[ \t]{1,8}\w{1,64}[ \t]{1,8}in[ \t]{1,8}(\w{1,64})[^%\n]{0,80}%\}")
_GO_TEMPLATE: Final = lazy_re(
    r"\.|\s*+(?:index|if|join|json|len|lower|printf|println|range|split|title|upper|with)\s++[.$\"(]"
)
"""Matches the start of an expression of Go templates, which many programs accept in an option such as --format."""

_LITERAL_HINT: Final = "for two literal braces, write {{ '{{' }}"

PARAMETER_PREFIXES: Final = frozenset(
    {"arg", "args", "arguments", "input", "inputs", "kwargs", "param", "parameter", "parameters", "params"}
)
"""Names that other template languages use for all arguments, as in ``{{ args.name }}``."""

STEP_PROPERTIES: Final = ("outputs", "text", "outcome", "error")
"""The properties of a step, as in ``{{ steps.ID.outputs }}``."""

_NOT_ARGUMENTS: Final = frozenset({SECRETS, STEPS, "vars"})


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem at ``start:end`` of a template's text."""

    message: str
    hint: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PlaceholderSpan:
    """One placeholder, and the range ``start:end`` of the template's text that contains it."""

    placeholder: Placeholder
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed template. If there are problems, it contains only the valid pieces."""

    template: Template
    pieces: tuple[PlaceholderSpan, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The names to which placeholders can refer. If ``parameters`` could not be read, it is None and any name is valid.

    ``present`` are names that are always present here, regardless of their schema, because a ``when`` group tests them.
    ``allows_secrets`` is true if ``{{ secrets.NAME }}`` is allowed. ``steps`` are the steps of a composite that end
    before this one starts, and ``later_steps`` are its other steps. Both are empty outside a composite.
    """

    parameters: Schema | None
    present: frozenset[str] = frozenset()
    allows_secrets: bool = False
    steps: frozenset[str] = frozenset()
    later_steps: frozenset[str] = frozenset()

    def omitting(self) -> Scope:
        """Return the scope of a place that is omitted if an argument in it is absent."""
        return replace(self, present=frozenset(self.parameters.properties if self.parameters else ()))


@lru_cache(maxsize=1024)
def parse(text: str) -> Parsed:
    """Parse a template. Problems are collected, not raised."""
    parts: list[str | Placeholder] = []
    pieces: list[PlaceholderSpan] = []
    problems: list[Problem] = []
    at = 0
    while (start := text.find("{{", at)) >= 0:
        parts.append(text[at:start])
        match = _PLACEHOLDER.match(text, start)
        if match is None:
            problems.append(
                Problem("'{{' has no '}}'", f"write '}}}}' after the name; {_LITERAL_HINT}", start, start + 2)
            )
            at = len(text)
            break
        at = match.end()
        part = _part(match[1], start, at)
        if isinstance(part, Problem):
            problems.append(part)
            continue
        parts.append(part)
        if isinstance(part, Placeholder):
            pieces.append(PlaceholderSpan(part, start, at))
    parts.append(text[at:])
    return Parsed(Template(_joined(parts)), tuple(pieces), tuple(problems))


def expression_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Yield the range of each ``{{ }}`` of a template, with its braces."""
    at = 0
    while (start := text.find("{{", at)) >= 0 and (match := _PLACEHOLDER.match(text, start)):
        at = match.end()
        yield start, at


def read_template(node: Node, what: str, findings: Findings, scope: Scope) -> Template | None:
    """Parse a string as a template, and report placeholders that some calls could not fill."""
    value = node.value if isinstance(node, Scalar) else None
    text = value if isinstance(value, str) else string(node, what, findings)
    if text is None:
        return None
    if "{{" not in text:
        return Template((text,)) if text else Template(())
    errors = findings.errors
    if "{%" in text and (loop := _LOOP.search(text)) and scope.parameters and loop[1] in scope.parameters.properties:
        message = f"'{loop[0]}' is not replaced, because a template has no statements"
        hint = f"write {{{{ {loop[1]} }}}}, which inserts the whole list as JSON"
        findings.add(codes.TEMPLATE, message, findings.locate(node.span, loop[0]), hint)
        return None
    parsed = parse(text)
    occurrences = _occurrences(text, parsed)
    for problem in parsed.problems:
        span = findings.locate(node.span, text[problem.start : problem.end], occurrences[problem.start])
        name = _FOREIGN.fullmatch(text, problem.start, problem.end)
        known = scope.parameters.properties if scope.parameters else {}
        right = f"{{{{ {name[1]} }}}}" if name and name[1] in known else ""
        made = fix(f"write {right}", replace_text(findings.source, span, text[problem.start : problem.end], right))
        hint = f"write {right}" if right else problem.hint
        findings.add(codes.TEMPLATE, problem.message, span, hint, made if right else None)
    for piece in parsed.pieces:
        if not _is_required_argument(piece.placeholder, scope):
            span = findings.locate(node.span, text[piece.start : piece.end], occurrences[piece.start])
            check_placeholder(piece.placeholder, span, findings, scope)
    return parsed.template if findings.errors == errors else None


def _is_required_argument(placeholder: Placeholder, scope: Scope) -> bool:
    """Return whether a placeholder is a required argument, so that its position is not needed for a finding."""
    name, parameters = placeholder.name, scope.parameters
    if parameters is None or placeholder.keys or name not in parameters.properties or name in _NOT_ARGUMENTS:
        return False
    return name in scope.present or not parameters.may_be_absent(name)


def check_name(name: str, span: Span, findings: Findings, parameters: Schema | None) -> bool:
    """Return whether ``name`` is a declared parameter, or the parameters are unknown. If not, report it."""
    if parameters is None or name in parameters.properties:
        return True
    if not spend(len(parameters.properties), "the search for similar names"):
        findings.add(codes.UNKNOWN_PARAMETER, f"there is no parameter '{name}'", span)
        return False
    declared = parameters.properties
    hint = suggestion(name, declared, "the parameters are", "the tool declares no parameters")
    rename = findings.rename_fix(findings.locate(span, name), name, declared)
    findings.add(codes.UNKNOWN_PARAMETER, f"there is no parameter '{name}'", span, hint, rename)
    return False


def check_placeholder(placeholder: Placeholder, span: Span, findings: Findings, scope: Scope) -> None:
    """Report a placeholder for an unknown parameter, or for one that may be absent in a valid call."""
    name, parameters = placeholder.name, scope.parameters
    if name == SECRETS:
        _check_secret(placeholder, span, findings, scope)
        return
    if name == STEPS:
        _check_step(placeholder, span, findings, scope)
        return
    if name == "vars":
        unsupported(f"{{{{ {name}.… }}}}", span, findings)
        return
    if _is_foreign(placeholder, span, findings, scope):
        return
    if not check_name(name, span, findings, parameters) or parameters is None:
        return
    if parameters.may_be_absent(name) and name not in scope.present:
        findings.add(
            codes.ABSENT_PARAMETER, f"the parameter '{name}' may be absent here", span,
            f"make it required, give it a default, or use a group in argv: {{when: {name}, argv: [...]}}",
        )  # fmt: skip
    _check_keys(placeholder, parameters.properties[name], span, findings)


def _is_foreign(placeholder: Placeholder, span: Span, findings: Findings, scope: Scope) -> bool:
    """Report a name from another template language (``args.name``, ``env.TOKEN``) with the right spelling."""
    name, declared = placeholder.name, scope.parameters.properties if scope.parameters else {}
    if scope.parameters is None or name in declared:
        return False
    key = placeholder.keys[0] if len(placeholder.keys) == 1 else ""
    right = ""
    if name in PARAMETER_PREFIXES and key in declared:
        right = f"{{{{ {key} }}}}"
    elif name.startswith("ARG_") and name[4:] in declared and not placeholder.keys:
        right = f"{{{{ {name[4:]} }}}}"
    elif name in {"env", "environ", "secret"} and key:
        right = f"{{{{ secrets.{key} }}}}"
    elif scope.allows_secrets and name.isupper() and not placeholder.keys and not suggestion(name, declared):
        right = f"{{{{ secrets.{name} }}}}"
    if not right:
        return False
    before = findings.source_of(span).before(span.start)
    if before.endswith("$") and findings.text_at(span).startswith("{{"):  # ${{ inputs.name }} of GitHub Actions
        span = Span(span.path, Position(span.start.line, span.start.column - 1), span.end)
    hint, made = f"write {right}", None
    if "secrets." in right:
        secret = right.removeprefix("{{ secrets.").removesuffix(" }}")
        hint += f", and declare it: sandbox: {{secrets: {{{secret}: {{hosts: [HOST]}}}}}}"
    if not placeholder.filters:
        written = findings.text_at(span)
        edit = replace_text(findings.source, span, written, right) if written.startswith(("{{", "${{")) else None
        made = fix(f"write {right}", edit)
    findings.add(codes.UNKNOWN_PARAMETER, f"there is no parameter '{name}'", span, hint, made)
    return True


def _check_secret(placeholder: Placeholder, span: Span, findings: Findings, scope: Scope) -> None:
    if len(placeholder.keys) != 1 or placeholder.filters:
        message = "a secret takes no filters or keys, because only the broker knows its value"
        findings.add(codes.TEMPLATE, message, span, "write {{ secrets.NAME }}")
    elif not scope.allows_secrets:
        name = placeholder.keys[0]
        findings.add(
            codes.SECRET_PLACE, f"the secret '{name}' is not allowed here", span,
            "a secret is allowed in an HTTP tool's headers, query, body and auth, a plugin's environment "
            "and an agent's api_key",
        )  # fmt: skip


def _check_step(placeholder: Placeholder, span: Span, findings: Findings, scope: Scope) -> None:
    if not placeholder.keys:
        findings.add(codes.TEMPLATE, "refer to a step's result by its id", span, "write {{ steps.ID.outputs }}")
        return
    name, *rest = placeholder.keys
    if name in scope.steps:
        if not rest or rest[0] not in STEP_PROPERTIES:
            message = f"a step has no '{rest[0]}'" if rest else "a step has several results"
            hint = suggestion(rest[0], STEP_PROPERTIES) if rest else f"write {{{{ steps.{name}.outputs }}}}"
            findings.add(codes.TEMPLATE, message, span, hint or f"the results are {quote_names(STEP_PROPERTIES)}")
        return
    if name in scope.later_steps:
        message = f"the step '{name}' has no result yet when this step starts"
        findings.add(codes.DANGLING, message, span, "use the result of an earlier step, or move this step")
        return
    no_step = "there is no earlier step; only a composite has steps"
    hint = suggestion(name, scope.steps, "the earlier steps are", no_step)
    findings.add(codes.DANGLING, f"there is no step '{name}'", span, hint)


def _check_keys(placeholder: Placeholder, schema: Mapping[str, JsonValue], span: Span, findings: Findings) -> None:
    path = placeholder.name
    for key in placeholder.keys:
        properties, required = schema.get("properties"), schema.get("required")
        declared = properties if isinstance(properties, dict) else {}
        if key not in declared or not isinstance(required, list) or key not in required:
            hint = suggestion(key, declared) if key not in declared else ""
            default_hint = f"name '{key}' under both 'properties' and 'required' of '{path}'"
            message = f"'{path}' may lack the key '{key}'"
            findings.add(codes.ABSENT_PARAMETER, message, span, hint or default_hint)
            return
        inner = declared[key]
        schema, path = inner if isinstance(inner, dict) else {}, f"{path}.{key}"


def _occurrences(text: str, parsed: Parsed) -> dict[int, int]:
    """Return, for the start of each placeholder or problem, how many times the same text occurs before it."""
    found: dict[int, int] = {}
    written: Counter[str] = Counter()
    for piece in parsed.pieces:
        part = text[piece.start : piece.end]
        found[piece.start] = written[part]
        written[part] += 1
    counted: dict[str, tuple[int, int]] = {}
    for problem in sorted(parsed.problems, key=lambda each: each.start):
        part = text[problem.start : problem.end]
        count, read = counted.get(part, (0, 0))
        found[problem.start] = count + text.count(part, read, problem.start)
        counted[part] = found[problem.start], problem.start
    return found


def _joined(parts: list[str | Placeholder]) -> tuple[str | Placeholder, ...]:
    joined: list[str | Placeholder] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    return tuple(joined)


def _part(expression: str, start: int, end: int) -> str | Placeholder | Problem:
    """Return the value of the expression of the placeholder at ``start:end``, or the problem with it."""
    if _GO_TEMPLATE.match(expression):
        message = f"'{{{{{expression[:60]}}}}}' is not a placeholder"
        is_simple = "'" not in expression and "\\" not in expression
        hint = f"if it is text for the program, write {{{{ '{{{{{expression}}}}}' }}}}" if is_simple else _LITERAL_HINT
        return Problem(message, hint, start, end)
    # Most placeholders are only a name; these are parsed without importing Jinja2.
    if (name := _NAME.fullmatch(expression)) and name[1] not in WORDS:
        return Placeholder(name[1])
    from toolc.compiler.templates.placeholders import InvalidPlaceholderError, parse_expression  # lazy: +25 ms (jinja2)

    try:
        return parse_expression(expression)
    except InvalidPlaceholderError as invalid:
        return Problem(invalid.message, invalid.hint, start, end)
