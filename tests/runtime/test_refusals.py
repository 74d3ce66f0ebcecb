"""A failed tool's text ends with why its connections were refused; nobody else's does."""

from __future__ import annotations

import pytest

from toolc.attempt import Attempt
from toolc.result import Image, Text, ToolFailure, ToolResult
from toolc.runtime.refusals import with_refusals

FAILED = ToolFailure("exit_status", "the command ended with exit status 56")
ALLOWED = Attempt(host="a.example", port=443, allowed=True, reason="a.example broke the connection off")


def refused(host: str) -> Attempt:
    return Attempt(host=host, port=443, allowed=False, reason=f"no entry of network.allow covers {host}:443")


def test_the_reasons_are_named_once_each() -> None:
    result = ToolResult(content=(Text("403\n[exit status 56]"),), error=FAILED)
    attempts = [refused("b.example"), ALLOWED, refused("b.example"), refused("c.example")]
    assert with_refusals(result, attempts).text == (
        "403\n[exit status 56]\n[toolc refused a connection: no entry of network.allow covers b.example:443; "
        "no entry of network.allow covers c.example:443]"
    )


def test_of_many_reasons_three_are_named() -> None:
    attempts = [refused(f"{number}.example") for number in range(5)]
    text = with_refusals(ToolResult(content=(Text("no\n"),), error=FAILED), attempts).text
    assert text.startswith("no\n[toolc refused a connection: no entry of network.allow covers 0.example:443; ")
    assert text.endswith("covers 2.example:443; and 2 more]")


def test_a_picture_or_nothing_at_all_may_come_before_them() -> None:
    line = Text("[toolc refused a connection: no entry of network.allow covers b.example:443]")
    picture = Image(b"", "image/png")
    assert with_refusals(ToolResult(content=(picture,), error=FAILED), [refused("b.example")]).content == (
        picture,
        line,
    )
    assert with_refusals(ToolResult(content=(), error=FAILED), [refused("b.example")]).content == (line,)


@pytest.mark.parametrize(
    "result",
    [
        ToolResult(content=(Text("fine"),)),
        ToolResult(content=(Text("b.example"),), error=ToolFailure("denied", "it says so already")),
    ],
)
def test_what_went_well_or_says_so_itself_is_left_alone(result: ToolResult) -> None:
    assert with_refusals(result, [refused("b.example")]) is result


def test_where_nothing_was_refused_nothing_is_said() -> None:
    result = ToolResult(content=(Text("no"),), error=FAILED)
    assert with_refusals(result, [ALLOWED]) is result
