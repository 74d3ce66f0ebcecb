"""The options of ``toolc serve`` for HTTP, and the start message."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from toolc.cli.common import duration, note
from toolc.dataclass import dataclass, replace
from toolc.model.errors import UsageError
from toolc.model.text import count_noun

if TYPE_CHECKING:
    from toolc.serve.http.settings import ConfirmMode, HttpSettings

T = TypeVar("T")


def print_states(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Print the state of each server, and exit. This is the callback of ``--status`` and ``--cancel``."""
    if not value or ctx.resilient_parsing:
        return
    from toolc.serve.status import ask_servers  # lazy: +5 ms (sockets); only --status needs it

    call = str(value) if param.name == "cancel" else None
    states = [*ask_servers({"cancel": call})]
    if call and not any(state["cancelled"] for state in states):
        raise UsageError(f"no server has a running call {call!r:.80}; see: toolc serve --status")
    for state in states:
        click.echo(json.dumps(state, indent=2))
    if not states:
        note("this user runs no server with --http")
    raise click.exceptions.Exit(0)


_OPTIONS = (
    click.option("--http", "address", metavar="HOST:PORT", help="Serve over HTTP at this address instead of stdio."),
    click.option(
        "--allowed-host", "hosts", multiple=True, metavar="HOST[:PORT]",
        help="Another name of the server that requests may use. May be repeated.",
    ),
    click.option("--tls-cert", metavar="FILE", help="The server's certificate, with intermediate certificates."),
    click.option("--tls-key", metavar="FILE", help="The private key of --tls-cert."),
    click.option(
        "--proxy", "proxies", multiple=True, metavar="ADDRESS",
        help="A proxy whose X-Forwarded-For and X-Forwarded-Proto headers are trusted. May be repeated.",
    ),
    click.option("--base-path", default="", metavar="PATH", help="The path under which a proxy publishes the server."),
    click.option("--require-token", is_flag=True, help="Require a token even on a loopback address."),
    click.option(
        "--confirm", type=click.Choice(["client", "api", "refuse"]), default="client", show_default=True,
        help="Who confirms calls of tools with 'confirm: true': the client's user, a reviewer over /api/v1, or no one.",
    ),
    click.option(
        "--status", is_flag=True, is_eager=True, callback=print_states, expose_value=False,
        help="Print the servers of this user, their clients and running calls, and exit.",
    ),
    click.option(
        "--cancel", "cancel", is_eager=True, callback=print_states, expose_value=False, metavar="CALL",
        help="Cancel this running call of a server, and print what --status prints.",
    ),
    click.option("--watch", is_flag=True, help="Serve changed specs without a restart."),
    click.option(
        "--tests", "results", metavar="FILE", help="Results of tests for the page at /, written by: toolc test --json",
    ),
    click.option(
        "--metrics-address", metavar="[HOST:]PORT",
        help="Serve /metrics here, without a token. HOST is 127.0.0.1 by default.",
    ),
    click.option("--config", metavar="FILE", help="A configuration file to use instead of your own."),
    click.option(
        "--drain", metavar="TIME", default="30s", callback=duration, show_default=True,
        help="How long to wait for running calls after SIGTERM.",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """The values of the options. ``address`` is None without ``--http``."""

    address: str | None
    hosts: tuple[str, ...]
    tls_cert: str | None
    tls_key: str | None
    proxies: tuple[str, ...]
    base_path: str
    require_token: bool
    config: str | None
    metrics_address: str | None
    results: str | None
    watch: bool
    confirm: ConfirmMode
    drain: float

    def settings(self) -> HttpSettings | None:
        """Return the settings of the server, or None without ``--http``. Raises ``UsageError``."""
        if self.address is None:
            if any(getattr(self, each) for each in self.__slots__ if each not in {"confirm", "drain"}):
                raise UsageError(
                    "--allowed-host, --tls-cert, --proxy, --base-path, --require-token, --tests, --watch, --config and "
                    "--metrics-address need --http"
                )
            if self.confirm == "api":
                raise UsageError("--confirm api needs --http, because reviewers answer over /api/v1")
            return None
        from toolc.serve.http.settings import parse_settings  # lazy: +5 ms (ipaddress); only --http needs it

        if (self.tls_cert is None) != (self.tls_key is None):
            raise UsageError("--tls-cert and --tls-key belong together; pass both")
        if self.base_path and (not self.base_path.startswith("/") or self.base_path.endswith("/")):
            raise UsageError("--base-path must start with / and not end with /, such as /tools")
        return replace(
            parse_settings(self.address, self.hosts), certificate=self.tls_cert, key=self.tls_key,
            proxies=self.proxies, base_path=self.base_path, requires_token=self.require_token,
            drain_seconds=self.drain, confirm=self.confirm, config=None if self.config is None else Path(self.config),
            metrics_address=self.metrics_address,
        )  # fmt: skip


def http_options(command: Callable[..., T]) -> Callable[..., T]:
    """Add the options to ``command``, which receives ``HttpOptions`` as its argument ``http``."""

    @wraps(command)
    def collected(**values: object) -> T:
        own = {name: values.pop(name) for name in HttpOptions.__slots__}
        return command(http=HttpOptions(**own), **values)  # type: ignore[arg-type]  # click converts the values

    for option in reversed(_OPTIONS):
        collected = option(collected)
    return collected


def print_start(settings: HttpSettings, tools: int, link: str) -> None:
    """Print on stderr the entry to paste into a client. A link to sign in to the page is printed only on a terminal."""
    needs_token = settings.requires_token or not settings.is_loopback
    # Without a header, a client learns of the issuers, and its user signs in.
    header = {"Authorization": "Bearer TOKEN"} if needs_token and not settings.issuers else {}
    entry = {"type": "http", "url": f"{settings.url}/mcp", **({"headers": header} if header else {})}
    note(f"serving {count_noun(tools, 'tool')}; Ctrl-C ends the server")
    if settings.host in {"0.0.0.0", "::"} and not settings.hosts:  # noqa: S104  compares, and does not listen
        note("other machines need a name for this server; allow it with: --allowed-host NAME:PORT")
    note(f"URL:    {settings.url}/mcp")
    of = " or ".join([*settings.issuers, "toolc token create"])
    note(f"header: {f'Authorization: Bearer TOKEN (of {of})' if needs_token else 'none needed'}")
    note(f"entry:  {json.dumps({'mcpServers': {'toolc': entry}})}")
    if sys.stderr.isatty():
        note(f"page:   {link} (valid once, for five minutes; later: toolc token link)")
    else:
        note(f"page:   {settings.url}/ (to sign in: toolc token link)")
