"""Convert type hints in source code to JSON Schema, and to code that creates their values from JSON."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolc.compiler.text_analysis.docstrings import read_docstring
from toolc.dataclass import dataclass, replace
from toolc.importers.python.modules import LeftOutError, Module, Modules, framework_of
from toolc.model.json_schema import JsonObject, JsonValue

READ: Final = "_from_json"
"""The function in generated code that converts the values of some names."""

_PLAIN: Final = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_TYPING: Final = ("typing.", "typing_extensions.", "collections.abc.", "types.", "builtins.")
_LISTS: Final = frozenset({"list", "List", "Sequence", "Iterable", "Collection", "MutableSequence"})
_MAPS: Final = frozenset({"dict", "Dict", "Mapping", "MutableMapping"})
_SETS: Final = {"set": "set", "Set": "set", "frozenset": "frozenset", "FrozenSet": "frozenset", "AbstractSet": "set"}
_TEXTS: Final[Mapping[str, tuple[str | None, str]]] = {
    "pathlib.Path": (None, "{}"), "pathlib.PurePath": (None, "{}"), "uuid.UUID": ("uuid", "{}"),
    "datetime.datetime": ("date-time", "{}.fromisoformat"), "datetime.date": ("date", "{}.fromisoformat"),
}  # fmt: skip
"""Types that JSON has as text: the format, and the code that reads the text."""

_KEYWORDS: Final = {
    "description": "description", "title": "title", "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum",
    "lt": "exclusiveMaximum", "multiple_of": "multipleOf", "pattern": "pattern", "regex": "pattern",
}  # fmt: skip
_KINDS: Final = {"enum.Enum": "enum", "enum.StrEnum": "enum", "enum.IntEnum": "enum", "pydantic.BaseModel": "model"}


@dataclass(frozen=True, slots=True)
class Hint:
    """The schema of a hint.

    ``load`` is the code of a function that converts the JSON value, or empty if none is needed.
    """

    schema: JsonObject
    load: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """The default of a field or parameter: whether there is one, and its JSON value unless that is null."""

    exists: bool = False
    keywords: JsonObject


NO_DEFAULT: Final = Default(keywords={})


@dataclass(frozen=True, slots=True)
class Hints:
    """Reads the hints in a module. ``classes`` are the classes that enclose the hint, to detect recursive classes."""

    modules: Modules
    module: Module
    classes: tuple[str, ...] = ()

    def read(self, node: ast.expr) -> Hint:
        """Convert a hint. Raises ``LeftOutError``."""
        match node:
            case ast.Constant(value=None):
                return Hint({"type": "null"})
            case ast.Constant(value=str(text)):
                return self.read(self.quoted(text, node))
            case ast.BinOp(op=ast.BitOr()):
                return self._union([node.left, node.right], node)
            case ast.Subscript():
                inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                return self._generic(self._name(node.value), inner, node)
            case _:
                return self._generic(self._name(node), [], node)

    def quoted(self, text: str, node: ast.expr) -> ast.expr:
        """Return the expression in a quoted hint."""
        try:
            found = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            raise self._refused(node) from None
        for each in ast.walk(found):
            ast.copy_location(each, node)
        return found

    def metadata(self, note: ast.expr, schema: JsonObject) -> JsonObject:
        """Return the keywords that an argument of ``Annotated`` adds to a schema. Raises ``LeftOutError``."""
        match note:
            case ast.Constant(value=str(text)):
                return {"description": text}
            case ast.Call(func=function) if self._name(function) == "pydantic.Field":
                return self._field_keywords(note, schema)
            case ast.Dict():
                value = _literal(note)
                return value if isinstance(value, dict) else {}
            case _:
                name = self._name(note.func if isinstance(note, ast.Call) else note)
                if framework_of(name):
                    raise LeftOutError(f"only {framework_of(name)} can fill in {self.module.written(note)}", note)
                return {}

    def default(self, value: ast.expr | None) -> Default:
        """Return the default that an expression declares, which may be ``Field(...)`` or ``field(...)``."""
        if value is None:
            return NO_DEFAULT
        if isinstance(value, ast.Call) and self._name(value.func).rpartition(".")[2] in {"Field", "field"}:
            inner = value.args[0] if value.args else _keyword(value, "default")
            if inner is None or _is_ellipsis(inner):
                return Default(exists=_keyword(value, "default_factory") is not None, keywords={})
            value = inner
        found = _literal(value)
        return Default(exists=True, keywords={} if found is None else {"default": found})

    def _generic(self, name: str, inner: Sequence[ast.expr], node: ast.expr) -> Hint:
        short = next((name.removeprefix(each) for each in _TYPING if name.startswith(each)), name)
        if short in _PLAIN:
            return Hint({"type": _PLAIN[short]})
        if short in {"Any", "object"}:
            return Hint({})
        if short in {"Annotated", "Required", "NotRequired", "Final", "ReadOnly"} and inner:
            hint = self.read(inner[0])
            for note in inner[1:]:
                hint = replace(hint, schema=hint.schema | self.metadata(note, hint.schema))
            return hint
        if short == "Optional":
            return self._union([*inner, ast.copy_location(ast.Constant(None), node)], node)
        if short == "Union":
            return self._union(inner, node)
        if short == "Literal":
            return Hint(_choices([_literal(each) for each in inner], node))
        return self._container(short, inner, node) or self._named(name, node)

    def _container(self, name: str, inner: Sequence[ast.expr], node: ast.expr) -> Hint | None:
        is_tuple = name in {"tuple", "Tuple"}
        if name in _LISTS or name in _SETS or is_tuple:
            if is_tuple and inner and not (len(inner) == 2 and _is_ellipsis(inner[1])):
                raise LeftOutError("a tuple of a fixed length has no JSON form; use tuple[T, ...] or a list", node)
            items = self.read(inner[0]) if inner else Hint({})
            schema: JsonObject = {"type": "array"}
            schema |= {"items": items.schema} if inner else {}
            schema |= {"uniqueItems": True} if name in _SETS else {}
            load = f"lambda value: [{_called(items.load, 'each')} for each in value]" if items.load else ""
            outer = _SETS.get(name, "tuple" if is_tuple else "")
            both = f"lambda value: {outer}({_called(load, 'value')})" if load and outer else load or outer
            return Hint(schema, both)
        if name in _MAPS:
            values = self.read(inner[1]) if len(inner) == 2 else Hint({})
            load = f"{{key: {_called(values.load, 'each')} for key, each in value.items()}}"
            mapping: JsonObject = {"type": "object"}
            mapping |= {"additionalProperties": values.schema} if values.schema else {}
            return Hint(mapping, f"lambda value: {load}" if values.load else "")
        return None

    def _named(self, name: str, node: ast.expr) -> Hint:
        """Convert a class or alias of this module, of another module below the folder, or of a library."""
        if name in _TEXTS:
            text_format, load = _TEXTS[name]
            schema: JsonObject = {"type": "string"}
            schema |= {"format": text_format} if text_format else {}
            return Hint(schema, load.format(self.module.written(node)))
        found = self.module.definitions.get(name) if "." not in name else None
        hints = self
        if found is None and (place := self.modules.find(name)):
            found = place[0].definitions.get(place[1])
            hints = replace(self, module=place[0])
        if isinstance(found, ast.ClassDef):
            hint = hints.class_hint(found, self.module.written(node))
            if hint.load and hints.module is not self.module and READ in hint.load:
                raise LeftOutError(f"{found.name}, in another file, has fields with classes; use Pydantic for it", node)
            return hint
        if isinstance(found, ast.Assign | ast.AnnAssign) and found.value is not None:
            return hints.read(found.value)
        if framework := framework_of(name):
            raise LeftOutError(f"a {self.module.written(node)} exists only in {framework}", node)
        raise self._refused(node)

    def class_hint(self, node: ast.ClassDef, written: str) -> Hint:
        """Convert a class that the source defines. ``written`` is its name in the source."""
        kind = self._kind(node)
        if kind == "enum":
            values = [each.value for each in node.body if isinstance(each, ast.Assign)]
            return Hint(_choices([_literal(each) for each in values], node), written)
        if not kind:
            raise LeftOutError(f"{node.name} has no JSON form; make it a dataclass, a TypedDict or a model", node)
        if node.name in self.classes:
            raise LeftOutError(f"{node.name} contains itself", node)
        inner = replace(self, classes=(*self.classes, node.name))
        fields = dict(inner.fields(node))
        schema = object_schema(fields)
        loads = {name: hint.load for name, (hint, _) in fields.items() if hint.load}
        if kind == "model":
            return Hint(schema, f"{written}.model_validate")
        if kind == "dict":
            return Hint(schema, f"lambda value: {READ}({_map(loads)}, value)" if loads else "")
        return Hint(schema, f"lambda value: {written}(**{f'{READ}({_map(loads)}, value)' if loads else 'value'})")

    def fields(self, node: ast.ClassDef) -> Iterator[tuple[str, tuple[Hint, bool]]]:
        """Yield each field of a class and its bases, with the hint and whether it is required."""
        for base in node.bases:
            if isinstance(parent := self.module.definitions.get(self._name(base)), ast.ClassDef):
                yield from self.fields(parent)
        described = read_docstring(ast.get_docstring(node)).arguments
        is_total = not any(each.arg == "total" and _literal(each.value) is False for each in node.keywords)
        for each in node.body:
            if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
                continue
            name, outer = each.target.id, self._outer(each.annotation)
            if outer == "ClassVar" or name.startswith("_"):
                continue
            hint, default = self.parameter(each.annotation, each.value, described.get(name, ""))
            is_required = not default.exists and (is_total or outer == "Required") and outer != "NotRequired"
            alias = _keyword(each.value, "alias") if isinstance(each.value, ast.Call) else None
            yield str(_literal(alias)) if alias is not None else name, (hint, is_required)

    def parameter(self, annotation: ast.expr, value: ast.expr | None, description: str) -> tuple[Hint, Default]:
        """Return the hint of a field or parameter, including description and default, and the default."""
        hint = self.read(annotation)
        schema = hint.schema
        if isinstance(value, ast.Call) and self._name(value.func) == "pydantic.Field":
            schema = schema | self._field_keywords(value, schema)
        if description and "description" not in schema:
            schema = schema | {"description": description}
        default = self.default(value)
        return replace(hint, schema=schema | default.keywords), default

    def _kind(self, node: ast.ClassDef) -> str:
        decorators = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
        if any(self._name(each).endswith("dataclasses.dataclass") for each in decorators):
            return "dataclass"
        for base in node.bases:
            name = self._name(base)
            if name.endswith(".TypedDict"):
                return "dict"
            parent = self.module.definitions.get(name)
            if kind := _KINDS.get(name) or (self._kind(parent) if isinstance(parent, ast.ClassDef) else ""):
                return kind
        return ""

    def _outer(self, node: ast.expr) -> str:
        return self._name(node.value if isinstance(node, ast.Subscript) else node).rpartition(".")[2]

    def _union(self, nodes: Sequence[ast.expr], node: ast.expr) -> Hint:
        members = [self.read(each) for each in nodes]
        loads = [each.load for each in members if each.load]
        others = [each.schema.get("type") for each in members if not each.load]
        if len(loads) > 1 or (loads and any(each != "null" for each in others)):
            raise LeftOutError("a union with a class can add only None, because JSON does not say which it is", node)
        load = f"lambda value: None if value is None else {_called(loads[0], 'value')}" if loads else ""
        kinds = [each.schema.get("type") for each in members]
        if all(len(each.schema) == 1 for each in members) and all(isinstance(each, str) for each in kinds):
            return Hint({"type": [*kinds]}, load)
        if len(members) == 2 and kinds[1] == "null" and isinstance(kinds[0], str) and "enum" not in members[0].schema:
            return Hint(members[0].schema | {"type": [kinds[0], "null"]}, load)
        return Hint({"anyOf": [each.schema for each in members]}, load)

    def _field_keywords(self, call: ast.Call, schema: JsonObject) -> JsonObject:
        unit = "Items" if schema.get("type") == "array" else "Length"
        names = _KEYWORDS | {"min_length": f"min{unit}", "max_length": f"max{unit}"}
        found = {names[each.arg]: _literal(each.value) for each in call.keywords if each.arg in names}
        return {key: value for key, value in found.items() if value is not None}

    def _name(self, node: ast.expr) -> str:
        return self.module.origin(node)

    def _refused(self, node: ast.expr) -> LeftOutError:
        return LeftOutError(f"the type {self.module.written(node)[:80]} has no JSON form that toolc knows", node)


def object_schema(fields: Mapping[str, tuple[Hint, bool]]) -> JsonObject:
    """Return the schema of an object with exactly these properties. Each says whether it is required."""
    required: list[JsonValue] = [name for name, (_, is_required) in fields.items() if is_required]
    properties: JsonObject = {name: hint.schema for name, (hint, _) in fields.items()}
    needed: JsonObject = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def reading(loads: Mapping[str, str], value: str) -> str:
    """Return code that converts the values of these keys of a dict."""
    return f"{READ}({_map(loads)}, {value})"


def _map(loads: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": {load}' for name, load in loads.items()) + "}"


def _called(load: str, value: str) -> str:
    return value if not load else f"({load})({value})" if load.startswith("lambda") else f"{load}({value})"


def _choices(values: Sequence[object], node: ast.AST) -> JsonObject:
    plain: list[JsonValue] = [each for each in values if isinstance(each, str | int | float | bool)]
    if not plain or len(plain) != len(values):
        raise LeftOutError("its values are not all constant texts, numbers or booleans", node)
    kinds = {_PLAIN[type(each).__name__] for each in plain}
    return ({"type": kinds.pop()} if len(kinds) == 1 else {}) | {"enum": plain}


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


def _literal(node: ast.expr) -> JsonValue:
    """Return the value of a constant expression, or None if it has no JSON value."""
    try:
        value: JsonValue = json.loads(json.dumps(ast.literal_eval(node)))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...
