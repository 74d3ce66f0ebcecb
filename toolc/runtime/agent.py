"""``backend.agent``: a model that is asked, calls tools, and is asked again, until it answers.

The model is told ``instructions``, and asked what the call's arguments say. Each of its answers is a turn: calls of
tools are made and their results go back, text without calls is the result. What the model does wrong is told to
it; what ends the loop otherwise is an error of the call, with what was done until then in ``details.agent``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final

from toolc.model.call import BoundCall, ToolCall
from toolc.model.errors import MissingExtraError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Outcome, ToolResult, failure
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import TemplateError
from toolc.providers.base import CallMessage
from toolc.runtime.agent_answer import final, is_json, schema_words, task
from toolc.runtime.agent_calls import answered
from toolc.runtime.agent_model import ModelError
from toolc.runtime.agent_turns import Told, Turns
from toolc.runtime.caller import CallContext, Caller
from toolc.runtime.interrupted import interrupted
from toolc.runtime.oversized import READ_RESULT
from toolc.runtime.patience import InterruptedWaitError, Patience

EXTRA: Final = frozenset({"anthropic", "httpcore2", "httpx2", "openai"})
"""The packages that only sub-agents need."""


class Agent:
    """The backend kind ``agent``."""

    def run(self, backend: AgentBackend, call: BoundCall, context: CallContext, caller: Caller) -> ToolResult:
        """The model's final answer. Raises ``MissingExtraError``, and what ``caller.call`` raises."""
        patience = Patience(context.cancellation, context.deadline)
        told = Told(call, context)
        with ExitStack() as until_over:
            try:
                from toolc.runtime.agent_api import opened  # the SDKs are an extra, and slow to import

                api = until_over.enter_context(opened(backend, call.tool, context.secrets, patience, told.attempt))
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in EXTRA:
                    raise
                raise MissingExtraError(f"tool {call.tool.name!r}, a sub-agent,", "agent") from None
            except ModelError as error:
                return failure(error.kind, str(error))
            turns = Turns(backend, api, patience, told)
            return _Conversation(backend, call, context, caller, turns).result()


@dataclass(slots=True)
class _Conversation:
    """One call's: the messages so far, and the calls that were made."""

    backend: AgentBackend
    call: BoundCall
    context: CallContext
    caller: Caller
    turns: Turns
    messages: list[JsonValue] = field(default_factory=list)
    made: list[JsonValue] = field(default_factory=list)

    def result(self) -> ToolResult:
        """What came of it, with details of all that was done."""
        begun = monotonic()
        try:
            result = self._converse()
        except TemplateError as error:
            result = failure("invalid_args", str(error))
        except ModelError as error:
            result = failure(error.kind, str(error))
        except InterruptedWaitError as error:
            elapsed_ms = round((monotonic() - begun) * 1000)
            result = interrupted(Outcome(ending=error.ending), self.call.tool.sandbox.limits, elapsed_ms)
        about: JsonObject = self.turns.details() | {"calls": self.made}
        network: list[JsonValue] = [each.to_json() for each in self.turns.api.network.attempts()]
        return replace(result, details=result.details | {"agent": about, "network": network})

    def _converse(self) -> ToolResult:
        spec = self.call.tool
        instructions = self.backend.instructions.render(self.call.arguments)
        if is_json(spec):
            instructions = f"{instructions}\n\n{schema_words(spec)}".lstrip()
        self._ask(task(self.call))
        while not self.turns.are_over():
            tools = self._tools()
            turn = self.turns.next(instructions, self.messages, tools)
            self.messages += turn.said
            if turn.calls:
                names = frozenset({*self.backend.tools, *(each.name for each in tools)})
                self._hand_back(
                    answered(
                        turn.calls,
                        names,
                        self.context,
                        self.caller,
                        turn=self.turns.number,
                        parallel=self.backend.parallel and not _asks(turn.calls, tools),
                    )
                )
                continue
            result = final(turn.text, spec)
            if self.turns.are_over() or result.error is None or result.error.kind != "serialization":
                return result
            self._ask(f"{result.error.message}\nAnswer again, with one JSON value and nothing else.")
        most = self.backend.max_turns
        turns = "1 turn" if most == 1 else f"{most} turns"
        why = f"the model had not answered after {turns}; ask for less, or raise 'max_turns'"
        return failure("execution", why)

    def _tools(self) -> tuple[ToolSpec, ...]:
        """What may be called now, and toolc's own tool to read on in what was cut, where results are kept."""
        own = (each for each in self.caller.tools((READ_RESULT,)) if isinstance(each.backend, HostFunction))
        return (*self.caller.tools(self.backend.tools), *own)

    def _ask(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def _hand_back(self, answers: list[CallMessage]) -> None:
        """Put what came of the calls into the conversation, and on record. Raises ``InterruptedWaitError``."""
        for each in answers:
            error = each.result.error
            self.made.append(
                {
                    "tool": each.call.name,
                    "turn": self.turns.number,
                    "call_id": each.result.details.get("call_id"),
                    "error": error.kind if error else None,
                }
            )
        self.messages += self.turns.api.dialect.provider.messages(answers)
        self.turns.patience.check()


def _asks(calls: Sequence[ToolCall], tools: Sequence[ToolSpec]) -> bool:
    """Whether a person is asked about one of the calls: of two questions at once, none could be answered."""
    asking = {name for each in tools if each.confirm for name in (each.name, *each.aliases)}
    return any(each.name in asking for each in calls)
