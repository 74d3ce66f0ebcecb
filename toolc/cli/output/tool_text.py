"""Print a tool for ``toolc show``: its description, parameters and permissions, its values or its definition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from toolc.cli.targets import exit_on_errors, named_registry, only_name
from toolc.client.build import compile_paths, split_target
from toolc.compiler.effective_values import ValueOrigin, effective
from toolc.compiler.project.files import PROJECT_FILES
from toolc.document.suggestions import quote_names, suggestion
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.permissions import OWN, Grant, Permissions, format_permissions
from toolc.model.registry import RegisteredTool
from toolc.model.registry_io import canonical, parse
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import lazy_re, shorten
from toolc.providers import load_provider, openapi
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool
    from toolc.compiler.pipeline.compile import Compilation
    from toolc.model.diagnostics import Diagnostic


_LABELS: Final = {
    "tools": "calls", "missing": "calls, but lacks", "hosts": "connects to", "secrets": "has the secret",
    "workspaces": "workspace", "transactions": "transaction", "images": "runs in", "requirements": "with the package",
    "users": "as user", "isolation": "isolated by", "lifetimes": "lifetime", "limits": "at most",
}  # fmt: skip
"""The labels of each part of ``Permissions``."""

_WIDTH: Final = 60
"""The maximum length of a value, in characters, so that it stays on one line."""

_NOT_ASCII: Final = lazy_re(r"[^\n -~]")


def tool_text(tool: RegisteredTool, granted: Permissions) -> str:
    """Return one tool as text."""
    spec = tool.spec
    lines = [f"{spec.name} ({spec.backend.tag})" + (f": {spec.label}" if spec.label else "")]
    lines += [f"  {line}" for line in spec.description.strip().splitlines()]
    lines += ["", "parameters", *_parameters(spec)]
    lines += ["", "a call", *_permissions(granted)]
    lines += ["", f"surface {tool.surface_digest}", f"effect  {tool.effect_digest}"]
    return "".join(f"{escape_for_terminal(line.rstrip())}\n" for line in lines)


def _parameters(tool: ToolSpec) -> Iterator[str]:
    parameters = tool.parameters
    rows = [(name, _type_and_default(schema)) for name, schema in parameters.properties.items()]
    rows += [(each.name, f"string, set by the host from caller.{each.claim}") for each in tool.caller]
    width = max((len(name) for name, _ in rows), default=0)
    for name, about in rows:
        yield f"  {name:<{width}}  {about}{', required' if name in parameters.required else ''}"
    if not rows:
        yield "  none"


def _type_and_default(schema: JsonObject) -> str:
    kind = schema.get("type", "anything")
    words = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
    default = json.dumps(schema["default"], ensure_ascii=False) if "default" in schema else ""
    return words + (f", by default {default}" if default else "")


def _permissions(granted: Permissions) -> Iterator[str]:
    rows: list[tuple[str, str, str]] = []
    for part in fields(granted):
        values = granted.displayed(part.name)
        words = [_LABELS[part.name], *[""] * len(values)]
        rows += [(word, format_permissions(each.value), _by(each)) for word, each in zip(words, values, strict=False)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return (f"  {words:<{widths[0]}}  {value:<{widths[1]}}  {by}" for words, value, by in rows)


def _by(granted: Grant[object]) -> str:
    steps = ", ".join(each for each in granted.by if each != OWN)
    return f"by {steps}" if steps else ""


def find_located(target: str, paths: tuple[str, ...]) -> tuple[LocatedTool, Compilation]:
    """Return the tool ``target`` of a spec file, or of the specs at ``paths`` (default: the current folder).

    The compilation has all tools of these specs. If ``target`` names a tool, errors in other files do not matter,
    because a folder such as the root of a repository may contain specs of tests.
    """
    source, name = split_target(target)
    if not paths and source.exists():
        paths = (str(source),)
    elif not paths:
        name, paths = target, (".",)
    else:
        name = target
    compilation = compile_paths([Path(path) for path in paths])
    if name is None:
        exit_on_errors(compilation.diagnostics)
        only_name(target, [tool.spec.name for tool in compilation.local])
        return compilation.local[0], compilation
    return _named(name, compilation, paths), compilation


def _named(name: str, compilation: Compilation, paths: tuple[str, ...]) -> LocatedTool:
    """Return the tool with this name or alias. Raises ``UsageError`` for none or several.

    Exits if its file has errors.
    """
    named = [tool for tool in compilation.located if name in {tool.spec.name, *tool.spec.aliases}]
    where = ", ".join(map(str, map(Path, paths)))
    if len(named) > 1:
        first, second, *_ = (tool.path for tool in named)
        raise UsageError(
            f"{len(named)} tools in {where} are called {name!r}: in {first}, {second}{' ...' * (len(named) > 2)}; "
            f"name the file: {first}#{name}"
        )
    own = {named[0].path} if named else {each.span.path for each in compilation.diagnostics.sorted()}
    exit_on_errors(
        compilation.diagnostics.map(
            lambda finding: finding if finding.span.path in own or _is_of_project(finding) else None
        )
    )
    if not named:
        names = [tool.spec.name for tool in compilation.located]
        hint = suggestion(name, names) or f"the tools are {quote_names(names)}"
        raise UsageError(f"there is no tool {name!r:.82} in {where}; {hint}")
    return named[0]


def _is_of_project(finding: Diagnostic) -> bool:
    return PurePosixPath(finding.span.path).name in PROJECT_FILES


def effective_text(tool: LocatedTool) -> str:
    """Return one line per value, with its key, value and origin in columns."""
    rows = [(each.key, _short(each), each.origin) for each in effective(tool)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = (f"{key:<{widths[0]}}  {value:<{widths[1]}}  {origin}" for key, value, origin in rows)
    return "".join(f"{escape_for_terminal(line)}\n" for line in lines)


def as_json(tool: LocatedTool) -> str:
    """Return the values of a tool as a JSON list of objects with ``key``, ``value`` and ``origin``."""
    rows = [{"key": each.key, "value": each.value, "origin": each.origin} for each in effective(tool)]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def find_in_set(
    target: str, paths: tuple[str, ...], registry: str | None, builtin: str | None
) -> tuple[tuple[ToolSpec, ...], str]:
    """Return the tool that ``target`` names with all tools declared with it, and its name.

    ``target`` is a spec, or the name of a tool in a registry, a toolset, or the specs at ``paths``. Raises
    ``UsageError`` if it names no tool or several.
    """
    tools = named_registry(registry, builtin)
    if tools is None:
        located, compilation = find_located(target, paths)
        return compilation.tools, located.spec.name
    if paths:
        raise UsageError("PATHS cannot be used with --registry or --builtin; remove PATHS or the option")
    return tuple(tools), tools.registered(target).spec.name


def definition_text(tools: tuple[ToolSpec, ...], name: str, provider: str) -> str:
    """Return the definition of a tool among ``tools`` as indented JSON. For ``openapi``, it is a document.

    Invisible characters are escaped.
    """
    value: JsonValue
    if provider == "openapi":
        value = openapi.document([tool for tool in tools if tool.name == name])
    else:
        names = [tool.name for tool in tools]
        value = load_provider(provider).lower(tools).definitions[names.index(name)]
    text = json.dumps(parse(canonical(value)), indent=2, ensure_ascii=False) + "\n"
    return _NOT_ASCII.sub(lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1], text)


def _short(value: ValueOrigin) -> str:
    """Return a value on one line, truncated if it is long."""
    return shorten(json.dumps(value.value, ensure_ascii=False), _WIDTH)
