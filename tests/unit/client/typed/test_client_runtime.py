"""Calls of generated Python clients, and the warning about another registry."""

import asyncio
import warnings
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from calls import typed_tools
from calls.fake_tools import executor, registry, text

from toolc.client.executor import Executor
from toolc.client.typed import runtime
from toolc.model.json_schema import JsonObject
from toolc.model.spec.tool import ToolSpec

INNER = typed_tools.closed({"class": typed_tools.STRING, "size": {"type": ["integer", "null"]}}, ["class"])
SAVE = typed_tools.tool(
    "save", typed_tools.closed({"from": typed_tools.STRING, "items": {"type": "array", "items": INNER}}), INNER
)
SAY = typed_tools.tool("say", {**typed_tools.closed({"words": typed_tools.STRING}), "additionalProperties": True})
TOOLS = (SAVE, SAY)


def client(folder: Path, language: str = "python", tools: tuple[ToolSpec, ...] = TOOLS) -> ModuleType:
    return typed_tools.imported(folder, tools, language)


def save(arguments: JsonObject) -> JsonObject:
    seen.append(arguments)
    return {"content": [], "structured": [{"class": "a", "size": 1}], "details": {}}


def say(arguments: JsonObject) -> JsonObject:
    seen.append(arguments)
    if not arguments:
        return {"error": {"kind": "not_found", "message": "no words"}}
    return text(", ".join(arguments))


seen: list[JsonObject] = []


@pytest.fixture
def tools() -> Executor:
    seen.clear()
    return executor({"save": save, "say": say}, *TOOLS)


def test_arguments_have_their_names_in_the_spec_and_omitted_ones_are_absent(tmp_path: Path, tools: Executor) -> None:
    found = client(tmp_path).Tools(tools)
    assert found.save(from_="a", items=[{"class": "b", "size": None}]) == {"class": "a", "size": 1}
    assert found.save() == {"class": "a", "size": 1}
    assert seen == [{"from": "a", "items": [{"class": "b", "size": None}]}, {}]


def test_a_tool_without_a_result_schema_returns_its_result(tmp_path: Path, tools: Executor) -> None:
    assert client(tmp_path).Tools(tools).say(words="a", more=1).text == "more, words"


def test_an_error_result_is_raised(tmp_path: Path, tools: Executor) -> None:
    module = client(tmp_path)
    with pytest.raises(module.ToolCallError, match=r"^say: not_found: no words$") as raised:
        module.Tools(tools).say()
    assert (raised.value.tool, raised.value.result.error.kind) == ("say", "not_found")


def test_calls_in_coroutines(tmp_path: Path, tools: Executor) -> None:
    module = client(tmp_path)

    async def both() -> tuple[object, object]:
        found = module.AsyncTools(tools)
        data, result = await asyncio.gather(found.save(from_="a"), found.say(words="b"))
        return data, result

    data, result = asyncio.run(both())
    assert data == {"class": "a", "size": 1}
    assert result.text == "words"  # type: ignore[attr-defined]


def test_models_are_validated_and_only_set_properties_are_sent(tmp_path: Path, tools: Executor) -> None:
    module = client(tmp_path, "pydantic")
    item, other = (
        module.SaveArgumentsItemsItem(**{"class": "b"}),
        module.SaveArgumentsItemsItem(**{"class": "c", "size": None}),
    )
    result = module.Tools(tools).save(items=[item, other])
    assert (type(result), result.class_, result.size) == (module.SaveResult, "a", 1)
    assert seen == [{"items": [{"class": "b"}, {"class": "c", "size": None}]}]
    data = asyncio.run(module.AsyncTools(tools).save())
    assert data == result


def test_another_registry_is_a_warning_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_warned", set())
    changed = replace(SAY, description="Say other words.")
    other = Executor(registry(changed, typed_tools.tool("new")), engine=executor({}).__dict__["_engine"])
    module = client(tmp_path)
    with pytest.warns(
        UserWarning, match=r"another registry \(changed: say; missing: save; new: new\); generate"
    ) as caught:
        module.Tools(other)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.Tools(other)
        module.AsyncTools(other)


def test_a_change_that_clients_do_not_see_is_not_reported(tmp_path: Path) -> None:
    module = client(tmp_path)
    other = Executor(registry(SAVE, replace(SAY, confirm=True, tags=("a",))), engine=executor({}).__dict__["_engine"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.Tools(other)
