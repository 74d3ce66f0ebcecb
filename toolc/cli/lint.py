"""``--select`` and ``--ignore``: which findings a command reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from toolc.compiler.project.settings import Settings
    from toolc.policy.policy import Policy

select_option = click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    help="Report these warnings and no others, also those that are off: TC204, or TC2 for all that start so.",
)
"""``--select``: may be given several times, and take several codes with commas between them."""

ignore_option = click.option(
    "--ignore", multiple=True, metavar="CODES", help="Do not report these warnings; an error is always reported."
)
"""``--ignore``: as ``--select``."""


def chosen(select: tuple[str, ...], ignore: tuple[str, ...], policy: Policy | None = None) -> Settings:
    """What the two options say, and ``policy``. Raises ``click.ClickException`` for a code that does not exist."""
    from toolc.compiler.project.settings import Settings  # start-up time

    return Settings(
        select=_codes("--select", select, turns_off=False),
        ignore=_codes("--ignore", ignore, turns_off=True),
        policies=(policy,) if policy else (),
    )


def _codes(option: str, values: tuple[str, ...], *, turns_off: bool) -> tuple[str, ...]:
    from toolc.compiler.project.settings import complaint  # start-up time

    found = tuple(code for value in values for code in value.replace(",", " ").split())
    for code in found:
        if wrong := complaint(code, turns_off=turns_off):
            raise click.ClickException(f"{option}: {wrong.message}; {wrong.hint}")
    return found
