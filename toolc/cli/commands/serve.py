"""``toolc serve``: serve tools over stdio to the program that started the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import builtin_option, central_policy, engine_option, lock_options, policy_option, secrets_option
from toolc.cli.inputs import (
    approved,
    open_tools,
    refuse_disallowed,
    refuse_unapproved,
    secret_store,
    user_configuration,
)
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
@click.option("--workspace", metavar="DIR", help="The workspace folder of calls. There is no default.")
@engine_option
@secrets_option
@lock_options
@policy_option
def command(  # noqa: PLR0913  one parameter per option
    target: str | None,
    *,
    builtin: str | None,
    plugins: tuple[str, ...],
    toolsets: tuple[str, ...],
    workspace: str | None,
    engine: str | None,
    secrets: str | None,
    locked: bool,
    lock_file: str | None,
    policy_file: str | None,
) -> None:
    """Serve tools to an MCP client over stdin and stdout.

    TARGET is a spec file, a folder of specs, or a registry.json; --builtin serves built-in tools instead. The command
    exits at the end of its input.
    """
    serve = _as_plugin if plugins else _mcp()
    from toolc.client.executor import Executor  # start-up time
    from toolc.runtime.output.truncation import READ_RESULT

    lock = approved(lock_file, locked=locked)
    policy = central_policy(policy_file)
    registry = open_tools(target, builtin)
    if lock is not None:
        refuse_unapproved(lock, registry)
    if policy is not None:
        refuse_disallowed(policy, registry)
    if toolsets:
        registry = registry.only(*(name for each in toolsets for name in registry.toolset(each).names))
    if plugins:
        registry = registry.only(*plugins)
    folder = Path(workspace) if workspace is not None else None
    check_ready(registry)
    check_workspace(registry, folder)
    configuration = user_configuration()
    store = secret_store(secrets, configuration)
    with Executor(
        registry,
        workspace=folder,
        engine=engine,
        configuration=configuration,
        secrets=store,
        lock=lock,
        policy=policy,
        # A plugin host calls only the tools that it names.
        keep_results=not plugins and READ_RESULT not in registry,
    ) as executor:
        serve(executor)


def _as_plugin(executor: Executor) -> None:
    from toolc.serve.plugin import PluginServer, serve_plugin  # start-up time

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
            "set it with: --workspace DIR"
        )


def check_ready(registry: Registry) -> None:
    """Raise ``UsageError`` if a tool uses a feature that this host does not support."""
    reasons = [reason for tool in registry if (reason := unsupported_features(tool))]
    if reasons:
        raise UsageError("\n".join([*reasons, "serve a file or SPEC#NAME without these tools"]))
