"""``toolc connect``: write the entry of ``toolc serve`` into the configuration file of an MCP client."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from toolc.cli.client_file import ClientFile
from toolc.cli.code_owners import repository_top
from toolc.cli.commands import serve
from toolc.cli.common import nearest_lock, note
from toolc.cli.http_options import HttpOptions
from toolc.cli.output.prompts import Prompts
from toolc.cli.targets import open_tools
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.runtime.workspace.mount import mount
from toolc.serve.mcp_clients import McpClient, mcp_clients
from toolc.serve.offered import check_denied, check_search, needing_workspace

_URL: Final = "http://127.0.0.1:8000/mcp"
_VARIABLE: Final = "TOOLC_TOKEN"


@click.command("connect", context_settings={"ignore_unknown_options": True})
@click.argument("client_name", metavar="CLIENT", type=click.Choice([*mcp_clients()]))
@click.argument("arguments", metavar="[TARGET] [SERVE OPTIONS]", nargs=-1, type=click.UNPROCESSED)
@click.option("--print", "prints", is_flag=True, help="Print the entry. This is the default without a terminal.")
@click.option("--remove", "removes", is_flag=True, help="Remove the entry.")
@click.option(
    "--http",
    "url",
    metavar="[URL]",
    is_flag=False,
    flag_value=_URL,
    help=f"Connect to a running 'toolc serve --http' at this URL.  [default: {_URL}]",
)
@click.option(
    "--token-variable",
    "variable",
    metavar="NAME",
    help=f"The client's environment variable with the token for --http.  [default: {_VARIABLE}; none on loopback]",
)
@click.option("--name", default="toolc", show_default=True, help="The name of the entry.")
@click.option("--file", metavar="FILE", help="Another file of the client, such as .cursor/mcp.json.")
@click.option("--yes", is_flag=True, help="Write without asking.")
def command(  # noqa: PLR0913  one parameter per option
    client_name: str,
    arguments: tuple[str, ...],
    *,
    prints: bool,
    removes: bool,
    url: str | None,
    variable: str | None,
    name: str,
    file: str | None,
    yes: bool,
) -> None:
    """Add the tools of TARGET to an MCP client, which then starts 'toolc serve'.

    CLIENT is claude-code, claude-desktop, codex, cursor, gemini-cli, goose, vscode, windsurf or zed. TARGET and the
    options of 'toolc serve' are written with absolute paths. The command shows the change, asks, and keeps the
    previous file as FILE.toolc-backup.
    """
    client = mcp_clients()[client_name]
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name):
        raise UsageError(f"--name {name!r:.80} is not the name of a server; use letters, digits, - and _")
    if arguments and (removes or url is not None):
        raise UsageError(
            f"--{'remove' if removes else 'http'} takes no TARGET or options of serve; remove {arguments[0]}"
        )
    if variable is not None and (url is None or removes):
        raise UsageError("--token-variable needs --http")
    entry: JsonObject | None = None
    if not removes:
        entry = _http_entry(client, name, url, variable) if url is not None else _stdio_entry(client, name, arguments)
    path = client.file(repository_top(Path.cwd())) if file is None else Path(file)
    prompts = Prompts(lambda: None)
    if entry is not None and (prints or not (yes or prompts.is_available)):
        print(client.place(name).edited("", client.merged({}, entry)), end="")
        note(f"nothing was written; the entry belongs in {path}")
        return
    config = ClientFile.read(client, name, path)
    after = config.edited(entry)
    if after == config.text:
        note(f"{path} {'has no entry' if removes else 'already has this entry for'} {name}; nothing to do")
        return
    diff = config.diff(after)
    if prints or not (yes or prompts.is_available):
        print(diff, end="")
        note(f"nothing was written; this change would be made in {path}")
        return
    if not yes and not prompts.ask(diff.splitlines(), f"Write this to {config.path}?"):
        raise click.exceptions.Exit(1)
    config.write(after)
    note(f"removed {name} from {path}" if removes else f"wrote {name} to {path}; {client.reload}")


def _stdio_entry(client: McpClient, name: str, arguments: Sequence[str]) -> JsonObject:
    """Return the entry that makes the client start this installation of toolc."""
    context = serve.command.make_context("toolc serve", [*arguments])
    options = [*_absolute(context)]
    folder, registry = context.params["workspace"], open_tools(context.params["target"], context.params["builtin"])
    check_denied(registry, context.params["denied"])
    check_search(registry, context.params["direct"], is_on=context.params["search"])
    if folder is None and needing_workspace(registry):
        folder = repository_top(Path.cwd())
        options += ["--workspace", str(folder)]
        note(f"the workspace is {folder}; for another one: --workspace DIR")
    if folder is not None:
        mount(Path(folder), "ro")  # refuses folders that cannot be a workspace
    script = Path(sysconfig.get_path("scripts"), "toolc")
    # With -m alone, modules in the folder where the client starts Python would come first.
    program = [str(script)] if script.exists() else [sys.executable, "-P", "-m", "toolc"]
    return client.stdio_entry(name, program[0], [*program[1:], "serve", *options])


def _absolute(context: click.Context) -> Iterator[str]:
    """Yield the arguments that the user passed to ``toolc serve``, with absolute paths."""
    for param in serve.command.params:
        if context.get_parameter_source(param.name or "") is not ParameterSource.COMMANDLINE:
            continue
        option, value = param.opts[0], context.params[param.name or ""]
        if param.name in {"plugins", *HttpOptions.__slots__} and (option, value) != ("--confirm", "refuse"):
            raise UsageError(f"{option} cannot be used for a server that an MCP client starts; remove it")
        if param.name == "locked":  # searches the current folder, which will be another one
            option, value = "--lock", nearest_lock()
            if value is None:
                raise UsageError("--locked: there is no toolc.lock here; create one with: toolc lock")
        for each in value if isinstance(value, tuple) else [value]:
            is_path = param.name in {"target", "locked"} or param.metavar in {"FILE", "DIR"}
            text = str(Path.cwd() / each) if is_path else f"{each}s" if param.metavar == "TIME" else str(each)
            words = () if each is True else (text,)  # a flag has no value
            yield from (option, *words) if isinstance(param, click.Option) else words


def _http_entry(client: McpClient, name: str, url: str, variable: str | None) -> JsonObject:
    """Return the entry for a running server."""
    match = re.fullmatch(r"(?:(https?)://)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+)((?::\d{1,5})?)(/[^\s?#@]*)?", url)
    if match is None:  # a query or a password does not belong in the file either
        raise UsageError(f"--http {url!r:.80} is not the URL of a server; write e.g. {_URL}")
    scheme, host, port, path = match.groups()
    is_local = host in {"localhost", "127.0.0.1", "[::1]"}
    variable = variable or (None if is_local else _VARIABLE)
    if variable is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]*", variable):  # a token has other characters
        raise UsageError("--token-variable must be the name of a variable in capitals, not the token itself")
    entry = client.http_entry(name, f"{scheme or 'http'}://{host}{port}{(path or '').rstrip('/') or '/mcp'}", variable)
    if variable is not None:
        note(f"in the environment of {client.title}, set {variable} to a token from: toolc token create NAME")
        if scheme != "https" and not is_local:
            note("others on the network can read the token, because the URL is not https")
    return entry
