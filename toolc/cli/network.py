"""What ``toolc run --explain-network`` prints: each connection of a call, and the line of the spec it is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolc.cli.common import note
from toolc.client.build import split_target
from toolc.document.nodes import Node, Scalar, Sequence
from toolc.model.destinations import HostError, parse_destination, show_destination, show_host
from toolc.model.source import Span
from toolc.model.spec.http_backend import HttpBackend, OAuth2Auth, Url
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool
    from toolc.model.json_schema import JsonObject, JsonValue
    from toolc.model.result import ToolResult
    from toolc.model.spec.tool import ToolSpec

UNSEEN: Final = (
    "a name that no entry covers has no address in there, so only programs that use the proxy are heard of"
)


def explain(result: ToolResult, tool: ToolSpec, target: str, registry: str | None) -> None:
    """Tell on stderr what came of each connection. ``target`` is a spec, whose lines are named, or a registry's."""
    source, _ = split_target(target)
    spec = _Lines(source, tool.name) if registry is None and source.suffix != ".json" else _NoLines()
    attempts = result.details.get("network")
    found = [each for each in attempts if isinstance(each, dict)] if isinstance(attempts, list) else []
    if not found:
        allowed = ", ".join(show_destination(each) for each in tool.sandbox.network.allow)
        note(f"the tool asked for no connection; {UNSEEN}" if allowed else "the tool may connect to nothing")
    for attempt in found:
        note(escape_for_terminal(_line(attempt, spec)))
    if unlisted := result.details.get("network_not_listed"):
        note(f"and {unlisted} connections more")


def _line(attempt: JsonObject, spec: _Lines | _NoLines) -> str:
    if not attempt["host"]:
        # Where a redirect leads to no URL, there is no host to name.
        return f"refused a request: {attempt['reason']}"
    address = attempt["address"]
    host = str(attempt["host"])
    place = f"[{host}]" if ":" in host else host
    there = f"{place}:{attempt['port']}" + (f" ({address})" if address not in {None, host} else "")
    if not attempt["allowed"]:
        remedy = attempt["would_allow"]
        return f"refused {there}: {attempt['reason']}" + (f"; {spec.remedy(str(remedy))}" if remedy else "")
    allowed = f"allowed by {spec.entry(attempt['entry'])}"
    if attempt["reason"] and not attempt["bytes_in"]:
        return f"failed {there}: {attempt['reason']}; {allowed}"
    moved = f"{attempt['bytes_out']} bytes sent, {attempt['bytes_in']} received, {attempt['duration_ms']} ms"
    # Some servers reset every connection that is done with: what passed before is no failure.
    end = f"; at the end {attempt['reason']}" if attempt["reason"] else ""
    return f"connected to {there}, {allowed}; {moved}{end}"


class _NoLines:
    """A registry knows no lines."""

    def entry(self, text: JsonValue) -> str:
        """The entry."""
        return str(text)

    def remedy(self, text: str) -> str:
        """What to add, and where."""
        return f"to allow it add {text} to sandbox.network.allow"


class _Lines:
    """Where the entries of a tool's allow-list stand in its spec."""

    def __init__(self, source: Path, name: str) -> None:
        from toolc.compiler.pipeline.compile import compile_specs  # start-up time

        located = compile_specs([source]).located
        self._tool: LocatedTool = next(each for each in located if each.spec.name == name)

    def entry(self, text: JsonValue) -> str:
        """The entry and its line."""
        span = next((node.span for node in self._nodes() if _spelled(node) == text), None)
        # An HTTP tool may reach the host of its own URL, and of its token's, which are no entries.
        span = span or self._own_url(str(text)) or self._tool.key_span("backend")
        return f"{text} ({span})"

    def remedy(self, text: str) -> str:
        """What to add, and where."""
        place = self._tool.key_span("sandbox", "network", "allow")
        return f"to allow it add {text} to sandbox.network.allow ({place})"

    def _own_url(self, entry: str) -> Span | None:
        """Where the URL of the backend stands whose host and port ``entry`` is."""
        backend = self._tool.spec.backend
        if not isinstance(backend, HttpBackend):
            return None
        token = backend.auth.token_url if isinstance(backend.auth, OAuth2Auth) else None
        places = ((backend.url, ("url",)), (token, ("auth", "oauth2", "token_url")))
        for url, keys in places:
            if isinstance(url, Url) and f"{show_host(url.host)}:{url.port}" == entry:
                return self._tool.span("backend", "http", *keys)
        return None

    def _nodes(self) -> tuple[Node, ...]:
        found = self._tool.node_at("sandbox", "network", "allow")
        return found.items if isinstance(found, Sequence) else ()


def _spelled(node: Node) -> str | None:
    """An entry in the one spelling that it has in a result."""
    try:
        return show_destination(parse_destination(str(node.value))) if isinstance(node, Scalar) else None
    except HostError:
        return None
