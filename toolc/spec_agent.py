"""``backend.agent``: a model that answers with the help of other tools. See ``toolc.spec`` for the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from toolc.spec_http import Url
from toolc.template import Template

AgentProvider: TypeAlias = Literal["anthropic", "openai", "openai_responses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBackend:
    """A model, and ``tools`` of the same registry that it can call.

    ``base_url`` is where the provider's SDK finds the API; ``instructions`` may name the tool's parameters;
    ``api_key`` names one secret. ``parallel`` says whether the calls of one answer are made at once. ``max_tokens``
    is how much the model may write in one answer, ``token_budget`` how much it may read and write in all answers of
    a call together.
    """

    tag: ClassVar[Literal["agent"]] = "agent"
    provider: AgentProvider
    model: str
    instructions: Template
    base_url: Url
    api_key: Template | None = None
    tools: tuple[str, ...] = ()
    parallel: bool = True
    max_turns: int = 10
    max_tokens: int = 4096
    token_budget: int = 200_000
