"""``toolc export``: write tools in the formats of other systems."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from toolc.cli.main import CommandGroup
from toolc.cli.targets import open_registry
from toolc.client.build import split_target
from toolc.model.errors import UsageError
from toolc.model.text import count_noun


@click.group("export", cls=CommandGroup)
def command() -> None:
    """Write tools in the formats of other systems."""


@command.command("skill", short_help="Write an Agent Skill that calls tools with toolc run.")
@click.argument("target", metavar="TARGET")
@click.option("--out", required=True, metavar="DIR", help="The folder of the skill, which has the skill's name.")
@click.option("--locked", is_flag=True, help="Calls run only tools that the nearest toolc.lock approves.")
@click.option("--force", is_flag=True, help="Replace an existing SKILL.md.")
def skill(target: str, out: str, *, locked: bool, force: bool) -> None:
    """Write SKILL.md for the tools of TARGET (a spec file, a folder of specs, or a registry.json).

    Its instructions name each tool, when to use it, and the line that calls it. An agent may run only these lines
    without asking. TARGET is written as you pass it, so pass a path that is valid where the agent runs commands.
    """
    from toolc.client.skill import skill_text  # start-up time

    place = Path(out, "SKILL.md")
    name = Path(out).resolve().name
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) or len(name) > 64:
        raise UsageError(f"{name!r} is not the name of a skill; use lower-case letters, digits and single hyphens")
    if place.exists() and not force:
        raise UsageError(f"{place} already exists; replace it with --force")
    source, only = split_target(target)
    tools = [*open_registry(target)]
    options = " --locked" if locked else ""

    def line(tool: str) -> str:
        if source.suffix == ".json":
            return f"toolc run {tool} --registry {shlex.quote(str(source))}{options}"
        return f"toolc run {shlex.quote(str(source))}#{only or tool}{options}"

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(skill_text(name, tools, line), encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{place} cannot be written: {error.strerror}") from None
    print(f"wrote {place} with {count_noun(len(tools), 'tool')}")
