"""Request the answers of a sub-agent's model: keys, retries, token counts, and events."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from time import monotonic
from typing import Final

import httpx2

from toolc.dataclass import dataclass, replace
from toolc.model.call import BoundCall
from toolc.model.destinations import format_host
from toolc.model.errors import UsageError
from toolc.model.events import ToolConnect, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ConnectionAttempt
from toolc.model.spec.composed_backends import AgentBackend, AgentProvider
from toolc.model.spec.sandbox import Destination
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import lazy_re, printable
from toolc.runtime.agents.broker_transport import EgressTransport
from toolc.runtime.agents.model import ModelApi, ModelError, ModelResponse, Post, request
from toolc.runtime.caller import CallContext
from toolc.runtime.cancellation import Deadline
from toolc.runtime.composed_backends import MODEL_APIS
from toolc.runtime.egress.transport import RefusedError
from toolc.runtime.http.request import check_secret, parse_url
from toolc.runtime.output.progress import LiveText
from toolc.runtime.secrets.redaction import CallSecrets

_KEY: Final = lazy_re(r"[\x21-\x7e]+")

ATTEMPTS: Final = 3
"""How many times an answer is requested if the API is busy or cannot be reached.

With more attempts, a sub-agent would spend most of its time waiting.
"""

BACKOFF_SECONDS: Final = 0.5
"""The delay in seconds before the second attempt if the API specifies none. It doubles before the third.

The SDKs use the same delay, but their own retries are turned off.
"""

MAX_WAIT_SECONDS: Final = 60.0
"""The longest delay that the API may request, in seconds. If the API requests more, the call fails.

It is the same as for calls, see ``execution.retry``.
"""

MAX_ANSWERED: Final = 4096
"""The maximum number of calls in an answer. An answer with more is an error.

