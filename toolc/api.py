"""The library: load a registry, lower it for a provider, run its tools, build specs.

With ``cli/`` and ``serve/`` the only place that knows both the compiler and the runtime.
"""

from __future__ import annotations

import base64
import difflib
import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from toolc.artifacts import FORM, Built, write
from toolc.call import ToolCall
from toolc.changes import Ask
from toolc.configuration import Configuration, load_configuration
from toolc.diagnostics import Diagnostics
from toolc.digest import digests, parse, registry_bytes
from toolc.engines.base import Engine
from toolc.engines.names import engine_names
from toolc.engines.select import Selection, close_unused, in_use, select, selection
from toolc.errors import NoEngineError, RegistryError, UsageError
from toolc.events import Event, ToolConnect, ToolStart, ToolUpdate
from toolc.plan import Profile
from toolc.providers.table import PROVIDERS
from toolc.registry import RegisteredTool, RegistryFile, registry_from_json
from toolc.result import Content, Resource, Text, ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.executor import Listener, Setting, execute
from toolc.runtime.streaming import events
from toolc.schema import JsonObject, JsonValue
from toolc.secret_sources import SecretStore
from toolc.spec import MIB, ToolSpec

if TYPE_CHECKING:
    from toolc.compiler.compile import Compilation

MAX_REGISTRY_BYTES: Final = 256 * MIB
"""The largest registry file that is read."""


