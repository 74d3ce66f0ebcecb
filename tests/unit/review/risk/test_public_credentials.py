"""Credentials that are declared public: what a review shows of them."""

from pathlib import Path

from reviews.reviewing import difference

HTTP = """\
toolc: 1
name: look
label: Look
description: Look a thing up by its name. Use it for names of things, not for their numbers.
parameters:
  name: {type: string, description: "The name of the thing, as 'lamp'", maxLength: 50}
annotations: {read_only: true}
backend:
  http: {url: "https://api.example.com/v1/{{ name }}", headers: {X-Api-Key: KEY}}
sandbox: {network: {allow: ["api.example.com:443"]}}
"""


def test_the_value_and_the_reason_of_a_public_credential_are_shown(tmp_path: Path) -> None:
    old, new = (
        HTTP.replace("KEY", f"{{public: pk-1234567890, reason: {reason}}}") for reason in ("for tests", "for browsers")
    )
    (tool,) = difference(tmp_path, {"a.yaml": old}, {"a.yaml": new}).tools
    (found,) = (each for each in tool.changes if each.rule == "RSK19")
    assert found.before is not None
    assert found.before.endswith(", reason: for tests}")
    assert found.after is not None
    assert found.after.endswith(", reason: for browsers}")
