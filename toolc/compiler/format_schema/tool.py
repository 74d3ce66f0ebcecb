"""One tool: every key that it can have."""

from __future__ import annotations

from typing import Final, get_args

from toolc.compiler.decode_providers import PROVIDERS, STRICT
from toolc.compiler.format_schema.backends import backend
from toolc.compiler.format_schema.parameters import parameters
from toolc.compiler.format_schema.parts import (
    anything,
    boolean,
    choice,
    closed,
    duration,
    either,
    integer,
    items,
    mapping,
    reference,
    string,
    text,
)
from toolc.compiler.format_schema.sandbox import sandbox
from toolc.schema import JsonObject
from toolc.spec import ErrorKind, ResultFormat

_NAME: Final = "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"


def tool_keys() -> dict[str, JsonObject]:
    """The keys of a tool, in the order in which a spec is best written."""
    return {
        "name": text("What the model calls it: 1 to 64 of A-Z a-z 0-9 _ - and no digit or '-' first.", _NAME),
        "label": text("Its name for people."),
        "description": string("What it does, when to use it and when not, for the model."),
        "version": text("Its version, for people, in quotes."),
        "owner": text("Who looks after it."),
        "tags": items("Words to choose tools by.", text("A tag.")),
        "deprecated": text("That it should not be used any more, and what to use instead."),
        "aliases": items("Names that it had before.", text("A name.", _NAME)),
        "parameters": parameters(),
        "backend": backend(),
        "result": _result(),
        "sandbox": sandbox(),
        "annotations": _annotations(),
        "retry": _retry(),
        "confirm": boolean("Whether a person is asked before it runs.", default=False),
        "providers": _providers(),
        "examples": items("Calls that are good; checked at build, shown to models.", _arguments()),
        "tests": items("Calls that 'toolc test' runs in the sandbox.", _test()),
    }


def _result() -> JsonObject:
    return closed(
        "How the output becomes a result.",
        {
            "format": choice("How stdout, or the body, is read.", get_args(ResultFormat), "text"),
            "files": items("Workspace files that are returned.", string("A pattern of paths, a template.")),
            "select": text("The part of a JSON result that is kept, in JMESPath."),
            "template": text("The words for the model, in Jinja."),
            "schema": reference("schemaObject", "The JSON Schema 2020-12 of the structured result."),
        },
    )


def _annotations() -> JsonObject:
    return closed(
        "Hints to clients, in MCP's words.",
        {
            "read_only": boolean("Whether it changes nothing."),
            "destructive": boolean("Whether it may delete or overwrite."),
            "idempotent": boolean("Whether a second equal call changes nothing more."),
            "open_world": boolean("Whether it reaches what is outside, such as the web."),
        },
    )


def _retry() -> JsonObject:
    return closed(
        "When a failed call is tried again; only with annotations.idempotent: true.",
        {
            "kinds": items("After which errors.", choice("The kind of error.", get_args(ErrorKind))),
            "attempts": integer("How often in all.", 2, 10, 3),
            "backoff": duration("How long to wait at first; twice as long each time.", "1s"),
        },
    )


def _providers() -> JsonObject:
    strict = {"strict": boolean("Whether to ask for its strict mode.", default=False)}
    chosen = {
        name: closed("What is special for this provider.", strict if name in STRICT else {}) for name in PROVIDERS
    }
    return closed("What is special for single providers.", chosen)


def _arguments() -> JsonObject:
    return mapping("The arguments.", anything("An argument."))


def _test() -> JsonObject:
    files = mapping("Workspace files, by path.", string("What the file holds."))
    after = mapping(
        "Workspace files, by path.", {"type": ["string", "null"], "description": "What the file holds."}
    )
    paths = items("Paths.", text("A path."))
    hosts = items("Destinations.", text("host:port"))
    changes = {key: {**paths, "description": f"Files that it {key}."} for key in ("added", "changed", "deleted")}
    decisions = closed(
        "Destinations that it reached and was refused, each of them.",
        {
            "allowed": {**hosts, "description": "All that it reached."},
            "refused": {**hosts, "description": "All that it was refused."},
        },
    )
    expect = closed(
        "What must come of it.",
        {
            "text": string("The text, exactly."),
            "matches": string("A regular expression found in the text."),
            "json": anything("What the JSON holds at least: maps may have more keys."),
            "structured": anything("The structured result, exactly."),
            "error": choice("The kind of error.", get_args(ErrorKind)),
            "files": {**after, "description": "Workspace files afterwards, by path; null where there is none."},
            "changes": closed("All that it changed in the workspace.", changes),
            "network": either(
                "Where it connected to.", items("All that it may have reached.", text("host:port")), decisions
            ),
        },
    )
    return closed(
        "One call and what is expected of it.",
        {
            "args": _arguments(),
            "files": {**files, "description": "Workspace files before the call, by path."},
            "expect": expect,
        },
    )
