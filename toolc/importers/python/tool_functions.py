"""Find the functions of a file that are tools, and read their decorators, signatures and docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from toolc.compiler.schema.parameters import RESERVED
from toolc.compiler.text_analysis.docstrings import Docstring, read_docstring
from toolc.dataclass import dataclass
from toolc.importers.definitions import HINTS
from toolc.importers.python.extract import Edit
from toolc.importers.python.hints import Default, Hint, Hints, object_schema
from toolc.importers.python.modules import Function, LeftOutError, Module, Modules, framework_of
from toolc.model.json_schema import JsonObject, JsonValue

CONTEXT: Final = "ctx"
"""The parameter that receives the context of the call from toolc, if it has no type of a framework."""

_DECORATORS: Final = frozenset({"tool", "function_tool"})
_NAMES: Final = ("name", "name_override", "name_or_callable")
_DESCRIPTIONS: Final = ("description", "description_override")
_REFUSED: Final[Mapping[str, JsonValue]] = {
    "response_format": "content_and_artifact", "infer_schema": False, "enabled": False, "is_enabled": False,
}  # fmt: skip
"""Arguments of decorators that change how a function is called, with the value that does so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFunction:
    """A function with its ``definition``, which has the keys of a spec except the backend.

    ``loads`` has the code that converts each argument from JSON. ``renamed`` has the parameters whose names are
    reserved in specs, by their names in the spec. ``edits`` simplify the parameters.
    """

    node: Function
    definition: JsonObject
    loads: Mapping[str, str]
    renamed: Mapping[str, str]
    edits: tuple[Edit, ...]


def chosen_functions(module: Module, name: str | None) -> list[tuple[Function, ast.expr | None]]:
    """Return each function to import, with its decorator of a framework.

    Without a ``name``, return the functions that have such a decorator or, if there are none, all public functions.
    """
    found = [(each, _decorator(module, each)) for each in module.tree.body if isinstance(each, Function)]
    if name is not None:
        return [each for each in found if each[0].name == name]
    decorated = [each for each in found if each[1] is not None]
    if decorated or any(hidden_functions(module)):
        return decorated
    return [each for each in found if not each[0].name.startswith("_")]


def hidden_functions(module: Module) -> Iterator[Function]:
    """Yield the functions inside classes and other functions that have a decorator of a framework."""
    for node in ast.walk(module.tree):
        if isinstance(node, Function) and node not in module.tree.body and _decorator(module, node) is not None:
            yield node


def framework_decorators(module: Module) -> Iterator[Edit]:
    """Yield the removal of each decorator of a framework."""
    for node in module.tree.body:
        if isinstance(node, Function) and (decorator := _decorator(module, node)) is not None:
            yield Edit(node=decorator, text=None)


def tool_function(modules: Modules, module: Module, node: Function, decorator: ast.expr | None) -> ToolFunction:
    """Convert a function to the keys of a spec. Raises ``LeftOutError``."""
    hints = Hints(modules, module)
    said = _Decorator.of(module, decorator)
    docstring = read_docstring(ast.get_docstring(node))
    description = said.text(_DESCRIPTIONS) or docstring.description
    if not description:
        raise LeftOutError("it has no docstring to use as its description", node)
    edits: list[Edit] = []
    fields: dict[str, tuple[Hint, bool]] = {}
    for argument, value in _arguments(node):
        if argument.arg == CONTEXT and argument.annotation is None:
            continue
        hint, default = _parameter(hints, argument, value, docstring)
        fields[argument.arg] = hint, not default.exists
        edits += _edits(module, argument, value, default)
    loads = {name: hint.load for name, (hint, _) in fields.items() if hint.load}
    renamed = {_free_name(name, fields): name for name in fields if name in RESERVED}
    names = {name: new for new, name in renamed.items()}
    schema = object_schema({names.get(name, name): each for name, each in fields.items()})
    if (model := said.named.get("args_schema")) is not None:
        schema, loads, renamed = hints.read(model).schema, {}, {}
    name = said.text(_NAMES) or said.first_text or node.name
    definition: JsonObject = {"name": name}
    definition |= {"label": title} if (title := said.text(("title", "label"))) else {}
    definition |= {"description": description, "parameters": schema}
    definition |= {"annotations": annotations} if (annotations := said.annotations) else {}
    return ToolFunction(node=node, definition=definition, loads=loads, renamed=renamed, edits=tuple(edits))


def _free_name(name: str, fields: Mapping[str, object]) -> str:
    """Return a new name for a parameter whose name is reserved in specs."""
    while name in RESERVED or name in fields:
        name = f"{name}_"
    return name


