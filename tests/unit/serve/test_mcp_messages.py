"""Each line of an MCP client gives messages, or the errors that answer it. None is dropped."""

import json

import pytest
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from toolc.model.json_schema import JsonValue
from toolc.serve.mcp_messages import Refusal, read_messages

PING = '{"jsonrpc":"2.0","id":7,"method":"ping"}'


def refusal(line: bytes) -> Refusal:
    [message] = read_messages(line)
    assert isinstance(message, Refusal)
    return message


def request(**changes: JsonValue) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping", **changes}).encode()


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (request(params={"a": 1}), JSONRPCRequest),
        (request(id="", params=None), JSONRPCRequest),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}\r\n', JSONRPCNotification),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', JSONRPCResponse),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}', JSONRPCError),
    ],
)
def test_a_valid_line_is_one_message(line: bytes, kind: type) -> None:
    [message] = read_messages(line)
    assert type(message) is kind


def test_a_surrogate_in_arguments_is_kept_for_the_validation_of_arguments() -> None:
    [message] = read_messages(request(params={"name": "\ud800"}))
    assert isinstance(message, JSONRPCRequest)
    assert message.params == {"name": "\ud800"}


@pytest.mark.parametrize(
    ("line", "code", "reason", "answered_id"),
    [
        (b"nonsense", -32700, "this line cannot be read as JSON: line 1 column 1: Expecting value", None),
        (PING.encode()[:-1], -32700, "this line cannot be read as JSON", None),
        (b'{"id": 7, nonsense}', -32700, "this line cannot be read as JSON", None),
        (request(params={"a": float("nan")}), -32700, "this line cannot be read as JSON: NaN is not JSON", 7),
        (PING.replace("ping", "\xff").encode("latin-1"), -32700, "byte 34 is not UTF-8", 7),
        (b'{"params":' + b"[" * 99_999 + b"]" * 99_999 + b',"id":"a"}', -32700, "it is nested too deeply", "a"),
        (b'{"id":7,"params":' + b"9" * 5000 + b"}", -32700, "more than 4300 digits", 7),
        (b'{"params":NaN,"id":1-2}', -32700, "NaN", None),
        (b'{"params":{"id":8},"id":{"id":9},"x":NaN}', -32700, "NaN", None),
        (b'{"id":7,"params":{"a":1,"a":2}}', -32700, "the key 'a' occurs twice in an object", 7),
        (b"5", -32600, "a message must be an object", None),
        (b"[]", -32600, "a message must be an object", None),
        (b"{}", -32600, "the message has no method", None),
        (b'{"jsonrpc":"2.0","id":7}', -32600, "the message has no method", 7),
        (request(id=1.5), -32600, "'id' must be a valid string or an integer", 1.5),
        (request(id=True), -32600, "'id' must be a valid string or an integer", None),
        (request(id=None), -32600, "'id' must be a valid string or an integer", None),
        (request(id="\ud800"), -32600, "'id' must be a valid string or an integer", "\ud800"),
        (request(jsonrpc="1.0"), -32600, "'jsonrpc' must be the string '2.0'", 7),
        (request(method=5), -32600, "'method' must be a string", 7),
        (request(params=[1]), -32602, "'params' must be an object", 7),
    ],
)  # fmt: skip
def test_an_invalid_line_is_answered_with_its_id(line: bytes, code: int, reason: str, answered_id: JsonValue) -> None:
    refused = refusal(line)
    assert not refused.is_response
    answer = json.loads(refused.answer())
    assert reason in answer["error"]["message"]
    assert answer == {"jsonrpc": "2.0", "id": answered_id, "error": {"code": code, "message": refused.reason}}


@pytest.mark.parametrize("line", [b'{"jsonrpc":"2.0","id":1,"result":5}', b'{"jsonrpc":"2.0","id":1,"error":5}'])
def test_an_invalid_response_is_not_answered(line: bytes) -> None:
    assert refusal(line).is_response


def test_each_message_of_a_batch_is_read() -> None:
    first, second = read_messages(f"[{PING},5]".encode())
    assert isinstance(first, JSONRPCRequest)
    assert isinstance(second, Refusal)


def test_a_line_that_is_too_long_is_answered_if_its_id_comes_first() -> None:
    [refused] = read_messages(b'{"id":7,"params":"aaaa', is_whole=False)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.request_id) == (-32600, "7")
    assert refused.reason == "this line is longer than 22 bytes"
