"""``backend``: one kind of six. ``http`` has a module of its own."""

from __future__ import annotations

from typing import Final, get_args

from toolc.compiler.format_schema.http import http
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
    or_constant,
    string,
    text,
)
from toolc.schema import JsonObject
from toolc.spec_agent import AgentProvider
from toolc.spec_backends import ErrorKind
from toolc.spec_composite import Strategy

_STEP: Final = "^[A-Za-z_][A-Za-z0-9_]{0,63}$"
_STATUS: Final[JsonObject] = {"type": "string", "pattern": "^[1-9][0-9]{0,2}$"}


def backend() -> JsonObject:
    """``backend``: a map of one key, which says the kind."""
    shape = closed(
        "What a call does: exactly one of these.",
        {
            "shell": _shell(),
            "python": _python(),
            "http": http(),
            "plugin": _plugin(),
            "composite": _composite(),
            "agent": _agent(),
        },
    )
    return shape | {"minProperties": 1, "maxProperties": 1}


def _shell() -> JsonObject:
    group = closed(
        "Arguments that are there only if a parameter is: present, and neither false nor empty.",
        {
            "when": text("The parameter's name."),
            "argv": items("The arguments.", string("One argument, a template.")),
        },
        required=("when", "argv"),
    )
    argument = either(
        "One argument, whatever its placeholders hold.", string("One argument, a template: {{ name }}."), group
    )
    code = or_constant({"type": "integer", "minimum": 0, "maximum": 255})
    codes = items("Exit codes.", code, at_least=1)
    return closed(
        "A command line, or a script with parameters as variables. Exactly one of 'argv', 'script', 'file'.",
        {
            "argv": items("The program and its arguments; no shell reads them.", argument, at_least=1),
            "script": text("A script, not a template: its parameters are the variables ARG_<name>. Quote them."),
            "file": text("A script's file beside the spec."),
            "interpreter": items(
                "What runs 'script' or 'file'; by default /bin/sh -eu.", text("One argument."), at_least=1
            ),
            "stdin": string("What the command reads, a template."),
            "success_exit_codes": {
                **or_constant(codes, {"const": "any"}),
                "description": "The exit codes that are no failure: a list, or 'any'.",
                "default": [0],
            },
            "errors": mapping(
                "What an exit status means, e.g. {\"2\": invalid_args}.",
                choice("The kind of error.", get_args(ErrorKind)),
                names=_STATUS,
            ),
            "allow_dash": items(
                "Parameters whose value may start with '-' where no '--' stands before it.",
                text("A parameter's name."),
            ),
            "progress": boolean("Whether '::progress 40 text' on stderr reports progress.", default=False),
        },
    )  # fmt: skip


def _python() -> JsonObject:
    return closed(
        "A Python function, called with the arguments as keywords. Exactly one of 'file' and 'code'.",
        {
            "file": text("The file beside the spec that has the function."),
            "code": text("The code itself, not a template."),
            "function": text("The function's name; by default the tool's."),
            "files": items(
                "More files that it needs.", text("A pattern of paths beside the spec: 'data/**/*.json'.")
            ),
            "requirements": items(
                "Packages that it needs.",
                text("One of them, pinned: 'requests==2.32.3', with or without --hash=sha256:..."),
            ),
        },
    )


def _plugin() -> JsonObject:
    return closed(
        "A process that speaks newline-delimited JSON: 'describe', then one 'call' after another.",
        {
            "command": items("The program and its arguments.", text("One argument."), at_least=1),
            "tool": text("Which of its tools, where it has several."),
            "files": items("Files that it needs.", text("A pattern of paths beside the spec.")),
        },
    )


def _composite() -> JsonObject:
    step = closed(
        "One call of another tool.",
        {
            "id": text("Its name, by which later steps use its result: {{ steps.ID.outputs }}.", _STEP),
            "tool": text("The tool's name."),
            "args": mapping("The arguments; a string is a template.", anything("An argument.")),
            "if": text("A condition in JMESPath; the step is left out where it does not hold."),
            "continue_on_error": boolean("Whether the steps after it run where it fails.", default=False),
            "timeout": duration("How long it may take."),
        },
        required=("id", "tool"),
    )
    return closed(
        "Calls of other tools.",
        {
            "strategy": choice("How the steps follow each other.", get_args(Strategy)),
            "steps": items("The calls.", step, at_least=1),
        },
    )


def _agent() -> JsonObject:
    return closed(
        "A sub-agent: a model that answers with the help of other tools.",
        {
            "provider": choice("Whose API it is.", get_args(AgentProvider)),
            "model": text("The model's name."),
            "base_url": text("Where the API is; by default the provider's own."),
            "api_key": text("The key: {{ secrets.NAME }}, a secret of 'sandbox.secrets'."),
            "instructions": string("What it is told, a template; the arguments are what it is asked."),
            "tools": items("The tools that it can call.", text("A tool's name.")),
            "parallel": boolean("Whether the calls of one answer are made at once.", default=True),
            "max_turns": integer("How often the model may answer.", 1, 100, 10),
            "max_tokens": integer("How many tokens it may write in one answer.", 1, 1_000_000, 4096),
            "token_budget": integer(
                "How many tokens it may read and write in all answers of a call.", 1, 100_000_000, 200_000
            ),
        },
    )
