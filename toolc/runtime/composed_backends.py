"""The backends whose calls make further calls. They are imported when a call first needs them.

The import of a model's SDK can take longer than a call and cannot be interrupted. It runs on a separate thread, before
the time of the call begins. If the caller's deadline passes or the caller cancels, it does not wait for the import.
"""

import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from toolc.model.call_graph import called_tools
from toolc.model.errors import MissingExtraError
from toolc.model.spec.composed_backends import AgentBackend, AgentProvider
from toolc.model.spec.mcp_backend import McpBackend
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.caller import Caller, ComposedBackend
from toolc.runtime.cancellation import Deadline

COMPOSED: Final[Mapping[str, tuple[str, str]]] = {
    "agent": ("toolc.runtime.agents.agent", "Agent"),
    "composite": ("toolc.runtime.composite.composite", "Composite"),
    "function": ("toolc.runtime.host_function", "HostFunctionBackend"),
}
"""The module and class of each kind, imported at the first call, because most registries do not use them."""

MODEL_APIS: Final[Mapping[AgentProvider, tuple[str, str]]] = {
    "anthropic": ("toolc.runtime.agents.anthropic_api", "AnthropicApi"),
    "openai": ("toolc.runtime.agents.openai_api", "ChatApi"),
    "openai_responses": ("toolc.runtime.agents.openai_api", "ResponsesApi"),
}
"""The module and class of each provider's ``ModelApi``. The module imports the provider's SDK."""

AGENT_PACKAGES: Final = frozenset({"anthropic", "httpx2", "openai"})
"""The packages of the extra ``agent``."""

MCP_MODULE: Final = "toolc.runtime.sessions.mcp_server"
"""The module that a call of a tool of an MCP server needs. It imports the SDK."""

MCP_PACKAGES: Final = frozenset({"anyio", "mcp", "mcp_types", "pydantic"})
"""The packages of the extra ``mcp``."""

PAUSE_SECONDS: Final = 0.01
"""The interval between checks for the end of an import, in seconds. It is short compared with an import."""


def prepare(tool: ToolSpec, caller: Caller, deadline: Deadline) -> None:
    """Import the backends of ``tool`` and of the tools that it may call through ``caller``.

    Raises ``InterruptedWaitError`` at the deadline or on a cancellation. The import then continues for later calls.
    Raises ``MissingExtraError`` if ``tool`` is a sub-agent or of an MCP server, and its packages are not installed.
    """
    known: dict[str, ToolSpec] = {}
    waiting = [tool]
    while waiting:
        each = waiting.pop()
        if each.name not in known:
            known[each.name] = each
            waiting += caller.tools(called_tools(each))
    for each in known.values():
        _import(_modules(each), deadline)
    if isinstance(tool.backend, AgentBackend):
        composed(tool)
    if isinstance(tool.backend, McpBackend):
        import_mcp(f"tool {tool.name!r}, a tool of an MCP server,")


def import_mcp(feature: str) -> None:
    """Import what calls of MCP servers need. Raises ``MissingExtraError``, which names ``feature``."""
    try:
        import_module(MCP_MODULE)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in MCP_PACKAGES:
            raise
        raise MissingExtraError(feature, "mcp") from None


def composed(tool: ToolSpec) -> ComposedBackend[Any] | None:  # Any: each takes the spec type of its tag
    """Return the backend of ``tool``, or None for a backend that runs in a sandbox.

    Raises ``MissingExtraError`` if ``tool`` is a sub-agent and its packages are not installed.
    """
    if tool.backend.tag not in COMPOSED:
        return None
    try:
        for module in _modules(tool):
            import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in AGENT_PACKAGES:
            raise
        raise MissingExtraError(f"tool {tool.name!r}, a sub-agent,", "agent") from None
    module, name = COMPOSED[tool.backend.tag]
    backend: ComposedBackend[Any] = getattr(sys.modules[module], name)()
    return backend


def _modules(tool: ToolSpec) -> tuple[str, ...]:
    """Return the modules that a call of ``tool`` needs in addition to those of every call."""
    backend = tool.backend
    if isinstance(backend, AgentBackend):
        return COMPOSED[backend.tag][0], MODEL_APIS[backend.provider][0]
    if isinstance(backend, McpBackend):
        return (MCP_MODULE,)
    return (COMPOSED[backend.tag][0],) if backend.tag in COMPOSED else ()


class _Import(threading.Thread):
    """Imports modules. If an import fails, the call itself repeats it and reports the error."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        super().__init__(name="toolc import", daemon=True)
        self._modules = modules

    def run(self) -> None:
        """Import the modules."""
        try:
            for module in self._modules:
                import_module(module)
        except Exception:  # noqa: BLE001  a package may do anything when it is imported
            return


_LOCK: Final = threading.Lock()
_RUNNING: Final[dict[tuple[str, ...], _Import]] = {}


def _import(modules: tuple[str, ...], deadline: Deadline) -> None:
    with _LOCK:
        running = _RUNNING.get(modules)
        if running is None or not running.is_alive():
            if all(sys.modules.get(module) for module in modules):
                return
            running = _RUNNING[modules] = _Import(modules)
            running.start()
    while running.is_alive():
        deadline.sleep(PAUSE_SECONDS)
