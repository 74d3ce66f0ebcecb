"""toolc: declare a tool once, compile it for every provider, run each call in a disposable sandbox.

::

    from toolc import Executor, Registry

    registry = Registry.load("specs")
    registry.definitions("anthropic")               # what the model is told
    with Executor(registry, workspace="project") as executor:
        result = executor.run("word_count", {"path": "README.md"})
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolc.api import Registry, build, event_to_json, result_to_json
    from toolc.call import ToolCall
    from toolc.changes import Ask, Change, Proposal
    from toolc.compiler.build_output import Built
    from toolc.configuration import Configuration
    from toolc.confirmation import Allow, Confirm, Deny
    from toolc.errors import (
        BatchError,
        InfrastructureError,
        MissingExtraError,
        NoEngineError,
        RegistryError,
        SandboxDiedError,
        SpecError,
        ToolcError,
        UsageError,
    )
    from toolc.events import (
        BatchEnd,
        BatchEvent,
        Event,
        ToolConnect,
        ToolDenied,
        ToolEnd,
        ToolRetry,
        ToolStart,
        ToolUpdate,
    )
    from toolc.executor import Executor
    from toolc.functions.define import define, tool
    from toolc.functions.step import step
    from toolc.functions.tool import ComposedTool, FunctionTool
    from toolc.messages import tool_calls, tool_messages
    from toolc.result import Audio, Content, Image, Resource, Text, ToolFailure, ToolResult
    from toolc.runtime.cancellation import Cancellation
    from toolc.spec import ToolSpec

__all__ = [
    "Allow",
    "Ask",
    "Audio",
    "BatchEnd",
    "BatchError",
    "BatchEvent",
    "Built",
    "Cancellation",
    "Change",
    "ComposedTool",
    "Configuration",
    "Confirm",
    "Content",
    "Deny",
    "Event",
    "Executor",
    "FunctionTool",
    "Image",
    "InfrastructureError",
    "MissingExtraError",
    "NoEngineError",
    "Proposal",
    "Registry",
    "RegistryError",
    "Resource",
    "SandboxDiedError",
    "SpecError",
    "Text",
    "ToolCall",
    "ToolConnect",
    "ToolDenied",
    "ToolEnd",
    "ToolFailure",
    "ToolResult",
    "ToolRetry",
    "ToolSpec",
    "ToolStart",
    "ToolUpdate",
    "ToolcError",
    "UsageError",
    "__version__",
    "build",
    "define",
    "event_to_json",
    "result_to_json",
    "step",
    "tool",
    "tool_calls",
    "tool_messages",
]

__version__ = "0.1.0"

# Imported on first use: `import toolc` and `toolc --version` load none of these modules.
_DEFINITIONS: Final = {
    "Allow": "toolc.confirmation.Allow",
    "Ask": "toolc.changes.Ask",
    "Audio": "toolc.result.Audio",
    "BatchEnd": "toolc.events.BatchEnd",
    "BatchError": "toolc.errors.BatchError",
    "BatchEvent": "toolc.events.BatchEvent",
    "Built": "toolc.compiler.build_output.Built",
    "Cancellation": "toolc.runtime.cancellation.Cancellation",
    "Change": "toolc.changes.Change",
    "ComposedTool": "toolc.functions.tool.ComposedTool",
    "Configuration": "toolc.configuration.Configuration",
    "Confirm": "toolc.confirmation.Confirm",
    "Content": "toolc.result.Content",
    "Deny": "toolc.confirmation.Deny",
    "Event": "toolc.events.Event",
    "Executor": "toolc.executor.Executor",
    "FunctionTool": "toolc.functions.tool.FunctionTool",
    "Image": "toolc.result.Image",
    "InfrastructureError": "toolc.errors.InfrastructureError",
    "MissingExtraError": "toolc.errors.MissingExtraError",
    "NoEngineError": "toolc.errors.NoEngineError",
    "Proposal": "toolc.changes.Proposal",
    "Registry": "toolc.api.Registry",
    "RegistryError": "toolc.errors.RegistryError",
    "Resource": "toolc.result.Resource",
    "SandboxDiedError": "toolc.errors.SandboxDiedError",
    "SpecError": "toolc.errors.SpecError",
    "Text": "toolc.result.Text",
    "ToolCall": "toolc.call.ToolCall",
    "ToolConnect": "toolc.events.ToolConnect",
    "ToolDenied": "toolc.events.ToolDenied",
    "ToolEnd": "toolc.events.ToolEnd",
    "ToolFailure": "toolc.result.ToolFailure",
    "ToolResult": "toolc.result.ToolResult",
    "ToolRetry": "toolc.events.ToolRetry",
    "ToolSpec": "toolc.spec.ToolSpec",
    "ToolStart": "toolc.events.ToolStart",
    "ToolUpdate": "toolc.events.ToolUpdate",
    "ToolcError": "toolc.errors.ToolcError",
    "UsageError": "toolc.errors.UsageError",
    "build": "toolc.api.build",
    "define": "toolc.functions.define.define",
    "event_to_json": "toolc.api.event_to_json",
    "result_to_json": "toolc.api.result_to_json",
    "step": "toolc.functions.step.step",
    "tool": "toolc.functions.define.tool",
    "tool_calls": "toolc.messages.tool_calls",
    "tool_messages": "toolc.messages.tool_messages",
}
"""Each public name, and where it is defined."""


def __getattr__(name: str) -> object:
    if name not in _DEFINITIONS:
        raise AttributeError(f"module 'toolc' has no attribute {name!r}")
    module, _, attribute = _DEFINITIONS[name].rpartition(".")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
