"""The runtime of generated Python clients: callers, omitted arguments, and the registry warning.

A generated module has the classes ``Tools`` and ``AsyncTools``, which call through ``Caller`` and ``AsyncCaller``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from toolc.client.executor import CallableTools, Executor
from toolc.model.errors import ToolcError
from toolc.model.json_schema import JsonObject
from toolc.model.registry_io import surfaces_digest
from toolc.model.result import ToolResult


class Omitted(Enum):
    """The type of ``OMITTED``."""

    OMITTED = "omitted"

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Final = Omitted.OMITTED
"""The value of an optional argument that a call omits. The tool then uses its default, if there is one."""


class ToolCallError(ToolcError):
    """A call of ``tool`` through a typed client returned the error ``result``."""

    def __init__(self, tool: str, result: ToolResult) -> None:
        kind, message = (result.error.kind, result.error.message) if result.error else ("execution", result.text)
        super().__init__(f"{tool}: {kind}: {message}")
        self.tool = tool
        self.result = result


_warned: Final[set[tuple[str, str]]] = set()


def warn_of_difference(tools: CallableTools, digest: str, surfaces: Mapping[str, str]) -> None:
    """Warn, once per process, if ``tools`` differ from the tools that a client was generated for.

    ``digest`` is the digest of those tools. ``surfaces`` has a digest per tool, of the parts that a client sees.
    """
    present = {tool.name: tools.registered(tool.name).surface_digest for tool in tools}
    found = surfaces_digest(present)
    if found == digest or (digest, found) in _warned:
        return
    _warned.add((digest, found))
    changed = sorted(name for name in surfaces.keys() & present.keys() if surfaces[name] != present[name])
    parts = (
        ("changed", changed),
        ("missing", sorted(surfaces.keys() - present.keys())),
        ("new", sorted(present.keys() - surfaces.keys())),
    )
    differences = "; ".join(
        f"{words}: {', '.join(names[:8])}{', …' * (len(names) > 8)}" for words, names in parts if names
    )
    message = f"this client was generated for another registry ({differences})"
    warnings.warn(f"{message}; generate it again with: toolc build SPECS --client python:FILE", stacklevel=4)


class Caller:
    """Calls tools with an executor, blocking."""

    def __init__(self, executor: Executor, digest: str, surfaces: Mapping[str, str]) -> None:
        warn_of_difference(executor.registry, digest, surfaces)
        self._executor = executor

    def result(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Return the result of a call. Raises ``ToolCallError`` for an error result."""
        return _checked(tool, self._executor.run(tool, _present(arguments)))

    def data(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Return the data of a call. Raises ``ToolCallError`` for an error result."""
        return self.result(tool, arguments).data


class AsyncCaller:
    """Calls tools with an executor in a coroutine."""

    def __init__(self, executor: Executor, digest: str, surfaces: Mapping[str, str]) -> None:
        warn_of_difference(executor.registry, digest, surfaces)
        self._executor = executor

    async def result(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Return the result of a call. Raises ``ToolCallError`` for an error result."""
        return _checked(tool, await self._executor.arun(tool, _present(arguments)))

    async def data(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Return the data of a call. Raises ``ToolCallError`` for an error result."""
        return (await self.result(tool, arguments)).data


def _present(arguments: Mapping[str, Any]) -> JsonObject:
    return {name: _plain(value) for name, value in arguments.items() if value is not OMITTED}


def _plain(value: Any) -> Any:
    """Return a value with Pydantic models converted to objects with only the properties that were set."""
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else value


def _checked(tool: str, result: ToolResult) -> ToolResult:
    if result.is_error:
        raise ToolCallError(tool, result)
    return result
