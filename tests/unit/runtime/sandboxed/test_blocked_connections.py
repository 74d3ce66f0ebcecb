import pytest

from toolc.model.result import ConnectionAttempt, Image, Text, ToolFailure, ToolResult
from toolc.runtime.sandboxed.failure_hints import explain_blocked_connections

FAILED = ToolFailure("exit_status", "the command ended with exit status 56")
DONE = ConnectionAttempt(
    host="a.example", port=443, allowed=True, reason="the connection to a.example failed", bytes_in=9
)
DOWN = ConnectionAttempt(host="d.example", port=443, allowed=True, reason="d.example, port 443: connection refused")


def refused(host: str) -> ConnectionAttempt:
    return ConnectionAttempt(host=host, port=443, allowed=False, reason=f"no entry of network.allow covers {host}:443")


def test_each_reason_is_named_once() -> None:
    result = ToolResult(content=(Text("403\n[exit status 56]"),), error=FAILED)
    attempts = [refused("b.example"), DONE, refused("b.example"), refused("c.example")]
    assert explain_blocked_connections(result, attempts).text == (
        "403\n[exit status 56]\n[not connected: no entry of network.allow covers b.example:443; "
        "no entry of network.allow covers c.example:443]"
    )


def test_a_server_that_is_unreachable_is_a_network_error() -> None:
    result = ToolResult(content=(Text("curl: (56) Connection reset by peer\n"),), error=FAILED)
    assert explain_blocked_connections(result, [DONE, DOWN]).text == (
        "curl: (56) Connection reset by peer\n[not connected: d.example, port 443: connection refused]"
    )


def test_at_most_three_reasons_are_named() -> None:
    attempts = [refused(f"{number}.example") for number in range(5)]
    text = explain_blocked_connections(ToolResult(content=(Text("no\n"),), error=FAILED), attempts).text
    assert text.startswith("no\n[not connected: no entry of network.allow covers 0.example:443; ")
    assert text.endswith("covers 2.example:443; and 2 more]")


def test_a_reason_in_the_tools_output_is_not_repeated() -> None:
    expected = "URLError: 403 Forbidden: no entry of network.allow covers b.example:443"
    result = ToolResult(content=(Text(expected),), error=FAILED)
    assert explain_blocked_connections(result, [refused("b.example")]) is result
    line = "[not connected: no entry of network.allow covers c.example:443]"
    assert (
        explain_blocked_connections(result, [refused("b.example"), refused("c.example")]).text == f"{expected}\n{line}"
    )


def test_the_content_before_files_may_be_an_image_or_empty() -> None:
    line = Text("[not connected: no entry of network.allow covers b.example:443]")
    picture = Image(b"", "image/png")
    assert explain_blocked_connections(
        ToolResult(content=(picture,), error=FAILED), [refused("b.example")]
    ).content == (picture, line)
    assert explain_blocked_connections(ToolResult(content=(), error=FAILED), [refused("b.example")]).content == (line,)


@pytest.mark.parametrize(
    "result",
    [
        ToolResult(content=(Text("fine"),)),
        ToolResult(content=(Text("b.example"),), error=ToolFailure("denied", "it says so already")),
    ],
)
def test_successful_and_denied_results_are_unchanged(result: ToolResult) -> None:
    assert explain_blocked_connections(result, [refused("b.example")]) is result


def test_successful_connections_are_not_mentioned() -> None:
    result = ToolResult(content=(Text("no"),), error=FAILED)
    assert explain_blocked_connections(result, [DONE]) is result
