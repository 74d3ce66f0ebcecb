"""A model behind an API: what it is asked, what it answers, and what can go wrong in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import responses
from typing import Final, Literal, Protocol, TypeAlias

from toolc.backends.content import parse_json
from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.composed_backends import AgentBackend
from toolc.providers.base import Provider

MAX_WORDS: Final = 500
"""How much of a server's own words an error quotes, in characters."""

Stop: TypeAlias = Literal["done", "length", "refusal"]
"""Why a model stopped: it had said what it wanted, it was cut off, or it would not answer."""


class ModelError(Exception):
    """No answer, for a reason of ``kind``. ``again`` says whether to ask again may help.

    ``wait_seconds`` is how long the server wants to be left alone before, None where it does not say.
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
    """One answer: what was ``said``, as it goes back into the conversation, and what that means.

    ``calls`` are in the order of the answer, each with an id of its own in it. ``tokens_in`` and ``tokens_out`` are
    0 where the server does not count.
    """

    said: tuple[JsonObject, ...]
    text: str
    calls: tuple[ToolCall, ...]
    stop: Stop
    tokens_in: int
    tokens_out: int


class ModelApi(Protocol):
    """How one provider's API is spoken. Nothing here sends anything."""

    @property
    def provider(self) -> Provider:
        """How tools are declared, and what came of calls is told."""

    def key_header(self, key: str) -> tuple[str, str]:
        """The header that a key is sent in."""

    def body(
        self, backend: AgentBackend, instructions: str, messages: Sequence[JsonValue], tools: Sequence[JsonValue]
    ) -> JsonObject:
        """The request for the next answer."""

    def read(self, response: JsonObject) -> ModelResponse:
        """The answer in a response. Raises ``ModelError`` for one that is not of the API."""


Post: TypeAlias = Callable[[JsonObject], bytes]
"""Sends a request by an SDK and gives the body of the response. Raises ``ModelError``, ``InterruptedWaitError``."""


def ask(dialect: ModelApi, post: Post, body: JsonObject) -> ModelResponse:
    """The model's next answer. Raises ``ModelError`` and ``InterruptedWaitError``."""
    data = post(body)
    try:
        response = parse_json(data)
    except ValueError as error:
        raise unreadable(f"it is not JSON ({error}): {first_bytes(data)}") from None
    if not isinstance(response, dict):
        raise unreadable(f"it is no JSON object: {first_bytes(data)}")
    return dialect.read(response)


def unreadable(what: str) -> ModelError:
    """The error for a response that is not of the API."""
    return ModelError("serialization", f"the model's API gave an answer that cannot be read: {what}")


def token_count(usage: JsonValue, *names: str) -> int:
    """The sum of these numbers of an answer's ``usage``; what is no number there counts for nothing."""
    if not isinstance(usage, dict):
        return 0
    found = [usage.get(name) for name in names]
    return sum(each for each in found if isinstance(each, int) and not isinstance(each, bool) and each > 0)


def normalise_ids(calls: Sequence[JsonObject]) -> list[str]:
    """The ids of the calls of one answer; one that is missing or stands twice is replaced, so that each has one."""
    ids: dict[str, None] = {}
    for number, call in enumerate(calls, 1):
        given = call.get("id")
        name = given if isinstance(given, str) and given and given not in ids else f"toolc_call_{number}"
        while name in ids:
            name += "_"
        ids[name] = None
    return [*ids]


def failed_status(status: int, body: bytes, retry_after: str | None) -> ModelError:
    """What a response without an answer means."""
    message = f"the model's API answered {status} {responses.get(status, '')}".rstrip() + f": {_words(body)}"
    if status in {401, 403}:
        return ModelError("authentication", f"{message}; check the secret of 'api_key'")
    if status == 404:
        return ModelError("not_found", f"{message}; check 'model' and 'base_url'")
    if status == 429:
        return ModelError("rate_limit", message, again=True, wait_seconds=_seconds(retry_after))
    if status in {408, 409} or status >= 500:
        return ModelError("network", message, again=True, wait_seconds=_seconds(retry_after))
    if status < 400:
        return ModelError(
            "network", f"{message}; redirects are not followed: write the API's own URL as 'base_url'"
        )
    return ModelError("execution", message)


def first_bytes(data: bytes) -> str:
    """The beginning of what a server said, for an error."""
    text = data[: 4 * MAX_WORDS].decode("utf-8", "replace").strip()
    return f"{text[:MAX_WORDS]}…" if len(text) > MAX_WORDS else text or "nothing"


def _words(body: bytes) -> str:
    """The server's own message: both providers' errors have it in ``error.message``."""
    try:
        value = parse_json(body)
    except ValueError:
        return first_bytes(body)
    error = value.get("error") if isinstance(value, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return first_bytes(message.encode()) if isinstance(message, str) else first_bytes(body)


def _seconds(retry_after: str | None) -> float | None:
    """``Retry-After`` in seconds (RFC 9110, 10.2.3); a date, which these APIs do not send, is not read."""
    return float(retry_after) if retry_after and retry_after.isdecimal() and len(retry_after) < 6 else None
