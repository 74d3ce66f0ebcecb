"""TC405: who decides what of a URL. That its host is a constant, decoding sees to; here: a path encoded twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic
from toolc.source import Span
from toolc.template import Placeholder, Template

if TYPE_CHECKING:
    from toolc.spec_http import Field, Url

NUMBER: Final = "TC405"

NEEDS: Final = frozenset({"backend"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each placeholder of a URL's path or query that is percent-encoded before it is percent-encoded."""
    backend = tool.spec.backend
    if backend.tag != "http":
        return
    for template, span in _encoded_anyway(tool, backend.url, backend.query):
        for part in template.parts:
            if isinstance(part, Placeholder) and any(each.name == "urlencode" for each in part.filters):
                yield Diagnostic(
                    codes.ENCODED_TWICE, f"'{part.name}' is encoded twice: a URL's values are encoded anyway",
                    tool.source.locate(span, "urlencode"), "leave out the filter 'urlencode'",
                )  # fmt: skip


def _encoded_anyway(
    tool: LocatedTool, url: Url | Template, query: tuple[Field, ...]
) -> Iterator[tuple[Template, Span]]:
    if not isinstance(url, Template):
        yield url.path, tool.span("backend", "http", "url")
    yield from ((field.value, tool.span("backend", "http", "query", field.name)) for field in query)
