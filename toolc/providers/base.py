"""What a provider is: pure functions between toolc's values and those of its SDK.

Tools are lowered to the SDK's ``tools`` argument, a model's response is read for calls, and what came of them
becomes the messages that go back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec
from toolc.providers.answers import Answer


# A tuple is made and hashed in a fraction of the time, and a thousand tools have ten thousand of these.
class Loss(NamedTuple):
    """Something a provider's definition cannot say: which tool, where in it (a JSON Pointer), and what."""

    tool: str
    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class Lowering:
    """Tools as a provider has them declared, one ``definition`` each, and what was lost on the way.

    ``inside`` is the key of the one object that holds them all, where they do not stand in the list themselves.
    """

    definitions: list[JsonValue]
    losses: tuple[Loss, ...] = ()
    inside: str = ""

    @property
    def tools(self) -> list[JsonValue]:
        """The definitions in the provider's envelope."""
        if not self.inside:
            return self.definitions
        return [{self.inside: self.definitions}] if self.definitions else []


class Provider(Protocol):
    """A target of ``toolc build``."""

    @property
    def name(self) -> str:
        """The word for ``definitions(...)``, and the name of its file under ``providers/``."""

    @property
    def limits_strict(self) -> bool:
        """Whether a request may have only so many strict tools, so that how one is declared depends on others."""

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare these tools, in this order; only the strict ones of ``limits_strict`` depend on each other."""

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """The calls in a response, in its order; arguments that are no JSON object stay as they came."""

    def messages(self, answers: Sequence[Answer]) -> list[JsonValue]:
        """What to append to the conversation after the response that these answer, which stands in it already."""
