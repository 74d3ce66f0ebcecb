"""TC905: a kind of backend that a policy does not allow."""

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
tests:
  - args: {}
    expect: {matches: "^[0-9:]+$"}
"""

RULE: Final = Rule(
    codes=(codes.POLICY_BACKENDS,),
    explanation="""\
A policy lists the kinds of backends that tools may have. A composite needs `composite` in the list, and the kinds
of all that it calls.

Write the tool in another way, or have the policy changed by whoever owns it.
""",
    bad=_BAD,
    good=_BAD.replace('shell: {argv: [date, "+%H:%M"]}', "python: {code: \"def time_of_day(): return '12:00'\"}"),
    beside={"toolc.yaml": "policy: {backends: [python, http]}\n"},
)
