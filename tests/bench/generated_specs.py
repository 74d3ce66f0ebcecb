"""Thousands of spec files for the benchmarks: 1.2 KB each, all different, without findings."""

from itertools import product
from pathlib import Path
from typing import Final

_VERBS: Final = ("fetch", "store", "merge", "close", "trace", "draft", "route", "audit", "split", "order")
_NOUNS: Final = (
    "invoice", "shipment", "customer", "contract", "warehouse", "password_rule", "timesheet", "campaign",
    "incident", "blueprint", "newsletter", "vehicle", "reservation", "experiment", "certificate", "playlist",
    "translation", "inspection", "donation", "subscription",
)  # fmt: skip
_FIELDS: Final = (
    "amount", "region", "branch", "colour", "weight", "tariff", "season", "grade", "vendor", "currency",
)  # fmt: skip

_SPEC: Final = """\
toolc: 1
name: {verb}_{noun}_{field}_{number}
label: {title} {number}
description: >-
  {title} number {number} and say what became of it. Use it when somebody asks about the {field} of one
  {words}, by its number. Do not use it for a list of them, or to change anything else about them.
owner: team-{noun}
parameters:
  {noun}_id:
    type: string
    description: The {words}'s number as the {field} report {number} prints it, e.g. 'A-{number}'
    maxLength: 64
    pattern: ^[A-Z]-[0-9]+$
  {field}:
    type: string
    description: Which {field} to {verb}, one of those that the report names
    enum: [low, middle, high, any-{number}]
    default: middle
  limit:
    type: integer
    description: The most lines of output that are wanted, from 1 to {number}
    minimum: 1
    maximum: 5{number}
    default: 20
backend:
  shell:
    argv: [{verb}-{noun}, --{field}, "{{{{ {field} }}}}", --limit, "{{{{ limit }}}}", --, "{{{{ {noun}_id }}}}"]
    success_exit_codes: [0, 3]
sandbox:
  limits: {{timeout: 20s, memory: 128MiB, output: 64KiB}}
annotations: {{read_only: {read_only}, destructive: false}}
tests:
  - args: {{{noun}_id: A-{number}, {field}: high}}
    expect: {{text: "done {number}\\n"}}
"""


def write_specs(folder: Path, count: int) -> list[Path]:
    """Write ``count`` spec files into ``folder``, in subfolders of a hundred files."""
    words = list(product(_FIELDS, _NOUNS, _VERBS))
    paths = []
    for number in range(count):
        field, noun, verb = words[number % len(words)]
        text = _SPEC.format(
            number=number,
            verb=verb,
            noun=noun,
            field=field,
            words=noun.replace("_", " "),
            title=f"{verb} the {noun.replace('_', ' ')}'s {field}".capitalize(),
            read_only="true" if verb in {"fetch", "trace", "audit"} else "false",
        )
        path = folder / f"{number // 100:03}" / f"{verb}_{noun}_{number}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths
