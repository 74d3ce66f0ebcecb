"""toolc: declare a tool once, compile it for every provider, run each call in a disposable sandbox.

::

    from toolc import Executor, Registry

    registry = Registry.load("specs")
    registry.definitions("anthropic")               # for the model
    with Executor(registry, workspace="project") as executor:
        result = executor.run("word_count", {"path": "README.md"})

The packages, from the top. The docstring of each lists its modules with the public names of each. Start reading in
``client``. May import: each package only those below it.

- ``cli``: the command ``toolc``: commands, options, prompts, output, exit codes.
- ``doctor``: ``toolc doctor``: what this host can enforce, known vulnerabilities, attempts to escape.
- ``serve``: MCP servers and plugins over stdio.
- ``adapters``: the tools of an executor as tool objects of an agent framework.
- ``batch``: ``toolc batch``: the calls of a file, and what happened to each.
- ``cluster``: ``RayExecutor``: the calls of a program on the nodes of a Ray cluster.
- ``testing``: ``toolc test``, and ``FakeEngine`` for programs that embed toolc.
- ``client``: the library API: ``Registry``, ``Executor``, ``Sandbox``, ``build``, messages of providers.
- ``review``: ``toolc diff``: changes between two states of the specs, contracts and risks, accepted changes.
- ``functions``: tools that the embedding program defines in Python, and their type hints.
- ``importers``: ``toolc import``: specs for the tools of plugins.
- ``runtime``: runs calls: admission, sandboxes, HTTP, composites, agents, network, secrets, workspaces, output.
- ``compiler``: spec files to tools and findings: project files, decoding, checks, fixes, caches, the build.
- ``sandbox``: the engines, their images and Python, seccomp, and what they leave on this host.
- ``providers``: tool definitions, messages and the JSON Schema subset of each model provider.
- ``backends``: pure functions for each kind of backend: a call to a plan, an outcome to a result.
- ``policy``: the rules of an organization for all tools, and their violations.
- ``config``: the user's own configuration, and where the values of secrets come from.
- ``telemetry``: records of calls for those who operate toolc: the audit log.
- ``reporters``: findings as text, JSON, SARIF, JUnit XML or GitHub commands.
- ``document``: YAML and TOML with positions; reading keys; syntax errors and suggestions.
- ``validation``: JSON Schema and regular expressions in bounded time.
- ``guest``: the code inside a sandbox; requests and responses of HTTP tools there.
- ``data``: pages of codes, the JSON Schema of specs, advisories, probes.
- ``model``: dataclasses for all packages: specs, calls, results, errors, codes, permissions, registry, lock file.
- ``dataclass``: dataclasses whose import takes a third of the time. Public: ``field``, ``replace``.
- ``version``: the version of toolc. Public: ``__version__``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from toolc.version import __version__

if TYPE_CHECKING:
    from toolc.client.build import build
    from toolc.client.executor import Executor
    from toolc.client.messages import acollect_response, collect_response, tool_calls, tool_messages
    from toolc.client.registry import Registry
    from toolc.client.sandbox import ExecResult, FileEntry, Sandbox
    from toolc.client.serialization import event_to_json, result_to_json
    from toolc.compiler.build_output import Built
    from toolc.config.configuration import Configuration
    from toolc.functions.composed import step
    from toolc.functions.define import define, tool
    from toolc.functions.tools import ComposedTool, FunctionTool
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
    from toolc.runtime.pool.pool import Pool
    from toolc.runtime.sessions.programs import ProgramEnd, TerminalSize
    from toolc.runtime.sessions.sandbox_session import Program

__all__ = [
    "Allow", "ApproveChanges", "Audio", "BatchEnd", "BatchError", "BatchEvent", "Built", "Cancellation",
    "ComposedTool", "Configuration", "Confirm", "Content", "Deny", "Event", "ExecResult", "Executor", "FileChange",
    "FileEntry", "FunctionTool", "Image", "InfrastructureError", "MissingExtraError", "NoEngineError", "Pool",
    "Program", "ProgramEnd", "Proposal", "Registry", "RegistryError", "Resource", "Sandbox", "SandboxDiedError",
    "SpecError", "TerminalSize", "Text", "ToolCall", "ToolConnect", "ToolDenied", "ToolEnd", "ToolFailure",
    "ToolResult", "ToolRetry", "ToolSpec", "ToolStart", "ToolUpdate", "ToolcError", "UsageError", "__version__",
    "acollect_response", "build", "collect_response", "define", "event_to_json", "result_to_json", "step", "tool",
    "tool_calls", "tool_messages",
]  # fmt: skip

_NAMES: Final = {
    "toolc.client.build": "build",
    "toolc.client.executor": "Executor",
    "toolc.client.messages": "acollect_response collect_response tool_calls tool_messages",
    "toolc.client.registry": "Registry",
    "toolc.client.sandbox": "ExecResult FileEntry Sandbox",
    "toolc.client.serialization": "event_to_json result_to_json",
    "toolc.compiler.build_output": "Built",
    "toolc.config.configuration": "Configuration",
    "toolc.functions.composed": "step",
    "toolc.functions.define": "define tool",
    "toolc.functions.tools": "ComposedTool FunctionTool",
    "toolc.model.call": "Allow ApproveChanges Confirm Deny FileChange Proposal ToolCall",
    "toolc.model.errors": "InfrastructureError MissingExtraError NoEngineError RegistryError "
    "SandboxDiedError SpecError ToolcError UsageError",
    "toolc.model.events": "BatchEnd BatchEvent Event ToolConnect ToolDenied ToolEnd ToolRetry ToolStart ToolUpdate",
    "toolc.model.result": "Audio BatchError Content Image Resource Text ToolFailure ToolResult",
    "toolc.model.spec.tool": "ToolSpec",
    "toolc.runtime.cancellation": "Cancellation",
    "toolc.runtime.pool.pool": "Pool",
    "toolc.runtime.sessions.programs": "ProgramEnd TerminalSize",
    "toolc.runtime.sessions.sandbox_session": "Program",
}
"""The public names of each module, which is imported when one of them is first used."""

_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'toolc' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
