"""The interface to a model's API: requests, responses, and errors."""

from collections.abc import Callable, Sequence
from http.client import responses
from typing import Final, Literal, Protocol, TypeAlias

import httpx2

from toolc.dataclass import dataclass
from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue, parse_json
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.text import shorten
from toolc.providers.provider import Provider

MAX_QUOTED: Final = 500
"""How much of a server's message an error quotes, in characters.

It is enough for the reason. A server may send a whole page.
"""

Stop: TypeAlias = Literal["done", "length", "refusal"]
"""Why a model stopped. It had finished, reached a length limit, or refused to answer."""

Post: TypeAlias = Callable[[JsonObject], bytes]
"""Sends a request with an SDK and returns the response body. Raises ``ModelError``, ``InterruptedWaitError``."""


class ModelError(Exception):
    """The model gave no usable answer. ``again`` says whether a retry may help.

    ``wait_seconds`` is the delay that the server requests before a retry, or None.
    """

    def __init__(
        self, kind: ErrorKind, message: str, *, again: bool = False, wait_seconds: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.again = again
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """One answer. ``messages`` are sent back as part of the conversation, and the rest is parsed from them.

    ``calls`` are in the order of the answer and have unique ids. ``tokens_in`` and ``tokens_out`` are 0 if the
    server does not report them.
    """

    messages: tuple[JsonObject, ...]
    text: str
    calls: tuple[ToolCall, ...]
    stop: Stop
    tokens_in: int
    tokens_out: int


class ModelApi(Protocol):
    """The format of one provider's API, and the SDK that sends its requests."""

    @property
    def provider(self) -> Provider:
        """The provider, which defines the format of tool declarations and call results."""

    def key_header(self, key: str) -> tuple[str, str]:
        """Return the header that contains the key."""

    def open(self, url: str, http: httpx2.Client) -> Post:
        """Return a function that sends requests to the API at ``url``, without a key and without retries."""

    def body(
        self, backend: AgentBackend, instructions: str, messages: Sequence[JsonValue], tools: Sequence[JsonValue]
    ) -> JsonObject:
        """Return the request for the next answer."""

    def read(self, response: JsonObject) -> ModelResponse:
        """Return the answer in a response. Raises ``ModelError`` if it does not follow the API."""


def request(api: ModelApi, post: Post, body: JsonObject) -> ModelResponse:
    """Request the model's next answer. Raises ``ModelError`` and ``InterruptedWaitError``."""
    data = post(body)
    try:
        response = parse_json(data)
    except ValueError as error:
        raise unreadable(f"it is not JSON ({error}): {first_bytes(data)}") from None
    if not isinstance(response, dict):
        raise unreadable(f"it is not a JSON object: {first_bytes(data)}")
    return api.read(response)


def unreadable(what: str) -> ModelError:
    """Return the error for a response that does not follow the API."""
    return ModelError("serialization", f"the model's API sent an invalid response: {what}")


def token_count(usage: JsonValue, *names: str) -> int:
    """Return the sum of these entries of an answer's ``usage``. Values that are not positive integers are ignored."""
    if not isinstance(usage, dict):
        return 0
    found = [usage.get(name) for name in names]
    return sum(each for each in found if isinstance(each, int) and not isinstance(each, bool) and each > 0)


def normalise_ids(calls: Sequence[JsonObject]) -> list[str]:
    """Return unique ids for the calls of one answer. Missing and duplicate ids are replaced."""
    ids: dict[str, None] = {}
    for number, call in enumerate(calls, 1):
        given = call.get("id")
        name = given if isinstance(given, str) and given and given not in ids else f"toolc_call_{number}"
        while name in ids:
            name += "_"
        ids[name] = None
    return [*ids]


def failed_status(status: int, body: bytes, retry_after: str | None) -> ModelError:
    """Return the error for a response with a status other than success."""
    message = f"the model's API answered {status} {responses.get(status, '')}".rstrip() + f": {_error_message(body)}"
    if status in {401, 403}:
        return ModelError("authentication", f"{message}; check the secret of 'api_key'")
    if status == 404:
        return ModelError("not_found", f"{message}; check 'model' and 'base_url'")
    if status == 429:
        return ModelError("rate_limit", message, again=True, wait_seconds=_seconds(retry_after))
    if status in {408, 409} or status >= 500:
        return ModelError("network", message, again=True, wait_seconds=_seconds(retry_after))
    if status < 400:
        return ModelError("network", f"{message}; redirects are not followed, so set 'base_url' to the API's own URL")
    return ModelError("execution", message)


def first_bytes(data: bytes) -> str:
    """Return the beginning of a server's response, for an error message."""
    text = data[: 4 * MAX_QUOTED].decode("utf-8", "replace").strip()
    return shorten(text, MAX_QUOTED) or "nothing"


def _error_message(body: bytes) -> str:
    """Return the server's error message, which both providers send in ``error.message``."""
    try:
        value = parse_json(body)
    except ValueError:
        return first_bytes(body)
    error = value.get("error") if isinstance(value, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return first_bytes(message.encode()) if isinstance(message, str) else first_bytes(body)


def _seconds(retry_after: str | None) -> float | None:
    """Return ``Retry-After`` in seconds (RFC 9110, 10.2.3). Dates, which these APIs do not send, are ignored.

    Numbers of more than five digits are also ignored, because they would exceed every deadline.
    """
    return float(retry_after) if retry_after and retry_after.isdecimal() and len(retry_after) < 6 else None
