"""``toolc check --mcp``: which clients refuse which definitions of an MCP server, from its answer to ``tools/list``.

The answer is untrusted. The work for it is bounded by its size.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolc.compiler.checks.providers import name_finding
from toolc.dataclass import dataclass, field
from toolc.document.loader import read
from toolc.document.nodes import Node, child
from toolc.document.yaml.yaml_parser import parse_yaml
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, child_pointer, parse_json, pointer_tokens, subschemas
from toolc.model.names import TOOL_NAME
from toolc.model.source import SourceText, Span
from toolc.model.text import lazy_re, shorten
from toolc.providers.json_schema.portable import portable
from toolc.providers.json_schema.portable_rules import PROVIDERS, Refusal, Rule, clients
from toolc.providers.json_schema.references import References
from toolc.validation.validate import metaschema_errors

MAX_TOOLS: Final = 10_000
"""The maximum number of definitions in an answer."""

MAX_STEPS: Final = 250_000
"""The maximum product of the subschemas and the references of a definition, which bounds the work for it."""

_NAME: Final = lazy_re(r"[A-Za-z0-9_-]{1,64}")


def check_answer(path: Path, diagnostics: Diagnostics) -> int:
    """Report the parts that clients refuse in the answer at ``path``, and return the number of its definitions.

    The file contains the JSON of ``{"tools": [...]}``, of the list alone, or of the whole JSON-RPC response. Raises
    ``UsageError`` if it does not.
    """
    name = path.as_posix()
    data = read(path, name, problems := Diagnostics())
    if data is None:
        raise UsageError(problems.sorted()[0].message)
    try:
        value = parse_json(data)
    except ValueError as error:
        raise UsageError(f"{name} is not JSON: {error}") from None
    source = SourceText(name, data.decode())
    diagnostics.add_source(source)
    tools, pointer = _tools(value, name)
    answer = _Answer(source, parse_yaml(source, Diagnostics()))
    for at, tool in enumerate(tools):
        for each in answer.findings(tool, child_pointer(pointer, at)):
            diagnostics.append(each)
    return len(tools)


def _tools(value: JsonValue, name: str) -> tuple[list[JsonValue], str]:
    """Return the definitions in an answer, and their JSON Pointer."""
    pointer = ""
    for key in ("result", "tools"):
        if isinstance(value, dict) and key in value:
            value, pointer = value[key], f"{pointer}/{key}"
    if not isinstance(value, list):
        raise UsageError(
            f'{name} is not an answer to tools/list; it must be {{"tools": [...]}}, the list or a response'
        )
    if len(value) > MAX_TOOLS:
        raise UsageError(f"{name} has {len(value)} definitions, and at most {MAX_TOOLS} are checked")
    return value, pointer


@dataclass(slots=True)
class _Answer:
    """An answer as text, and as a tree with positions, if it could be read as YAML."""

    source: SourceText
    root: Node | None
    names: set[str] = field(default_factory=set)

    def findings(self, tool: JsonValue, at: str) -> Iterator[Diagnostic]:
        """Yield the findings about one definition. Those by the same rule are one finding."""
        definition = tool if isinstance(tool, dict) else {}
        name = str(definition.get("name", ""))
        title = repr(shorten(name, 64)) if name else f"the definition at {at}"
        first: dict[tuple[Rule, str], Refusal] = {}
        counts: dict[tuple[Rule, str], int] = {}
        for each in _refusals(definition, at, self.names):
            key = each.rule, each.done if each.rule == "invalid" else ""
            first.setdefault(key, each)
            counts[key] = counts.get(key, 0) + 1
        self.names.add(name)
        for key, each in first.items():
            code = codes.REFUSED if PROVIDERS.intersection(clients(each.rule)) else codes.FAILED_CONVERSION
            place = shorten(each.pointer.removeprefix(at), 120)
            more = f", and {counts[key] - 1} more" if counts[key] > 1 else ""
            reason = f": {shorten(each.done, 200)}" if each.rule == "invalid" else ""
            message = f"{title}: {each.message} ({place or 'the definition'}{more}){reason}"
            yield Diagnostic(code, message, self._span(each.pointer), each.hint)
        if finding := name_finding(name, self._span(f"{at}/name")):
            yield finding

    def _span(self, pointer: str) -> Span:
        """Return the position of the value at a JSON Pointer, or of the innermost value around it."""
        node = self.root
        for token in pointer_tokens(pointer) if node else ():
            inner = child(node, token) or (child(node, int(token)) if token.isdecimal() else None) if node else None
            if inner is None:
                break
            node = inner
        return node.span if node else self.source.whole_file()


def _refusals(definition: JsonObject, at: str, names: set[str]) -> Iterator[Refusal]:
    name = definition.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield Refusal("name", f"{at}/name")
    elif not TOOL_NAME.fullmatch(name):
        yield Refusal("first_character", f"{at}/name")
    elif name in names:
        yield Refusal("repeated_name", f"{at}/name")
    if definition.get("description") == "":
        yield Refusal("description", f"{at}/description")
    schema, pointer = definition.get("inputSchema"), f"{at}/inputSchema"
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield Refusal("root_type", pointer)
    if not isinstance(schema, dict):
        return
    if problem := _problem(schema):
        yield Refusal("invalid", pointer, problem)
        return
    nodes = [*subschemas(schema)]
    references = References(schema, pointer)
    for reference in {each["$ref"] for each in nodes if isinstance(each.get("$ref"), str)}:
        if references.target(str(reference)) is None:
            yield Refusal("dangling", pointer)
    yield from (each for each in portable(schema, pointer)[1] if not each.is_consequence)


def _problem(schema: JsonObject) -> str:
    """Return why a schema is not valid or is not checked, or an empty string."""
    try:
        error = next(metaschema_errors(schema), None)
        nodes = [] if error else [*subschemas(schema)]
    except RecursionError:
        return "it is nested too deeply"
    if error:
        return f"{error.message} at {child_pointer('', *error.absolute_path) or 'its root'}"
    references = sum("$ref" in each or "$dynamicRef" in each for each in nodes)
    return "it has too many references to check" if references * len(nodes) > MAX_STEPS else ""
