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

from toolc.model.version import __version__

if TYPE_CHECKING:
    from toolc.client.build import build
    from toolc.client.executor import Executor
    from toolc.client.messages import tool_calls, tool_messages
    from toolc.client.registry import Registry
    from toolc.client.serialization import event_to_json, result_to_json
    from toolc.compiler.build_output import Built
    from toolc.config.user_config import Configuration
    from toolc.functions.composed import step
    from toolc.functions.define import define, tool
    from toolc.functions.tool import ComposedTool, FunctionTool
    from toolc.model.call import Allow, ApproveChanges, Confirm, Deny, FileChange, Proposal, ToolCall
    from toolc.model.errors import (
        InfrastructureError,
        MissingExtraError,
        NoEngineError,
        RegistryError,
        SandboxDiedError,
        SpecError,
        ToolcError,
        UsageError,
    )
    from toolc.model.events import (
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
    from toolc.model.result import Audio, BatchError, Content, Image, Resource, Text, ToolFailure, ToolResult
    from toolc.model.spec.tool import ToolSpec
    from toolc.runtime.cancellation import Cancellation

__all__ = [
    "Allow",
    "ApproveChanges",
    "Audio",
    "BatchEnd",
    "BatchError",
    "BatchEvent",
    "Built",
    "Cancellation",
    "ComposedTool",
    "Configuration",
    "Confirm",
    "Content",
    "Deny",
    "Event",
    "Executor",
    "FileChange",
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

# Imported on first use: `import toolc` and `toolc --version` load none of these modules.
_DEFINITIONS: Final = {
    "Allow": "toolc.model.call.Allow",
    "ApproveChanges": "toolc.model.call.ApproveChanges",
    "Audio": "toolc.model.result.Audio",
    "BatchEnd": "toolc.model.events.BatchEnd",
    "BatchError": "toolc.model.result.BatchError",
    "BatchEvent": "toolc.model.events.BatchEvent",
    "Built": "toolc.compiler.build_output.Built",
    "Cancellation": "toolc.runtime.cancellation.Cancellation",
    "ComposedTool": "toolc.functions.tool.ComposedTool",
    "Configuration": "toolc.config.user_config.Configuration",
    "Confirm": "toolc.model.call.Confirm",
    "Content": "toolc.model.result.Content",
    "Deny": "toolc.model.call.Deny",
    "Event": "toolc.model.events.Event",
    "Executor": "toolc.client.executor.Executor",
    "FileChange": "toolc.model.call.FileChange",
    "FunctionTool": "toolc.functions.tool.FunctionTool",
    "Image": "toolc.model.result.Image",
    "InfrastructureError": "toolc.model.errors.InfrastructureError",
    "MissingExtraError": "toolc.model.errors.MissingExtraError",
    "NoEngineError": "toolc.model.errors.NoEngineError",
    "Proposal": "toolc.model.call.Proposal",
    "Registry": "toolc.client.registry.Registry",
    "RegistryError": "toolc.model.errors.RegistryError",
    "Resource": "toolc.model.result.Resource",
    "SandboxDiedError": "toolc.model.errors.SandboxDiedError",
    "SpecError": "toolc.model.errors.SpecError",
    "Text": "toolc.model.result.Text",
    "ToolCall": "toolc.model.call.ToolCall",
    "ToolConnect": "toolc.model.events.ToolConnect",
    "ToolDenied": "toolc.model.events.ToolDenied",
    "ToolEnd": "toolc.model.events.ToolEnd",
    "ToolFailure": "toolc.model.result.ToolFailure",
    "ToolResult": "toolc.model.result.ToolResult",
    "ToolRetry": "toolc.model.events.ToolRetry",
    "ToolSpec": "toolc.model.spec.tool.ToolSpec",
    "ToolStart": "toolc.model.events.ToolStart",
    "ToolUpdate": "toolc.model.events.ToolUpdate",
    "ToolcError": "toolc.model.errors.ToolcError",
    "UsageError": "toolc.model.errors.UsageError",
    "build": "toolc.client.build.build",
    "define": "toolc.functions.define.define",
    "event_to_json": "toolc.client.serialization.event_to_json",
    "result_to_json": "toolc.client.serialization.result_to_json",
    "step": "toolc.functions.composed.step",
    "tool": "toolc.functions.define.tool",
    "tool_calls": "toolc.client.messages.tool_calls",
    "tool_messages": "toolc.client.messages.tool_messages",
}
"""Each public name, and where it is defined."""


def __getattr__(name: str) -> object:
    if name not in _DEFINITIONS:
        raise AttributeError(f"module 'toolc' has no attribute {name!r}")
    module, _, attribute = _DEFINITIONS[name].rpartition(".")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
