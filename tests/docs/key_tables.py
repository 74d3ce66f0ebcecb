"""Writes the tables of keys in the reference from the declarations in ``toolc.model.spec``."""

import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from toolc.model import spec
from toolc.model.json_schema import JsonValue
from toolc.model.spec import keys
from toolc.model.spec.code_backends import Public
from toolc.model.spec.declared import Declared, Text, keys_of, keyword_texts, map_class, texts_of
from toolc.model.spec.keys import Kind
from toolc.model.spec.schema_keywords import KEYWORDS

TABLE = re.compile(r"(?<=\n)(<!-- keys: (?P<name>\w+) -->)\n(?:\n?(?:\|[^\n]*\n)+)?")
PLURAL = re.compile(r"^(text|template|map|any value|scalar)\b")
HEAD = "| Key | Type | Default | Meaning | Example |\n|---|---|---|---|---|\n"
WORDS = {
    "boolean": "`true` or `false`", "string": "text", "matching": "text", "expression": "JMESPath", "json": "any value",
    "field": "scalar", "schema": "JSON Schema", "schema or boolean": "JSON Schema, `true` or `false`",
    "above zero": "number above 0", "string or null": "text or `null`",
    **dict.fromkeys(("parameters", "providers", "tool", "defaults"), "map"),
}  # fmt: skip


def with_tables(page: str) -> str:
    """Return a page with the table below each ``<!-- keys: CLASS -->`` written anew."""
    own = {match["name"] for match in TABLE.finditer(page)}
    return TABLE.sub(lambda match: f"{match[1]}\n\n{HEAD}{''.join(rows(match['name'], own - {match['name']}))}", page)


def rows(name: str, own: set[str]) -> Iterator[str]:
    """Yield the rows of a class, and of the maps in it that have no table of their own."""
    if name == "KEYWORDS":
        texts = keyword_texts()
        yield from (row(key, type_of(kind), "", texts[key]) for key, kind in KEYWORDS.items())
    else:
        yield from class_rows(class_named(name), "", own)


def class_rows(cls: type, prefix: str, own: set[str]) -> Iterator[str]:
    texts = texts_of(cls)
    for each in keys_of(cls):
        text = texts[each.field]
        example = text._replace(example=text.example or "true") if each.kind == keys.BOOLEAN else text
        yield row(f"{prefix}{each.name}", type_of(each.kind), default_of(each), example)
        for suffix, inner in maps_in(each.kind):
            if inner.__name__ not in own:
                yield from class_rows(inner, f"{prefix}{each.name}{suffix}.", own)


def row(key: str, kind: str, default: str, text: Text) -> str:
    example = f"`{text.example}`" if text.example else ""
    cells = (f"`{key}`", kind, default, text.sentences.replace("``", "`"), example)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def default_of(key: Declared) -> str:
    if key.default is None:
        return "required" if key.is_required else ""
    return f"`{as_text(key.default)}`"


def as_text(value: JsonValue) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(as_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def maps_in(kind: Kind) -> Iterator[tuple[str, type]]:
    """Yield each map that a value of a kind can contain, with what its keys have before them."""
    if kind.form == "map":
        yield "", map_class(kind)
    suffix = {"list": "[]", "map of": ".NAME"}.get(kind.form, "")
    yield from ((f"{suffix}{inner}", cls) for each in kind.of for inner, cls in maps_in(each))


def type_of(kind: Kind) -> str:
    """Return the type of a value in words."""
    match kind.form:
        case "map" if map_class(kind) is Public:
            return "public value"
        case "list":
            return "list of " + PLURAL.sub(r"\1s", type_of(kind.of[0]))
        case "map of":
            return "map of " + PLURAL.sub(r"\1s", type_of(kind.of[0]))
        case "either":
            return " or ".join(dict.fromkeys(type_of(each) for each in kind.of if each != keys.CONSTANT))
        case "choice":
            return ", ".join(f"`{as_text(option)}`" for option in kind.options)
        case "integer" | "number":
            whole = "whole number" if kind.form == "integer" else "number"
            bounds = [
                f"{word} {bound:,}" for word, bound in (("from", kind.low), ("to", kind.high)) if bound is not None
            ]
            return " ".join([whole, *bounds])
        case form:
            return WORDS.get(form, form)


def class_named(name: str) -> type:
    modules = [import_module(f"toolc.model.spec.{each.name}") for each in iter_modules(spec.__path__)]
    own = (vars(each)[name] for each in modules if name in vars(each))
    found = next(each for each in own if each.__module__.startswith(spec.__name__))  # not the one of dataclasses
    assert isinstance(found, type)
    return found
