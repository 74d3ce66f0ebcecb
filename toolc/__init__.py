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
    from toolc.artifacts import Built
    from toolc.changes import Ask, Change, Proposal
    from toolc.configuration import Configuration
    from toolc.errors import (
        InfrastructureError,
        MissingExtraError,
        NoEngineError,
        RegistryError,
        SandboxDiedError,
        SpecError,
        ToolcError,
        UsageError,
    )
    from toolc.events import Event, ToolConnect, ToolEnd, ToolStart, ToolUpdate
    from toolc.result import Content, Image, Resource, Text, ToolFailure, ToolResult
    from toolc.runtime.cancellation import Cancellation
    from toolc.spec import ToolSpec

__all__ = [
    "Ask",
    "Built",
    "Cancellation",
    "Change",
    "Configuration",
    "Content",
    "Event",
    "Executor",
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
    "ToolConnect",
    "ToolEnd",
    "ToolFailure",
    "ToolResult",
    "ToolSpec",
    "ToolStart",
    "ToolUpdate",
    "ToolcError",
    "UsageError",
    "__version__",
    "build",
    "event_to_json",
    "result_to_json",
]

__version__ = "0.1.0"

# Loaded when first used: `import toolc` and `toolc --version` must cost next to nothing.
_HOMES: Final = {
    "toolc.api": ("Executor", "Registry", "build", "event_to_json", "result_to_json"),
    "toolc.artifacts": ("Built",),
    "toolc.changes": ("Ask", "Change", "Proposal"),
    "toolc.configuration": ("Configuration",),
    "toolc.errors": (
        "InfrastructureError",
        "MissingExtraError",
        "NoEngineError",
        "RegistryError",
        "SandboxDiedError",
        "SpecError",
        "ToolcError",
        "UsageError",
    ),
    "toolc.events": ("Event", "ToolConnect", "ToolEnd", "ToolStart", "ToolUpdate"),
    "toolc.result": ("Content", "Image", "Resource", "Text", "ToolFailure", "ToolResult"),
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
