"""TC904: something that a policy requires and a tool does not say."""

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
    codes=(codes.POLICY_REQUIRE,),
    explanation="""\
A policy may ask every tool for a label, an owner, a version, tags, tests, or one of the annotations: so that a
person who is asked knows what is meant, and an incident has somebody to call. `false` is something that is said.

Say it in the spec.
""",
    bad=_BAD,
    good=_BAD.replace("label:", "owner: platform@example.com\nlabel:"),
    beside={"toolc.yaml": "policy: {require: [label, owner, annotations.read_only]}\n"},
)
