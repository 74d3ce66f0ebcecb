"""Read the inputs of commands: the arguments of a call, registries and the user's configuration."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

from toolc.config.configuration import Configuration
from toolc.config.user_config import load_configuration, read_private
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, Schema, types_of, unique_object
from toolc.model.text import render_size, shorten
from toolc.telemetry.logs import logs_as_json

MAX_ARGS: Final = 16 * 2**20
"""The maximum size of the JSON text that ``--args`` reads, in bytes. A model writes far less.

Large data belongs in a file of the workspace.
"""

_MAX_ECHOED: Final = 80
"""The maximum number of characters of a key that a message repeats, so that it fits a line of a terminal."""


def read_arguments(args: str | None, pairs: tuple[str, ...], schema: Schema) -> JsonObject:
    """Return the arguments of ``--args`` (JSON, ``@FILE``, or ``-`` for stdin), overridden by each ``--arg``.

    Raises ``UsageError`` if they cannot be read. They are not validated here.
    """
    arguments = _read_args(args) if args is not None else {}
    given: set[str] = set()
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator or not name:
            raise UsageError(f"--arg {_echoed(pair)} is not an assignment; write --arg NAME=VALUE")
        if name in given:
            name = name[:_MAX_ECHOED]
            raise UsageError(f'--arg {name} appears twice; write a list as --arg \'{name}=["a", "b"]\'')
        given.add(name)
        arguments[name] = _typed(name, text, schema.properties.get(name))
    return arguments


def read_claims(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return the claims in ``--caller NAME=VALUE``. Raises ``UsageError``."""
    claims: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise UsageError(f"--caller {_echoed(pair)} is not an assignment; write e.g. --caller sub=user-1")
        if name in claims:
            raise UsageError(f"--caller {name[:_MAX_ECHOED]} appears twice")
        claims[name] = value
    return claims


def _read_args(args: str) -> JsonObject:
    where, text = _source(args)
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=unique_object)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise UsageError(
            f'{where} is not JSON: {place}: {error.msg}; write an object such as \'{{"path": "README.md"}}\''
        ) from None
    except ValueError as error:
        raise UsageError(f"{where} is not JSON: {error}") from None
    except RecursionError:
        raise UsageError(f"{where} is nested too deeply") from None
    if not isinstance(value, dict):
        raise UsageError(f'{where} must be a JSON object such as \'{{"path": "README.md"}}\', not {text.strip()[:40]}')
    return value


def _source(args: str) -> tuple[str, str]:
    """Return the name of the source, for messages, and its text."""
    try:
        if args == "-":
            return "--args -", _limited(args, sys.stdin.buffer).decode("utf-8")
        if args.startswith("@"):
            with Path(args[1:]).open("rb") as file:
                return args[1:], _limited(args, file).decode("utf-8")
    except OSError as error:
        raise UsageError(f"--args {args} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"--args {args} is not UTF-8: invalid byte at offset {error.start}") from None
    return "--args", args


def _limited(args: str, file: BinaryIO) -> bytes:
    """Return the contents of ``file``. Raises ``UsageError`` if there are more than ``MAX_ARGS`` bytes."""
    data = file.read(MAX_ARGS + 1)
    if len(data) > MAX_ARGS:
        raise UsageError(f"--args {args} is larger than {render_size(MAX_ARGS)}; pass large data in a workspace file")
    return data


def _typed(name: str, text: str, schema: JsonObject | None) -> JsonValue:
    """Return ``text`` unchanged if the parameter may be a string. Otherwise return it parsed as JSON."""
    types = _types(schema or {})
    if "string" in types:
        return text
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=unique_object)
    except (ValueError, RecursionError):
        if not types:
            return text
        expected = " or ".join(sorted(types))
        raise UsageError(f"--arg {name[:_MAX_ECHOED]}: expected {expected} as JSON, got {text[:60]!r}") from None
    return value


def _types(schema: JsonObject) -> set[str]:
    """Return the types that a parameter's schema names, if any."""
    if declared := types_of(schema):
        return {*declared}
    values = schema.get("enum")
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        return {"string"}
    return set()


def _echoed(key: str) -> str:
    """Return ``key`` in quotes for a message, shortened if it is long."""
    return repr(shorten(key, _MAX_ECHOED))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def user_configuration(*, warn: bool = True, path: Path | None = None) -> Configuration:
    """Return the user's configuration, or the one in another file. Raises ``UsageError``.

    From then on, stderr shows the progress while a base image is created. With ``warn``, it also shows which
    protections a call lacks.
    """
    configuration = load_configuration() if path is None else read_private(path)
    if logs_as_json():
        return configuration
    print_image_log()
    if not warn:
        logging.getLogger("toolc").addHandler(logging.NullHandler())
    elif configuration.accept_unenforced or configuration.host_programs:
        _print_log("toolc", "toolc: warning: %(message)s")
    return configuration


def print_image_log() -> None:
    """Print the progress of images on stderr, unless the log is JSON, which includes it."""
    if not logs_as_json():
        progress = _print_log("toolc.images", "toolc: %(message)s")
        progress.setLevel(logging.INFO)
        progress.propagate = False


def _print_log(name: str, line: str) -> logging.Logger:
    """Print the messages of a logger on stderr, each formatted as ``line``, and return the logger."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(line))
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    return logger
