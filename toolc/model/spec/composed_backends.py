"""The backends that call other tools, ``composite`` and ``agent``. See ``toolc.model.spec.tool`` for the rules."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from toolc.model.spec.http_backend import Url
from toolc.model.template import JsonMap, Template

AgentProvider: TypeAlias = Literal["anthropic", "openai", "openai_responses"]

Strategy: TypeAlias = Literal["sequential", "parallel", "conditional", "pipeline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBackend:
    """``backend.agent``: a model that can call ``tools`` of the same registry.

    ``base_url`` is the URL of the provider's API for its SDK. ``instructions`` may use the tool's parameters.
    ``api_key`` names one secret. ``parallel`` is whether the calls of one response are made concurrently.
    ``max_tokens`` limits the output of one response, ``token_budget`` all input and output of a call. The defaults end
    a model that calls tools in a circle. A task that needs more says so in its reviewed spec.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a composite: a call of ``tool`` if ``condition`` (``if:``, JMESPath) is true.

    ``args`` may use the parameters of the composite and the results of steps that end before this one.
    """

    id: str
    tool: str
    args: JsonMap = field(default_factory=lambda: JsonMap(entries=()))
    condition: str | None = None
    continue_on_error: bool = False
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeBackend:
    """``backend.composite``: calls of other tools of the same registry."""

    tag: ClassVar[Literal["composite"]] = "composite"
    strategy: Strategy
    steps: tuple[Step, ...]
