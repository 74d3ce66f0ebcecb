"""``backend.agent``: send a task to a model, run the calls it makes, and return its final answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic
from typing import Final

from toolc.dataclass import dataclass, field, replace
from toolc.model.call import BoundCall, ToolCall
from toolc.model.json_schema import JsonObject, JsonValue, parse_json
from toolc.model.result import Outcome, Text, ToolResult, failure
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import TemplateError, as_text
from toolc.model.text import count_noun, lazy_re
from toolc.providers.provider import CallMessage
from toolc.runtime.agents.model import ModelError
from toolc.runtime.agents.turns import AgentEvents, AgentLoop, open_api
from toolc.runtime.caller import CallContext, Caller, one_at_a_time, run_in_threads
from toolc.runtime.cancellation import Deadline, InterruptedWaitError
from toolc.runtime.output.truncation import READ_RESULT, truncate_result
from toolc.runtime.result_validation import validate_result
from toolc.runtime.sandboxed.interruption import interrupted_result

NO_TASK: Final = "Begin."
"""The task for a call without arguments, because the APIs require a message."""

_FENCED: Final = lazy_re(r"(?s)\s*```(?:json)?[ \t]*\n(.*)\n```\s*")

MAX_CALLS: Final = 64
"""The maximum number of calls that are made for one answer. Current models make about ten.

A model that repeats itself must not start thousands of sandboxes.
"""

MAX_PARALLEL: Final = 8
"""The maximum number of an answer's calls that run at the same time.

Each call runs in a sandbox, and the calls of a sub-agent add to those of its caller.
"""


def task_message(call: BoundCall) -> str:
    """Return the task for the model: the text of the only argument, or all arguments as a JSON object."""
    arguments = call.arguments
    if not arguments:
        return NO_TASK
    if len(call.tool.parameters.properties) == 1 and len(arguments) == 1:
        return as_text(next(iter(arguments.values())))
    return as_text(arguments)


def is_json(tool: ToolSpec) -> bool:
    """Return whether the final answer must be data."""
    return tool.result_schema is not None or tool.result.select is not None or tool.result.format == "json"


def schema_instructions(tool: ToolSpec) -> str:
    """Return the instructions for an answer that must be data."""
    text = "Your final answer must be one JSON value and nothing else, without text around it or a code fence."
    if tool.result_schema is None or tool.result.select is not None:
        return text
    return f"{text} It must satisfy this JSON Schema:\n{as_text(tool.result_schema.value)}"


def final_result(text: str, tool: ToolSpec) -> ToolResult:
    """Return the result for a final answer. An answer without the promised data is a ``serialization`` error."""
    if not is_json(tool):
        return ToolResult(content=() if tool.result.format == "none" else (Text(text),))
    # Models often add a code fence despite the instructions.
    fenced = _FENCED.fullmatch(text)
    data = (fenced[1] if fenced else text).encode("utf-8", "replace")
    try:
        value = parse_json(data)
    except ValueError as error:
        return failure("serialization", f"the model's answer is not JSON ({error})")
    answer = ToolResult(content=(Text(as_text(value)),), structured=(value,))
    answer = truncate_result(answer, tool.sandbox.limits.output_bytes)
    # The schema describes the selected part, which the model does not know.
    if tool.result_schema is None or tool.result.select is not None:
        return answer
    return validate_result(answer, tool.result_schema, tool.name)


def make_calls(
    calls: Sequence[ToolCall], names: frozenset[str], context: CallContext, caller: Caller, *, turn: int, parallel: bool
) -> list[CallMessage]:
    """Make ``calls`` and return their results in order. Only tools in ``names`` are called.

    ``turn`` is the number of the model's answer, and the first part of the call ids. With ``parallel``, the calls may
    run concurrently. If ``caller.call`` raises an error, it is raised again after all calls have ended.
    """
    with context.cancellation.child() as cancellation:
        context = replace(context, cancellation=cancellation, on_event=one_at_a_time(context.on_event))

        def make(number: int) -> ToolResult:
            if number > MAX_CALLS:
                return failure("rate_limit", f"only the first {MAX_CALLS} calls of an answer are made; repeat this one")
            return _make_call(calls[number - 1], names, f"{turn}.{number}", context, caller)

        numbers = range(1, len(calls) + 1)
        results = run_in_threads(make, numbers, MAX_PARALLEL, cancellation) if parallel else [*map(make, numbers)]
    return [CallMessage(call, result) for call, result in zip(calls, results, strict=True)]


class Agent:
    """The backend kind ``agent``."""

    def run(self, backend: AgentBackend, call: BoundCall, context: CallContext, caller: Caller) -> ToolResult:
        """Return the model's final answer. Raises the same errors as ``caller.call``."""
        deadline = Deadline(context.cancellation, context.deadline)
        events = AgentEvents(call, context)
        with ExitStack() as stack:
            try:
                connection = stack.enter_context(
                    open_api(backend, call.tool, context.secrets, deadline, events.attempt)
                )
            except ModelError as error:
                return failure(error.kind, str(error))
            return _Conversation(
                backend, call, context, caller, AgentLoop(backend, connection, deadline, events)
            ).result()


