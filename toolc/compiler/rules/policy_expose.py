"""TC906: a secret that is exposed in a way that a policy does not allow."""

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
  http:
    url: https://time.example.com/now
    auth: {bearer: "{{ secrets.TOKEN }}"}
sandbox:
  secrets: {TOKEN: {expose: env, hosts: [time.example.com]}}
  network: {allow: ["time.example.com:443"]}
examples: [{}]
"""

RULE: Final = Rule(
    codes=(codes.POLICY_EXPOSE,),
    explanation="""\
With `env` or `file` the value of a secret is inside of the sandbox, where whatever runs there can read it; the
broker keeps it outside and puts it into requests to the secret's own hosts. A policy lists the ways that are
allowed.

Use the broker, or have the policy changed by whoever owns it.
""",
    bad=_BAD,
    good=_BAD.replace("expose: env", "expose: broker"),
    beside={"toolc.yaml": "policy: {expose: [broker]}\n"},
)
