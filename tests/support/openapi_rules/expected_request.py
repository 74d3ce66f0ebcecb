"""The request of an operation as the OpenAPI Specification says, read from the document and not by the importer."""

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from openapi_rules.expansion import RESERVED, example, expand, text_of
from toolc.model.json_schema import JsonObject, JsonValue

SECRET: Final = "s3cret+/="
METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
IGNORED: Final = {"accept", "authorization", "content-length", "content-type", "host"}
"""The headers that are not parameters, and those that say how a message is sent."""
PCHARS: Final = "/%:@!$&'()*+,;=-._~"


class Parameter(NamedTuple):
    """A parameter with how its value is written. ``media_type`` is set if that is a document."""

    name: str
    place: str
    kind: str
    style: str
    explode: bool
    is_reserved: bool = False
    media_type: str = ""

    @property
    def is_defined(self) -> bool:
        """Whether the specification says how the value is written."""
        return self.style != "deepObject" or self.kind == "object"


class Request(NamedTuple):
    """What arrives. The order of fields in a query, a form and cookies has no meaning; ``body`` depends on its type."""

    method: str
    path: str
    query: list[str]
    headers: dict[str, str]
    cookies: list[str]
    body: JsonValue


class Rules:
    """The rules for one operation of a document."""

    def __init__(self, root: JsonObject, path: str, method: str) -> None:
        self.root = root
        self.path, _, query = path.partition("#")[0].partition("?")
        pairs = [each.partition("=") for each in query.split("&") if each]
        self.query = ["".join(each) for each in pairs if "{" not in each[2]]
        self.queried = {value[1:-1]: name for name, _, value in pairs if "{" in value}
        """The names in the query of the parameters that a path has there, which OpenAPI does not say, but means."""
        self.method = method
        self.item = self.at(_map(root["paths"])[path])
        self.operation = _map(self.item[method])
        self.is_old = "swagger" in root

    def at(self, value: JsonValue) -> JsonObject:
        """Return the map that a value is or refers to in the document."""
        while isinstance(value, dict) and isinstance(reference := value.get("$ref"), str):
            value = self.root
            for token in unquote(reference.partition("#")[2]).split("/")[1:]:
                key = token.replace("~1", "/").replace("~0", "~")
                value = value[int(key)] if isinstance(value, list) else _map(value)[key]
        return _map(value)

    def kind(self, schema: JsonValue, depth: int = 0) -> str:
        """Return the type of a schema, of which the first alternative counts."""
        found = self.at(schema)
        kind = found.get("type")
        kinds = kind if isinstance(kind, list) else [kind] if kind else []
        for each in kinds:
            if each != "null":
                return "string" if each == "file" else str(each)
        for key in ("allOf", "oneOf", "anyOf"):
            for branch in _list(found.get(key)) if depth < 5 else []:
                if (inner := self.kind(branch, depth + 1)) != "any" and self.at(branch).get("type") != "null":
                    return inner
        if "properties" in found or "additionalProperties" in found:
            return "object"
        return "array" if "items" in found else "any"

    def parameters(self) -> list[Parameter]:
        """Return the parameters outside of the body, without the keys that are sent for authentication.

        Those of an operation replace those of its path (4.8.9.1).
        """
        keys = {(str(each.get("in")), str(each.get("name")).lower()) for each in self._schemes()}
        found: dict[tuple[str, str], Parameter] = {}
        for owner in (self.item, self.operation):
            for each in map(self.at, _list(owner.get("parameters"))):
                name, place = str(each["name"]), str(each["in"])
                if place in {"body", "formData"}:
                    continue
                if place == "path" and name in self.queried:
                    name, place = self.queried[name], "query"
                ignored = place == "header" and name.lower() in IGNORED
                absent = place == "path" and f"{{{name}}}" not in self.path
                if not ignored and not absent and (place, name.lower()) not in keys:
                    found[name, place] = self._parameter(each, name, place)
        return [*found.values()]

    def _parameter(self, value: JsonObject, name: str, place: str) -> Parameter:
        if self.is_old:
            kind = self.kind({key: value[key] for key in ("type", "items", "schema") if key in value})
            formats = {"csv": (",", False), "ssv": ("spaceDelimited", False), "pipes": ("pipeDelimited", False)}
            style, is_exploded = formats.get(str(value.get("collectionFormat", "csv")), ("form", True))
            style = ("form" if place == "query" else "simple") if style == "," else style
            return Parameter(name, place, kind, style, is_exploded and kind == "array")
        if isinstance(content := value.get("content"), dict):
            media_type, media = next(iter(content.items()))
            return Parameter(name, place, self.kind(self.at(media).get("schema")), "", False, False, media_type)
        style = str(value.get("style", "form" if place in {"query", "cookie"} else "simple"))
        explode = value.get("explode", style == "form")
        reserved = value.get("allowReserved") is True and place == "query"
        return Parameter(name, place, self.kind(value.get("schema")), style, explode is True, reserved)

    def content(self) -> dict[str, JsonObject]:
        """Return the media types of the body."""
        if not self.is_old:
            body = self.at(self.operation.get("requestBody", {}))
            return {key: self.at(each) for key, each in _map(body.get("content", {})).items()}
        consumed = [*map(str, _list(self.operation.get("consumes", self.root.get("consumes"))))]
        fields: JsonObject = {}
        for owner in (self.item, self.operation):
            for each in map(self.at, _list(owner.get("parameters"))):
                if each["in"] == "body":
                    return {kind: {"schema": each.get("schema", {})} for kind in consumed or ["application/json"]}
                if each["in"] == "formData":
                    fields[str(each["name"])] = each
        forms = ("multipart/form-data", "application/x-www-form-urlencoded")
        return {kind: {"schema": {"properties": fields, "type": "object"}} for kind in forms} if fields else {}

    def media(self, media_type: str) -> JsonObject:
        """Return the declaration of the body for the media type of a request."""
        declared = {each.partition(";")[0].strip().lower(): media for each, media in self.content().items()}
        plain = media_type.partition(";")[0].lower()
        general = (f"{plain.partition('/')[0]}/*", "*/*")
        return next(declared[each] for each in (plain, *general) if each in declared)

    def sample(self, schema: JsonValue, *, is_hard: bool, depth: int = 0) -> JsonValue:
        """Return a value for a part of the body, without read-only properties (4.8.24.1.1)."""
        found, kind = self.at(schema), self.kind(schema)
        properties = self.properties(found) if kind == "object" and depth < 3 else {}
        return {
            name: self.sample(each, is_hard=is_hard, depth=depth + 1)
            for name, each in properties.items()
            if not self._is_read_only(each)
        } or example(kind, is_hard=is_hard)

    def is_read_only(self, media_type: str, name: str) -> bool:
        """Return whether a property of the body belongs only to responses."""
        return self._is_read_only(self.properties(self.at(self.media(media_type)["schema"]))[name])

    def _is_read_only(self, schema: JsonValue) -> bool:
        # Version 3.1 allows keywords next to a reference, and documents of 3.0 have them too.
        return _map(schema).get("readOnly") is True or self.at(schema).get("readOnly") is True

    def properties(self, schema: JsonObject, depth: int = 0) -> JsonObject:
        """Return the properties of an object and of all parts of its ``allOf``."""
        found: JsonObject = {}
        for each in _list(schema.get("allOf")) if depth < 8 else []:
            found |= self.properties(self.at(each), depth + 1)
        return found | _map(schema.get("properties", {}))

    def _alternatives(self) -> list[list[JsonObject]]:
        found = _list(self.operation.get("security", self.root.get("security")))
        schemes = _map(self.root.get("securityDefinitions", {}))
        schemes = schemes or _map(_map(self.root.get("components", {})).get("securitySchemes", {}))
        if not found or {} in found:
            return []
        return [[self.at(schemes[name]) for name in _map(each) if name in schemes] for each in found]

    def _schemes(self) -> list[JsonObject]:
        return [scheme for each in self._alternatives() for scheme in each]

    def securities(self) -> list[Request]:
        """Return what each alternative of the authentication adds to a request."""
        found = []
        for each in self._alternatives() or [[]]:
            added = Request("", "", [], {}, [], None)
            for scheme in each:
                _secure(added, scheme)
            found.append(added)
        return found

    def request(self, values: dict[tuple[str, str], JsonValue], base: str) -> Request:
        """Return the request without its body and authentication. ``base`` is the URL of the server."""
        server = urlsplit(base)
        path = server.path.rstrip("/") + self.path
        query, headers, cookies = [*self.query], dict[str, str](), list[str]()
        segments: dict[str, str] = {}
        for each in self.parameters():
            if (each.name, each.place) not in values:
                continue
            value = values[each.name, each.place]
            if each.media_type:
                value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            style = each.style or ("form" if each.place in {"query", "cookie"} else "simple")
            if each.place == "header":
                headers[each.name.lower()] = unquote(expand(each.name, value, style, explode=each.explode))
                continue
            text = expand(each.name, value, style, explode=each.explode, safe=RESERVED if each.is_reserved else "")
            if each.place == "path":
                segments[each.name] = text
            elif each.place == "cookie":
                cookies += [text] if text else []
            else:
                query += text.split("&") if text else []
        pieces = re.split(r"\{([^{}]*)\}", path)
        encoded = [segments[each] if index % 2 else quote(each, safe=PCHARS) for index, each in enumerate(pieces)]
        return Request(self.method.upper(), "".join(encoded) or "/", sorted(query), headers, sorted(cookies), None)

    def body(self, media_type: str, value: JsonValue) -> JsonValue:
        """Return the body of a media type, in a form that can be compared."""
        plain = media_type.partition(";")[0].strip().lower()
        if plain == "application/x-www-form-urlencoded":
            return [*sorted(self._form(media_type, _map(value)))]
        if plain == "multipart/form-data":
            return [*sorted(self._parts(media_type, _map(value)), key=str)]
        return value

    def _parts(self, media_type: str, value: JsonObject) -> Iterator[JsonValue]:
        encodings = _map(self.media(media_type).get("encoding", {}))
        for name, each in sorted(value.items()):
            encoding = self.at(encodings.get(name, {}))
            kind = encoding.get("contentType")
            declared = kind.partition(",")[0] if isinstance(kind, str) and "*" not in kind else None
            items: list[JsonValue] = each if isinstance(each, list) else [each]
            if self.is_old and isinstance(each, list):  # Swagger 2 joins the items of a list unless it is 'multi'
                separators = {"csv": ",", "ssv": " ", "pipes": "|"}
                found = self.at(self.properties(self.at(self.media(media_type)["schema"]))[name])
                separator = separators.get(str(found.get("collectionFormat", "csv")))
                items = [separator.join(map(text_of, each))] if separator else items
            elif {"style", "explode"} & encoding.keys() and not str(self.root["openapi"]).startswith("3.0"):
                style, declared = str(encoding.get("style", "form")), None  # which replaces the type (3.1, 4.8.15.1.2)
                if isinstance(each, list) and encoding.get("explode", style == "form") is not True:
                    items = [{"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}[style].join(map(text_of, each))]
            schema = self.at(self.properties(self.at(self.media(media_type)["schema"]))[name])
            for item in items:
                text = text_of(item)
                if is_json := isinstance(item, dict):
                    text = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
                is_json |= self.kind(schema.get("items", {})) == "object"
                yield [name, text, declared or ("application/json" if is_json else None)]

    def _form(self, media_type: str, value: JsonObject) -> Iterator[str]:
        media = self.media(media_type)
        properties = self.properties(self.at(media.get("schema", {})))
        encodings = _map(media.get("encoding", {}))
        for name, each in value.items():
            declared = self.at(properties[name])
            encoding = _map(encodings.get(name, {}))
            style, written = str(encoding.get("style", "form")), each
            explode = encoding.get("explode", style == "form")
            if self.is_old:
                _, _, _, style, explode, *_ = self._parameter({**declared, "in": "query"}, name, "query")
            if isinstance(each, dict) and not {"style", "explode"} & encoding.keys():
                written = json.dumps(each, ensure_ascii=False, separators=(",", ":"))
            text = expand(name, written, style, explode=explode is True)
            yield from text.split("&") if text else []


def _secure(added: Request, scheme: JsonObject) -> None:
    kind, place, name = scheme.get("type"), scheme.get("in"), str(scheme.get("name"))
    http = "basic" if kind == "basic" else str(scheme.get("scheme", "")).lower()
    if kind == "apiKey":
        key = quote(SECRET, safe="")
        if place == "header":
            added.headers[name.lower()] = SECRET
        elif place == "query":
            added.query.append(f"{quote(name, safe='')}={key}")
        else:
            added.cookies.append(f"{name}={SECRET}")
    elif http == "basic":
        added.headers["authorization"] = "Basic"
    else:
        added.headers["authorization"] = "Bearer"


def _map(value: JsonValue) -> JsonObject:
    assert isinstance(value, dict), value
    return value


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
