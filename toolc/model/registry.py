"""The contents of ``registry.json``, which contains everything that a call needs, and its JSON form.

The compiler writes a registry and the runtime reads it. They share nothing else. The JSON form follows the types of
``toolc.model.spec.tool`` field by field, with three exceptions. A value of a tagged union is written as ``{tag:
{...}}``. A template is a string, a list of its parts, or ``{"public": ..., "reason": ...}``. A field with the metadata
``stored_if_set`` is written only if it differs from its default, so that it changes no existing digest.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Final, Literal, Union, get_args, get_origin

from toolc.dataclass import dataclass, field, replace
from toolc.model.errors import RegistryError
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.declared import type_hints
from toolc.model.spec.policy import Policy
from toolc.model.spec.sandbox import Lifetime
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Template

REGISTRY_FORMAT: Final = 1
"""The value of the ``registry`` key that this version of toolc writes and reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredTool:
    """A tool in a registry, with the digests that were reviewed.

    ``effect_digest`` is empty for a tool that the embedding program defines, which cannot be reviewed. If the tool was
    compiled from a spec to be written to a registry, ``stored`` has the bytes of its entry in the file. ``policies``
    are those of its project files, as far as only the runtime can apply them. A registry file does not have them.
    """

    spec: ToolSpec
    surface_digest: str
    effect_digest: str
    stored: bytes = field(default=b"", compare=False, repr=False)
    policies: tuple[Policy, ...] = field(default=(), compare=False, repr=False)

    @property
    def is_host_defined(self) -> bool:
        """Whether the embedding program defined the tool, so that it is in no file and was not reviewed."""
        return not self.effect_digest

    def to_json(self) -> JsonObject:
        """Return the value that is stored in the registry."""
        digests: JsonObject = {"surface": self.surface_digest, "effect": self.effect_digest}
        return tool_to_json(self.spec) | {"digests": digests}


@dataclass(frozen=True, slots=True)
class RegistryFile:
    """The contents of a registry file: tools sorted by name, and the names and aliases in each toolset.

    A file without toolsets has no key ``toolsets``, so that files from before toolsets existed stay the same.
    """

    tools: tuple[RegisteredTool, ...]
    toolsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def get(self, name: str) -> RegisteredTool | None:
        """Return the tool with this name, or None."""
        return next((tool for tool in self.tools if tool.spec.name == name), None)

    def with_lifetimes(self, lifetimes: Mapping[str, Sequence[tuple[str, Sequence[Lifetime]]]]) -> RegistryFile:
        """Return the registry with policies: for each tool, their paths and the lifetimes that they allow."""
        policies = {
            name: tuple(Policy(path=path, lifetime=tuple(allowed)) for path, allowed in each)
            for name, each in lifetimes.items()
        }
        return replace(
            self, tools=tuple(replace(tool, policies=policies.get(tool.spec.name, ())) for tool in self.tools)
        )

    def to_json(self) -> JsonObject:
        """Return the value that is stored in the file."""
        value: JsonObject = {"registry": REGISTRY_FORMAT, "tools": [tool.to_json() for tool in self.tools]}
        return value | ({"toolsets": toolsets_to_json(self.toolsets)} if self.toolsets else {})


def toolsets_to_json(toolsets: Mapping[str, Iterable[str]]) -> JsonObject:
    """Return the JSON form of ``toolsets``, with sorted members so that their order does not matter."""
    return {name: [*sorted(set(members))] for name, members in toolsets.items()}


def registry_from_json(value: JsonValue) -> RegistryFile:
    """Read a stored registry, strictly. Raises ``RegistryError``. Digests are not compared here."""
    if not isinstance(value, dict) or "registry" not in value:
        raise RegistryError("this is not a toolc registry: it has no 'registry' key; create one with: toolc build")
    # In Python, true and 1.0 are equal to 1.
    if value["registry"] != REGISTRY_FORMAT or type(value["registry"]) is not int:
        raise RegistryError(
            f"the registry has format {value['registry']!r}, but this toolc reads format {REGISTRY_FORMAT}; "
            "install the toolc that wrote it, or build it again"
        )
    tools = value.get("tools")
    if not isinstance(tools, list):
        raise RegistryError("the registry has no list of tools; build it again")
    if unknown := sorted(value.keys() - {"registry", "tools", "toolsets"}):
        raise RegistryError(f"the registry has the unknown key {unknown[0]!r:.60}; build it again")
    entries = tuple(_entry_from_json(tool, f"tools[{index}]") for index, tool in enumerate(tools))
    return RegistryFile(entries, _toolsets_from_json(value.get("toolsets", {}), entries))


