"""``sandbox``: what a call runs in, and what it may use."""

from __future__ import annotations

from typing import Final, get_args

from toolc.compiler.decode_sandbox import MIN_FILES, MIN_PIDS
from toolc.compiler.format_schema.parts import (
    choice,
    closed,
    duration,
    either,
    integer,
    items,
    mapping,
    number,
    size,
    string,
    text,
)
from toolc.schema import JsonObject
from toolc.spec import Commit, Expose, Lifetime, MinIsolation, WorkspaceMode

_MANY: Final = 1_000_000
_VARIABLE: Final[JsonObject] = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
_SECRET: Final[JsonObject] = {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]{0,63}$"}


def sandbox() -> JsonObject:
    """``sandbox``, whose every key has a default."""
    return closed(
        "What a call runs in. By default: no network, no workspace, small limits, gone after the call.",
        {
            "image": text("The image, e.g. 'debian:bookworm'; by default toolc's own base image."),
            "build": text("A folder beside the spec with a Dockerfile, from which the image is made."),
            "workspace": _workspace(),
            "network": _network(),
            "env": mapping("Constants of the environment.", string("The variable's value."), names=_VARIABLE),
            "secrets": _secrets(),
            "limits": limits("What a call may use."),
            "lifetime": choice(
                "Whether each call has a sandbox of its own, or each session.", get_args(Lifetime), "call"
            ),
            "min_isolation": choice("The weakest isolation that will do.", get_args(MinIsolation), "namespace"),
            "run_as": choice("'nonroot' forbids that it runs as root, even without capabilities.", ("nonroot",)),
        },
    )


def _workspace() -> JsonObject:
    mode = choice(
        "Nothing, read-only, read and write, or a copy whose changes are committed.",
        get_args(WorkspaceMode),
        "none",
    )
    details = closed(
        "The mode, and what a transaction does.",
        {
            "mode": mode,
            "commit": choice("When a transaction's changes become real.", get_args(Commit), "ask"),
            "writes": items("What may change; by default anything.", text("A pattern of paths: 'out/**'.")),
        },
    )
    return either("What the tool sees of the user's files.", mode, details) | {"default": "none"}


def _network() -> JsonObject:
    destination = text("host:port, '*.example.com:443', or 'public:443' for any public address.")
    return closed(
        "What it may connect to: nothing that is not listed.",
        {"allow": items("The destinations.", destination) | {"default": []}},
    )


def _secrets() -> JsonObject:
    secret = closed(
        "Where the secret may go, and how the tool has it.",
        {
            "hosts": items("The hosts to which its value may go.", text("A host's name.")),
            "expose": choice(
                "'broker' keeps the value outside of the sandbox; 'env' and 'file' put it inside.",
                get_args(Expose),
                "broker",
            ),
        },
    )
    return mapping("The secrets it needs, by name; their values come from the user.", secret, names=_SECRET)


def limits(description: str) -> JsonObject:
    """A map of limits."""
    return closed(
        description,
        {
            "timeout": duration("How long it may take.", "30s"),
            "memory": size("Memory, /tmp included.", "256MiB"),
            "cpus": number("Processors.", 0.01, 1024, 1),
            "pids": integer("Processes and threads.", MIN_PIDS, _MANY, 128),
            "output": size("How much of the output is kept.", "256KiB"),
            "tmp": size("How much fits into /tmp.", "64MiB"),
            "files": integer("Open files.", MIN_FILES, _MANY, 1024),
            "file_size": size("How large a file can become.", "1GiB"),
        },
    )