@dataclass(frozen=True, slots=True)
class _Decorator:
    """The arguments of a decorator."""

    module: Module
    positional: Sequence[ast.expr]
    named: Mapping[str, ast.expr]

    @classmethod
    def of(cls, module: Module, decorator: ast.expr | None) -> _Decorator:
        """Return the arguments of a decorator. Raises ``LeftOutError`` if a spec cannot express one."""
        if not isinstance(decorator, ast.Call):
            return cls(module, (), {})
        named = {each.arg: each.value for each in decorator.keywords if each.arg}
        for key, value in _REFUSED.items():
            given = named.get(key)
            if given is not None and (not isinstance(given, ast.Constant) or given.value == value):
                raise LeftOutError(f"{key}={module.written(given)[:60]} cannot be expressed in a spec", given)
        return cls(module, decorator.args, named)

    @property
    def first_text(self) -> str:
        """The first argument, if it is a string."""
        first = self.positional[0] if self.positional else None
        return self._constant(first) if first is not None else ""

    def text(self, names: Sequence[str]) -> str:
        """Return the value of the first of these arguments that is present, or an empty string."""
        given = next((self.named[name] for name in names if name in self.named), None)
        return self._constant(given) if given is not None else ""

    @property
    def annotations(self) -> JsonObject:
        """The MCP annotations, from a dict or a call of ``ToolAnnotations``."""
        match self.named.get("annotations"):
            case ast.Dict(keys=keys, values=values):
                pairs = [
                    (key.value, value) for key, value in zip(keys, values, strict=True) if isinstance(key, ast.Constant)
                ]
            case ast.Call(keywords=keywords):
                pairs = [(each.arg, each.value) for each in keywords]
            case _:
                return {}
        constant = [(key, each.value) for key, each in pairs if isinstance(each, ast.Constant)]
        return {HINTS[str(key)]: each for key, each in constant if key in HINTS and isinstance(each, bool)}

    def _constant(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name) and isinstance(found := self.module.definitions.get(node.id), ast.Assign):
            return self._constant(found.value)
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str)):
            return node.value or ""
        raise LeftOutError(f"{self.module.written(node)[:60]} is not a constant text", node)


def _decorator(module: Module, node: Function) -> ast.expr | None:
    """Return the decorator that makes a function a tool of a framework."""
    for each in node.decorator_list:
        function = each.func if isinstance(each, ast.Call) else each
        name = module.origin(function)
        base, _, last = name.rpartition(".")
        if last not in _DECORATORS:
            continue
        made = module.definitions.get(base)
        server = (
            module.origin(made.value.func) if isinstance(made, ast.Assign) and isinstance(made.value, ast.Call) else ""
        )
        # An object of another file, such as a server, or a parameter: its method has the name that frameworks use.
        if framework_of(name) or framework_of(server) or (base and made is None):
            return each
    return None


def _arguments(node: Function) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    arguments = node.args
    for each in (*arguments.posonlyargs, arguments.vararg, arguments.kwarg):
        if each is not None:
            raise LeftOutError(f"{each.arg} cannot be passed by its name; declare each parameter", each)
    missing = len(arguments.args) - len(arguments.defaults)
    yield from zip(arguments.args, [*[None] * missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def _parameter(hints: Hints, argument: ast.arg, value: ast.expr | None, docstring: Docstring) -> tuple[Hint, Default]:
    annotation, description = argument.annotation, docstring.arguments.get(argument.arg, "")
    if annotation is None and argument.arg in docstring.types:
        with suppress(LeftOutError):  # a type in words
            quoted = hints.quoted(docstring.types[argument.arg], _placed(argument))
            return hints.parameter(quoted, value, description)
    return hints.parameter(annotation or _placed(argument), value, description)


def _placed(argument: ast.arg) -> ast.expr:
    """Return a hint that accepts any value, at the place of an argument."""
    return ast.copy_location(ast.Name("object", ast.Load()), argument)


def _edits(module: Module, argument: ast.arg, value: ast.expr | None, default: Default) -> Iterator[Edit]:
    """Yield the edits that simplify a parameter: a hint without metadata, and a default without ``Field``."""
    hint = argument.annotation
    if isinstance(hint, ast.Subscript) and module.origin(hint.value).rpartition(".")[2] == "Annotated":
        inner = hint.slice.elts[0] if isinstance(hint.slice, ast.Tuple) else hint.slice
        yield Edit(node=hint, text=module.written(inner))
    if isinstance(value, ast.Call) and module.origin(value.func) == "pydantic.Field":
        yield Edit(node=value, text=repr(default.keywords.get("default")))
