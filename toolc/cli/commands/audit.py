"""``toolc audit``: verify and show the audit log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.common import FINDINGS, note
from toolc.cli.main import CommandGroup
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, list_under
from toolc.model.text import count_noun, printable

if TYPE_CHECKING:
    from toolc.telemetry.audit_log import AuditFiles
    from toolc.telemetry.audit_verify import ChainReport

_AGE: Final = re.compile(r"([0-9]{1,5})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

_config = click.option("--config", metavar="FILE", help="A configuration file to use instead of your own.")


@click.group("audit", cls=CommandGroup)
def command() -> None:
    """Verify and show the audit log, which has a line for each call."""


@command.command("verify", short_help="Find lines that were changed or removed.")
@click.option("--checkpoint", "texts", multiple=True, metavar="TEXT",
              help="Require the lines of this checkpoint, which was printed earlier. May be repeated.")  # fmt: skip
@_config
def verify(texts: tuple[str, ...], config: str | None) -> None:
    """Find lines that were changed, moved or removed, and print a checkpoint.

    Lines that were removed from the end are found only with a checkpoint that was printed before. Keep checkpoints
    where people who can write the log cannot change them. The exit code is 1 if there are problems.
    """
    from toolc.telemetry.audit_chain import chain_folders, read_key
    from toolc.telemetry.audit_verify import checkpoint_of, parse_checkpoint, verify

    files, known = _files(config), [position for each in texts for position in parse_checkpoint(each)]
    if not (known or chain_folders(files.log)):
        note(f"no call has been recorded yet in {files.log}")
        return
    reports = verify(files.log, read_key(files.key), known)
    for report in reports:
        _print_report(report)
    if any(report.problems for report in reports):
        raise click.exceptions.Exit(FINDINGS)
    click.echo(f"checkpoint: {checkpoint_of(reports)}")


@command.command("show", short_help="Print lines of the log.")
@click.option("--tool", metavar="NAME", help="Only calls of this tool.")
@click.option("--client", metavar="NAME", help="Only calls of this client of a server.")
@click.option("--outcome", type=click.Choice(["ok", "error", "refused", "interrupted", "unknown"]),
              help="Only calls with this outcome.")  # fmt: skip
@click.option("--since", metavar="TIME", help="Only calls since this time, such as 2h (ago), 7d or 2026-11-29.")
@click.option("--host", metavar="HOST", help="Only calls that tried to connect to this host.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines themselves, as JSON.")
@_config
def show(
    tool: str | None,
    client: str | None,
    outcome: str | None,
    since: str | None,
    host: str | None,
    as_json: bool,
    config: str | None,
) -> None:
    """Print the lines of the log in the order of their chains, without verifying them (see toolc audit verify)."""
    from toolc.telemetry.audit_chain import read_key
    from toolc.telemetry.audit_record import Fingerprint

    start = None if since is None else _time(since)
    files, damaged = _files(config), 0
    selected = {"tool": tool, "client": client, "outcome": outcome}
    # The HMAC replaces the host in the lines of calls that have it as an argument.
    hosts = {host, Fingerprint(read_key(files.key)).of(host)} if host else set()
    for text, record in _records(files):
        if record is None:
            damaged += 1
        elif (
            all(value in (None, record.get(key)) for key, value in selected.items())
            and (start is None or str(record.get("started")) >= start)
            and (host is None or hosts.intersection(_hosts(record)))
        ):
            click.echo(printable(text if as_json else _summary(record)))
    if damaged:
        note(f"{count_noun(damaged, 'line')} could not be read; run: toolc audit verify")


def _files(config: str | None) -> AuditFiles:
    """Return the location of the log. Raises ``UsageError`` if the configuration has none."""
    from pathlib import Path

    from toolc.cli.inputs import user_configuration
    from toolc.client.audit import audit_files

    settings = user_configuration(path=None if config is None else Path(config)).audit
    if settings is None:
        raise UsageError("the configuration has no key 'audit', so calls are not recorded; add e.g. audit: {}")
    return audit_files(settings)


def _print_report(report: ChainReport) -> None:
    files = count_noun(report.files, "file")
    lines = f"lines {report.first} to {report.last} in {files}" if report.last else "no lines"
    click.echo(f"chain {report.name}: {lines}: {'NOT intact' if report.problems else 'intact'}")
    for text in (*report.problems, *report.notes):
        click.echo(f"  {text}")
    for each in report.unfinished:
        record = each.record
        click.echo(f"  no line yet: {record['tool']}, call {record['call']}, started {record['started']}")


def _records(files: AuditFiles) -> Iterator[tuple[str, JsonObject | None]]:
    """Yield each line with its record, or None if it is damaged."""
    from toolc.telemetry.audit_chain import chain_files, chain_folders

    for path in (path for folder in chain_folders(files.log) for path in chain_files(folder)):
        with path.open("rb") as file:
            for line in file:
                text = line.decode("utf-8", "backslashreplace").rstrip("\n")
                try:
                    record = json.loads(text)
                except (ValueError, RecursionError):
                    record = None
                yield text, record if isinstance(record, dict) else None


def _hosts(record: JsonObject) -> list[str]:
    return [str(each.get("host")) for each in list_under(record, "network") if isinstance(each, dict)]


def _summary(record: JsonObject) -> str:
    error, client = record.get("error"), record.get("client")
    outcome = f"{record.get('outcome')}{f' ({error})' if error else ''}"
    who = f"user {record.get('user')}{f', client {client}' if client else ''}"
    more = [f"{record['duration_ms']} ms"] if record.get("duration_ms") is not None else []
    more += [f"confirmation {record['confirmation']}"] if record.get("confirmation") else []
    more += [f"to {', '.join(map(str, _hosts(record)))}"] if record.get("network") else []
    return f"{record.get('started')}  {record.get('tool')}  {outcome}  {who}  {record.get('call')}  {'  '.join(more)}"


def _time(text: str) -> str:
    """Return a time in the form that lines use. Raises ``UsageError``."""
    if match := _AGE.fullmatch(text):
        return (datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})).isoformat(timespec="microseconds")
    try:
        given = datetime.fromisoformat(text)
        utc = (given if given.tzinfo else given.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"--since {text!r:.40} is not a time; write 2h, 7d, 2026-11-29 or 2026-11-29T20:00") from None
    return utc.isoformat(timespec="microseconds")
