"""Read a call's arguments from a command line: ``--args`` in JSON, and ``--arg name=value``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from toolc.cli.common import compiled_source, open_registry
from toolc.client.build import split_target
from toolc.client.registry import Registry
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, Schema


def read_arguments(args: str | None, pairs: tuple[str, ...], schema: Schema) -> JsonObject:
    """Return the arguments of ``--args`` (JSON, ``@FILE``, or ``-`` for stdin), overridden by each ``--arg``.

    Raise ``UsageError`` for what cannot be read. The arguments are not validated here.
    """
    arguments = _read_args(args) if args is not None else {}
    given: set[str] = set()
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator or not name:
            raise UsageError(f"--arg {pair!r} is not an assignment; write --arg NAME=VALUE")
        if name in given:
            raise UsageError(f'--arg {name} appears twice; for a list write --arg \'{name}=["a", "b"]\'')
        given.add(name)
        arguments[name] = _typed(name, text, schema.properties.get(name))
    return arguments


def _read_args(args: str) -> JsonObject:
    where, text = _source(args)
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
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
    """Return the name of the text for messages, and the text."""
    try:
        if args == "-":
            return "--args -", sys.stdin.buffer.read().decode("utf-8")
        if args.startswith("@"):
            return args[1:], Path(args[1:]).read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"--args {args} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"--args {args} is not UTF-8: see byte {error.start}") from None
    return "--args", args


def _typed(name: str, text: str, schema: JsonObject | None) -> JsonValue:
    """Return ``text`` unchanged if the parameter may be a string, else parsed as JSON."""
    types = _types(schema or {})
    if "string" in types:
        return text
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        if not types:
            return text
        wanted = " or ".join(sorted(types))
        raise UsageError(f"--arg {name}: expected {wanted} as JSON, got {text[:60]!r}") from None
    return value


def _types(schema: JsonObject) -> set[str]:
    """Return the types that a parameter's schema names; empty if it names none."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return {declared}
    if isinstance(declared, list):
        return {str(each) for each in declared}
    values = schema.get("enum")
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        return {"string"}
    return set()


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} appears twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def find_registry(target: str, registry: str | None) -> Registry:
    """Return a registry of the one tool that ``target`` names. Raise ``UsageError`` if it names none or several."""
    if registry is not None:
        return open_registry(registry).only(target)
    source, name = split_target(target)
    if not source.exists():
        raise UsageError(
            f"there is no file or folder {str(Path(target))!r}; "
            "for a tool of a registry add: --registry build/registry.json"
        )
    if name is not None or source.suffix == ".json":
        found = open_registry(target)
        return _single(target, found, found.names)
    compilation = compiled_source(source)
    own = sorted(tool.spec.name for tool in compilation.local)
    return _single(target, Registry.compiled(compilation), own)


def _single(target: str, registry: Registry, names: Sequence[str]) -> Registry:
    if len(names) != 1:
        first, *others = names
        raise UsageError(f"{target} has {len(names)} tools; select one: {target}#{first} (or {', '.join(others)})")
    return registry.only(*names)