The next request must contain a result for every call, even for one that is not made.
"""


@dataclass(frozen=True, slots=True)
class ApiConnection:
    """An open API: its format, and functions that send a request and return the connections so far."""

    api: ModelApi
    post: Post
    attempts: Callable[[], tuple[ConnectionAttempt, ...]]


@contextmanager
def open_api(
    backend: AgentBackend,
    tool: ToolSpec,
    secrets: CallSecrets,
    deadline: Deadline,
    on_attempt: Callable[[ConnectionAttempt], None],
) -> Iterator[ApiConnection]:
    """Open the API of ``tool``'s model until the end of the block. Nothing is sent yet.

    Raises ``ModelError`` if the key may not be sent to this API, and ``UsageError`` if the key is invalid.
    """
    api = _model_api(backend.provider)
    url = backend.base_url
    api_host = Destination(kind="exact", host=url.host, port=url.port)
    allow = (api_host, *tool.sandbox.network.allow)
    key_header = _key_header(backend, tool, secrets, api)
    transport = EgressTransport(allow, deadline, on_attempt, key_header, secrets.redactor.data)
    base_url = f"{url.scheme}://{format_host(url.host)}:{url.port}{url.path.render({})}"
    with httpx2.Client(transport=transport, trust_env=False, follow_redirects=False, timeout=None) as http:
        yield ApiConnection(api, api.open(base_url, http), transport.attempts)


def _model_api(provider: AgentProvider) -> ModelApi:
    """Import the SDK of ``provider`` and return its API."""
    module, name = MODEL_APIS[provider]
    api: ModelApi = getattr(import_module(module), name)()
    return api


def _key_header(backend: AgentBackend, tool: ToolSpec, secrets: CallSecrets, api: ModelApi) -> tuple[str, str] | None:
    """Return the header with the key, if its host is allowed. Raises ``ModelError`` and ``UsageError``."""
    if backend.api_key is None:
        return None
    (name,) = backend.api_key.secrets
    hosts = next((each.hosts for each in tool.sandbox.secrets if each.name == name), ())
    url = backend.base_url
    try:
        check_secret(name, hosts, parse_url(f"{url.scheme}://{format_host(url.host)}:{url.port}"))
    except RefusedError as error:
        raise ModelError("denied", str(error)) from None
    key = secrets.values[name]
    if not _KEY.fullmatch(key):
        message = "contains characters that are not allowed in a header, such as spaces or line breaks"
        raise UsageError(f"tool {tool.name!r}: the secret {name!r} {message}")
    return api.key_header(key)


class AgentEvents:
    """Emits the events of the call itself. The calls that it makes emit their own."""

    def __init__(self, call: BoundCall, context: CallContext) -> None:
        self._name = call.tool.name
        self._context = context
        self._text = LiveText(call.tool.sandbox.limits.output_bytes)

    def attempt(self, attempt: ConnectionAttempt) -> None:
        """Emit a connection to the API that was made or failed."""
        self._context.on_event(ToolConnect(name=self._name, call_id=self._context.call_id, attempt=attempt))

    def response(self, number: int, response: ModelResponse) -> None:
        """Emit an answer of the model."""
        update = ToolUpdate(name=self._name, call_id=self._context.call_id)
        full_text = f"{response.text}\n" if response.text and response.calls else response.text
        if text := self._text.add(full_text.encode("utf-8", "replace")):
            self._context.on_event(replace(update, stream="content", text=text))
        if response.calls:
            names = ", ".join(dict.fromkeys(each.name for each in response.calls))[:200]
            self._context.on_event(replace(update, message=f"turn {number}: {printable(names)}"))


@dataclass(slots=True)
class AgentLoop:
    """The number of the model's answers so far, and their tokens."""

    backend: AgentBackend
    connection: ApiConnection
    deadline: Deadline
    events: AgentEvents
    number: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def is_exhausted(self) -> bool:
        """Return whether the model has used all its turns."""
        return self.number >= self.backend.max_turns

    def next(self, instructions: str, messages: Sequence[JsonValue], tools: Sequence[ToolSpec]) -> ModelResponse:
        """Return the next answer if it is usable. Raises ``ModelError`` and ``InterruptedWaitError``."""
        used, budget = self.tokens_in + self.tokens_out, self.backend.token_budget
        if used >= budget:
            message = f"the model used {used} tokens, but the limit is {budget}; request less, or raise 'token_budget'"
            raise ModelError("output_limit", message)
        api = self.connection.api
        declared = api.provider.lower(tuple(tools)).tools
        response = self._request(api.body(self.backend, instructions, messages, declared))
        self.number += 1
        self.tokens_in += response.tokens_in
        self.tokens_out += response.tokens_out
        self.events.response(self.number, response)
        return self._checked(response)

    def details(self) -> JsonObject:
        """Return the model and its usage for ``details``."""
        return {
            "provider": self.backend.provider,
            "model": self.backend.model,
            "turns": self.number,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
        }

    def _request(self, body: JsonObject) -> ModelResponse:
        for attempt in range(1, ATTEMPTS + 1):
            self.deadline.check()
            try:
                return request(self.connection.api, self.connection.post, body)
            except ModelError as error:
                seconds = error.wait_seconds
                if seconds is None:
                    seconds = BACKOFF_SECONDS * 2 ** (attempt - 1)
                is_too_long = seconds > MAX_WAIT_SECONDS or monotonic() + seconds >= self.deadline.deadline
                if not error.again or attempt == ATTEMPTS or is_too_long:
                    raise
                self.deadline.sleep(seconds)
        raise AssertionError("the last attempt must return or raise")

    def _checked(self, response: ModelResponse) -> ModelResponse:
        if response.stop == "refusal":
            raise ModelError("denied", f"the model refused to answer: {response.text or 'it gave no reason'}")
        if response.stop == "length":
            limit = f"{self.backend.max_tokens} tokens; request less, or raise 'max_tokens'"
            message = f"the model's answer was truncated at {limit}\n{response.text}".rstrip()
            raise ModelError("output_limit", message)
        if len(response.calls) > MAX_ANSWERED:
            message = f"the model made {len(response.calls)} calls in one answer, but the limit is {MAX_ANSWERED}"
            raise ModelError("output_limit", message)
        if not response.calls and not response.text.strip():
            raise ModelError("execution", "the model's answer is empty; rephrase the task")
        return response