def _make_call(call: ToolCall, names: frozenset[str], step: str, context: CallContext, caller: Caller) -> ToolResult:
    if call.name not in names:
        known = f"known tools: {', '.join(sorted(names))}" if names else "it has no tools"
        return failure("not_found", f"there is no tool {call.name[:100]!r}; {known}")
    return caller.call(call.name, call.arguments, context, step=step)


@dataclass(slots=True)
class _Conversation:
    """The conversation of one call, with the messages and calls so far."""

    backend: AgentBackend
    call: BoundCall
    context: CallContext
    caller: Caller
    loop: AgentLoop
    messages: list[JsonValue] = field(default_factory=list)
    calls_made: list[JsonValue] = field(default_factory=list)

    def result(self) -> ToolResult:
        """Run the conversation and return its result. ``details`` has the model's usage, calls and connections."""
        started = monotonic()
        try:
            result = self._converse()
        except TemplateError as error:
            result = failure("invalid_args", str(error))
        except ModelError as error:
            result = failure(error.kind, str(error))
        except InterruptedWaitError as error:
            elapsed_ms = round((monotonic() - started) * 1000)
            result = interrupted_result(Outcome(ending=error.reason), self.call.tool.sandbox.limits, elapsed_ms)
        agent: JsonObject = self.loop.details() | {"calls": self.calls_made}
        network: list[JsonValue] = [each.to_json() for each in self.loop.connection.attempts()]
        return replace(result, details=result.details | {"agent": agent, "network": network})

    def _converse(self) -> ToolResult:
        spec = self.call.tool
        instructions = self.backend.instructions.render(self.call.arguments)
        if is_json(spec):
            instructions = f"{instructions}\n\n{schema_instructions(spec)}".lstrip()
        self._add_user_message(task_message(self.call))
        while not self.loop.is_exhausted():
            tools = self._tools()
            response = self.loop.next(instructions, self.messages, tools)
            self.messages += response.messages
            if response.calls:
                names = frozenset({*self.backend.tools, *(each.name for each in tools)})
                self._add_results(
                    make_calls(
                        response.calls,
                        names,
                        self.context,
                        self.caller,
                        turn=self.loop.number,
                        parallel=self.backend.parallel and not _needs_confirmation(response.calls, tools),
                    )
                )
                continue
            result = final_result(response.text, spec)
            if self.loop.is_exhausted() or result.error is None or result.error.kind != "serialization":
                return result
            self._add_user_message(f"{result.error.message}\nAnswer again, with one JSON value and nothing else.")
        turns = count_noun(self.backend.max_turns, "turn")
        return failure("execution", f"the model did not answer within {turns}; request less, or raise 'max_turns'")

    def _tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools that may be called now, including the tool that reads stored results if it is enabled."""
        builtin = (each for each in self.caller.tools((READ_RESULT,)) if isinstance(each.backend, HostFunction))
        return (*self.caller.tools(self.backend.tools), *builtin)

    def _add_user_message(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def _add_results(self, answers: list[CallMessage]) -> None:
        """Add the results of the calls to the conversation and to the details. Raises ``InterruptedWaitError``."""
        for each in answers:
            error = each.result.error
            self.calls_made.append(
                {
                    "tool": each.call.name,
                    "turn": self.loop.number,
                    "call_id": each.result.details.get("call_id"),
                    "error": error.kind if error else None,
                }
            )
        self.messages += self.loop.connection.api.provider.messages(answers)
        self.loop.deadline.check()


def _needs_confirmation(calls: Sequence[ToolCall], tools: Sequence[ToolSpec]) -> bool:
    """Return whether a call needs confirmation. If so, calls run one at a time, so that prompts do not overlap."""
    confirmed = {name for each in tools if each.confirm for name in (each.name, *each.aliases)}
    return any(each.name in confirmed for each in calls)
