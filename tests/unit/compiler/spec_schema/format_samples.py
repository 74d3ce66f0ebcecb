"""Specs that together contain every map and key of the format, to compare with the schema."""

from typing import Final

_HEAD: Final = {"toolc": 1, "name": "sample", "description": "A tool that says everything there is to say."}

_KEYWORDS: Final = {
    "type": "string", "description": "A text", "title": "Text", "default": "a", "examples": ["a"], "enum": ["a"],
    "const": "a", "minimum": 1, "maximum": 2.5, "exclusiveMinimum": 1, "exclusiveMaximum": 3, "multipleOf": 2,
    "minLength": 1, "maxLength": 9, "pattern": "^a", "format": "uri", "contentEncoding": "base64",
    "contentMediaType": "text/plain", "contentSchema": {}, "items": {"type": "string"}, "prefixItems": [True],
    "contains": {}, "minContains": 1, "maxContains": 2, "minItems": 1, "maxItems": 2, "uniqueItems": True,
    "unevaluatedItems": {}, "properties": {"b": {"type": ["string", "null"]}}, "required": ["b"],
    "additionalProperties": False, "patternProperties": {"^c": {}}, "propertyNames": {}, "minProperties": 1,
    "maxProperties": 2, "dependentRequired": {"b": ["c"]}, "dependentSchemas": {"b": {}},
    "unevaluatedProperties": {}, "allOf": [{}], "anyOf": [{}], "oneOf": [{}], "not": {"type": "null"}, "if": {},
    "then": {}, "else": {}, "deprecated": False, "readOnly": False, "writeOnly": False,
    "$comment": "none", "$schema": "https://json-schema.org/draft/2020-12/schema", "$anchor": "f",
    "$dynamicAnchor": "g", "$ref": "#/properties/a/$defs/d", "$dynamicRef": "#/properties/a/$defs/d",
    "$defs": {"d": {}}, "definitions": {"e": {}}, "x-mine": 1,
}  # fmt: skip

_SANDBOX: Final = {
    "image": "debian:bookworm",
    "workspace": {"mode": "transaction", "commit": "ask", "writes": ["out/**"]},
    "network": {"allow": ["api.example.com:443"]},
    "env": {"LC_ALL": "C.UTF-8"},
    "secrets": {"TOKEN": {"hosts": ["api.example.com"], "expose": "broker"}},
    "limits": {
        "timeout": "1500ms", "memory": "1GiB", "cpus": 0.5, "pids": 16, "output": "64KiB", "tmp": "8MiB",
        "files": 64, "file_size": "1MiB",
    },
    "lifetime": "call",
    "min_isolation": "gvisor",
    "run_as": "nonroot",
}  # fmt: skip

_HTTP: Final = {
    "method": "POST",
    "url": "https://api.example.com/items/{{ a }}",
    "url_from_argument": False,
    "query": {"a": "{{ a }}", "n": 1, "f": True},
    "headers": {"Accept": "application/json"},
    "body": {"multipart": {"a": "x", "b": {"text": "y", "content_type": "text/plain"}, "c": {"file": "{{ a }}"}}},
    "auth": {
        "oauth2": {
            "token_url": "https://id.example.com/token", "client_id": "me", "client_secret": "{{ secrets.TOKEN }}",
            "scopes": ["read"], "audience": "items",
        }
    },
    "retry": {"statuses": [429], "attempts": 2, "backoff": "1s"},
    "pagination": {
        "cursor": {"parameter": "after", "next": "next"}, "items": "items", "max_pages": 3, "max_items": 9,
    },
    "errors": [
        {"status": 404, "when": "error", "kind": "not_found", "message": "There is none."},
        {"status": "5xx", "kind": "network"},
    ],
}  # fmt: skip

_HELLO: Final = {
    "name": "hello",
    "parameters": {"b": {"type": "integer", "default": 0}},
    "backend": {"shell": {"argv": ["echo", "{{ b }}"]}},
}

_PARAMETER: Final = {"a": {"type": "string", "description": "A text"}}


def _http(**changes: object) -> dict[str, object]:
    http = {key: value for key, value in {**_HTTP, **changes}.items() if value is not None}
    secrets = {"TOKEN": {"hosts": ["api.example.com", "id.example.com"]}}
    return {
        **_HEAD,
        "parameters": _PARAMETER,
        "backend": {"http": http},
        "sandbox": {"secrets": secrets, "workspace": "ro"},
        "annotations": {"idempotent": True},
    }


