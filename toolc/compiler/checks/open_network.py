"""TC503: a tool that may connect to any public address; off: one that says it does and may connect to none.

MCP's default of the hint is true, so that tools which come from there say it, whatever they do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic
from toolc.spec import PythonBackend, ShellBackend

NEEDS: Final = frozenset({"annotations", "backend", "sandbox"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """``public:443`` in an allow-list, or ``open_world: true`` where there is none."""
    allow = tool.spec.sandbox.network.allow
    if any(each.kind == "public" for each in allow):
        span = tool.span("sandbox", "network", "allow")
        yield Diagnostic(
            codes.ANY_NETWORK, "this tool may connect to any public address",
            tool.source.locate(span, "public:443"), "list the hosts it needs, such as api.example.com:443",
        )  # fmt: skip
    elif tool.spec.annotations.open_world and not allow and isinstance(
        tool.spec.backend, ShellBackend | PythonBackend
    ):  # fmt: skip
        yield Diagnostic(
            codes.NO_NETWORK, "this tool says it deals with the outside world, and it has no network",
            tool.span("annotations", "open_world"),
            "list the hosts it needs under sandbox: {network: {allow: [...]}}, or write open_world: false",
        )  # fmt: skip


_BAD: Final = """\
toolc: 1
name: fetch_feed
label: Fetch the news feed
description: Fetch the headlines of the company's news feed. Use it for questions about recent announcements.
parameters: {}
annotations: {read_only: true}
backend:
  shell: {argv: [curl, -sSf, "https://news.example.com/feed.xml"]}
sandbox:
  image: tools/curl:8.11
  network: {allow: ["public:443"]}
examples: [{}]
"""

RULE: Final = Rule(
    codes=(codes.ANY_NETWORK, codes.NO_NETWORK),
    explanation="""\
A tool that may connect anywhere can send what it reads to anybody: a text that tells the model to do so is
enough. Where the hosts are listed, data can go to those and nowhere else, and a reviewer sees which.

List exact hosts with their ports. `public:443` is for tools whose purpose is to read any page, and these should
see nothing private. The other way round, a tool that says `open_world: true` and has no network may fail on
every call; that side is off unless it is selected.
""",
    bad=_BAD,
    good=_BAD.replace("public:443", "news.example.com:443"),
)
