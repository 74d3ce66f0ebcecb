"""TC907: a workspace of a mode that a policy does not allow."""

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
annotations: {read_only: false, destructive: false}
backend:
  shell: {argv: [date, "+%H:%M"]}
sandbox:
  workspace: rw
tests:
  - args: {}
    expect: {matches: "^[0-9:]+$"}
"""

RULE: Final = Rule(
    codes=(codes.POLICY_WORKSPACE,),
    explanation="""\
A policy lists how tools may have the user's files: not at all (`none`), to read (`ro`), as a copy whose changes
are committed (`transaction`), or as they are (`rw`).

Ask for less, or have the policy changed by whoever owns it.
""",
    bad=_BAD,
    good=_BAD.replace("workspace: rw", "workspace: transaction"),
    beside={"toolc.yaml": "policy: {workspace: [none, ro, transaction]}\n"},
)
