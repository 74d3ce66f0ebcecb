"""Tools on the fake engine, whose calls have scripted outcomes."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from toolc.model.call import ToolCall
from toolc.model.errors import UsageError
from toolc.model.events import Event, Listener
from toolc.model.json_schema import JsonObject, Schema
from toolc.model.plan import Exec, Plan
from toolc.model.registry import RegisteredTool
from toolc.model.registry_io import digests
from toolc.model.result import Capture, Outcome, ToolResult
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.tool import Annotations, Retry, ToolSpec
from toolc.model.template import Placeholder, Template
from toolc.runtime.caller import CallContext, ignore_event
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution.call_pipeline import CallPipeline, Find
from toolc.runtime.sandboxed.options import CallOptions
from toolc.sandbox.selection import EngineSelection
from toolc.testing.fake_engine import FakeEngine

WORD: JsonObject = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}


def tool(name: str, *, confirm: bool = False, retry: Retry | None = None, tags: tuple[str, ...] = ()) -> ToolSpec:
    """``name --word WORD``, idempotent."""
    words = (Template((name,)), Template(("--",)), Template((Placeholder("word"),)))
    return ToolSpec(
        name=name,
        description="d",
        parameters=Schema(WORD),
        backend=ShellBackend(command=Argv(elements=words)),
        annotations=Annotations(idempotent=True),
        confirm=confirm,
        retry=retry,
        tags=tags,
        aliases=(f"{name}_too",),
    )


def captured(data: bytes) -> Capture:
    """Return the complete output ``data`` of a program."""
    return Capture(head=data, total_bytes=len(data))


def exited(status: int = 0, stdout: bytes = b"") -> Outcome:
    return Outcome(ending="exited", status=status, stdout=captured(stdout))


def registered(spec: ToolSpec) -> RegisteredTool:
    found = digests(spec)
    return RegisteredTool(spec=spec, surface_digest=found.surface, effect_digest=found.effect)


def finding(*specs: ToolSpec) -> Find:
    """Return a lookup of these tools by name and alias."""

    def find(name: str) -> RegisteredTool:
        for spec in specs:
            if name in {spec.name, *spec.aliases}:
                return registered(spec)
        raise UsageError(f"there is no tool {name!r}")

    return find


def error_kind(result: ToolResult) -> str | None:
    return result.error.kind if result.error else None


@contextmanager
def cancelled_after(begun: threading.Event) -> Iterator[Cancellation]:
    """Yield a cancellation that is cancelled once ``begun`` is set."""

    def cancel() -> None:
        begun.wait(60)
        cancellation.cancel()

    with Cancellation() as cancellation:
        canceller = threading.Thread(target=cancel)
        canceller.start()
        yield cancellation
        canceller.join()


def execute(
    tool: RegisteredTool,
    call: ToolCall,
    options: CallOptions,
    on_event: Listener | None = None,
    cancellation: Cancellation | None = None,
) -> ToolResult:
    with nullcontext(cancellation) if cancellation else Cancellation() as given:
        context = CallContext(call_id=call.call_id, on_event=on_event or ignore_event, cancellation=given)
        return CallPipeline(options).run(tool, call, context)


@dataclass
class Scripted:
    """An engine that answers each call by ``answer``, which gets the words of its command line.

    ``words`` are those of all calls, in their order; ``events`` are the events of all calls.
    """

    answer: Callable[[tuple[str, ...]], Outcome] = lambda words: exited(stdout=" ".join(words).encode())
    words: list[tuple[str, ...]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = FakeEngine(self._run)
        self._lock = threading.Lock()

    def options(self) -> CallOptions:
        return CallOptions(select_engine=lambda _: EngineSelection(self.engine))

    def run(self, spec: ToolSpec, arguments: JsonObject, options: CallOptions | None = None) -> ToolResult:
        call = ToolCall(name=spec.name, arguments=arguments, call_id="c")
        return execute(registered(spec), call, options or self.options(), on_event=self.events.append)

    @property
    def event_names(self) -> list[str]:
        return [type(event).__name__ for event in self.events]

    def _run(self, plan: Plan) -> Outcome:
        assert isinstance(plan.invocation, Exec)
        with self._lock:
            self.words.append(plan.invocation.argv)
        return self.answer(plan.invocation.argv)