SAMPLES: Final[tuple[dict[str, object], ...]] = (
    {
        **_HEAD,
        "label": "Sample",
        "version": "1",
        "owner": "me",
        "tags": ["a"],
        "aliases": ["example"],
        "deprecated": "use another",
        "parameters": _PARAMETER,
        "backend": {
            "shell": {
                "argv": ["echo", {"when": "a", "argv": ["{{ a }}"]}], "stdin": "text", "success_exit_codes": [0, 1],
                "errors": {"2": "invalid_args"}, "allow_dash": ["a"], "progress": True,
            }
        },
        "result": {
            "format": "json", "files": ["*.png"], "select": "a", "template": "{{ result }}",
            "schema": {"type": "object"},
        },
        "sandbox": _SANDBOX,
        "annotations": {"read_only": True, "destructive": False, "idempotent": True, "open_world": False},
        "retry": {"kinds": ["network"], "attempts": 3, "backoff": "1s"},
        "confirm": True,
        "providers": {
            "anthropic": {"strict": True}, "gemini": {}, "mcp": {}, "openai_chat": {}, "openai_responses": {},
        },
        "examples": [{"a": "b"}],
        "tests": [
            {
                "args": {"a": "b"},
                "files": {"a.txt": "a"},
                "expect": {
                    "text": "a", "matches": "a", "json": 1, "error": "timeout", "files": {"a.txt": "a", "b": None},
                    "structured": [1], "changes": {"added": ["a.txt"], "changed": [], "deleted": ["b"]},
                    "network": ["api.example.com:443"],
                },
            },
            {"args": {"a": "b"}, "expect": {"network": {"allowed": ["api.example.com:443"], "refused": []}}},
        ],
    },
    {
        **_HEAD,
        "parameters": {"type": "object", "properties": {"a": _KEYWORDS}, "required": []},
        "backend": {
            "python": {"code": "def sample(a): pass", "function": "sample", "files": [], "requirements": []}
        },
    },
    {
        "toolc": 1,
        "defaults": {"sandbox": {"workspace": "ro"}, "confirm": False},
        "tools": [
            {
                "name": "one", "parameters": {"a": {"type": "string", "optional": False}},
                "backend": {"shell": {"script": "true", "interpreter": ["/bin/sh"], "success_exit_codes": "any"}},
            },
        ],
    },
    _http(),
    _http(
        method="GET", body=None, auth={"basic": {"username": "me", "password": "{{ secrets.TOKEN }}"}},
        pagination={"page": {"parameter": "page", "first": 0}, "items": "items"}, errors={"404": "not_found"},
    ),
    _http(
        body={"form": {"a": "{{ a }}"}}, auth={"bearer": "{{ secrets.TOKEN }}"},
        pagination={"offset": {"parameter": "skip"}, "items": "items"},
    ),
    _http(
        body={"json": {"a": ["{{ a }}"]}}, pagination={"link": True},
        auth={"api_key": {"header": "X-Key", "value": "{{ secrets.TOKEN }}"}},
    ),
    _http(
        body={"json": {"a": 1}}, pagination={"cursor": {"pointer": "/b/c", "next": "next"}, "items": "items"},
    ),
    _http(
        body={"text": "{{ a }}"}, pagination=None, auth={"api_key": {"query": "key", "value": "{{ secrets.TOKEN }}"}},
    ),
    {**_HEAD, "backend": {"plugin": {"command": ["python3", "plugin.py"], "tool": "one", "files": []}}},
    {
        "toolc": 1,
        "tools": [
            _HELLO,
            {
                "name": "both",
                "backend": {
                    "composite": {
                        "strategy": "conditional",
                        "steps": [
                            {
                                "id": "a", "tool": "hello", "args": {"b": 1}, "if": "args",
                                "continue_on_error": True, "timeout": "1s",
                            },
                            {"id": "b", "tool": "hello"},
                        ],
                    }
                },
            },
        ],
    },
    {
        "toolc": 1,
        "tools": [
            _HELLO,
            {
                "name": "expert",
                "backend": {
                    "agent": {
                        "provider": "anthropic", "model": "some-model", "base_url": "https://api.example.com",
                        "instructions": "Answer.", "tools": ["hello"], "parallel": False, "max_turns": 3,
                        "max_tokens": 99, "token_budget": 1000, "api_key": "{{ secrets.KEY }}",
                    }
                },
                "sandbox": {"secrets": {"KEY": {"hosts": ["api.example.com"]}}},
            },
        ],
    },
)  # fmt: skip
"""Every one compiles without an error."""
