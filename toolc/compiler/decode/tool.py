"""Decode the tools of a document into ``LocatedTool`` objects, which keep the source positions for the checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final, TypeVar, get_args

from toolc.compiler.decode.backend import decode_backend
from toolc.compiler.decode.contradictions import check_contradictions
from toolc.compiler.decode.examples import decode_examples, decode_tests
from toolc.compiler.decode.retry import decode_retry
from toolc.compiler.decode.sandbox import decode_sandbox
from toolc.compiler.decode.shell import NO_COMMAND
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.project.files import SpecFolder
from toolc.compiler.project.project import NO_PROJECT, Project
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.compiler.project.variables import check_defaults, may_name_variables, merge_defaults, replace_variables
from toolc.compiler.schema.check_schema import check_schema
from toolc.compiler.schema.parameters import NO_PARAMETERS, declared_parameters, decode_parameters
from toolc.compiler.templates.expressions import expression
from toolc.compiler.templates.parse import Scope, read_template
from toolc.document.map_reader import (
    Findings,
    Parse,
    Reader,
    boolean,
    choice,
    list_of,
    map_parser,
    mapping,
    sequence,
    string,
    text,
)
from toolc.document.nodes import Document, Mapping, MappingEntry, Node, Scalar, Sequence, steps_to_decode
from toolc.document.suggestions import OPENAI, foreign_format, has_misspelled_key, looks_like_spec, quote_names
from toolc.model import codes
from toolc.model.diagnostics import spend
from toolc.model.json_schema import Schema
from toolc.model.names import PROVIDER_NAMES, TOOL_NAME, names_similar_to, valid_name
from toolc.model.spec.sandbox import SandboxSpec
from toolc.model.spec.tool import FORMAT, Annotations, ProviderChoice, ResultFormat, ResultSpec, ToolSpec
from toolc.model.template import Template

T = TypeVar("T")

_SANDBOX: Final = SandboxSpec()
_ANNOTATIONS: Final = Annotations()
_RESULT: Final = ResultSpec()
_NAME_RULE: Final = "a name is 1 to 64 of A-Z a-z 0-9 _ - and does not start with a digit or '-'"

STRICT: Final = ("anthropic", "bedrock", "cohere", "gemini", "mistral", "openai_chat", "openai_responses")
"""The providers that have a strict mode, for a tool or for a request."""

PROVIDERS: Final = tuple(sorted(PROVIDER_NAMES))
"""The providers that a spec can name, in the order used in messages."""


class _Sections(Reader):
    """Reads the top-level keys of a tool and records which of them are invalid."""

    __slots__ = ("damaged",)

    def __init__(self, node: Mapping, findings: Findings) -> None:
        super().__init__(node, "the tool", findings)
        self.damaged: set[str] = set()

    def default(self, key: str, parse: Parse[T], default: T) -> T:
        """Return the value of ``key``, or ``default`` if it is missing or invalid."""
        self._known.add(key)
        entry = self._by_key.get(key)
        if entry is None:
            return default
        errors = self.findings.errors
        value = parse(entry.value, f"'{key}'", self.findings)
        if self.findings.errors > errors:
            self.damaged.add(key)
        return default if value is None else value

    def required(self, key: str, parse: Parse[T]) -> T | None:
        """Return the value of ``key``; report it if it is missing."""
        errors = self.findings.errors
        value = super().required(key, parse)
        if self.findings.errors > errors or value is None:
            self.damaged.add(key)
        return value


def decode_tool(
    node: Mapping,
    findings: Findings,
    folder: SpecFolder,
    defaults: tuple[Mapping, ...] = (),
    lint: Settings = NO_SETTINGS,
) -> LocatedTool:
    """Decode one tool. Problems are added to ``findings``, and invalid values are replaced by defaults.

    ``defaults`` and what ``lint`` says are stored for the checks, see ``LocatedTool``.
    """
    sections = _Sections(node, findings)
    name = sections.required("name", _name) or ""
    parameters = sections.default("parameters", decode_parameters, NO_PARAMETERS)
    damaged = "parameters" in sections.damaged or has_misspelled_key(node, "parameters")
    checked = None if damaged else parameters
    declared = declared_parameters(node.get("parameters"), findings) if damaged else parameters
    in_folder = partial(decode_sandbox, folder=folder, is_plugin=_is_plugin(node))
    sandbox = sections.default("sandbox", in_folder, _SANDBOX)
    has_image = "sandbox" in sections.damaged or sandbox.image is not None or sandbox.build is not None
    backend = partial(decode_backend, folder=folder, parameters=declared, tool_name=name, has_image=has_image)
    workspace = "rw" if "sandbox" in sections.damaged or _calls_tools(node) else sandbox.workspace
    spec = ToolSpec(
        name=name,
        description=sections.default("description", string, ""),
        parameters=parameters,
        backend=sections.required("backend", backend) or NO_COMMAND,
        label=sections.default("label", _text_or_none, None),
        annotations=sections.default("annotations", _annotations, _ANNOTATIONS),
        aliases=sections.default("aliases", _names, ()),
        deprecated=sections.default("deprecated", _text_or_none, None),
        examples=sections.default("examples", partial(decode_examples, parameters=checked), ()),
        result_schema=sections.default("result", decode_result_schema, None),
        providers=sections.default("providers", decode_providers, ()),
        result=sections.default("result", partial(decode_result, parameters=declared), _RESULT),
        sandbox=sandbox,
        retry=sections.default("retry", decode_retry, None),
        confirm=sections.default("confirm", boolean, False),
        version=sections.default("version", _text_or_none, None),
        owner=sections.default("owner", _text_or_none, None),
        tags=sections.default("tags", _texts, ()),
        tests=sections.default("tests", partial(decode_tests, parameters=checked, workspace=workspace), ()),
    )
    sections.close()
    source = findings.source
    tool = LocatedTool(
        spec=spec,
        read_node=lambda: node,
        path=source.path,
        source=source,
        damaged=frozenset(sections.damaged),
        defaults=defaults,
        hosts=lint.hosts,
        has_token_budget=bool(lint.max_tokens),
    )
    check_contradictions(tool, findings)
    return tool


def _text_or_none(node: Node, what: str, findings: Findings) -> str | None:
    return text(node, what, findings)


def _name(node: Node, what: str, findings: Findings) -> str | None:
    name = string(node, what, findings)
    if name is not None and not TOOL_NAME.fullmatch(name):
        similar = valid_name(name, TOOL_NAME)
        hint = f"write {similar}; {_NAME_RULE}" if similar else _NAME_RULE
        findings.add(codes.NAME, f"{what} cannot be {name[:100]!r}: some providers reject it", node.span, hint)
        return None
    return name


_names: Final = list_of(_name)
_texts: Final = list_of(text)


def _is_plugin(node: Mapping) -> bool:
    backend = node.get("backend")
    return isinstance(backend, Mapping) and backend.entry("plugin") is not None


def _calls_tools(node: Mapping) -> bool:
    """Return whether the tool calls other tools, so that its workspace is theirs."""
    backend = node.get("backend")
    return isinstance(backend, Mapping) and any(backend.entry(kind) for kind in ("composite", "agent"))


@map_parser("'annotations'")
def _annotations(reader: Reader) -> Annotations | None:
    return Annotations(
        read_only=reader.optional("read_only", boolean),
        destructive=reader.optional("destructive", boolean),
        idempotent=reader.optional("idempotent", boolean),
        open_world=reader.optional("open_world", boolean),
    )


def decode(
    document: Document, folder: SpecFolder, findings: Findings, project: Project = NO_PROJECT
) -> tuple[LocatedTool, ...]:
    """Decode the tools of a document. Problems are added to ``findings``.

    ``folder`` contains the files that the tools name; ``project`` provides defaults and variables.
    """
    root = _with_format(document.root, findings)
    function = root.entry("function")
    if function and isinstance(function.value, Mapping) and root.entry("type") and not root.entry("backend"):
        findings.add(codes.BAD_VALUE, "the tool is in the form of an OpenAI function", function.key_span, OPENAI)
        return ()
    if not _is_format(root, findings):
        return ()
    decoder = _Decoder(project, findings, folder, may_name_variables(findings.source))
    if root.entry("tools") is None and root.entry("defaults") is None:
        by_key = {key: entry for key, entry in root.by_key.items() if key != "toolc"}
        return tuple(decoder.tools([Mapping(by_key, root)]))
    return tuple(decoder.file(root))


def _with_format(root: Mapping, findings: Findings) -> Mapping:
    """Return ``root``, with two probable mistakes corrected, which are reported.

    These are ``version`` instead of ``toolc``, and a tool below a key ``tool``.
    """
    wrapper = root.entry("tool")
    if wrapper and isinstance(wrapper.value, Mapping) and not root.entry("backend") and not root.entry("tools"):
        hint = "write the keys below 'tool' at the top level, next to 'toolc'"
        findings.add(codes.UNKNOWN_KEY, "the spec has no key 'tool'", wrapper.key_span, hint)
        kept = {key: each for key, each in root.by_key.items() if key != "tool"}
        root = Mapping({**wrapper.value.by_key, **kept}, root)
    entry = root.entry("version")
    if entry is None or not isinstance(entry.value, Scalar) or not looks_like_spec(root):
        return root
    if entry.value.value not in {FORMAT, str(FORMAT)}:
        return root
    hint = f"write toolc: {FORMAT} instead of version: {FORMAT}"
    findings.add(codes.MISSING_KEY, "the spec has no 'toolc'", entry.key_span, hint)
    kept = {("toolc" if key == "version" else key): each for key, each in root.by_key.items()}
    kept["toolc"] = entry._replace(key="toolc", value=entry.value._replace(value=FORMAT))
    return Mapping(kept, root)


def _is_format(root: Mapping, findings: Findings) -> bool:
    """Return whether to decode ``root``, after reporting a missing or unsupported version of the format."""
    version = Reader(root, "the spec", findings).required("toolc", _format)
    # Otherwise the other keys of a file in another format would be reported one by one.
    return version is not None or (looks_like_spec(root) and not foreign_format(root))


def _format(node: Node, what: str, findings: Findings) -> int | None:
    value = node.value if isinstance(node, Scalar) else None
    if value == FORMAT and isinstance(value, int) and not isinstance(value, bool):
        return FORMAT
    message = f"{what} is the format version; this toolc supports version {FORMAT}"
    findings.add(codes.UNSUPPORTED, message, node.span, f"write toolc: {FORMAT}")
    is_meant = str(value).removeprefix("v") in {str(FORMAT), f"{FORMAT}.0"}
    return FORMAT if is_meant else None


@dataclass(frozen=True, slots=True)
class _Decoder:
    """The settings shared by the tools of one document."""

    project: Project
    findings: Findings
    folder: SpecFolder
    names_variables: bool

    def tool(self, tool: Mapping, layers: tuple[Mapping, ...], shared: Mapping | None) -> LocatedTool:
        """Decode one tool: merge ``shared``, the defaults of all ``layers``, into it, then insert variables."""
        merged = merge_defaults(shared, tool) if shared else tool
        if layers or self.names_variables:
            merged = replace_variables(merged, self.project.vars, self.findings)
        decoded = decode_tool(merged, self.findings, self.folder, layers, self.project.lint)
        return replace(decoded, policies=self.project.policies) if self.project.policies else decoded

    def tools(self, tools: Iterable[Mapping], defaults: Mapping | None = None) -> Iterator[LocatedTool]:
        """Decode each tool with the defaults of the project and of the file, until no steps are left."""
        layers = tuple(layer for layer in (self.project.defaults, defaults) if layer is not None)
        shared = reduce(merge_defaults, layers) if layers else None
        steps = steps_to_decode(shared) if shared else 0
        for number, tool in enumerate(tools):
            if number and steps and not spend(steps, f"tools from number {number + 1} on, each with all defaults"):
                return
            yield self.tool(tool, layers, shared)

    def file(self, root: Mapping) -> Iterator[LocatedTool]:
        """Decode each tool of a file with ``tools``."""
        reader = Reader(root, "a file with 'tools'", self.findings)
        reader.get("toolc")
        tools = reader.required("tools", sequence)
        defaults = reader.optional("defaults", mapping)
        reader.close()
        if tools is None:
            tools = Sequence((), root.span)
        elif not tools.items:
            self.findings.add(codes.BAD_VALUE, "'tools' must list at least one tool", tools.span)
        shared = check_defaults(defaults, self.findings) if defaults else None
        maps = (mapping(item, f"'tools'[{index}]", self.findings) for index, item in enumerate(tools.items))
        return self.tools((tool for tool in maps if tool is not None), shared)


def decode_providers(node: Node, what: str, findings: Findings) -> tuple[ProviderChoice, ...] | None:
    """Decode ``providers``, a map of provider names to options."""
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    choices = (_provider_choice(entry, map_node, findings) for entry in map_node.entries)
    return tuple(sorted((each for each in choices if each is not None), key=lambda each: each.provider))


def _provider_choice(entry: MappingEntry, node: Mapping, findings: Findings) -> ProviderChoice | None:
    if entry.key not in PROVIDERS:
        similar = names_similar_to(entry.key, PROVIDERS)
        meant = f"did you mean {' or '.join(map(repr, similar))}?"
        hint = meant if similar else f"the providers are {quote_names(PROVIDERS)}"
        rename = findings.rename_key_fix(entry, node, PROVIDERS) if len(similar) == 1 else None
        findings.add(codes.UNKNOWN_KEY, f"there is no provider '{entry.key[:80]}'", entry.key_span, hint, rename)
        return None
    map_node = mapping(entry.value, f"providers.{entry.key}", findings)
    if map_node is None:
        return None
    reader = Reader(map_node, f"providers.{entry.key}", findings)
    strict = reader.default("strict", boolean, False) if entry.key in STRICT else False
    reader.close()
    return ProviderChoice(provider=entry.key, strict=strict)


@map_parser("'result'")
def decode_result(reader: Reader, *, parameters: Schema | None) -> ResultSpec | None:
    """Decode ``result`` without ``schema``, which ``decode_result_schema`` decodes because models see it."""
    reader.get("schema")
    scope = Scope(parameters=parameters).omitting()
    return ResultSpec(
        format=reader.default("format", choice(get_args(ResultFormat)), "text"),
        files=reader.optional("files", list_of(partial(_file, scope=scope))) or (),
        select=reader.optional("select", expression),
        template=reader.optional("template", partial(_template, parameters=parameters)),
    )


def _template(node: Node, what: str, findings: Findings, *, parameters: Schema | None) -> str | None:
    from toolc.compiler.templates.result_template import result_template  # lazy: +27 ms (jinja2); few tools need it

    return result_template(node, what, findings, parameters=parameters)


def _file(node: Node, what: str, findings: Findings, *, scope: Scope) -> Template | None:
    """Decode a pattern of workspace files. Inserted arguments are checked when the tool is called."""
    template = read_template(node, what, findings, scope=scope)
    if template is None:
        return None
    pattern = "".join(part if isinstance(part, str) else "x" for part in template.parts)
    if not {"", ".", ".."}.isdisjoint(pattern.removeprefix("./").split("/")):
        message = f"{what} is not a path inside the workspace"
        findings.add(codes.BAD_VALUE, message, node.span, "write it relative to the workspace, e.g. plots/*.png")
        return None
    return template


def decode_result_schema(node: Node, what: str, findings: Findings) -> Schema | None:
    """Decode ``result.schema``, the JSON Schema of the tool's structured result."""
    map_node = mapping(node, what, findings)
    schema = map_node.get("schema") if map_node else None
    root = mapping(schema, "'schema'", findings) if schema is not None else None
    return check_schema(root, findings) if root is not None else None
