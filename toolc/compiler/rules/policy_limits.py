"""TC901: a limit above what a policy allows."""

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
  limits: {timeout: 5m}
tests:
  - args: {}
    expect: {matches: "^[0-9:]+$"}
"""

RULE: Final = Rule(
    codes=(codes.POLICY_LIMITS,),
    explanation="""\
A policy names the most that a call may use, so that one tool cannot take a machine from all others, or wait for an
hour. A limit that a spec does not write has its default, and that counts too. For a composite the highest of what
its steps may use counts, and the time is its own.

Lower the limit, or have the policy changed by whoever owns it.
""",
    bad=_BAD,
    good=_BAD.replace("5m", "30s"),
    beside={"toolc.yaml": "policy: {limits: {timeout: 1m}}\n"},
)
