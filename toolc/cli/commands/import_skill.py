"""``toolc import skill``: create specs from the scripts of an Agent Skill."""

from __future__ import annotations

from pathlib import Path

import click

from toolc.cli.import_changes import (
    LeftOutPart,
    apply_import,
    checked,
    conclude,
    import_options,
    name_choice,
    name_options,
    report_findings,
    report_left_out,
    tool_names,
)
from toolc.cli.package_versions import PackageVersions, pinned, requirement_option
from toolc.model.errors import UsageError


@click.command("skill", short_help="Write specs for the scripts of an Agent Skill.")
@click.argument("folder", metavar="DIR")
@requirement_option
@name_options
@import_options
def import_skill(folder: str, given: tuple[str, ...], **options: object) -> None:
    """Write one spec for each script of a skill, next to its SKILL.md.

    A tool gets no network and can only read the workspace until you extend its permissions. The texts of the skill are
    checked. Copy a skill into your repository before you import it.
    """
    from toolc.importers.checked_files import check_text
    from toolc.importers.python.modules import Modules
    from toolc.importers.record import Record, digest_of, read_record
    from toolc.importers.skill import skill_specs  # start-up time

    place = Path(folder)
    try:
        text = (place / "SKILL.md").read_bytes().decode()
        found = sorted(each for each in (place / "scripts").iterdir() if each.is_file() and each.name[0] not in "._")
        scripts = {each.name: each.read_text(encoding="utf-8", errors="replace") for each in found}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{place} is not a skill with scripts: {error}") from None
    record = read_record(place, "skill", "skill")
    versions = PackageVersions(place / "scripts" / "none.py", given, record.options if record else {})
    patterns = [f"{each}/**/*" for each in ("assets", "scripts") if (place / each).is_dir()]
    choice = name_choice(options, record)
    specs = skill_specs(text, scripts, Modules(place / "scripts"), patterns, versions.of, tool_names(choice))
    report_findings(place, check_text("SKILL.md", text))
    invalid = checked(place, specs.files, place)
    left_out = specs.left_out | {specs.scripts[each]: reason for each, reason in invalid.items()}
    report_left_out([LeftOutPart(name, reason, f"{place}/scripts/{name}") for name, reason in left_out.items()])
    tools = len(specs.files) - 1
    if tools < 1:
        raise UsageError(f"no script of {place} can be imported")
    new = Record(
        kind="skill", source="SKILL.md", digest=digest_of(text.encode()), files=specs.files,
        options=pinned(specs.versions) | choice,
    )  # fmt: skip
    changes = apply_import(place, "skill", record, new, options)
    conclude(place, "script", tools, len(left_out), changes)
