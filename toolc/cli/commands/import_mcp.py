"""``toolc import mcp``: create a spec from the tools of an MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from toolc.cli.common import duration, engine_option, note
from toolc.cli.import_changes import (
    LeftOutPart,
    apply_import,
    conclude,
    import_options,
    name_options,
    renamed,
    report_findings,
    report_left_out,
    texts,
)
from toolc.model.errors import ToolcError, UsageError
from toolc.model.json_schema import JsonObject, map_under
from toolc.model.text import printable, shorten

if TYPE_CHECKING:
    from toolc.importers.mcp_spec import McpSource
    from toolc.runtime.sandboxed.options import CallOptions
    from toolc.runtime.sessions.mcp_client import Offer

_Package: TypeAlias = tuple[str, str]
"""``npm`` or ``pip``, and the package with its version."""

_CLIENTS: Final = ("claude-desktop", "cursor", "vscode")

_SHOWN: Final = 200
"""How much of each description is printed, in characters. The file has all of it."""


@click.command("mcp", short_help="Write the spec of an MCP server.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option("--pip", metavar="PACKAGE==VERSION", help="A package on PyPI. COMMAND has its arguments.")
@click.option("--with", "extra", multiple=True, metavar="PACKAGE==VERSION", help="A package to add, with --pip.")
@click.option("--npm", metavar="PACKAGE@VERSION", help="A package on npm. COMMAND has its arguments.")
@click.option("--url", metavar="URL", help="A server that speaks MCP over streamable HTTP.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="With --url, a header (a template).")
@click.option("--auth", default="", metavar="YAML", help="With --url, the key 'auth'.")
@click.option("--from", "origin", metavar="CLIENT|FILE", help=f"All servers of a client: {', '.join(_CLIENTS)}.")
@click.option("--image", metavar="NAME", help="The image of the server.")
@click.option("--build", metavar="DIR", help="A folder with the Dockerfile of the image, next to the spec.")
@click.option("--file", "patterns", multiple=True, metavar="PATTERN", help="Files that the server needs.")
@click.option("--workspace", type=click.Choice(["ro", "rw"]), help="Give the server the workspace.")
@click.option("--allow", multiple=True, metavar="HOST:PORT", help="Let the server connect to this host. Repeatable.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="An environment variable.")
@click.option("--only", multiple=True, metavar="NAME", help="A tool or a pattern to import. Repeatable.")
@click.option("--name", metavar="NAME", help="The name of the server.  [default: from the package or COMMAND]")
@click.option("--out", metavar="FILE", help="The spec file to write.  [default: specs/NAME.yaml]")
@click.option("--timeout", callback=duration, metavar="TIME", help="The time limit for the server to list its tools.")
@name_options
@import_options
@engine_option
def import_mcp(words: tuple[str, ...], *, timeout: float | None, engine: str | None, **options: object) -> None:
    """Write the spec of an MCP server, which pins the definitions of its tools.

    The server runs in a sandbox, never on this host, and has no network and no files unless the options grant them. A
    server at a URL has no sandbox and is only asked for its tools. A later import changes only what the server defines
    differently and keeps your edits.
    """
    from toolc.cli.mcp_sources import with_url
    from toolc.cli.process_specs import process_options, variable
    from toolc.importers.mcp_spec import McpSource  # start-up time
    from toolc.runtime.composed_backends import import_mcp as import_sdk

    import_sdk("toolc import mcp")
    call = process_options(timeout, engine)
    sandbox: JsonObject = {key: str(options[key]) for key in ("image", "build", "workspace") if options[key]}
    sandbox |= {"network": {"allow": [*texts(options["allow"])]}} if options["allow"] else {}
    sandbox |= {"env": dict(map(variable, texts(options["env"])))} if options["env"] else {}
    source = McpSource(name="server", command=words, sandbox=sandbox | {"lifetime": "session"})
    if options["origin"]:
        _import_all(str(options["origin"]), source, call, options)
        return
    kinds = [each for each in ("pip", "npm") if options[each]]
    if options["extra"] and not options["pip"]:
        raise UsageError("--with adds packages to those of --pip, and cannot be used without it")
    if options["url"] and not kinds:
        headers: JsonObject = dict(map(variable, texts(options["headers"])))
        _import(with_url(source, str(options["url"]), headers, str(options["auth"])), None, call, options)
        return
    if options["url"] or options["headers"] or options["auth"]:
        raise UsageError("--header and --auth are for --url, which cannot be used with --pip and --npm")
    if len(kinds) > 1 or (options["npm"] and (options["image"] or options["build"])):
        raise UsageError("--npm builds its own image, so --pip, --image and --build cannot be used with it")
    if not words and not kinds:
        raise UsageError("name a server with --pip, --npm, --url or --from, or pass its command after --")
    _import(source, (kinds[0], str(options[kinds[0]])) if kinds else None, call, options)


def _import_all(origin: str, source: McpSource, call: CallOptions, options: Mapping[str, object]) -> None:
    """Import each server of a client's configuration that has a URL, npx or uvx. Report the others."""
    from toolc.cli.mcp_sources import package_of, secret_headers, servers_in, with_url
    from toolc.serve.mcp_clients import mcp_clients  # start-up time

    if any(options[each] for each in ("out", "name", "pip", "npm", "url")):
        raise UsageError("--from imports several servers and does not go with --out, --name, --pip, --npm or --url")
    file = mcp_clients()[origin].file(Path()) if origin in _CLIENTS else Path(origin)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{file} cannot be read; name a file, or one of {', '.join(_CLIENTS)}") from None
    left_out = []
    for name, entry in servers_in(text):
        try:
            if isinstance(entry.get("url"), str) and entry.get("type") != "sse":
                remote = with_url(source, str(entry["url"]), secret_headers(name, entry), "")
                _import(remote, None, call, {**options, "name": name})
                continue
            kind, package, arguments = package_of(entry)
            own = replace(source, command=tuple(arguments))
            if env := map_under(entry, "env"):
                # Their values stay out of the spec, because most are keys.
                secrets: JsonObject = {each: {"expose": "env"} for each in env}
                own = replace(own, sandbox=own.sandbox | {"secrets": secrets})
            _import(own, (kind, package), call, {**options, "name": name})
        except ToolcError as error:
            left_out.append(LeftOutPart(name, str(error), str(file)))
    report_left_out(left_out)


