"""Decode the tools of a document into ``LocatedTool`` objects, which keep the source positions for the checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial, reduce
from typing import Final

from toolc.compiler.decode.backend import decode_backend
from toolc.compiler.decode.contradictions import check_contradictions
from toolc.compiler.decode.examples import decode_examples, decode_tests
from toolc.compiler.decode.sandbox import decode_sandbox
from toolc.compiler.decode.servers import with_server
from toolc.compiler.decode.shell import NO_COMMAND, error_kind
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.project.files import SpecFolder
from toolc.compiler.project.project import NO_PROJECT, Project
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.compiler.project.variables import check_defaults, may_name_variables, merge_defaults, replace_variables
from toolc.compiler.schema.caller_parameters import decode_caller, without
from toolc.compiler.schema.check_schema import check_schema
from toolc.compiler.schema.parameters import NO_PARAMETERS, RESERVED, declared_parameters, decode_parameters
from toolc.compiler.templates.expressions import expression
from toolc.compiler.templates.parse import Scope, read_template
from toolc.dataclass import dataclass, replace
from toolc.document.declared import read_keys
from toolc.document.map_reader import Findings, Parse, Reader, boolean, list_of, map_parser, mapping, sequence, string
from toolc.document.nodes import Document, Mapping, MappingEntry, Node, Scalar, Sequence, steps_to_decode
from toolc.document.suggestions import OPENAI, foreign_format, has_misspelled_key, looks_like_spec, quote_names
from toolc.model import codes
from toolc.model.diagnostics import spend
from toolc.model.json_schema import Schema
from toolc.model.names import PROVIDER_NAMES, TOOL_NAME, names_similar_to, valid_name
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.sandbox import SandboxSpec, WorkspaceMode
from toolc.model.spec.tool import FORMAT, OPTIONS, ProviderChoice, ResultSpec, Retry, SpecFile, ToolSpec
from toolc.model.template import Template

_SANDBOX: Final = SandboxSpec()
_FINAL: Final = ("invalid_args", "denied", "cancelled")
"""The kinds of error that another attempt would not prevent."""

_NAME_RULE: Final = "a name is 1 to 64 of A-Z a-z 0-9 _ - and does not start with a digit or '-'"

PROVIDERS: Final = tuple(sorted(PROVIDER_NAMES))
"""The providers that a spec can name, in the order used in messages."""


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
    reader = Reader(node, "the tool", findings)
    values = read_keys(
        reader, ToolSpec, name=_name, aliases=_names, providers=decode_providers, retry=_retry,
        parameters=partial(decode_parameters, reserved=frozenset() if _has_backend(node, "mcp") else RESERVED),
        sandbox=partial(decode_sandbox, folder=folder, is_plugin=_has_backend(node, "plugin", "mcp")),
    )  # fmt: skip
    values = {"name": "", "description": "", "parameters": NO_PARAMETERS, "backend": NO_COMMAND, **values}
    parameters, sandbox = values["parameters"], values.get("sandbox", _SANDBOX)
    damaged = "parameters" in reader.damaged or has_misspelled_key(node, "parameters")
    caller = () if damaged else decode_caller(node.get("parameters"), parameters, findings)
    sent = without([each.name for each in caller], parameters)
    checked = None if damaged else sent
    declared = declared_parameters(node.get("parameters"), findings) if damaged else parameters
    has_image = "sandbox" in reader.damaged or sandbox.image is not None or sandbox.build is not None
    calls_tools = _has_backend(node, "composite", "agent")  # so its workspace is theirs
    workspace: WorkspaceMode = "rw" if "sandbox" in reader.damaged or calls_tools else sandbox.workspace
    later: tuple[tuple[str, str, Parse[object]], ...] = (
        ("backend", "backend", partial(
            decode_backend, folder=folder, parameters=declared, tool_name=values["name"], has_image=has_image
        )),
        ("examples", "examples", partial(decode_examples, parameters=checked)),
        ("result", "result", partial(decode_result, parameters=declared)),
        ("result", "result_schema", decode_result_schema),
        ("tests", "tests", partial(decode_tests, parameters=checked, workspace=workspace)),
    )  # fmt: skip
    for key, field, parse in later:
        if (value := reader.optional(key, parse)) is not None:
            values[field] = value
    reader.close()
    spec = ToolSpec(**{**values, "parameters": sent, "caller": caller})
    source = findings.source
    tool = LocatedTool(
        spec=spec,
        read_node=lambda: node,
        path=source.path,
        source=source,
        damaged=frozenset(reader.damaged),
        defaults=defaults,
        hosts=lint.hosts,
        has_token_budget=bool(lint.max_tokens),
    )
    check_contradictions(tool, findings)
    return tool


def _name(node: Node, what: str, findings: Findings) -> str | None:
    name = string(node, what, findings)
    if name is not None and not TOOL_NAME.fullmatch(name):
        similar = valid_name(name, TOOL_NAME)
        hint = f"write {similar}; {_NAME_RULE}" if similar else _NAME_RULE
        findings.add(codes.NAME, f"{what} cannot be {name[:100]!r}: some providers reject it", node.span, hint)
        return None
    return name


_names: Final = list_of(_name)


def _has_backend(node: Mapping, *kinds: str) -> bool:
    backend = node.get("backend")
    return isinstance(backend, Mapping) and any(backend.entry(kind) for kind in kinds)


def decode(
    document: Document, folder: SpecFolder, findings: Findings, project: Project = NO_PROJECT
) -> tuple[LocatedTool, ...]:
    """Decode the tools of a document. Problems are added to ``findings``.

    ``folder`` contains the files that the tools name. ``project`` provides defaults and variables.
    """
    root = _with_format(document.root, findings)
    function = root.entry("function")
    if function and isinstance(function.value, Mapping) and root.entry("type") and not root.entry("backend"):
        findings.add(codes.BAD_VALUE, "the tool is in the form of an OpenAI function", function.key_span, OPENAI)
        return ()
    if not _is_format(root, findings):
        return ()
    decoder = _Decoder(project, findings, folder, may_name_variables(findings.source))
    if all(root.entry(each) is None for each in ("tools", "defaults", "servers")):
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

    def tool(
        self, tool: Mapping, layers: tuple[Mapping, ...], shared: Mapping | None, servers: Mapping | None
    ) -> LocatedTool:
        """Decode one tool: insert its server, the defaults of all ``layers``, which are ``shared``, and variables."""
        tool = with_server(tool, servers, self.findings)
        merged = merge_defaults(shared, tool) if shared else tool
        if layers or self.names_variables:
            merged = replace_variables(merged, self.project.vars, self.findings)
        decoded = decode_tool(merged, self.findings, self.folder, layers, self.project.lint)
        return replace(decoded, policies=self.project.policies) if self.project.policies else decoded

    def tools(
        self, tools: Iterable[Mapping], defaults: Mapping | None = None, servers: Mapping | None = None
    ) -> Iterator[LocatedTool]:
        """Decode each tool with the defaults of the project and of the file, until no steps are left."""
        layers = tuple(layer for layer in (self.project.defaults, defaults) if layer is not None)
        shared = reduce(merge_defaults, layers) if layers else None
        steps = steps_to_decode(shared) if shared else 0
        for number, tool in enumerate(tools):
            if number and steps and not spend(steps, f"tools from number {number + 1} on, each with all defaults"):
                return
            yield self.tool(tool, layers, shared, servers)

    def file(self, root: Mapping) -> Iterator[LocatedTool]:
        """Decode each tool of a file with ``tools``."""
        reader = Reader(root, "a file with 'tools'", self.findings)
        found = read_keys(reader, SpecFile, tools=sequence, defaults=mapping, servers=mapping, toolc=None)
        tools, defaults = found.get("tools"), found.get("defaults")
        reader.close()
        if tools is None:
            tools = Sequence((), root.span)
        elif not tools.items:
            self.findings.add(codes.BAD_VALUE, "'tools' must list at least one tool", tools.span)
        shared = check_defaults(defaults, self.findings) if defaults else None
        maps = (mapping(item, f"'tools'[{index}]", self.findings) for index, item in enumerate(tools.items))
        return self.tools((tool for tool in maps if tool is not None), shared, found.get("servers"))


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
    option = OPTIONS.get(entry.key)
    value = reader.optional(option, boolean) if option else None
    reader.close()
    return ProviderChoice(provider=entry.key, **({option: value} if option and value is not None else {}))


@map_parser("'result'")
def decode_result(reader: Reader, *, parameters: Schema | None) -> ResultSpec | None:
    """Decode ``result`` without ``schema``, which ``decode_result_schema`` decodes because models see it."""
    files = list_of(partial(_file, scope=Scope(parameters=parameters).omitting()))
    template = partial(_template, parameters=parameters)
    return ResultSpec(**read_keys(reader, ResultSpec, files=files, select=expression, template=template))


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


@map_parser("'retry'")
def _retry(reader: Reader) -> Retry | None:
    """Decode ``retry`` of a tool."""
    return Retry(**read_keys(reader, Retry, kinds=list_of(_retried)))


def _retried(node: Node, what: str, findings: Findings) -> ErrorKind | None:
    kind: ErrorKind | None = error_kind(node, what, findings)
    if kind in _FINAL:
        message = f"another attempt would not prevent the error '{kind}'"
        findings.add(codes.BAD_VALUE, message, node.span, "remove it from 'kinds'")
        return None
    return kind
