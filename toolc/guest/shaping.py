"""``result.select`` and ``result.template``: what becomes of a tool's data and words before a model sees them."""

from __future__ import annotations

import json

from toolc.guest.brought import render, search
from toolc.guest.context import Result, ToolError

FIRST_CHARACTERS = 200
"""How much of a text that is no JSON its error repeats, in characters."""


def shape(
    text: str,
    data: list[object] | None,
    select: str | None,
    template: str | None,
    arguments: dict[str, object],
    limit: int,
) -> Result:
    """A tool's ``text``, and its ``data`` in a list of one, as the spec wants them; ``limit`` is in bytes.

    Runs in a sandbox after the tool's own. Raises ``ToolError`` (serialization, output_limit).
    """
    if select is not None:
        found = [search(select, (data or [_parsed(text)])[0])]
        text = dumped(found[0])
        check_size(len(text.encode("utf-8", "replace")), limit)
    else:
        found = data or []
    if template is not None:
        text = rendered(template, found[0] if found else text, text, arguments, limit)
    return Result(text, found or None, {})


def rendered(template: str, result: object, text: str, arguments: dict[str, object], limit: int) -> str:
    """The template's words. Raises ``ToolError``, also where they are longer than ``limit`` bytes."""
    pieces = []
    size = 0
    for piece in render(template, {"result": result, "text": text, "args": arguments}):
        size += len(piece.encode("utf-8", "replace"))
        check_size(size, limit)
        pieces.append(piece)
    return "".join(pieces)


def check_size(size: int, limit: int) -> None:
    """Raise ``ToolError`` where a result of ``size`` bytes is longer than ``limit``."""
    if size > limit:
        raise ToolError(
            "output_limit", "the result has %d bytes, and %d are allowed; ask for less of it" % (size, limit)
        )


def dumped(value: object) -> str:
    """JSON as a model sees it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        head = " ".join(text[:FIRST_CHARACTERS].split())
        raise ToolError(
            "serialization", "the output is not JSON, as result.select wants: %s; it begins: %s" % (error, head)
        ) from error
