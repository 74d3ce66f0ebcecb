"""Write a typed client as a Python module, with ``TypedDict`` types or with Pydantic models."""

from __future__ import annotations

import keyword
import re
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolc.client.typed.identifiers import Names, variable_name
from toolc.client.typed.types import (
    Alias,
    Definition,
    Field,
    ListOf,
    Literals,
    MapOf,
    Named,
    Primitive,
    Record,
    TupleOf,
    Type,
    TypedTool,
    Union,
    union,
)
from toolc.dataclass import dataclass
from toolc.model.registry_io import canonical

WIDTH: Final = 110
"""The maximum length of a line, below 120, which is a common limit of linters."""

_KINDS: Final = {
    "any": "Any", "never": "Any", "null": "None", "boolean": "bool", "integer": "int", "number": "float",
    "string": "str",
}  # fmt: skip

IMPORTED: Final = frozenset(
    {
        "Any", "AsyncCaller", "AsyncTools", "BaseModel", "Caller", "ConfigDict", "Executor", "Field", "Literal",
        "NotRequired", "OMITTED", "Omitted", "REGISTRY", "SURFACES", "ToolCallError", "ToolResult", "Tools",
        "TypeAdapter", "TypeAlias", "TypeAliasType", "TypedDict", "annotations", "cache",
    }
)  # fmt: skip
"""The names that every module has in addition to its own types."""

RESERVED: Final = IMPORTED | {
    "bool",
    "dict",
    "float",
    "int",
    "list",
    "str",
    "self",
    "_adapter",
    "_caller",
    *keyword.kwlist,
}
"""The names that neither a type nor a method may have, because an annotation below a method would mean the method."""

_MODEL_ATTRIBUTES: Final = frozenset(
    {
        "construct", "copy", "dict", "from_orm", "json", "parse_file", "parse_obj", "parse_raw", "schema",
        "schema_json", "update_forward_refs", "validate",
    }
)  # fmt: skip
"""The public attributes of Pydantic's ``BaseModel`` that do not start with ``model_``."""


def module(digest: str, tools: Sequence[TypedTool], definitions: Sequence[Definition], *, models: bool = False) -> str:
    """Return the text of a module without its first line. With ``models``, records are Pydantic models."""
    return _Module(digest, tools, definitions, models).text()


