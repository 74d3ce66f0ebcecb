"""TC405: who decides what of a URL. That its host is a constant, decoding sees to; here: a path encoded twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic
from toolc.source import Span
from toolc.template import Placeholder, Template

if TYPE_CHECKING:
    from toolc.spec_http import Field, Url

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


_BAD: Final = """\
toolc: 1
name: get_status
label: Status of a service
description: Tell whether one of our services is up. Use it before you say that something does not work.
parameters:
  service: {type: string, maxLength: 50, description: "The service's name, e.g. 'shop'"}
annotations: {read_only: true}
backend:
  http:
    url: https://{{ service }}.example.com/status
examples:
  - {service: shop}
"""

RULE: Final = Rule(
    codes=(codes.URL_TEMPLATE, codes.ENCODED_TWICE),
    explanation="""\
A value that stands in the host of a URL decides which machine the tool talks to, and so does a value with a slash,
an `@` or a `?` in it. A model that was talked into it then sends the request, and what goes with it, to somebody
else, or to a machine inside.

Write the scheme and host out, and let placeholders stand in the path and the query: there toolc encodes each value,
so that it cannot become more than a segment or a field. The filter `urlencode` there would encode it twice. Where
callers are meant to choose the host, say `url_from_argument: true` and list the hosts under `sandbox.network`.
""",
    bad=_BAD,
    good=_BAD.replace("{{ service }}.example.com/status", "status.example.com/{{ service }}"),
)
