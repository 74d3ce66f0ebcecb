"""``toolc serve``: tools for an MCP client that starts this command and talks to it over stdio."""

from __future__ import annotations

from pathlib import Path

import click

import toolc
from toolc.cli.common import engine_option, open_registry, secret_store, secrets_option, user_configuration
from toolc.errors import MissingExtraError


@click.command("serve")
@click.argument("target", metavar="TARGET")
@click.option("--workspace", metavar="DIR", help="The folder that tools work on; there is no default.")
@engine_option
@secrets_option
def command(target: str, workspace: str | None, engine: str | None, secrets: str | None) -> None:
    """Offer tools to an MCP client over stdin and stdout.

    TARGET is a spec file, a folder of them, or a registry.json. The command ends when its input does.
    """
    try:
        from toolc.serve.mcp import check_ready, check_workspace, make_server  # an optional extra
        from toolc.serve.stdio import serve_stdio
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in {"anyio", "mcp", "mcp_types"}:
            raise MissingExtraError("toolc serve", "serve") from None
        raise
    from toolc.api import Executor  # start-up time

    registry = open_registry(target)
    folder = Path(workspace) if workspace is not None else None
    check_ready(registry)
    check_workspace(registry, folder)
    configuration = user_configuration()
    store = secret_store(secrets, configuration)
    with Executor(
        registry, workspace=folder, engine=engine, configuration=configuration, secrets=store
    ) as executor:
        serve_stdio(make_server(executor, version=toolc.__version__))
