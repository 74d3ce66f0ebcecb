"""Print the connections of a call for ``--explain-network``, each with the line of the spec that allows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolc.cli.common import note
from toolc.client.build import split_target
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.network import written_entry
from toolc.document.nodes import Node, Sequence
from toolc.model.destinations import format_destination, format_host
from toolc.model.source import Span
from toolc.model.spec.http_backend import OAuth2Auth, Url
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool
    from toolc.model.json_schema import JsonObject, JsonValue
    from toolc.model.result import ToolResult
    from toolc.model.spec.tool import ToolSpec

UNSEEN: Final = "names without an entry do not resolve in the sandbox, so only programs that use the proxy are listed"


def explain(result: ToolResult, tool: ToolSpec, target: str | None) -> None:
    """Print the outcome of each connection on stderr.

    ``target`` is a spec, whose lines are printed, or a registry, or None for a tool of ``--registry`` or ``--builtin``.
    """
    source = split_target(target)[0] if target is not None else None
    spec = _Lines(source, tool.name) if source is not None and source.suffix != ".json" else None
    attempts = result.details.get("network")
    connections = [each for each in attempts if isinstance(each, dict)] if isinstance(attempts, list) else []
    if not connections:
        allowed = ", ".join(format_destination(each) for each in tool.sandbox.network.allow)
        note(f"the tool opened no connection; {UNSEEN}" if allowed else "the tool has no network access")
    for attempt in connections:
        note(escape_for_terminal(_line(attempt, spec)))
    if unlisted := result.details.get("network_not_listed"):
        note(f"and {unlisted} more connections")


def _line(attempt: JsonObject, spec: _Lines | None) -> str:
    if not attempt["host"]:
        # A redirect to an invalid URL does not have a host to name.
        return f"refused a request: {attempt['reason']}"
    address = attempt["address"]
    host = str(attempt["host"])
    place = f"[{host}]" if ":" in host else host
    there = f"{place}:{attempt['port']}" + (f" ({address})" if address not in {None, host} else "")
    if not attempt["allowed"]:
        remedy = attempt["would_allow"]
        where = f" ({spec.allow_list})" if spec else ""
        hint = f"; to allow it, add {remedy} to sandbox.network.allow{where}" if remedy else ""
        return f"refused {there}: {attempt['reason']}{hint}"
    allowed = f"allowed by {spec.entry(attempt['entry']) if spec else attempt['entry']}"
    if attempt["reason"] and not attempt["bytes_in"]:
        return f"failed {there}: {attempt['reason']}; {allowed}"
    moved = f"{attempt['bytes_out']} bytes sent, {attempt['bytes_in']} received, {attempt['duration_ms']} ms"
    # Some servers reset every finished connection, which is not a failure.
    end = f"; at the end {attempt['reason']}" if attempt["reason"] else ""
    return f"connected to {there}, {allowed}; {moved}{end}"


class _Lines:
    """The lines of the entries of a tool's allow-list in its spec."""

    def __init__(self, source: Path, name: str) -> None:
        located = compile_specs([source]).located
        self._tool: LocatedTool = next(each for each in located if each.spec.name == name)

    def entry(self, text: JsonValue) -> str:
        """Return the entry and its line."""
        span = next((node.span for node in self._nodes() if _spelled(node) == text), None)
        # An HTTP tool may reach the hosts of its own URL and its token's URL, which are not entries.
        span = span or self._own_url(str(text)) or self._tool.key_span("backend")
        return f"{text} ({span})"

    @property
    def allow_list(self) -> Span:
        """The position of the key with the entries."""
        return self._tool.key_span("sandbox", "network", "allow")

    def _own_url(self, entry: str) -> Span | None:
        """Return the location of the backend's URL with the host and port of ``entry``."""
        backend = self._tool.spec.backend
        request = backend.request
        if request is None:
            return None
        token = request.auth.token_url if isinstance(request.auth, OAuth2Auth) else None
        places = ((request.url, ("url",)), (token, ("auth", "oauth2", "token_url")))
        for url, keys in places:
            if isinstance(url, Url) and f"{format_host(url.host)}:{url.port}" == entry:
                return self._tool.span(*backend.request_route, *keys)
        return None

    def _nodes(self) -> tuple[Node, ...]:
        allow = self._tool.node_at("sandbox", "network", "allow")
        return allow.items if isinstance(allow, Sequence) else ()


def _spelled(node: Node) -> str | None:
    """Return an entry in the canonical form used in results."""
    found = written_entry(node)
    return None if found is None else format_destination(found)