def tool_to_json(tool: ToolSpec) -> JsonObject:
    """Return the fields of a tool as JSON, including defaults."""
    return _encode_fields(tool, _shape(ToolSpec))


def _toolsets_from_json(value: JsonValue, tools: Iterable[RegisteredTool]) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise _damaged("toolsets", "an object", value)
    known = {name for tool in tools for name in (tool.spec.name, *tool.spec.aliases)}
    toolsets: dict[str, tuple[str, ...]] = {}
    for name, members in value.items():
        if not isinstance(members, list):
            raise _damaged(f"toolsets.{name:.60}", "a list", members)
        for index, member in enumerate(members):
            if not isinstance(member, str) or member not in known:
                raise _damaged(f"toolsets.{name:.60}[{index}]", "the name of one of its tools", member)
        toolsets[name] = tuple(map(str, members))
    return toolsets


def _entry_from_json(value: JsonValue, where: str) -> RegisteredTool:
    if not isinstance(value, dict):
        raise _damaged(where, "an object", value)
    digests = value.get("digests")
    if not isinstance(digests, dict):
        raise _damaged(f"{where}.digests", "an object", digests)
    if unknown := sorted(digests.keys() - {"surface", "effect"}):
        raise RegistryError(f"{where}.digests has the unknown key {unknown[0]!r:.60}; build it again")
    rest: JsonObject = {name: each for name, each in value.items() if name != "digests"}
    spec = _decode_dataclass(ToolSpec, rest, where)
    assert isinstance(spec, ToolSpec)
    return RegisteredTool(
        spec=spec, surface_digest=str(digests.get("surface")), effect_digest=str(digests.get("effect"))
    )


def _encode(value: object) -> JsonValue:
    if isinstance(value, Template):
        return _encode_template(value)
    if isinstance(value, tuple):
        return [_encode(item) for item in value] if value else []
    if isinstance(value, Schema):
        return value.value
    if isinstance(value, float):  # RFC 8785 writes 1.0 as 1. A double is exact below 2**53.
        return int(value) if value.is_integer() and abs(value) < 1 << 53 else value
    if value is None or isinstance(value, (str, int, list, dict)):
        return value
    cls: type = type(value)
    shape = _shape(cls)
    body = _encode_fields(value, shape)
    return body if shape.tag is None else {shape.tag: body}


def _encode_template(template: Template) -> JsonValue:
    parts = template.parts
    if template.public is not None:
        return {"public": _encode(parts[0]), "reason": template.public}
    if len(parts) == 1 and isinstance(parts[0], str):
        return parts[0]
    return [_encode(part) for part in parts] or ""


def _encode_fields(value: object, shape: _Shape) -> JsonObject:
    body: JsonObject = {name: getattr(value, name) for name in shape.names}
    for name, default in shape.stored_if_set.items():
        if body[name] == default:
            del body[name]
    for name in shape.composed:
        if body.get(name) is not None:
            body[name] = _encode(body[name])
    return body


@dataclass(frozen=True, slots=True)
class _Shape:
    """How the values of a dataclass are stored. The fields in ``composed`` must be encoded, and the others are copied.

    ``stored_if_set`` has the defaults of the fields that are omitted if they have their default. Values of the types in
    ``as_stored`` are read unchanged, which most fields are.
    """

    names: tuple[str, ...]
    composed: tuple[str, ...]
    stored_if_set: Mapping[str, object]
    as_stored: Mapping[str, tuple[object, ...]]
    tag: str | None


@cache
def _shape(cls: type) -> _Shape:
    if not is_dataclass(cls):
        raise TypeError(f"{cls.__name__} has no JSON form")
    names, tag = _names(cls), getattr(cls, "tag", None)
    composed = tuple(name for name in names if not _is_plain(type_hints(cls)[name]))
    optional = {each.name: each.default for each in fields(cls) if _is_stored_if_set(each.metadata)}
    as_stored = {name: _stored_types(type_hints(cls)[name]) for name in names}
    return _Shape(names, composed, optional, as_stored, tag if isinstance(tag, str) else None)


def _stored_types(hint: object) -> tuple[object, ...]:
    members = get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)
    return tuple(each for each in (str, int, bool, type(None)) if each in members)


