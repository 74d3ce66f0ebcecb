"""The three tools that ``--search`` lists instead of all tools: ``find_tools``, ``describe_tools`` and ``call_tool``.

They find only tools that the client may call. ``call_tool`` becomes an ordinary call of the tool that it names, so
every check of a direct call applies.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

import anyio
from mcp.types import CallToolRequestParams, CallToolResult

from toolc.client.definitions import definitions_for
from toolc.client.executor import Executor
from toolc.dataclass import replace
from toolc.model.json_schema import JsonObject, JsonValue, Schema, list_under
from toolc.model.result import Text, ToolResult
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.tool import Annotations, ToolSpec
from toolc.model.text import shorten
from toolc.providers.mcp import call_result
from toolc.runtime.argument_binding import bind
from toolc.runtime.argument_values import BindError
from toolc.runtime.output.truncation import READ_RESULT
from toolc.serve.offered import CALL, DESCRIBE, FIND
from toolc.serve.search.tool_index import ToolIndex

_SUMMARY: Final = 300
"""The maximum length of a description in the answer of ``find_tools``, in characters."""


class FindingTools:
    """Finds, describes and calls the tools of clients. Tools with a name or a tag in ``direct`` stay listed."""

    def __init__(self, direct: Collection[str] = ()) -> None:
        self._direct = frozenset(direct)
        self._indexes: WeakKeyDictionary[Executor, ToolIndex] = WeakKeyDictionary()
        self._building = anyio.Lock()
        own = (_own_tool(**each) for each in json.loads(Path(__file__).with_suffix(".json").read_bytes()))
        self._specs = {tool.name: tool for tool in own}

    def definitions(self, executor: Executor) -> list[JsonValue]:
        """Return the definitions to list: the three tools, and the tools that stay listed."""
        offered = executor.tools
        call = replace(self._specs[CALL], annotations=_most_cautious(offered))
        direct = [
            tool
            for tool in offered
            if tool.name == READ_RESULT or not self._direct.isdisjoint((tool.name, *tool.aliases, *tool.tags))
        ]
        return definitions_for("mcp", [self._specs[FIND], self._specs[DESCRIBE], call, *direct], {})

    async def resolve(
        self, params: CallToolRequestParams, executor: Executor, left_out: Collection[str]
    ) -> CallToolRequestParams | CallToolResult:
        """Return the call that ``call_tool`` makes, or the answer of one of the other two tools.

        The answers do not contain the tools in ``left_out``.
        """
        spec = self._specs[params.name]
        try:
            arguments = bind(spec, params.arguments or {}, "").arguments
        except BindError as error:
            return _answer(ToolResult.failure(str(error), kind="invalid_args"))
        offered = {tool.name: tool for tool in executor.tools if tool.name not in left_out}
        if spec.name == CALL:
            name = str(arguments["name"])
            if name not in offered and name not in executor.registry:
                return _unknown([name])
            return params.model_copy(update={"name": name, "arguments": arguments["arguments"]})
        if spec.name == DESCRIBE:
            names = dict.fromkeys(str(each) for each in list_under(arguments, "names"))
            if unknown := [name for name in names if name not in offered]:
                return _unknown(unknown)
            return _data({"tools": definitions_for("mcp", [offered[name] for name in names], {})})
        index = await self._index(executor)
        found = await anyio.to_thread.run_sync(index.search, str(arguments["query"]))
        return _found([tool for tool in found if tool.name in offered][: int(str(arguments["limit"]))])

    async def _index(self, executor: Executor) -> ToolIndex:
        async with self._building:
            if executor not in self._indexes:
                self._indexes[executor] = await anyio.to_thread.run_sync(ToolIndex, tuple(executor.registry))
            return self._indexes[executor]


def _found(tools: Sequence[ToolSpec]) -> CallToolResult:
    if not tools:
        return _answer(ToolResult(content=(Text("No tool matches. Try other words, or fewer."),)))
    found: list[JsonValue] = [{"name": tool.name, "description": shorten(tool.description, _SUMMARY)} for tool in tools]
    return _data({"tools": found})


def _unknown(names: Iterable[str]) -> CallToolResult:
    message = f"there is no tool {', '.join(map(repr, names))}; find the names of tools with {FIND}"
    return _answer(ToolResult.failure(message, kind="not_found"))


def _data(value: JsonObject) -> CallToolResult:
    text = Text(json.dumps(value, ensure_ascii=False))
    return _answer(ToolResult(content=(text,), structured=(value,)))


def _answer(result: ToolResult) -> CallToolResult:
    return CallToolResult.model_validate(call_result(result))


def _most_cautious(tools: Sequence[ToolSpec]) -> Annotations:
    """Return annotations that hold for every tool that ``call_tool`` can call."""
    declared = [tool.annotations for tool in tools]
    return Annotations(
        read_only=all(each.read_only is True for each in declared),
        destructive=any(each.destructive is not False and each.read_only is not True for each in declared),
        idempotent=all(each.idempotent is True for each in declared),
        open_world=any(each.open_world is not False for each in declared),
    )


def _own_tool(name: str, description: str, parameters: JsonObject) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters=Schema(parameters),
        annotations=Annotations(read_only=True, idempotent=True, open_world=False),
        backend=HostFunction(function=FindingTools, loads={}),  # the server answers these calls itself
    )
