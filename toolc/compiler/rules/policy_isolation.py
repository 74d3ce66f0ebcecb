"""TC908: a sandbox that is weaker than a policy allows."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

_BAD: Final = """\
toolc: 1
name: time_of_day
label: Time of day
description: Tell the time of day in UTC, as hours and minutes. Use it before you speak of today.
parameters: {}
annotations: {read_only: true}
backend:
  shell: {argv: [date, "+%H:%M"]}
sandbox:
  workspace: ro
tests:
  - args: {}
    expect: {matches: "^[0-9:]+$"}
"""

RULE: Final = Rule(
    codes=(codes.POLICY_ISOLATION,),
    explanation="""\
A policy may ask that no tool runs as root (`run_as: nonroot`), and name the weakest isolation that will do
(`min_isolation`): then every spec has to ask for as much. The project file's `defaults` can say it for all of them.

Add it to the spec, or to the defaults.
""",
    bad=_BAD,
    good=_BAD.replace("workspace: ro", "workspace: ro\n  run_as: nonroot"),
    beside={"toolc.yaml": "policy: {run_as: nonroot}\n"},
)
