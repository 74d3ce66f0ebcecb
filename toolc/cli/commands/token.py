"""``toolc token``: create, list and revoke the tokens of clients of ``toolc serve --http``, and sign in to its page."""

from __future__ import annotations

import re
import time

import click

from toolc.cli.common import note
from toolc.cli.main import CommandGroup
from toolc.model.errors import UsageError


@click.group("token", cls=CommandGroup)
def command() -> None:
    """Create, list and revoke the tokens of clients of toolc serve --http, and sign in to its page."""


@command.command("create", short_help="Create a token and print it once.")
@click.argument("name", metavar="NAME")
@click.option("--tags", metavar="TAG,...", help="The client may use only tools with one of these tags.")
@click.option("--role", type=click.Choice(["caller", "reviewer", "metrics"]), default="caller", show_default=True,
              help="A reviewer may also answer confirmations. The role metrics may only read /metrics.")  # fmt: skip
@click.option("--expires", metavar="DAYS", help="The lifetime of the token, such as 90d.  [default: never]")
def create(name: str, tags: str | None, role: str, expires: str | None) -> None:
    """Create a token for the client NAME and print it. Only its digest is stored, so it is printed only once."""
    from toolc.config.configuration import ROLES
    from toolc.serve.tokens import TokenFile

    days = re.fullmatch(r"([0-9]{1,4})d", expires or "")
    if expires is not None and (days is None or not int(days[1])):
        raise UsageError(f"--expires {expires!r:.40} is not a number of days; write it as 90d")
    listed = None if tags is None else tuple(filter(None, (each.strip() for each in tags.split(","))))
    if listed == ():
        raise UsageError("--tags names no tag; write e.g. --tags search,read, or leave it out")
    found = next(each for each in ROLES if each == role)
    click.echo(TokenFile().create(name, role=found, tags=listed, days=int(days[1]) if days else None))
    note(f"clients send it as: Authorization: Bearer TOKEN; to revoke it: toolc token revoke {name}")


@command.command("list", short_help="List the tokens.")
def list_() -> None:
    """List the tokens: the name, the role, the tags and the day of expiry. toolc does not store their values."""
    from toolc.serve.tokens import TokenFile

    tokens = TokenFile().tokens()
    for token in tokens.values():
        tags = "all tools" if token.tags is None else f"tags {','.join(token.tags)}"
        day = (
            "never expires" if token.expires is None else time.strftime("expires %Y-%m-%d", time.gmtime(token.expires))
        )
        click.echo(f"{token.name}  {token.role}  {tags}  {'expired' if token.is_expired else day}")
    if not tokens:
        note("there are no tokens yet; create one with: toolc token create NAME")


@command.command("revoke", short_help="Revoke a token.")
@click.argument("name", metavar="NAME")
def revoke(name: str) -> None:
    """Revoke the token NAME. Servers refuse it from now on, without a restart."""
    from toolc.serve.tokens import TokenFile

    TokenFile().revoke(name)


@command.command("link", short_help="Print a link that signs in to the page of a running server.")
@click.argument("name", metavar="[NAME]", default="local")
def link(name: str) -> None:
    """Print a link that signs in to the page of toolc serve --http. It works once, within five minutes.

    The page gets the rights of the token NAME until the token is revoked. Without NAME, it makes calls as the client
    local, and cannot answer confirmations. If several servers of this user run, each gets a link.
    """
    from toolc.serve.status import ask_servers

    answers = [*ask_servers({"link": name})]
    for each in answers:
        if "link" in each:
            click.echo(each["link"])
    problems = [str(each["problem"]) for each in answers if "problem" in each]
    if problems:
        raise UsageError(problems[0])
    if not answers:
        raise UsageError("this user runs no server with --http; start one with: toolc serve TARGET --http")
    note(f"each link signs in as {name}, once, within five minutes")