def _is_stored_if_set(metadata: Mapping[str, object]) -> bool:
    return bool(getattr(metadata.get("key"), "stored_if_set", metadata.get("stored_if_set")))


def _is_plain(hint: object) -> bool:
    """Return whether every value of this type is stored unchanged."""
    if get_origin(hint) in {Union, types.UnionType}:
        return all(map(_is_plain, get_args(hint)))
    return hint in {str, int, bool, type(None)} or get_origin(hint) is Literal


@cache
def _names(cls: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(cls))


_origin: Final[Callable[[object], object]] = cache(get_origin)
_arguments: Final[Callable[[object], tuple[object, ...]]] = cache(get_args)


def _decode(hint: object, value: JsonValue, where: str) -> object:
    origin = _origin(hint)
    if hint is Schema and isinstance(value, dict):
        return Schema(value)
    if hint is Template:
        return _decode_template(value, where)
    if origin is tuple:
        return _decode_tuple(_arguments(hint), value, where)
    if origin is dict and isinstance(value, dict):
        return value
    if origin is Literal and value in _arguments(hint):
        return value
    if origin in {Union, types.UnionType}:
        return _decode_union(_arguments(hint), value, where)
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type):
        if is_dataclass(hint):
            return _decode_dataclass(hint, value, where)
        if isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
            return value
    raise _damaged(where, str(getattr(hint, "__name__", hint)), value)


def _decode_template(value: JsonValue, where: str) -> Template:
    if isinstance(value, str):
        return Template((value,) if value else ())
    if isinstance(value, dict):
        return _decode_public(value, where)
    decoded = _decode(type_hints(Template)["parts"], value, where)
    assert isinstance(decoded, tuple)
    return Template(decoded)


def _decode_public(value: JsonObject, where: str) -> Template:
    public, reason = value.get("public"), value.get("reason")
    if set(value) != {"public", "reason"} or not isinstance(public, str) or not isinstance(reason, str):
        raise _damaged(where, "an object with the keys public, reason", value)
    return Template((public,), reason)


def _decode_tuple(items: tuple[object, ...], value: JsonValue, where: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise _damaged(where, "a list", value)
    if items[-1] is not Ellipsis and len(value) != len(items):
        raise _damaged(where, f"a list of {len(items)}", value)
    return tuple(_decode(items[0], item, f"{where}[{index}]") for index, item in enumerate(value))


def _decode_union(members: tuple[object, ...], value: JsonValue, where: str) -> object:
    if any(_origin(member) is dict for member in members):
        return value
    if value is None and type(None) in members:
        return None
    tagged, plain = _alternatives(members)
    if isinstance(value, dict) and len(value) == 1 and (key := next(iter(value))) in tagged:
        return _decode(tagged[key], value, where)
    if isinstance(value, str) and str in members:
        return value
    if len(plain) == 1:
        return _decode(plain[0], value, where)
    raise _damaged(where, " or ".join(sorted(tagged)) or "another value", value)


@cache
def _alternatives(members: tuple[object, ...]) -> tuple[Mapping[str, object], tuple[object, ...]]:
    """Return the members with a tag by their tags, and the others except None and strings."""
    # A file must not be able to name a function of the process that reads it.
    members = tuple(member for member in members if member is not HostFunction)
    tagged = {str(getattr(member, "tag")): member for member in members if hasattr(member, "tag")}  # noqa: B009
    return tagged, tuple(member for member in members if member not in {type(None), str, *tagged.values()})


def _decode_dataclass(cls: type, value: JsonValue, where: str) -> object:
    tag = getattr(cls, "tag", None)
    if isinstance(tag, str):
        if not isinstance(value, dict) or set(value) != {tag}:
            raise _damaged(where, f"an object with the key {tag!r}", value)
        value, where = value[tag], f"{where}.{tag}"
    hints = type_hints(cls)
    shape = _shape(cls)
    if not isinstance(value, dict) or not set(shape.names) - set(shape.stored_if_set) <= set(value) <= set(shape.names):
        raise _damaged(where, f"an object with the keys {', '.join(shape.names)}", value)
    as_stored = shape.as_stored
    result: object = cls(**{
        name: each if type(each) in as_stored[name] else _decode(hints[name], each, f"{where}.{name}")
        for name, each in value.items()
    })  # fmt: skip
    return result


def _damaged(where: str, expected: str, got: JsonValue) -> RegistryError:
    return RegistryError(f"the registry is damaged at {where}: expected {expected}, found {got!r:.60}; build it again")
