"""The backends that call other tools, ``composite`` and ``agent``. See ``toolc.model.spec.tool`` for the rules."""

from typing import ClassVar, Literal, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.model.spec import keys
from toolc.model.spec.code_backends import BackendTraits
from toolc.model.spec.http_backend import Url
from toolc.model.template import JsonMap, Template

AgentProvider: TypeAlias = Literal["anthropic", "openai", "openai_responses"]

Strategy: TypeAlias = Literal["sequential", "parallel", "conditional", "pipeline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBackend(BackendTraits):
    """``backend.agent``: a model that can call other tools of the same registry.

    ``base_url`` is the URL of the provider's API for its SDK. ``api_key`` names one secret. The defaults end a model
    that calls tools in a circle. A task that needs more says so in its reviewed spec.
    """

    tag: ClassVar[Literal["agent"]] = "agent"
    only_calls: ClassVar = True
    provider: AgentProvider
    """The provider of the model.

    Example: anthropic
    """
    model: str
    """The name of the model.

    Example: claude-sonnet-4-5
    """
    instructions: Template
    """The instructions for the model, a template. The arguments of the call are its task.

    Example: Summarize in {{ language }}.
    Instead of: system system_prompt prompt
    """
    base_url: Url = field(metadata=keys.key(keys.TEXT, is_required=False))
    """The URL of the API. Without it: that of the provider.

    Example: https://llm.example.com/v1
    Instead of: endpoint api_base
    """
    api_key: Template | None = field(default=None, metadata=keys.key(keys.TEXT))
    """The API key: ``{{ secrets.NAME }}``, a secret in ``sandbox.secrets``.

    Example: "{{ secrets.API_KEY }}"
    Instead of: apiKey auth
    """
    tools: tuple[str, ...] = field(default=(), metadata=keys.key(is_set=True))
    """The tools that the model can call.

    Example: [read_file, search]
    """
    parallel: bool = True
    """Whether the calls of one response run concurrently."""
    max_turns: int = field(default=10, metadata=keys.key(keys.integer(1, 100)))
    """The maximum number of responses of the model.

    Example: 20
    Instead of: max_iterations max_steps
    """
    max_tokens: int = field(default=4096, metadata=keys.key(keys.integer(1, 1_000_000)))
    """The maximum number of output tokens of one response.

    Example: 8192
    Instead of: max_completion_tokens max_output_tokens
    """
    token_budget: int = field(default=200_000, metadata=keys.key(keys.integer(1, 100_000_000)))
    """The maximum number of input and output tokens of all responses of a call.

    Example: 50000
    """

    @property
    def urls(self) -> tuple[object, ...]:
        """The URL of the model."""
        return (self.base_url,)

    @property
    def calls(self) -> tuple[tuple[str, str], ...]:
        """Its tools, whose steps have the names of the tools."""
        return tuple((name, name) for name in self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a composite: a call of ``tool`` if ``condition`` is true."""

    id: str = field(metadata=keys.key(keys.matching("^[A-Za-z_][A-Za-z0-9_]{0,63}$")))
    """The name of the step. Later steps use its result as ``{{ steps.ID.outputs }}``.

    Example: fetch
    """
    tool: str
    """The name of the tool.

    Example: http_fetch
    """
    args: JsonMap = field(default_factory=lambda: JsonMap(entries=()), metadata=keys.key(keys.map_of(keys.JSON)))
    """The arguments. Strings are templates, which can use parameters and results of steps that end before this one.

    Example: {url: "{{ url }}"}
    """
    condition: str | None = field(default=None, metadata=keys.key(keys.EXPRESSION, "if"))
    """A condition in JMESPath. If it is false, the step is skipped.

    Example: args.deep
    """
    continue_on_error: bool = False
    """Whether the following steps run if this one fails."""
    timeout_ms: int | None = None
    """The timeout of the step.

    Example: 10s
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeBackend(BackendTraits):
    """``backend.composite``: calls of other tools of the same registry."""

    tag: ClassVar[Literal["composite"]] = "composite"
    only_calls: ClassVar = True
    strategy: Strategy
    """The order in which the steps run.

    Example: sequential
    """
    steps: tuple[Step, ...] = field(metadata=keys.key(keys.list_of(keys.map_with(Step, required=True), least=1)))
    """The steps.

    Example: [{id: fetch, tool: http_fetch, args: {url: "{{ url }}"}}]
    """

    @property
    def calls(self) -> tuple[tuple[str, str], ...]:
        """The tools of the steps."""
        return tuple((step.id, step.tool) for step in self.steps)