class Registry:
    """Tools by name, as they were compiled. Never changes; safe to share between threads.

    ``diagnostics`` holds what the compiler found if the registry was made from specs (warnings, for it
    has no errors); it is empty for a registry file.
    """

    def __init__(self, file: RegistryFile, diagnostics: Diagnostics | None = None) -> None:
        self._file = file
        self._tools = {tool.spec.name: tool for tool in file.tools}
        self._aliases = {alias: tool for tool in file.tools for alias in tool.spec.aliases}
        self.diagnostics = diagnostics or Diagnostics()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a ``registry.json``, or compile a spec file or a folder of them; ``PATH#NAME`` takes one tool.

        Raises ``UsageError`` (nothing there, no such tool), ``SpecError`` (specs with errors) and
        ``RegistryError`` (a registry that is damaged, or does not match its own digests).
        """
        source, name = split_target(str(path))
        if source.suffix == ".json":
            registry = cls(_read_registry(source))
        else:
            from toolc.compiler.compile import compile_specs  # a built registry needs no compiler

            registry = cls.compiled(compile_specs([source]))
        return registry if name is None else registry.only(name)

    @classmethod
    def compiled(cls, compilation: Compilation) -> Self:
        """What a compilation would build. Raises ``SpecError`` where it found errors."""
        # Through its stored form, so that a spec that was never built runs as it would once built.
        stored = registry_from_json(parse(registry_bytes(compilation.registry())))
        return cls(stored, compilation.diagnostics)

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, sorted."""
        return tuple(self._tools)

    def get(self, name: str) -> ToolSpec | None:
        """The tool of this name or alias, or None."""
        found = self._tools.get(name) or self._aliases.get(name)
        return found.spec if found else None

    def registered(self, name: str) -> RegisteredTool:
        """The tool of this name or alias with its digests. Raises ``UsageError`` that names close ones."""
        found = self._tools.get(name) or self._aliases.get(name)
        if found is None:
            close = difflib.get_close_matches(name, self.names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(self.names) or 'none'}"
            raise UsageError(f"there is no tool {name!r}; {hint}")
        return found

    def only(self, name: str) -> Self:
        """A registry of this one tool. Raises ``UsageError``."""
        return type(self)(RegistryFile((self.registered(name),)), self.diagnostics)

    def definitions(self, provider: str) -> list[JsonValue]:
        """The value of that provider's SDK's ``tools`` argument. Raises ``UsageError`` for an unknown one."""
        if provider not in PROVIDERS:
            raise UsageError(f"there is no provider {provider!r}; there are: {', '.join(PROVIDERS)}")
        return deepcopy(PROVIDERS[provider].lower(tuple(self)).tools)  # they share schemas with the tools

    def __contains__(self, name: object) -> bool:
        return name in self._tools or name in self._aliases

    def __iter__(self) -> Iterator[ToolSpec]:
        return (tool.spec for tool in self._file.tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"<Registry: {', '.join(self.names) or 'no tools'}>"


class Executor:
    """Runs a registry's tools, each call in a sandbox of its own. Safe to use from several threads.

    ``workspace`` is the folder that tools with a workspace work on; ``engine`` one of the names of
    ``toolc run --engine``, ``auto`` for the first that can run a call, or an engine object of your own; None is
    the one of the user's own ``configuration`` (by default what ``load_configuration`` finds), else ``auto``;
    ``timeout`` is in seconds and can only lower what a spec allows. ``ask`` is given what a tool would change
    in its workspace where the spec says ``commit: ask``, and says whether it may; without it, it may not.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        workspace: str | Path | None = None,
        engine: str | Engine | None = None,
        timeout: float | None = None,
        ask: Ask | None = None,
        configuration: Configuration | None = None,
        secrets: SecretStore | None = None,
    ) -> None:
        if isinstance(engine, str) and engine not in engine_names():
            raise UsageError(f"there is no engine {engine!r}; choose one of: {', '.join(engine_names())}")
        if timeout is not None and not 0 < timeout < math.inf:
            raise UsageError(f"a timeout of {timeout} seconds is none; give a number of them, or None")
        configuration = configuration or load_configuration()
        self.registry = registry
        self._engine = configuration.engine if engine is None else engine
        self._setting = Setting(
            choose=self._choose,
            accept_unenforced=configuration.accept_unenforced,
            workspace=Path(workspace) if workspace is not None else None,
            timeout_ms=max(1, round(timeout * 1000)) if timeout is not None else None,
            ask=ask,
            reveal=(secrets or SecretStore(configuration.secrets)).reveal,
        )

    def run(
        self,
        name: str,
        arguments: JsonObject,
        *,
        call_id: str | None = None,
        on_event: Listener | None = None,
        cancellation: Cancellation | None = None,
    ) -> ToolResult:
        """Call a tool and wait for its result, which says ``is_error`` where the tool or its arguments failed.

        ``on_event`` is told of the start, of output and progress, and of the end, on this thread.
        ``cancellation`` can end the call from another thread. Raises ``UsageError`` for an unknown tool or
        a refused workspace, and ``InfrastructureError`` where the sandbox could not do its work.
        """
        tool = self.registry.registered(name)
        call = ToolCall(name=name, arguments=arguments, call_id=call_id or f"call_{token_hex(8)}")
        with in_use():
            return execute(tool, call, self._setting, on_event=on_event, cancellation=cancellation)

    def stream(
        self, name: str, arguments: JsonObject, *, call_id: str | None = None
    ) -> Generator[Event, None, None]:
        """Call a tool and get its events as they come; the last is a ``ToolEnd`` and holds the result.

        The call starts with the first ``next``. To leave early, close the iterator (``contextlib.closing``):
        that cancels the call and waits until its sandbox is gone. Raises what ``run`` raises.
        """
        self.registry.registered(name)

        def call(tell: Listener, cancellation: Cancellation) -> ToolResult:
            return self.run(name, arguments, call_id=call_id, on_event=tell, cancellation=cancellation)

        return events(call)

    def close(self) -> None:
        """Give up what is held between calls: connections, threads and folders, if no call is under way.

        One small process stays until this one ends: it removes what would be left if this one were killed.
        """
        close_unused()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _choose(self, profile: Profile) -> Selection:
        if isinstance(self._engine, str):
            return select(self._engine, profile)
        if reason := self._engine.refusal(profile):
            raise NoEngineError(reason)
        return selection(self._engine, profile)


def build(paths: str | Path | Sequence[str | Path], out: str | Path) -> Built:
    """Compile specs and write the registry and every provider's definitions into the folder ``out``.

    Where anything is wrong nothing is written, and what ``out`` held stays whole. Raises ``SpecError``
    and ``UsageError``.
    """
    from toolc.compiler.compile import compile_specs  # only a build needs the compiler

    several = [paths] if isinstance(paths, str | Path) else paths
    return write_build(compile_specs([Path(path) for path in several]), out)


def write_build(compilation: Compilation, out: str | Path) -> Built:
    """Write what ``build`` writes, of specs that are compiled. Raises ``SpecError`` and ``UsageError``."""
    from toolc.compiler.garbage import no_collection  # only a build needs the compiler

    compilation.refuse_errors()
    with no_collection():
        names = [tool.name for tool in compilation.tools]
        return write(FORM.finish(compilation.tools), names, out)


def result_to_json(result: ToolResult) -> JsonObject:
    """A result as JSON, images in base64. ``structured`` is there only where the tool gave data."""
    error: JsonValue = {"kind": result.error.kind, "message": result.error.message} if result.error else None
    value: JsonObject = {"content": [_content_to_json(block) for block in result.content]}
    if result.structured is not None:
        value["structured"] = result.structured[0]
    return value | {"details": result.details, "is_error": result.is_error, "error": error}


def event_to_json(event: Event) -> JsonObject:
    """An event as JSON: ``event`` is ``start``, ``update``, ``connect`` or ``end``, which holds the result."""
    about: JsonObject = {"name": event.name, "call_id": event.call_id}
    if isinstance(event, ToolStart):
        return {"event": "start"} | about
    if isinstance(event, ToolConnect):
        return {"event": "connect"} | about | event.attempt.to_json()
    if not isinstance(event, ToolUpdate):
        return {"event": "end"} | about | {"result": result_to_json(event.result)}
    if event.stream:
        return {"event": "update"} | about | {"stream": event.stream, "text": event.text}
    return {"event": "update"} | about | {"percent": event.percent, "message": event.message}


def _content_to_json(block: Content) -> JsonObject:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Resource):
        data = base64.b64encode(block.data).decode("ascii")
        return {"type": "resource", "name": block.name, "mime_type": block.mime_type, "data": data}
    return {
        "type": "image",
        "mime_type": block.mime_type,
        "data": base64.b64encode(block.data).decode("ascii"),
    }


def split_target(target: str) -> tuple[Path, str | None]:
    """``PATH#NAME`` in two; a path that exists with a ``#`` in it is a path."""
    source, separator, name = target.rpartition("#")
    if not separator or Path(target).exists():
        return Path(target), None
    return Path(source), name


def _read_registry(path: Path) -> RegistryFile:
    try:
        # A device or a pipe may never end.
        if path.exists() and not path.is_file():
            raise UsageError(f"the registry {str(path)!r} is no file; make one with: toolc build")
        value = parse(_read_bounded(path))
    except FileNotFoundError:
        raise UsageError(f"there is no registry {str(path)!r}; make one with: toolc build") from None
    except OSError as error:
        raise UsageError(f"the registry {str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise RegistryError(f"{path} is not JSON ({error}); build it again") from None
    try:
        file = registry_from_json(value)
    except RegistryError as error:
        raise RegistryError(f"{path}: {error}") from None
    _check_names(path, file.tools)
    for tool in file.tools:
        _check_digests(path, tool)
    return file


def _read_bounded(path: Path) -> bytes:
    if path.stat().st_size > MAX_REGISTRY_BYTES:
        raise UsageError(
            f"the registry {str(path)!r} is larger than {MAX_REGISTRY_BYTES // MIB} MiB, "
            "the most that toolc reads; build its tools into several"
        )
    return path.read_bytes()


def _check_names(path: Path, tools: Iterable[RegisteredTool]) -> None:
    names = [tool.spec.name for tool in tools]
    if names != sorted(set(names)):
        raise RegistryError(f"{path}: its tools are not sorted by name, each once; build it again")


def _check_digests(path: Path, tool: RegisteredTool) -> None:
    found = digests(tool.spec)
    for kind, recorded, actual in (
        ("surface", tool.surface_digest, found.surface),
        ("effect", tool.effect_digest, found.effect),
    ):
        if recorded != actual:
            raise RegistryError(
                f"{path}: tool {tool.spec.name!r} does not match its {kind} digest: recorded {recorded}, "
                f"found {actual}; the file was changed after it was built: build it again, and review it"
            )
