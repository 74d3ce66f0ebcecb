"""TC909: a sandbox that lives longer than a policy allows."""

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
  lifetime: session
tests:
  - args: {}
    expect: {matches: "^[0-9:]+$"}
"""

RULE: Final = Rule(
    codes=(codes.POLICY_LIFETIME,),
    explanation="""\
With `lifetime: session` all calls of a session share one sandbox, and what one leaves behind the next one finds. A
policy lists the lifetimes that are allowed.

Give each call a sandbox of its own, or have the policy changed by whoever owns it.
""",
    bad=_BAD,
    good=_BAD.replace("lifetime: session", "lifetime: call"),
    beside={"toolc.yaml": "policy: {lifetime: [call]}\n"},
)
