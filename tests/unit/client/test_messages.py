"""Wrong arguments for ``tool_calls`` and ``tool_messages``."""

import pytest

from toolc import ToolCall, ToolResult, UsageError, tool_calls, tool_messages

CALL = ToolCall(name="look", arguments={}, call_id="c1")


def test_invalid_input_is_refused() -> None:
    with pytest.raises(
        UsageError, match="there is no provider 'openai'; did you mean 'openai_chat' or 'openai_responses'"
    ):
        tool_calls("openai", {})
    with pytest.raises(
        UsageError, match="response must be the response object of the provider's SDK, or its JSON, not a list"
    ):
        tool_calls("anthropic", [])
    with pytest.raises(UsageError, match="there are 2 calls and 1 results; each call needs one result"):
        tool_messages("anthropic", [CALL, CALL], [ToolResult.success("seen")])
