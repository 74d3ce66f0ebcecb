"""TC903: an image that a policy does not allow."""

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
  image: somebody/busybox:1.36
tests:
  - args: {}
    expect: {matches: "^[0-9:]+$"}
"""

RULE: Final = Rule(
    codes=(codes.POLICY_IMAGES,),
    explanation="""\
An image is code that somebody else wrote. A policy lists the images that tools may run in, by patterns over the
name as the spec writes it: `*` is a part of one name, `**` any number of names. A folder that an image is built
from is called `build: FOLDER`. toolc's own base image is always allowed.

Use an image of the list, or have the policy changed by whoever owns it.
""",
    bad=_BAD,
    good=_BAD.replace("somebody/", "registry.example.com/"),
    beside={"toolc.yaml": "policy: {images: ['registry.example.com/**']}\n"},
)
