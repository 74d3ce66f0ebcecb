"""Compare the request of each operation of a document with what the specification says."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from openapi_rules.expansion import example
from openapi_rules.expected_request import Request, Rules
from openapi_rules.sent_requests import Wire, media_type_of, planned, wires
from toolc.backends.backend_protocol import PlanError
from toolc.compiler.pipeline.compile import compile_specs
from toolc.importers.openapi.generate import Generated
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec


def specs_of(generated: Generated) -> Iterator[tuple[str, ToolSpec]]:
    """Yield the key and the spec of each operation that compiles."""
    with TemporaryDirectory() as folder:
        for name, text in generated.files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        for tool in compile_specs([Path(folder)]).local if generated.files else ():
            yield generated.operations[f"{tool.spec.name}.yaml"].key, tool.spec


def plan_differences(root: JsonObject, key: str, spec: ToolSpec, server: str) -> Iterator[str]:
    """Yield how the plan differs from the rules, for its own values and for values to escape."""
    rules = rules_of(root, key)
    listed = [*wires(spec, rules)]
    yield from _missing(rules, spec, listed)
    for is_hard in (False, True):
        arguments = _sample(rules, spec, listed, is_hard=is_hard)
        try:
            request = planned(spec, arguments)
        except PlanError as error:
            yield f"the plan has an error: {error}"
            return
        yield from compared(request, expected_request(rules, spec, listed, arguments, server), rules)


def rules_of(root: JsonObject, key: str) -> Rules:
    """Return the rules for an operation, whose key is its method and path."""
    method, _, path = key.partition(" ")
    return Rules(root, path, method.lower())


def expected_request(
    rules: Rules, spec: ToolSpec, listed: list[Wire], arguments: Mapping[str, JsonValue], server: str
) -> Request:
    """Return the request for the arguments of a tool, without its authentication."""
    values: dict[tuple[str, str], JsonValue] = {}
    parts: JsonObject = {}
    for argument, place, name, _ in listed:
        if argument in arguments and place == "body":
            parts[name] = arguments[argument]
        elif argument in arguments:
            values[name, place] = arguments[argument]
    request = rules.request(values, server)
    media_type = media_type_of(spec)
    if not media_type:
        return request
    is_whole = any(each.place == "body" and not each.name for each in listed)
    return request._replace(body=rules.body(media_type, parts.get("", None) if is_whole else parts))


def compared(request: Request, expected: Request, rules: Rules) -> Iterator[str]:
    """Yield the differences of a request, to which one alternative of the authentication may add fields."""
    if (request.method, request.path) != (expected.method, expected.path):
        yield f"{request.method} {request.path} != {expected.method} {expected.path}"
    fields = request.query, request.headers, request.cookies
    allowed = [
        (sorted(expected.query + each.query), expected.headers | each.headers, sorted(expected.cookies + each.cookies))
        for each in rules.securities()
    ]
    if fields not in allowed:
        yield f"fields {fields} != {allowed}"
    if request.body != expected.body:
        yield f"body {str(request.body)[:1500]} != {str(expected.body)[:1500]}"


def _missing(rules: Rules, spec: ToolSpec, listed: list[Wire]) -> Iterator[str]:
    known = {(each.place, each.name) for each in listed}
    for each in rules.parameters():
        if (each.place, each.name) not in known:
            yield f"the parameter {each.name} in the {each.place} is missing"
    media_type = media_type_of(spec)
    if media_type and ("body", "") not in known:
        for name in rules.properties(rules.at(rules.media(media_type).get("schema", {}))):
            if ("body", name) not in known and not rules.is_read_only(media_type, name):
                yield f"the field {name} of the body is missing"


def _sample(rules: Rules, spec: ToolSpec, listed: list[Wire], *, is_hard: bool) -> JsonObject:
    parameters = {(each.place, each.name): each for each in rules.parameters()}
    media_type = media_type_of(spec)
    schema = rules.media(media_type).get("schema", {}) if media_type else {}
    fields = rules.properties(rules.at(schema))
    found: JsonObject = {}
    for argument, place, name, is_file in listed:
        if is_file:
            is_list = rules.kind(fields.get(name, {})) == "array"
            found[argument] = ["a.png", "b.png"] if is_list else "a.png"
        elif place == "body":
            value = fields[name] if name else schema
            is_text = not name and "json" not in media_type
            found[argument] = example("string", is_hard=is_hard) if is_text else rules.sample(value, is_hard=is_hard)
        elif (parameter := parameters[place, name]).is_defined:
            is_escaped = is_hard and place in {"path", "query"} and not parameter.is_reserved
            found[argument] = example(parameter.kind, is_hard=is_escaped)
    return found