@dataclass(frozen=True, slots=True)
class _Module:
    digest: str
    tools: Sequence[TypedTool]
    definitions: Sequence[Definition]
    models: bool

    def text(self) -> str:
        names = Names(RESERVED | self._type_names)
        methods = {tool.name: names.unique(_identifier(tool.name)) for tool in self.tools}
        parts = [
            _HEADER,
            *self._imports(),
            "",
            f"REGISTRY = {self.digest!r}",
            "SURFACES = {",
            *(f"    {tool.name!r}: {tool.surface_digest!r}," for tool in self.tools),
            "}",
            *(line for each in self.definitions for line in ("", "", *self._definition(each))),
            *(_ADAPTER if self.models else ()),
            *(line for is_async in (False, True) for line in ("", "", *self._client(methods, is_async=is_async))),
        ]
        return "\n".join(parts) + "\n"

    @property
    def _type_names(self) -> frozenset[str]:
        return frozenset(each.name for each in self.definitions)

    def _imports(self) -> Iterator[str]:
        if self.models:
            yield "from functools import cache"
        yield "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict"
        yield ""
        if self.models:
            yield "from pydantic import BaseModel, ConfigDict, Field, TypeAdapter"
            yield "from typing_extensions import TypeAliasType"
            yield ""
        yield "from toolc import Executor, ToolResult"
        yield "from toolc.client.typed.runtime import OMITTED, AsyncCaller, Caller, Omitted, ToolCallError"

    def _definition(self, definition: Definition) -> Iterator[str]:
        if isinstance(definition, Record):
            return self._model(definition) if self.models else _typed_dict(definition)
        return self._alias(definition)

    def _alias(self, alias: Alias) -> Iterator[str]:
        kind = repr(type_text(alias.type))
        if self.models:  # Pydantic needs its own type for a recursive alias
            yield f"{alias.name} = TypeAliasType({alias.name!r}, {kind})"
        else:
            yield f"{alias.name}: TypeAlias = {kind}"
        if alias.description:
            yield from docstring(alias.description, "")

    def _model(self, record: Record) -> Iterator[str]:
        yield f"class {record.name}(BaseModel):"
        if record.description:
            yield from docstring(record.description, "    ")
            yield ""
        yield f"    model_config = ConfigDict(extra={'allow' if record.is_open else 'ignore'!r}, populate_by_name=True)"
        names = Names(RESERVED | self._type_names)
        for each in record.fields:
            yield ""
            yield from self._model_field(each, names)

    def _model_field(self, field: Field, names: Names) -> Iterator[str]:
        attribute = variable_name(field.name).lstrip("_") or "value"
        if attribute in _MODEL_ATTRIBUTES or attribute.startswith("model_") or attribute[0].isdigit():
            attribute = f"field_{attribute}"
        attribute = names.unique(_identifier(attribute))
        kind = type_text(field.type if field.required else union([field.type, Primitive("null")]))
        options = [] if field.required else ["default=None"]
        if attribute != field.name:
            options.append(f"alias={field.name!r}")
        value = f" = Field({', '.join(options)})" if attribute != field.name else "" if field.required else " = None"
        yield f"    {attribute}: {kind}{value}"
        if text := _about(field):
            yield from docstring(text, "    ")

    def _client(self, methods: Mapping[str, str], *, is_async: bool) -> Iterator[str]:
        prefix = "Async" if is_async else ""
        yield f"class {prefix}Tools:"
        yield '    """Call the tools with an executor' + (" in coroutines" if is_async else "") + '."""'
        yield ""
        yield "    def __init__(self, executor: Executor) -> None:"
        yield f"        self._caller = {prefix}Caller(executor, REGISTRY, SURFACES)"
        for tool in self.tools:
            yield ""
            yield from self._method(tool, methods[tool.name], is_async=is_async)

    def _method(self, tool: TypedTool, name: str, *, is_async: bool) -> Iterator[str]:
        names = Names({"self", "others"})
        parameters = {each.name: names.unique(_identifier(each.name)) for each in tool.arguments.fields}
        signature = ["self", *(["*"] if parameters else [])]
        signature += [_parameter(each, parameters[each.name]) for each in tool.arguments.fields]
        signature += ["**others: Any"] if tool.arguments.is_open else []
        returned = "ToolResult" if tool.result is None else type_text(tool.result)
        start, await_ = ("async def", "await ") if is_async else ("def", "")
        yield from _signature(f"    {start} {name}", signature, returned)
        yield from docstring(_documentation(tool, parameters), "        ")
        passed = [f"{argument!r}: {parameter}" for argument, parameter in parameters.items()]
        passed = ["**others", *passed] if tool.arguments.is_open else passed
        call = f"({tool.name!r}, {{{', '.join(passed)}}}"
        if tool.result is None:
            yield f"        return {await_}self._caller.result{call})"
            return
        data = f"{await_}self._caller.data{call})"
        if self.models:
            data = f"_adapter({type_text(tool.result)}).validate_python({data})"
        yield f"        data: {returned} = {data}"
        yield "        return data"


def type_text(kind: Type) -> str:
    """Return a type as a Python expression."""
    match kind:
        case Primitive():
            return _KINDS[kind.kind]
        case Literals():
            return f"Literal[{', '.join(map(repr, kind.values))}]"
        case ListOf():
            return f"list[{type_text(kind.item)}]"
        case TupleOf():  # a list at run time
            return f"list[{type_text(union([*kind.items, *([kind.rest] if kind.rest else [])]))}]"
        case MapOf():
            return f"dict[str, {type_text(kind.value)}]"
        case Union():
            return " | ".join(map(type_text, kind.options))
        case Named():
            return kind.name


