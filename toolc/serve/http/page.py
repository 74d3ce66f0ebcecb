"""Serve the files of the page at ``/``, which contain no secret, with headers that let a browser run nothing else."""

from __future__ import annotations

from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolc.serve.http.gate import PAGE
from toolc.serve.page.catalog_file import INDEX, page_files

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
        "media-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
"""What a browser must know about every file. ``no-cache`` makes it ask again after an update of toolc."""

_TYPES: Final = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
}  # fmt: skip


def page_routes() -> list[Route]:
    """Return a route for each file of the page, and ``/`` for the page itself."""
    routes: list[Route] = []
    for name, content in page_files().items():
        response = partial(_file, content, _TYPES[f".{name.rpartition('.')[2]}"])
        routes.append(Route("/" if name == INDEX else f"{PAGE}{name}", response))
    return routes


async def _file(content: bytes, media_type: str, _: Request) -> Response:
    return Response(content, media_type=media_type, headers=HEADERS)
