"""Generate the specs of Python functions, with the code that they need."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.importers.python.extract import Edit, Statements, Unit
from toolc.importers.python.hints import READ, reading
from toolc.importers.python.modules import LeftOutError, Module, Modules
from toolc.importers.python.needs import CodeNeeds, Versions, code_needs
from toolc.importers.python.permissions import sandbox
from toolc.importers.python.tool_functions import (
    CONTEXT,
    ToolFunction,
    chosen_functions,
    framework_decorators,
    hidden_functions,
    tool_function,
)
from toolc.importers.tool_names import ToolNames
from toolc.importers.yaml_text import yaml_text
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject

_READER: Final = f'''\
def {READ}(loads, value):
    """Convert the values of some names from JSON."""
    return {{name: loads[name](each) if name in loads else each for name, each in value.items()}}
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A function that is left out, with the reason and the place in the source that causes it."""

    name: str
    reason: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """The text of each file by path, the functions that are left out, and what the user must add to the specs.

    ``versions`` has the version of each package that the tools install. ``places`` has the name and the place of the
    function of each spec.
    """

    files: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)


def generate(modules: Modules, path: str, function: str | None, versions: Versions, names: ToolNames) -> Generated:
    """Return the files for the tools in the file ``path``, or for one ``function``.

    Each tool gets its own code file, and so only the packages and permissions that it needs. Raises ``UsageError`` if
    there is no function to import.
    """
    module, result = modules.module(path), Generated()
    result.left_out.extend(
        _left_out(module, each.name, "it is inside a class or function, so a call cannot reach it", each)
        for each in hidden_functions(module)
        if function in {None, each.name}
    )
    chosen = chosen_functions(module, function)
    if not chosen and not result.left_out:
        raise UsageError(f"{path} has no function {function!r}" if function else f"{path} has no function to import")
    tools: list[ToolFunction] = []
    for node, decorator in chosen:
        try:
            tools.append(tool_function(modules, module, node, decorator))
        except LeftOutError as error:
            result.left_out.append(_left_out(module, node.name, str(error), error.node))
    edits = [*framework_decorators(module), *(each for tool in tools for each in tool.edits)]
    source = _Source(modules, module, Statements.of(module, [each.node for each in edits]), edits, versions)
    own = [str(each.definition["name"]) for each in tools]
    for tool, name in zip(tools, names.of(own, [each.node.name for each in tools]), strict=True):
        try:
            _add_files(source, tool, name, result)
        except LeftOutError as error:
            result.left_out.append(_left_out(module, tool.node.name, str(error), error.node))
    return result


@dataclass(frozen=True, slots=True)
class _Source:
    """The file that tools are imported from, and the edits of its code."""

    modules: Modules
    module: Module
    statements: Statements
    edits: Sequence[Edit]
    versions: Versions


def _add_files(source: _Source, tool: ToolFunction, name: str, result: Generated) -> None:
    code = ast.parse("\n".join(tool.loads.values()))
    names = {each.id for each in ast.walk(code) if isinstance(each, ast.Name)}
    units = source.statements.needed({tool.node.name: tool.node} | dict.fromkeys(names, tool.node))
    text = source.statements.text(units, source.edits, "")
    needs = code_needs(source.modules, f"{name}.py", text, source.versions, tool.node)
    if f"{name}.py" in needs.files:
        raise LeftOutError(f"its code would be {name}.py, but it imports another file of this name", tool.node)
    spec, missing = _spec(tool, name, units, needs)
    result.files[f"{name}.yaml"] = f"# {tool.node.name} of {source.module.path}\n" + yaml_text(spec)
    result.files[f"{name}.py"] = source.statements.text(units, source.edits, _adapter(tool))
    result.files.update({path: module.text for path, module in needs.files.items()})
    result.places[f"{name}.yaml"] = tool.node.name, _place(source.module, tool.node)
    result.notes.extend(f"{name}: {each}" for each in missing)
    result.versions.update(needs.packages)


def _spec(tool: ToolFunction, name: str, units: set[Unit], needs: CodeNeeds) -> tuple[JsonObject, list[str]]:
    function = f"{tool.node.name}{READ}" if tool.loads or tool.renamed else tool.node.name
    python: JsonObject = {"file": f"{name}.py"}
    python |= {"function": function} if function != name else {}
    python |= {"files": [*sorted(needs.files)]} if needs.files else {}
    python |= {"requirements": [*needs.pinned]} if needs.packages else {}
    nodes = [*(each.node for each in units), *(each.tree for each in needs.files.values())]
    used = {each.origin.partition(".")[0] for each in units}
    used |= {each.partition(".")[0] for module in needs.files.values() for each in module.imports.values()}
    permissions, missing = sandbox(nodes, used)
    annotations = tool.definition.get("annotations")
    spec: JsonObject = {"toolc": 1, **{key: each for key, each in tool.definition.items() if key != "annotations"}}
    spec |= {"name": name, "backend": {"python": python}}
    spec |= {"sandbox": permissions} if permissions else {}
    return spec | ({"annotations": annotations} if annotations else {}), missing


def _adapter(tool: ToolFunction) -> str:
    """Return the function that converts arguments from JSON and passes renamed ones, if there are any."""
    if not tool.loads and not tool.renamed:
        return ""
    name, arguments = tool.node.name, tool.node.args
    has_context = CONTEXT in {each.arg for each in (*arguments.args, *arguments.kwonlyargs)}
    context, passed = (f"{CONTEXT}, ", f"{CONTEXT}={CONTEXT}, ") if has_context else ("", "")
    value, reader = "arguments", ""
    if tool.renamed:
        value = f"{{{dict(tool.renamed)}.get(name, name): each for name, each in arguments.items()}}"
    if tool.loads:
        value, reader = reading(tool.loads, value), f"{_READER}\n\n"
    return (
        f"{reader}def {name}{READ}({context}**arguments):\n"
        f'    """Call {name} with the types of its parameters."""\n'
        f"    return {name}({passed}**{value})\n"
    )


def _left_out(module: Module, name: str, reason: str, node: ast.AST) -> LeftOut:
    return LeftOut(name=name, reason=reason, place=_place(module, node))


def _place(module: Module, node: ast.AST) -> str:
    return f"{module.path}:{getattr(node, 'lineno', 1)}:{getattr(node, 'col_offset', 0) + 1}"
