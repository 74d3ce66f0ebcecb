"""The API of a sub-agent's model, ready to be asked: the provider's SDK over a transport of toolc's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import httpx2

from toolc.model.destinations import show_host
from toolc.model.errors import UsageError
from toolc.model.result import ConnectionAttempt
from toolc.model.spec.composed_backends import AgentBackend, AgentProvider
from toolc.model.spec.sandbox import Destination
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.agent_model import Dialect, ModelError, Post
from toolc.runtime.agent_network import EgressNetwork
from toolc.runtime.agent_transport import EgressTransport
from toolc.runtime.http_target import parse_url
from toolc.runtime.patience import Patience
from toolc.runtime.secrets import CallSecrets

_KEY: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Api:
    """How the model's API is spoken, how a request is sent there, and the connections that were made."""

    dialect: Dialect
    post: Post
    network: EgressNetwork


@contextmanager
def opened(
    backend: AgentBackend,
    tool: ToolSpec,
    secrets: CallSecrets,
    patience: Patience,
    on_attempt: Callable[[ConnectionAttempt], None],
) -> Iterator[Api]:
    """The API of ``tool``'s model, until the end of the block; nothing is sent yet.

    Raises ``ModelError`` where the key may not go there, and ``UsageError`` where it can be no key.
    """
    dialect, connect = _spoken(backend.provider)
    url = backend.base_url
    own = Destination(kind="exact", host=url.host, port=url.port)
    network = EgressNetwork((own, *tool.sandbox.network.allow), patience, on_attempt)
    transport = EgressTransport(network, _key_header(backend, tool, secrets, dialect), secrets.redactor.data)
    written = f"{url.scheme}://{show_host(url.host)}:{url.port}{url.path.render({})}"
    with httpx2.Client(transport=transport, trust_env=False, follow_redirects=False, timeout=None) as http:
        yield Api(dialect, connect(written, http), network)


def _spoken(provider: AgentProvider) -> tuple[Dialect, Callable[[str, httpx2.Client], Post]]:
    """How the provider's API is spoken, and what opens it. Its SDK is imported here, for that takes seconds."""
    match provider:
        case "anthropic":
            from toolc.runtime.agent_anthropic import AnthropicDialect, open_anthropic

            return AnthropicDialect(), open_anthropic
        case "openai":
            from toolc.runtime.agent_openai import OpenAIDialect, open_openai

            return OpenAIDialect(), partial(open_openai, "/chat/completions")
        case "openai_responses":
            from toolc.runtime.agent_openai import open_openai
            from toolc.runtime.agent_responses import ResponsesDialect

            return ResponsesDialect(), partial(open_openai, "/responses")


def _key_header(
    backend: AgentBackend, tool: ToolSpec, secrets: CallSecrets, dialect: Dialect
) -> tuple[str, str] | None:
    """The header with the key, if it may go where requests go. Raises ``ModelError`` and ``UsageError``."""
    if backend.api_key is None:
        return None
    (name,) = backend.api_key.secrets
    host = backend.base_url.host
    hosts = next((each.hosts for each in tool.sandbox.secrets if each.name == name), ())
    if host not in hosts:
        raise ModelError("denied", f"the secret {name!r} may go to {', '.join(hosts) or 'no host'}, not to {host}")
    url = f"{backend.base_url.scheme}://{show_host(host)}:{backend.base_url.port}"
    if not parse_url(url).is_private:
        raise ModelError("denied", f"the secret {name!r} goes over TLS only, and {host} is asked over http")
    key = secrets.values[name]
    if not _KEY.fullmatch(key):
        message = "holds spaces, line ends or other characters that no header can"
        raise UsageError(f"tool {tool.name!r}: the secret {name!r} {message}")
    return dialect.key_header(key)
