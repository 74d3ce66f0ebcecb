"""``toolc serve``: serve tools over stdio to the program that started the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.call_options import CallOptions, call_options
from toolc.cli.common import builtin_option
from toolc.cli.inputs import open_tools, refuse_disallowed, refuse_unapproved
from toolc.client.registry import Registry
from toolc.model.errors import MissingExtraError, UsageError
from toolc.runtime.execution.admission import unsupported_features
from toolc.runtime.workspace.mount import mount
from toolc.version import __version__

if TYPE_CHECKING:
    from toolc.client.executor import Executor


@click.command("serve")
@click.argument("target", metavar="[TARGET]", required=False)
@builtin_option
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="NAME",
    help="Serve this tool to a plugin host instead of MCP. May be repeated.",
)
@click.option(
    "--toolset",
    "toolsets",
    multiple=True,
    metavar="NAME",
    help="Serve only the tools of this toolset. May be repeated.",
)
@click.option("--workspace", metavar="DIR", help="The workspace of the calls. There is no default.")
@call_options
def command(
    target: str | None,
    *,
    builtin: str | None,
    plugins: tuple[str, ...],
    toolsets: tuple[str, ...],
    workspace: str | None,
    options: CallOptions,
) -> None:
    """Serve tools to an MCP client over stdin and stdout.

    TARGET is a spec file, a folder of specs, or a registry.json. To serve built-in tools instead, use --builtin. The
    command exits at the end of its input.
    """
    serve = _as_plugin if plugins else _mcp()
    from toolc.client.executor import Executor  # start-up time
    from toolc.runtime.output.truncation import READ_RESULT

    registry = open_tools(target, builtin)
    if options.lock is not None:
        refuse_unapproved(options.lock, registry)
    if options.policy is not None:
        refuse_disallowed(options.policy, registry)
    if toolsets:
        registry = registry.only(*(name for each in toolsets for name in registry.toolset(each).names))
    if plugins:
        registry = registry.only(*plugins)
    folder = Path(workspace) if workspace is not None else None
    check_ready(registry)
    check_workspace(registry, folder)
    # A plugin host calls only the tools that it names.
    keep_results = not plugins and READ_RESULT not in registry
    with options.bound_to(Executor)(registry, workspace=folder, keep_results=keep_results) as executor:
        serve(executor)


def _as_plugin(executor: Executor) -> None:
    from toolc.serve.plugin_server import PluginServer, serve_plugin  # start-up time

    serve_plugin(PluginServer(executor, [*executor.registry]))


def _mcp() -> Callable[[Executor], None]:
    """Return the function that serves MCP. Raises ``MissingExtraError``."""
    try:
        from toolc.serve.mcp import make_server  # an optional extra
        from toolc.serve.mcp_stdio import serve_stdio
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in {"anyio", "mcp", "mcp_types"}:
            raise MissingExtraError("toolc serve", "serve") from None
        raise
    return lambda executor: serve_stdio(make_server(executor, version=__version__))


def check_workspace(registry: Registry, workspace: Path | None) -> None:
    """Raise ``UsageError`` if the workspace cannot be used, or is missing and a tool needs one."""
    if workspace is not None:
        mount(workspace, "ro")
        return
    needing = [tool.name for tool in registry if tool.sandbox.workspace != "none"]
    if needing:
        raise UsageError(
            f"{', '.join(needing)}: these tools need a workspace, and toolc serve has no default; "
            "set one with: --workspace DIR"
        )


def check_ready(registry: Registry) -> None:
    """Raise ``UsageError`` if a tool uses a feature that this host does not support."""
    reasons = [reason for tool in registry if (reason := unsupported_features(tool))]
    if reasons:
        raise UsageError("\n".join([*reasons, "serve a file or SPEC#NAME without these tools"]))
