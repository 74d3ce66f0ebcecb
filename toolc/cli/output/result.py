"""Print the result of a call: content, errors, timing, and the connections for ``--explain-network``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolc.cli.common import note
from toolc.cli.output.live import write
from toolc.client.build import split_target
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.network import written_entry
from toolc.document.nodes import Node, Sequence
from toolc.model.destinations import format_destination, format_host
from toolc.model.result import Audio, Image, Text
from toolc.model.source import Span
from toolc.model.spec.http_backend import HttpBackend, OAuth2Auth, Url
from toolc.reporters.text import escape_for_terminal
from toolc.runtime.sandboxed.call import STDOUT_SO_FAR

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool
    from toolc.model.json_schema import JsonObject, JsonValue
    from toolc.model.result import Content, ToolResult
    from toolc.model.spec.tool import ToolSpec

UNSEEN: Final = "names without an entry do not resolve in the sandbox, so only programs that use the proxy are listed"


def print_content(result: ToolResult, shown: str, noted: str) -> None:
    """Print the content without what is on the screen already: ``shown`` on stdout and ``noted`` on stderr."""
    terminal = sys.stdout.isatty()
    for block in _joined(result.content) if shown else result.content:
        if isinstance(block, Text):
            text = _remaining_text(block.text, shown)
            text = _without_stderr(text, noted) if terminal else text
            ended = not (text or block.text) or (text or block.text).endswith("\n")
            write(text if ended else text + "\n", sys.stdout)
        elif terminal:
            what = {Image: "an image", Audio: "a recording"}.get(type(block), "a file")
            note(f"{what} of {len(block.data)} bytes ({block.mime_type}); to save it: toolc run ... > FILE")
        else:
            sys.stdout.buffer.write(block.data)
    sys.stdout.buffer.flush()


def _joined(content: tuple[Content, ...]) -> tuple[Content, ...]:
    """Return ``content`` with its texts joined into one, as they were shown."""
    texts = [block.text for block in content if isinstance(block, Text)]
    return (Text("".join(texts)), *(block for block in content if not isinstance(block, Text)))


def _remaining_text(text: str, shown: str) -> str:
    """Return the part of a result's text that was not printed yet, given what is ``shown``."""
    if text.startswith(shown):
        return text.removeprefix(shown)
    gap = "" if shown.endswith("\n") else "\n"
    message, _, stdout = text.partition(STDOUT_SO_FAR)
    # The text of a stopped call begins with the reason; the output already on the screen follows.
    if stdout.startswith(shown.rstrip()):
        return f"{gap}{message}{stdout.removeprefix(shown.rstrip())}"
    return f"{gap}{text}"


def _without_stderr(text: str, noted: str) -> str:
    """Return ``text`` without the repeated stderr of a failure that is already on the screen."""
    stderr = noted.rstrip()
    if not stderr:
        return text
    rest = re.sub(rf"(\n?\[stderr(?: so far)?\]\n|\A){re.escape(stderr)}", "", text, count=1)
    return rest.removeprefix("\n") if noted.endswith("\n") else rest


def print_details(result: ToolResult, noted: str) -> None:
    """Print the tool's output, its failure and the engine on stderr, except for ``noted``, which is already printed."""
    for stream, known in (("stdout", ""), ("stderr", noted)):
        output = result.details.get(stream)
        if isinstance(output, str) and output and not (output == known and output.endswith("\n")):
            text = output.removeprefix(known)
            text = escape_for_terminal(text) if sys.stderr.isatty() else text
            print(text, end="" if text.endswith("\n") else "\n", file=sys.stderr)
    if result.error:
        # The content is on stdout already, and usually contains the reason.
        is_shown = any(isinstance(each, Text) and result.error.message in each.text for each in result.content)
        why = "" if is_shown or sys.stdout.isatty() else f": {result.error.message}"
        file, line = result.details.get("file"), result.details.get("line")
        place = f" at {file}, line {line}" if file and line else ""
        note(escape_for_terminal(f"the tool failed ({result.error.kind}){place}{why}"))
    notes = result.details.get("engine_notes")
    if isinstance(notes, list):
        note(f"ran with the engine {result.details['engine']!r} ({' '.join(map(str, notes))})")


def print_timing(result: ToolResult, load_ms: float) -> None:
    """Print the durations: ``load`` is the time to read the spec or registry, the rest is the call."""
    measured = result.details.get("timing_ms")
    rows = [("load", load_ms)]
    if isinstance(measured, dict):
        rows += [(name, value) for name, value in measured.items() if isinstance(value, float | int)]
    rows.append(("total", sum(value for _, value in rows)))
    for name, value in rows:
        print(f"{name:<8}{value:>10.2f} ms", file=sys.stderr)


def explain(result: ToolResult, tool: ToolSpec, target: str | None) -> None:
    """Print the outcome of each connection on stderr.

    ``target`` is a spec, whose lines are named, or a registry; None for a tool of ``--registry`` or ``--builtin``.
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
        hint = f"; to allow it add {remedy} to sandbox.network.allow{where}" if remedy else ""
        return f"refused {there}: {attempt['reason']}{hint}"
    allowed = f"allowed by {spec.entry(attempt['entry']) if spec else attempt['entry']}"
    if attempt["reason"] and not attempt["bytes_in"]:
        return f"failed {there}: {attempt['reason']}; {allowed}"
    moved = f"{attempt['bytes_out']} bytes sent, {attempt['bytes_in']} received, {attempt['duration_ms']} ms"
    # Some servers reset every finished connection: that is not a failure.
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
        if not isinstance(backend, HttpBackend):
            return None
        token = backend.auth.token_url if isinstance(backend.auth, OAuth2Auth) else None
        places = ((backend.url, ("url",)), (token, ("auth", "oauth2", "token_url")))
        for url, keys in places:
            if isinstance(url, Url) and f"{format_host(url.host)}:{url.port}" == entry:
                return self._tool.span("backend", "http", *keys)
        return None

    def _nodes(self) -> tuple[Node, ...]:
        allow = self._tool.node_at("sandbox", "network", "allow")
        return allow.items if isinstance(allow, Sequence) else ()


def _spelled(node: Node) -> str | None:
    """Return an entry in the canonical form used in results."""
    found = written_entry(node)
    return None if found is None else format_destination(found)
