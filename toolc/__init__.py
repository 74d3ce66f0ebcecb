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
    from toolc.api import Executor, Registry, build, event_to_json, result_to_json
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

# Loaded when first used: `import toolc` and `toolc --version` must cost next to nothing.
_HOMES: Final = {
    "toolc.api": ("Executor", "Registry", "build", "event_to_json", "result_to_json"),
    "toolc.compiler.build_output": ("Built",),
    "toolc.call": ("ToolCall",),
    "toolc.changes": ("Ask", "Change", "Proposal"),
    "toolc.configuration": ("Configuration",),
    "toolc.confirmation": ("Allow", "Confirm", "Deny"),
    "toolc.errors": (
        "BatchError",
        "InfrastructureError",
        "MissingExtraError",
        "NoEngineError",
        "RegistryError",
        "SandboxDiedError",
        "SpecError",
        "ToolcError",
        "UsageError",
    ),
    "toolc.events": (
        "BatchEnd",
        "BatchEvent",
        "Event",
        "ToolConnect",
        "ToolDenied",
        "ToolEnd",
        "ToolRetry",
        "ToolStart",
        "ToolUpdate",
    ),
    "toolc.functions.define": ("define", "tool"),
    "toolc.functions.step": ("step",),
    "toolc.functions.tool": ("ComposedTool", "FunctionTool"),
    "toolc.messages": ("tool_calls", "tool_messages"),
    "toolc.result": ("Audio", "Content", "Image", "Resource", "Text", "ToolFailure", "ToolResult"),
    "toolc.runtime.cancellation": ("Cancellation",),
    "toolc.spec": ("ToolSpec",),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'toolc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