def _import(source: McpSource, package: _Package | None, call: CallOptions, options: Mapping[str, object]) -> None:
    from toolc.importers.plugin_spec import valid_names  # start-up time

    name = str(options["name"] or _name(source, package))
    source = replace(source, name=valid_names([name])[0])
    place = Path(str(options["out"] or f"specs/{source.name}.yaml"))
    image = place.with_name(f"{source.name}-image")
    is_new = not image.exists()
    try:
        source = _installed(source, package, place.parent, options)
        _write(source, package, place, _ask(source, place.parent, call), options)
    except (ToolcError, KeyboardInterrupt):
        if is_new:
            rmtree(image, ignore_errors=True)
        raise


def _write(
    source: McpSource, package: _Package | None, place: Path, offer: Offer, options: Mapping[str, object]
) -> None:
    from toolc.cli.process_specs import modeline
    from toolc.importers.mcp_spec import mcp_spec, mcp_tools, remove_invalid_tools
    from toolc.importers.record import Record, digest_of, read_record
    from toolc.importers.tool_names import ToolNames  # start-up time

    if not offer.tools:
        raise UsageError(f"the server {source.name} offers no tools")
    names = ToolNames(prefix=str(options["prefix"]), renamed=renamed(options))
    tools = mcp_tools(source, offer.tools, texts(options["only"]), names)
    invalid = remove_invalid_tools(source, tools)
    for tool in tools.values():
        description = shorten(" ".join(str(tool["description"]).split()), _SHOWN)
        click.echo(f"  {tool['name']}: {printable(description)}", err=True)
    report_findings(place, invalid.findings)
    left_out = [LeftOutPart(each, reason, source.name) for each, reason in invalid.removed.items()]
    report_left_out(left_out)
    if offer.others:
        note(f"left out the {' and '.join(offer.others)} of {source.name}: toolc imports only tools")
    if not tools:
        raise UsageError(f"no tool of the server {source.name} can be imported")
    folder = place.parent
    text = modeline(folder) + mcp_spec(source, tools.values())
    origin = package[1] if package else source.url or " ".join(source.command)
    new = Record(kind="mcp", source=origin, digest=digest_of(text.encode()), files={place.name: text})
    found = apply_import(folder, place.stem, read_record(folder, place.stem, "mcp"), new, options)
    conclude(place, "tool", len(tools), len(left_out), found)


def _name(source: McpSource, package: _Package | None) -> str:
    from toolc.cli.mcp_sources import name_of, name_of_host  # start-up time

    if source.url:
        return name_of_host(source.url)
    if package is not None:
        return name_of(package[1].lstrip("@").partition("==")[0].partition("@")[0])
    script = next((each for each in reversed(source.command) if not each.startswith(("-", "/"))), "server")
    return name_of(Path(script).stem)


def _installed(source: McpSource, package: _Package | None, folder: Path, options: Mapping[str, object]) -> McpSource:
    """Return the source with its package, or with the files that its command names."""
    from toolc.cli.mcp_sources import with_npm, with_pip
    from toolc.cli.process_specs import spec_files  # start-up time

    if source.url:
        return source
    if package is None:
        return replace(source, files=tuple(spec_files(folder, source.command, texts(options["patterns"]))))
    kind, requirement = package
    source = replace(source, requirements=texts(options["extra"]))
    return with_pip(source, requirement) if kind == "pip" else with_npm(source, requirement, folder)


def _ask(source: McpSource, folder: Path, call: CallOptions) -> Offer:
    """Ask the server for its tools. A server in a sandbox is started without its secrets."""
    from toolc.cli.process_specs import compiled_tool
    from toolc.importers.mcp_spec import provisional_spec
    from toolc.runtime.sandboxed.mcp_offer import ask_server
    from toolc.sandbox.selection import close_unused, in_use  # start-up time

    sandbox: JsonObject = {key: each for key, each in source.sandbox.items() if source.url or key != "secrets"}
    tool = compiled_tool(provisional_spec(replace(source, sandbox=sandbox)), folder)
    try:
        with in_use():
            return ask_server(tool, call)
    except UsageError as error:
        raise UsageError("\n".join(map(printable, str(error).splitlines()))) from None
    finally:
        close_unused()
