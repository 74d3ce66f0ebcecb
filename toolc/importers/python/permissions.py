"""Find the packages, hosts and secrets that the code of a tool uses. These are the least permissions that it needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from toolc.compiler.text_analysis.credentials import credential_name
from toolc.model.json_schema import JsonObject, JsonValue

_CLIENTS: Final = frozenset({"aiohttp", "http", "httpx", "requests", "urllib", "urllib3"})
_URL: Final = re.compile(r"(?i)(https?)://([a-z0-9-]+(?:\.[a-z0-9-]+)+)(?::([0-9]{1,5}))?(?=[/?#]|(?P<end>$))")


def sandbox(nodes: Iterable[ast.AST], packages: Iterable[str]) -> tuple[JsonObject, list[str]]:
    """Return ``sandbox`` of a spec, and what the user must add.

    It allows the hosts of constant URLs if the code can make HTTP requests, and the secrets that the code reads from
    its environment.
    """
    found = [*nodes]
    is_client = not _CLIENTS.isdisjoint(packages)
    hosts = sorted({each for node in found for each in _hosts(node)}) if is_client else []
    variables = sorted({each for node in found for each in _variables(node)})
    value: JsonObject = {"network": {"allow": [*hosts]}} if hosts else {}
    names: list[JsonValue] = [each.rpartition(":")[0] for each in hosts]
    secret: JsonObject = ({"hosts": names} if names else {}) | {"expose": "env"}
    secrets = [each for each in variables if credential_name(each)]
    value |= {"secrets": dict.fromkeys(secrets, secret)} if secrets else {}
    missing = [f"it reads the variable {each}; write it under sandbox.env" for each in variables if each not in secrets]
    if is_client and not hosts:
        missing.append("it makes HTTP requests; write its hosts under sandbox.network.allow")
    return value, missing


def _hosts(node: ast.AST) -> Iterator[str]:
    parts = {id(each) for joined in ast.walk(node) if isinstance(joined, ast.JoinedStr) for each in joined.values}
    for each in _texts(node):
        match = _URL.match(each.value) if isinstance(each.value, str) else None
        if match and not (match["end"] is not None and id(each) in parts):  # the rest of the host may follow
            yield f"{match[2].lower()}:{match[3] or (443 if match[1].lower() == 'https' else 80)}"


def _texts(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield the string constants of code, except docstrings."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Constant) and not isinstance(node, ast.Expr):
            yield each
        yield from _texts(each)


def _variables(node: ast.AST) -> Iterator[str]:
    """Yield the names of environment variables that code reads with ``os.environ[...]``, ``getenv`` or ``get``."""
    for each in ast.walk(node):
        match each:
            case ast.Subscript(value=read, slice=ast.Constant(value=str(name))) if _last(read) == "environ":
                yield name
            case ast.Call(func=ast.Attribute(attr="get", value=read) | read, args=[ast.Constant(value=str(name)), *_]):
                yield from [name] if _last(read) in {"environ", "getenv"} else []
            case _:
                pass


def _last(node: ast.expr) -> str:
    """Return the last part of a name such as ``os.environ``."""
    return ast.unparse(node).rpartition(".")[2]
