"""Convert the parameters and the body of an operation to keys of ``backend.http``, with the styles of OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from toolc.compiler.schema.parameters import RESERVED
from toolc.compiler.templates.parse import WORDS
from toolc.importers.openapi.schemas import Schemas, one_line
from toolc.importers.openapi.source import Document, LeftOutError
from toolc.model.json_schema import JsonObject, JsonValue, map_under

PLACES: Final = {"path": "path", "query": "query", "header": "headers", "cookie": "cookies"}
"""The keys of ``backend.http`` for the places of parameters."""
_IGNORED_HEADERS: Final = frozenset({"accept", "authorization", "content-type"})
"""Parameters with these names have no effect (OpenAPI 3.1, 4.8.12.2)."""
_OWN_HEADERS: Final = frozenset({"connection", "content-length", "host", "transfer-encoding", "upgrade"})
_DEFAULTS: Final = {"path": "simple", "header": "simple", "query": "form", "cookie": "form"}
_COLLECTIONS: Final = {"csv": "form", "ssv": "spaceDelimited", "pipes": "pipeDelimited", "multi": "form"}
"""The styles of Swagger 2."""
_SEPARATORS: Final = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}

_STYLE: Final = frozenset({"style", "explode", "allowReserved"})
_MAX_FIELDS: Final = 80
_NOT_FLAT: Final = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "patternProperties", "minProperties", "nullable"})
_SCALARS: Final = frozenset({"string", "number", "integer", "boolean"})
_JSON: Final = re.compile(r"(?:application|text)/(?:[\w.+-]+\+)?json|\*/\*|application/\*", re.IGNORECASE)
_TEXT: Final = re.compile(r"text/[\w.+*-]+|application/(?:[\w.+-]+\+)?(?:xml|yaml|graphql|x-ndjson)", re.IGNORECASE)
_MULTIPART: Final = "multipart/form-data"
_FORM: Final = "application/x-www-form-urlencoded"


Change = Callable[[Schemas], JsonObject]
"""Converts the schema of an argument."""


class Arguments:
    """The arguments of one tool, in the order of the operation."""

    def __init__(self) -> None:
        self._declared: dict[str, tuple[Change, bool]] = {}

    def add(self, wire: str, place: str, schema: Change, *, is_required: bool) -> str:
        """Declare an argument that is sent as ``wire``, and return its name."""
        name = re.sub(r"[^A-Za-z0-9_]+", "_", wire).strip("_")[:56] or place
        name = f"_{name}" if name[0].isdigit() else name
        if name in RESERVED | WORDS or name in self._declared:
            name = f"{place}_{name}"
        stem, number = name, 2
        while name in self._declared:
            name, number = f"{stem}_{number}", number + 1
        self._declared[name] = (schema, is_required)
        return name

    def schema(self, schemas: Schemas) -> JsonObject:
        """Return the schema of all arguments."""
        properties: JsonObject = {name: convert(schemas) for name, (convert, _) in self._declared.items()}
        required: list[JsonValue] = [name for name, (_, is_required) in self._declared.items() if is_required]
        found: JsonObject = {"type": "object", "properties": properties}
        return found | ({"required": required} if required else {})


class Request:
    """The request of one operation, as keys of ``backend.http``.

    ``keys`` has the places and lower-case names that authentication uses. They do not become arguments.
    """

    def __init__(self, document: Document, keys: frozenset[tuple[str, str]] = frozenset()) -> None:
        self._document = document
        self._keys = keys
        self.arguments = Arguments()
        self.http: dict[str, JsonObject] = {}
        self.body: JsonObject | None = None
        self.reads_workspace = False
        version = str(document.root.get("openapi", ""))
        self._has_part_styles = not version.startswith("3.0")  # 3.0 ignores the style of a part (4.7.15.1)

    def field(self, key: str, name: str, value: JsonValue) -> None:
        """Set a field of ``query``, ``headers`` or another map of ``backend.http``."""
        self.http.setdefault(key, {})[name] = value

    def parameter(self, parameter: JsonObject, base: str, path: str) -> str:
        """Add a parameter. Return the path, with the template of a path parameter inserted. Raises ``LeftOutError``."""
        name, place = parameter.get("name"), parameter.get("in")
        if not isinstance(name, str) or not isinstance(place, str) or place not in PLACES:
            raise LeftOutError(f"the place {str(place)[:40]!r} of a parameter is not supported")
        if place == "header" and name.lower() in _IGNORED_HEADERS | _OWN_HEADERS:
            return path
        if (place, name.lower()) in self._keys or (place == "path" and f"{{{name}}}" not in path):
            return path
        schema, content = self._schema_of(parameter, base)
        described = parameter.get("description")
        is_required = parameter.get("required") is True or place == "path"
        convert = partial(_described, schema=schema, base=base, description=described)
        argument = self.arguments.add(name, place, convert, is_required=is_required)
        value = self._styled(parameter, schema, base, place, argument)
        if content is not None:
            value = _template(argument, " | json" if _JSON.fullmatch(content) else "")
            value = {"value": value} if place == "cookie" else value  # a style escapes what a cookie cannot have
        if place == "path" and isinstance(value, str):
            return path.replace(f"{{{name}}}", value)
        self.field(PLACES[place], name, value)
        return path

    def _schema_of(self, parameter: JsonObject, base: str) -> tuple[JsonValue, str | None]:
        """Return the schema of a parameter, and its media type if it has ``content``."""
        content = parameter.get("content")
        if isinstance(content, dict) and content:
            media_type, media = next(iter(content.items()))
            return self._document.object_at(media, base)[0].get("schema", {}), media_type
        # Swagger 2 has the keywords of the schema next to the name.
        return parameter.get("schema", {key: each for key, each in parameter.items() if key != "required"}), None

    def _styled(self, parameter: JsonObject, schema: JsonValue, base: str, place: str, argument: str) -> JsonValue:
        """Return the value of a field. The style is left out if it equals the default of toolc."""
        style, is_exploded = _style_of(parameter, place)
        types = self._types(schema, base)
        is_plain = types <= _SCALARS or (types <= {*_SCALARS, "array"} and place == "query" and is_exploded)
        is_kept = parameter.get("allowReserved") is True and place == "query"
        if types and is_plain and style in {"form", "simple"} and place != "cookie" and not is_kept:
            return _template(argument)
        value: JsonObject = {"value": _template(argument)}
        if style != _DEFAULTS[place]:
            value["style"] = style
        if style == "deepObject":
            is_exploded = True
        if is_exploded != (style in {"form", "deepObject"}):
            value["explode"] = is_exploded
        return value | ({"allow_reserved": True} if is_kept else {})

    def _types(self, schema: JsonValue, base: str) -> frozenset[str]:
        """Return the types of a value, or an empty set if they are unknown."""
        inner, inner_base = self._document.object_at(schema, base)
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(parts := inner.get(key), list):
                found = [self._types(each, inner_base) for each in parts]
                return frozenset().union(*found) if all(found) else frozenset()
        kinds = inner.get("type")
        if kinds is None and isinstance(enum := inner.get("enum"), list):
            return frozenset({"string"}) if all(isinstance(each, str) for each in enum) else frozenset()
        if kinds is None and not inner.keys().isdisjoint({"properties", "additionalProperties", "items"}):
            return frozenset({"array" if "items" in inner else "object"})
        return frozenset(
            str(each) for each in (kinds if isinstance(kinds, list) else [kinds]) if each not in (None, "null")
        )

    def add_body(self, body: JsonObject, base: str) -> None:
        """Add the request body in the media type that toolc supports best. Raises ``LeftOutError``."""
        content = body.get("content")
        if not isinstance(content, dict) or not content:
            return
        is_required = body.get("required") is True
        media_type = min(content, key=_preference)
        media, base = self._document.object_at(content[media_type], base)
        schema = media.get("schema", {})
        encoding = map_under(media, "encoding")
        plain = media_type.partition(";")[0].strip().lower()
        if _JSON.fullmatch(plain):
            self.body = {"json": self._json(schema, base, body, is_required=is_required)}
            if plain not in {"application/json", "*/*", "application/*"}:
                self.field("headers", "Content-Type", plain)
        elif plain in {_FORM, _MULTIPART}:
            self._fields(schema, base, encoding, is_multipart=plain == _MULTIPART, is_required=is_required)
        elif _TEXT.fullmatch(plain):
            argument = self._whole({"type": "string", "description": f"The body, {plain}."}, base, body)
            self.body = {"text": _template(argument)}
            if "*" not in plain and plain != "text/plain":
                self.field("headers", "Content-Type", plain)
        elif plain.startswith("multipart/"):
            raise LeftOutError(f"a body of the type {plain[:60]} is not supported")
        else:
            path = partial(_path_schema, description=body.get("description"))
            argument = self.arguments.add("file", "body", path, is_required=True)
            self.reads_workspace = True
            file: JsonObject = {"path": _template(argument)}
            self.body = {"file": file | ({} if "*" in plain else {"content_type": plain})}

    def _whole(self, schema: JsonValue, base: str, body: JsonObject) -> str:
        convert = partial(_described, schema=schema, base=base, description=body.get("description"))
        return self.arguments.add("body", "body", convert, is_required=True)

    def _json(self, schema: JsonValue, base: str, body: JsonObject, *, is_required: bool) -> JsonValue:
        fields = self._flat(schema, base)
        if fields is None:
            return _template(self._whole(schema, base, body))
        properties, required, inner_base = fields
        value: JsonObject = {}
        for name, each in properties.items():
            convert = partial(_described, schema=each, base=inner_base, description=None)
            argument = self.arguments.add(name, "body", convert, is_required=is_required and name in required)
            value[name] = _template(argument)
        return value

    def _flat(self, schema: JsonValue, base: str) -> tuple[JsonObject, frozenset[str], str] | None:
        """Return the properties of a body that become arguments, or None if the body is one argument."""
        inner, inner_base = self._document.object_at(schema, base)
        schemas = Schemas(self._document, is_request=True)
        inner, inner_base = schemas.merged(inner, inner_base)
        declared, extra, required = inner.get("properties"), inner.get("additionalProperties"), inner.get("required")
        is_open = extra not in (None, False)
        if not isinstance(declared, dict) or not declared or is_open or not _NOT_FLAT.isdisjoint(inner):
            return None
        kept: JsonObject = {name: each for name, each in declared.items() if not schemas.is_hidden(each, inner_base)}
        if len(kept) > _MAX_FIELDS:
            return None
        return kept, frozenset(map(str, required)) if isinstance(required, list) else frozenset(), inner_base

    def _fields(
        self, schema: JsonValue, base: str, encoding: JsonObject, *, is_multipart: bool, is_required: bool
    ) -> None:
        fields = self._flat(schema, base)
        if fields is None:
            raise LeftOutError("the fields of its form are not declared")
        properties, required, inner_base = fields
        parts: JsonObject = {}
        for name, each in properties.items():
            declared, _ = self._document.object_at(encoding.get(name, {}), base)
            kind = declared.get("contentType")
            media_type = kind.partition(",")[0].strip() if isinstance(kind, str) and "*" not in kind else None
            is_file = is_multipart and self._is_file(each, inner_base, media_type)
            convert = partial(_described, schema=each, base=inner_base, description=None)
            if is_file:
                many = "array" in self._types(each, inner_base)
                inner, _ = self._document.object_at(each, inner_base)
                convert = partial(_path_schema, description=inner.get("description"), many=many)
                self.reads_workspace = True
            argument = self.arguments.add(name, "body", convert, is_required=is_required and name in required)
            own = each if isinstance(each, dict) else {}
            is_old = own.get("in") == "formData"  # a parameter of Swagger 2
            if is_multipart and not is_file and (is_old or (self._has_part_styles and _STYLE & declared.keys())):
                style, explode = _style_of(own if is_old else declared, "query")
                parts[name] = _joined(style, self._types(each, inner_base), argument, explode=explode)
            elif is_multipart:
                item, item_base = self._document.object_at(each, inner_base)
                is_object = not is_file and "object" in self._types(item.get("items", item), item_base)
                media_type = media_type or ("application/json" if is_object else None)
                part: JsonObject = {"file" if is_file else "text": _template(argument)}
                parts[name] = (
                    part | {"content_type": media_type} if media_type else (part if is_file else _template(argument))
                )
            elif is_old or _STYLE & declared.keys():
                parts[name] = self._styled(own if is_old else declared, each, inner_base, "query", argument)
            else:
                parts[name] = _template(argument)
        self.body = {"multipart" if is_multipart else "form": parts}

    def _is_file(self, schema: JsonValue, base: str, media_type: str | None) -> bool:
        inner, base = self._document.object_at(schema, base)
        if inner.get("type") == "array":
            return self._is_file(inner.get("items", {}), base, media_type)
        if inner.get("type") == "file" or inner.get("format") == "binary":
            return True
        is_bytes = "contentMediaType" in inner or (media_type or "").startswith(("image/", "audio/", "video/"))
        return is_bytes or media_type == "application/octet-stream" or ("type" not in inner and not inner)


def _style_of(parameter: JsonObject, place: str) -> tuple[str, bool]:
    """Return the style of a parameter or encoding, and whether it is exploded."""
    declared, explode, default = parameter.get("style"), parameter.get("explode"), _DEFAULTS[place]
    if parameter.get("type") == "array" and "schema" not in parameter:  # in Swagger 2
        collection = str(parameter.get("collectionFormat", "csv"))
        if collection not in _COLLECTIONS:
            raise LeftOutError(f"the collection format {collection[:20]!r} is not supported")
        return _COLLECTIONS[collection] if place == "query" else default, collection == "multi"
    style = declared if isinstance(declared, str) else default
    return style, explode if isinstance(explode, bool) else style in {"form", "deepObject"}


def _joined(style: str, types: frozenset[str], argument: str, *, explode: bool) -> str:
    """Return the template of a multipart field with a style. Parts of multipart forms are not escaped."""
    if style not in _SEPARATORS or not types <= {*_SCALARS, "array"}:
        raise LeftOutError(f"the style {style[:20]!r} of an object in a multipart form is not supported")
    return _template(argument, f' | join("{_SEPARATORS[style]}")' if "array" in types and not explode else "")


def _template(name: str, filters: str = "") -> str:
    """Return the template of an argument."""
    return f"{{{{ {name}{filters} }}}}"


def _preference(media_type: str) -> tuple[int, str]:
    plain = media_type.partition(";")[0].strip().lower()
    known = {"application/json": 0, _FORM: 2, _MULTIPART: 3, "*/*": 5}
    return known.get(plain, 1 if _JSON.fullmatch(plain) else 6 if _TEXT.fullmatch(plain) else 7), plain


def _described(schemas: Schemas, *, schema: JsonValue, base: str, description: JsonValue) -> JsonObject:
    found = schemas.convert(schema, base)
    if text := one_line(description, 600):
        default = re.search(r"Default: [^.]*(?:\.\d+)?\.$", str(found.get("description", "")))
        note = f" {default[0]}" if default and default[0] not in text else ""
        found = {key: each for key, each in found.items() if key != "description"}
        return {"description": text + note} | found
    return found


def _path_schema(schemas: Schemas, *, description: JsonValue, many: bool = False) -> JsonObject:  # noqa: ARG001
    path: JsonObject = {"type": "string", "minLength": 1, "maxLength": 1024}
    shown: Mapping[str, JsonValue] = {
        "description": f"{one_line(description, 400)} The path of a file in the workspace.".strip()
    }
    return {**shown, "type": "array", "items": path, "maxItems": 100} if many else {**shown, **path}