def docstring(text: str, indent: str) -> list[str]:
    """Return the lines of a docstring for any text. Invisible characters are escaped."""
    escaped = re.sub(r'"(?=""|"?\Z)', r"\"", text.replace("\\", "\\\\"))
    escaped = re.sub(r"[^\n -~]", lambda match: match[0] if match[0].isprintable() else _escape(match[0]), escaped)
    lines = [line for each in escaped.splitlines() for line in _wrapped(each, WIDTH - len(indent))]
    first, *others = lines or ["."]
    if not others:
        return [f'{indent}"""{first}"""']
    return [f'{indent}"""{first}', *(f"{indent}{line}".rstrip() for line in others), f'{indent}"""']


def _wrapped(line: str, width: int) -> list[str]:
    """Wrap a line at ``width`` characters and keep its indentation. Longer words are not split."""
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ) or [""]


def _identifier(name: str) -> str:
    identifier = variable_name(name)
    return f"{identifier}_" if keyword.iskeyword(identifier) else identifier


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _typed_dict(record: Record) -> Iterator[str]:
    if all(_is_plain(each.name) for each in record.fields):
        yield f"class {record.name}(TypedDict):"
        if record.description:
            yield from docstring(record.description, "    ")
        if not record.fields:
            yield "    pass"
        for each in record.fields:
            kind = type_text(each.type)
            yield f"    {each.name}: {kind if each.required else f'NotRequired[{kind}]'}"
            if text := _about(each):
                yield from docstring(text, "    ")
        return
    yield f"{record.name} = TypedDict("
    yield f"    {record.name!r},"
    yield "    {"
    for each in record.fields:
        kind = repr(type_text(each.type))
        yield f"        {each.name!r}: {kind if each.required else f'NotRequired[{kind}]'},"
    yield "    },"
    yield ")"
    fields = [f"{each.name}: {text}" for each in record.fields if (text := _about(each))]
    if described := [*([record.description] if record.description else []), *fields]:
        yield from docstring("\n".join(described), "")


def _is_plain(name: str) -> bool:
    """Return whether a name can be a field of a class. It must not be reserved, be mangled, or hide a type."""
    is_identifier = name.isidentifier() and unicodedata.normalize("NFKC", name) == name
    return is_identifier and not name.startswith("__") and name not in RESERVED and not name[:1].isupper()


def _about(field: Field) -> str:
    default = f"Default: {canonical(field.default[0]).decode()}" if field.default else ""
    return "\n".join(text for text in (field.description, default) if text)


def _parameter(field: Field, name: str) -> str:
    kind = type_text(field.type)
    return f"{name}: {kind}" if field.required else f"{name}: {kind} | Omitted = OMITTED"


def _signature(start: str, parameters: Sequence[str], returned: str) -> Iterator[str]:
    line = f"{start}({', '.join(parameters)}) -> {returned}:"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"{start}("
    yield from (f"        {each}," if not each.startswith("**") else f"        {each}" for each in parameters)
    yield f"    ) -> {returned}:"


def _documentation(tool: TypedTool, parameters: Mapping[str, str]) -> str:
    lines = [tool.description]
    about = [(parameters[each.name], _about(each)) for each in tool.arguments.fields]
    if described := [(name, text) for name, text in about if text]:
        lines += ["", "Args:"]
        for name, text in described:
            first, *others = f"{name}: {text}".splitlines()
            lines += [f"    {first}", *(f"        {line}" for line in others)]
    return "\n".join(lines)


_ADAPTER: Final = ("", "", "@cache", "def _adapter(kind: Any) -> Any:", "    return TypeAdapter(kind)")
_HEADER: Final = '''\
# ruff: noqa
"""A typed client of tools. Do not edit it; ``toolc build --client`` writes it again."""

from __future__ import annotations
'''
