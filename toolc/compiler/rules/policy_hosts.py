"""TC902: a destination that a policy does not allow."""

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
  shell: {argv: [curl, -sSf, "https://time.example.net/now"]}
sandbox:
  image: tools/curl:8.11
  network: {allow: ["time.example.net:443"]}
examples: [{}]
"""

RULE: Final = Rule(
    codes=(codes.POLICY_HOSTS,),
    explanation="""\
A policy lists all that tools may reach, by `hosts`, or forbids only `public:443`, by `public_egress: false`. What a
tool reaches is its own allow-list, the hosts of its URLs, and for a composite what its steps reach.

Use a host of the list, or have the policy changed by whoever owns it.
""",
    bad=_BAD,
    good=_BAD.replace("example.net", "example.com"),
    beside={"toolc.yaml": "policy: {hosts: ['*.example.com:443']}\n"},
)
