"""Agents of the OpenAI Agents SDK with tools in sandboxes and a scripted server of the Responses API."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, OpenAIResponsesModel, Runner, RunResult, set_tracing_disabled
from calls.fake_tools import registry
from calls.framework_tools import COUNT, COUNT_DESCRIPTION, PNG, STRICT, TOOLS, echoing, executor_of, failing
from models.provider_cases import tool
from models.scripted_model import ResponsesSpeech, ScriptedModel
from openai import AsyncOpenAI
from schemas.parameter_schemas import SCHEMAS

from toolc import Allow, Executor, SandboxDiedError
from toolc.adapters import openai_agents
from toolc.model.json_schema import JsonObject
from toolc.model.spec.tool import ProviderChoice
from toolc.providers import load_provider

set_tracing_disabled(disabled=True)  # tracing sends data to OpenAI


def asking(*calls: tuple[str, Any]) -> ScriptedModel:
    """Return a server that asks for these calls and then ends the conversation."""
    speech = ResponsesSpeech()
    return ScriptedModel(speech=speech, script=[speech.calls(*calls), speech.text("Done.")])


def client_of(model: ScriptedModel) -> AsyncOpenAI:
    return AsyncOpenAI(api_key="none", base_url=model.base_url, max_retries=0)


def agent_of(client: AsyncOpenAI, executor: Executor) -> Agent[Any]:
    model = OpenAIResponsesModel(model="scripted", openai_client=client)
    return Agent(name="assistant", model=model, tools=[*openai_agents.tools(executor)])


def run_agent(model: ScriptedModel, executor: Executor) -> RunResult:
    async def run() -> RunResult:
        async with client_of(model) as client:
            return await Runner.run(agent_of(client, executor), "Please help.")

    return asyncio.run(run())


def outputs(result: RunResult) -> dict[str, Any]:
    assert result.final_output == "Done."
    items: Any = [item for item in result.to_input_list() if item.get("type") == "function_call_output"]
    return {item["call_id"]: item["output"] for item in items}


@pytest.mark.needs_engine
def test_an_agent_calls_a_tool_in_a_sandbox(executor: Executor, event_loop: asyncio.AbstractEventLoop) -> None:
    with asking(("count_words", {"path": "notes.md"})) as model:
        client = client_of(model)
        result = Runner.run_sync(agent_of(client, executor), "How many words are in notes.md?")
        event_loop.run_until_complete(client.close())
        assert model.speech.results(model.requests[1]) == [("id_1", "2 notes.md\n")]
    assert outputs(result) == {"id_1": "2 notes.md\n"}


@pytest.mark.needs_engine
def test_an_asynchronous_agent_makes_three_calls_and_one_fails(executor: Executor) -> None:
    with asking(*[("count_words", {"path": path}) for path in ("notes.md", "missing.md", "./notes.md")]) as model:
        found = outputs(run_agent(model, executor))
    assert list(found) == ["id_1", "id_2", "id_3"]
    assert found["id_1"] == "2 notes.md\n"
    assert found["id_2"].startswith("ERROR (exit_status): wc: missing.md: No such file")
    assert found["id_3"] == "2 ./notes.md\n"


@pytest.mark.needs_engine
def test_a_picture_is_a_part_that_a_model_can_see(executor: Executor) -> None:
    with asking(("draw", {})) as model:
        [part] = outputs(run_agent(model, executor))["id_1"]
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert part == {"type": "input_image", "image_url": url, "detail": "auto"}


def test_the_api_receives_the_definitions_for_responses(tmp_path: Path) -> None:
    executor = executor_of(tmp_path, engine=echoing(), tools=[*TOOLS, STRICT])
    with asking(("draw", {})) as model:
        run_agent(model, executor)
        assert model.requests[0]["tools"] == executor.definitions("openai_responses")


def test_the_sdk_changes_no_strict_definition() -> None:
    choices = (ProviderChoice(provider="openai_responses", strict=True),)
    tools = [tool(name, schema, providers=choices) for name, schema in SCHEMAS.items()]
    definitions: Any = load_provider("openai_responses").lower(tools).tools
    assert sum(each["strict"] for each in definitions) >= 150
    executors = [Executor(registry(*tools[start : start + 100])) for start in range(0, len(tools), 100)]
    adapted = [each for executor in executors for each in openai_agents.tools(executor)]
    assert {each.name: each.params_json_schema for each in adapted} == {
        each["name"]: each["parameters"] for each in definitions
    }


def test_a_strict_tool_leaves_out_what_the_model_sends_as_null(tmp_path: Path) -> None:
    executor = executor_of(tmp_path, engine=echoing(), tools=[STRICT])
    with asking(("book", {"room": "a", "guests": None})) as model:
        assert outputs(run_agent(model, executor))["id_1"] == '{"room":"a"}'


@pytest.mark.parametrize("arguments", ['{"file": "a"}', '{"path": ', "[]"])
def test_invalid_arguments_are_an_error_for_the_model(tmp_path: Path, arguments: str) -> None:
    with asking(("count_words", arguments)) as model:
        result = run_agent(model, executor_of(tmp_path, engine=echoing()))
    assert outputs(result)["id_1"].startswith("ERROR (invalid_args): ")


CONFIRMED: tuple[str, JsonObject] = ("delete_all", {"reason": "cleaning"})


@pytest.mark.parametrize("approves", [True, False])
def test_a_call_to_confirm_interrupts_the_run(tmp_path: Path, approves: bool) -> None:
    with asking(CONFIRMED) as model:

        async def run() -> RunResult:
            async with client_of(model) as client:
                agent = agent_of(client, executor_of(tmp_path, engine=echoing()))
                state = (await Runner.run(agent, "Please help.")).to_state()
                [interruption] = state.get_interruptions()
                state.approve(interruption) if approves else state.reject(interruption)
                return await Runner.run(agent, state)

        output = outputs(asyncio.run(run()))["id_1"]
    assert ("deleted: " in output) == approves


def test_the_executor_confirms_calls_if_it_can(tmp_path: Path) -> None:
    with asking(CONFIRMED) as model:
        executor = executor_of(tmp_path, engine=echoing(), confirm=lambda _: Allow())
        assert "deleted: " in outputs(run_agent(model, executor))["id_1"]


def test_a_failure_of_the_sandbox_ends_the_run(tmp_path: Path) -> None:
    with asking(("draw", {})) as model, pytest.raises(Exception, match="the sandbox exited") as raised:
        run_agent(model, executor_of(tmp_path, engine=failing()))
    assert isinstance(raised.value, SandboxDiedError) or isinstance(raised.value.__cause__, SandboxDiedError)


def test_a_description_contains_the_result_schema(tmp_path: Path) -> None:
    [tool] = openai_agents.tools(executor_of(tmp_path, tools=[COUNT], engine=echoing()))
    assert tool.description == COUNT_DESCRIPTION
