"""Agents of the Google Agent Development Kit with tools in sandboxes and a scripted model."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from calls.framework_tools import PNG, echoing, executor_of, failing
from google.adk.agents import Agent
from google.adk.events import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from toolc import Allow, Executor, SandboxDiedError
from toolc.adapters import google_adk

CONFIRMATION = "adk_request_confirmation"


class Scripted(BaseLlm):
    """Asks for calls, and ends the conversation after their results. ``requests`` are what it received."""

    model: str = "scripted"
    calls: list[types.Part]
    requests: list[LlmRequest] = []  # noqa: RUF012  pydantic copies it

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.requests.append(llm_request)
        last = llm_request.contents[-1].parts or []
        parts = [types.Part(text="Done.")] if any(part.function_response for part in last) else self.calls
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def asking(*calls: tuple[str, dict[str, Any]]) -> Scripted:
    made = [types.FunctionCall(id=f"id_{index}", name=name, args=args) for index, (name, args) in enumerate(calls, 1)]
    return Scripted(calls=[types.Part(function_call=call) for call in made])


async def talk(model: Scripted, executor: Executor, *, confirms: bool = False) -> list[Event]:
    """Run an agent, whose user answers each request for confirmation with ``confirms``."""
    runner = InMemoryRunner(Agent(name="assistant", model=model, tools=[*google_adk.tools(executor)]))
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="user")
    messages, events = [types.Part(text="Please help.")], []
    while messages:
        message = types.Content(role="user", parts=[messages.pop()])
        async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
            events.append(event)
            for call in event.get_function_calls():
                if call.name == CONFIRMATION:
                    reply = types.FunctionResponse(id=call.id, name=call.name, response={"confirmed": confirms})
                    messages.append(types.Part(function_response=reply))
    await runner.close()
    return events


def responses(events: list[Event]) -> dict[str, types.FunctionResponse]:
    """Return the responses to the calls, by the id of the call."""
    return {str(each.id): each for event in events for each in event.get_function_responses()}


@pytest.mark.needs_engine
def test_an_agent_calls_a_tool_in_a_sandbox(executor: Executor) -> None:
    events = asyncio.run(talk(asking(("count_words", {"path": "notes.md"})), executor))
    assert responses(events)["id_1"].response == {"output": "2 notes.md\n"}
    last = events[-1].content
    assert last
    assert [part.text for part in last.parts or []] == ["Done."]


@pytest.mark.needs_engine
def test_an_agent_makes_three_calls_and_one_fails(executor: Executor) -> None:
    calls = [("count_words", {"path": path}) for path in ("notes.md", "missing.md", "./notes.md")]
    model = asking(*calls)
    asyncio.run(talk(model, executor))
    received = model.requests[1].contents[-1].parts or []
    found = [part.function_response for part in received if part.function_response]
    assert [each.id for each in found] == ["id_1", "id_2", "id_3"]
    assert found[0].response == {"output": "2 notes.md\n"}
    assert "missing.md: No such file" in (found[1].response or {})["error"]
    assert found[2].response == {"output": "2 ./notes.md\n"}


@pytest.mark.needs_engine
def test_a_synchronous_run_and_a_picture_as_a_part_of_the_response(executor: Executor) -> None:
    model = asking(("draw", {}))
    runner = InMemoryRunner(Agent(name="assistant", model=model, tools=[*google_adk.tools(executor)]))
    session = asyncio.run(runner.session_service.create_session(app_name=runner.app_name, user_id="user"))
    message = types.Content(role="user", parts=[types.Part(text="Draw.")])
    events = [*runner.run(user_id="user", session_id=session.id, new_message=message)]
    [part] = responses(events)["id_1"].parts or []
    assert part.inline_data
    assert (part.inline_data.data, part.inline_data.mime_type) == (PNG, "image/png")


def test_the_model_receives_the_definitions_for_gemini(tmp_path: Path) -> None:
    model, executor = asking(("draw", {})), executor_of(tmp_path, engine=echoing())
    asyncio.run(talk(model, executor))
    tools = model.requests[0].config.tools
    sent = [each.model_dump(by_alias=True, exclude_none=True) for each in tools or [] if isinstance(each, types.Tool)]
    assert sent == executor.definitions("gemini")


def test_invalid_arguments_are_an_error_for_the_model(tmp_path: Path) -> None:
    model = asking(("count_words", {"file": "a"}))
    response = responses(asyncio.run(talk(model, executor_of(tmp_path, engine=echoing()))))["id_1"].response
    assert response
    assert "path" in response["error"]


@pytest.mark.parametrize("confirms", [True, False])
def test_the_agent_development_kit_asks_for_confirmation(tmp_path: Path, confirms: bool) -> None:
    model = asking(("delete_all", {"reason": "cleaning"}))
    events = asyncio.run(talk(model, executor_of(tmp_path, engine=echoing()), confirms=confirms))
    response = responses(events)["id_1"].response
    assert response
    assert response.keys() == ({"output"} if confirms else {"error"})


def test_the_executor_confirms_calls_if_it_can(tmp_path: Path) -> None:
    executor = executor_of(tmp_path, engine=echoing(), confirm=lambda _: Allow())
    events = asyncio.run(talk(asking(("delete_all", {"reason": "cleaning"})), executor))
    assert "output" in (responses(events)["id_1"].response or {})


def test_a_failure_of_the_sandbox_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(SandboxDiedError):
        asyncio.run(talk(asking(("draw", {})), executor_of(tmp_path, engine=failing())))
